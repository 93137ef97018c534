"""The paper's experiments: what is run, how it is judged, and the figures and the page of it."""
