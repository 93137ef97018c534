"""innerloop: parallel Bayesian optimization that takes its inner loop seriously.

Names are loaded when first used, so that `import innerloop` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from innerloop import plot as plot
    from innerloop.acquisition.draws import FreshDraws, iid_normal, sobol_normal
    from innerloop.acquisition.entropy_search import EntropySearch
    from innerloop.acquisition.joint import Joint, expected_utility
    from innerloop.acquisition.knowledge_gradient import KnowledgeGradient
    from innerloop.acquisition.outcomes import FeasibleImprovement, HypervolumeImprovement
    from innerloop.acquisition.utilities import (
        ExpectedImprovement,
        NoisyExpectedImprovement,
        ProbabilityOfImprovement,
        SimpleRegret,
        UpperConfidenceBound,
    )
    from innerloop.acquisition.utility import Gain, Utility
    from innerloop.batches.chance import Chance
    from innerloop.batches.measured_budget import measured_budget
    from innerloop.batches.states import Incremental
    from innerloop.batches.suggest import Batch, suggest
    from innerloop.domain.discrete import OneHot, Ordinal
    from innerloop.domain.domain import Domain, make_domain
    from innerloop.errors import (
        InnerLoopError,
        InputError,
        MissingPackageError,
        NumericalError,
    )
    from innerloop.integrations.botorch import from_botorch
    from innerloop.integrations.scikit_learn import from_sklearn
    from innerloop.maximizers.budget import Budget
    from innerloop.optimizer.changes import Change
    from innerloop.optimizer.importances import Importances
    from innerloop.optimizer.optimizer import Optimizer
    from innerloop.optimizer.trials import Certificate, Forecast, Prediction, Trial
    from innerloop.report.report import Report, write_report
    from innerloop.run.dask_client import dask_client
    from innerloop.run.optimize import maximize, minimize, optimize
    from innerloop.run.result import Result
    from innerloop.run.stopping import NearOptimal, Patience, Stop, Target
    from innerloop.space.at_most import AtMost
    from innerloop.space.parameters import Choice, Integer, Real
    from innerloop.space.space import Space
    from innerloop.surrogate.fit import fit
    from innerloop.surrogate.fourier import FunctionDraws, posterior_draws, prior_draws
    from innerloop.surrogate.gaussian_process import Belief, GaussianProcess, Posterior
    from innerloop.surrogate.kernels import Kernel, Matern32, Matern52, SquaredExponential
    from innerloop.surrogate.model import Model, ModelBelief
    from innerloop.surrogate.priors import Priors

__version__ = "0.2.0"

__all__ = [
    "AtMost",
    "Batch",
    "Belief",
    "Budget",
    "Certificate",
    "Chance",
    "Change",
    "Choice",
    "Domain",
    "EntropySearch",
    "ExpectedImprovement",
    "FeasibleImprovement",
    "Forecast",
    "FreshDraws",
    "FunctionDraws",
    "Gain",
    "GaussianProcess",
    "HypervolumeImprovement",
    "Importances",
    "Incremental",
    "InnerLoopError",
    "InputError",
    "Integer",
    "Joint",
    "Kernel",
    "KnowledgeGradient",
    "Matern32",
    "Matern52",
    "MissingPackageError",
    "Model",
    "ModelBelief",
    "NearOptimal",
    "NoisyExpectedImprovement",
    "NumericalError",
    "OneHot",
    "Optimizer",
    "Ordinal",
    "Patience",
    "Posterior",
    "Prediction",
    "Priors",
    "ProbabilityOfImprovement",
    "Real",
    "Report",
    "Result",
    "SimpleRegret",
    "Space",
    "SquaredExponential",
    "Stop",
    "Target",
    "Trial",
    "UpperConfidenceBound",
    "Utility",
    "dask_client",
    "expected_utility",
    "fit",
    "from_botorch",
    "from_sklearn",
    "iid_normal",
    "make_domain",
    "maximize",
    "measured_budget",
    "minimize",
    "optimize",
    "posterior_draws",
    "prior_draws",
    "sobol_normal",
    "suggest",
    "write_report",
]

_MODULES = {
    "acquisition.draws": ("FreshDraws", "iid_normal", "sobol_normal"),
    "acquisition.entropy_search": ("EntropySearch",),
    "acquisition.joint": ("Joint", "expected_utility"),
    "acquisition.knowledge_gradient": ("KnowledgeGradient",),
    "acquisition.outcomes": ("FeasibleImprovement", "HypervolumeImprovement"),
    "acquisition.utilities": (
        "ExpectedImprovement",
        "NoisyExpectedImprovement",
        "ProbabilityOfImprovement",
        "SimpleRegret",
        "UpperConfidenceBound",
    ),
    "acquisition.utility": ("Gain", "Utility"),
    "batches.chance": ("Chance",),
    "batches.measured_budget": ("measured_budget",),
    "batches.states": ("Incremental",),
    "batches.suggest": ("Batch", "suggest"),
    "domain.discrete": ("OneHot", "Ordinal"),
    "domain.domain": ("Domain", "make_domain"),
    "errors": ("InnerLoopError", "InputError", "MissingPackageError", "NumericalError"),
    "integrations.botorch": ("from_botorch",),
    "integrations.scikit_learn": ("from_sklearn",),
    "maximizers.budget": ("Budget",),
    "optimizer.changes": ("Change",),
    "optimizer.importances": ("Importances",),
    "optimizer.optimizer": ("Optimizer",),
    "optimizer.trials": ("Certificate", "Forecast", "Prediction", "Trial"),
    "report.report": ("Report", "write_report"),
    "run.dask_client": ("dask_client",),
    "run.optimize": ("maximize", "minimize", "optimize"),
    "run.result": ("Result",),
    "run.stopping": ("NearOptimal", "Patience", "Stop", "Target"),
    "space.at_most": ("AtMost",),
    "space.parameters": ("Choice", "Integer", "Real"),
    "space.space": ("Space",),
    "surrogate.fit": ("fit",),
    "surrogate.fourier": ("FunctionDraws", "posterior_draws", "prior_draws"),
    "surrogate.gaussian_process": ("Belief", "GaussianProcess", "Posterior"),
    "surrogate.kernels": ("Kernel", "Matern32", "Matern52", "SquaredExponential"),
    "surrogate.model": ("Model", "ModelBelief"),
    "surrogate.priors": ("Priors",),
}
# Packages that are used by their own name, `innerloop.plot.convergence`, and import more.
_PACKAGES = ("plot",)
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"innerloop.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'innerloop' has no attribute {name!r}")
    value = getattr(import_module(f"innerloop.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]
