"""The paper's illustrations: each a job that computes a table, and a function that draws it."""
