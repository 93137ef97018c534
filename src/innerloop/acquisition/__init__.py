"""Acquisition functions: utilities and the forms in which their expectation is estimated."""
