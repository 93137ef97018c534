"""Ask and tell: the only stateful object of the package, and what it is made of."""
