"""innerloop: parallel Bayesian optimization that takes its inner loop seriously."""

from innerloop.acquisition.draws import FreshDraws, iid_normal, sobol_normal
from innerloop.acquisition.entropy_search import EntropySearch
from innerloop.acquisition.incremental import Incremental
from innerloop.acquisition.joint import Joint, expected_utility
from innerloop.acquisition.knowledge_gradient import KnowledgeGradient
from innerloop.acquisition.utilities import (
    ExpectedImprovement,
    ProbabilityOfImprovement,
    SimpleRegret,
    UpperConfidenceBound,
)
from innerloop.acquisition.utility import Gain, Utility
from innerloop.errors import InnerLoopError, InputError, NumericalError
from innerloop.surrogate.fitting import Priors, fit
from innerloop.surrogate.fourier import FunctionDraws, posterior_draws, prior_draws
from innerloop.surrogate.gaussian_process import Belief, GaussianProcess, Posterior
from innerloop.surrogate.kernels import Kernel, Matern32, Matern52, SquaredExponential

__version__ = "0.1.0"

__all__ = [
    "Belief",
    "EntropySearch",
    "ExpectedImprovement",
    "FreshDraws",
    "FunctionDraws",
    "Gain",
    "GaussianProcess",
    "Incremental",
    "InnerLoopError",
    "InputError",
    "Joint",
    "Kernel",
    "KnowledgeGradient",
    "Matern32",
    "Matern52",
    "NumericalError",
    "Posterior",
    "Priors",
    "ProbabilityOfImprovement",
    "SimpleRegret",
    "SquaredExponential",
    "UpperConfidenceBound",
    "Utility",
    "__version__",
    "expected_utility",
    "fit",
    "iid_normal",
    "posterior_draws",
    "prior_draws",
    "sobol_normal",
]
