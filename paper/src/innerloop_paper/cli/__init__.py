"""The command `innerloop-paper`."""
