"""Studies that last: trials in a database of Optuna's, and what runs them."""
