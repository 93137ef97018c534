"""The surrogate: kernels, Gaussian processes, hyperparameter fits and random-feature draws."""
