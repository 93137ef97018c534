"""The command `innerloop`. What is slow to import is imported inside the commands that use it."""
