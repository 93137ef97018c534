"""A page about a study: one HTML file with everything in it, to look at, to send, to print."""
