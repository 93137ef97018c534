"""Running a function to its optimum on any executor of `concurrent.futures`."""
