"""What is learned from results: the scaling of outputs, hyperparameters, and a posterior.

Learning is a function of the results and of what was learned at an earlier ask, from where the
search for hyperparameters goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.optimizer.outputs import Outputs
from innerloop.optimizer.plain_data import class_name, class_of
from innerloop.surrogate import priors
from innerloop.surrogate.fit import fit
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import Kernel, Matern52, SquaredExponential
from innerloop.types import Array

# With this many results hyperparameters no longer change with every one of them; from there on
# they are fitted again when the number of results has grown by this share.
_FIT_ALWAYS_UP_TO, _FIT_AFTER = 150, 0.05
# Functions without noise are followed down to this variance, in units of that of the values.
_SMALLEST_NOISE = 1e-10
# A fit ends with a step that gains less than this of the log density: a thousandth of a nat or so.
_TOLERANCE = 1e-5
# Kernels of several outcomes to choose from: limits are often smooth, and whoever is smooth enough
# to be told from afar is worth knowing. On a single objective the choice did harm.
_KERNELS: tuple[type[Kernel], ...] = (Matern52, SquaredExponential)
# An explanation is worse by far if its log density is smaller by this; all are fitted every so
# often.
_BY_FAR, _ALL_EVERY = 10.0, 8
# Noise with a smaller variance than this, in units of that of the values, is as good as none.
_NEGLIGIBLE_NOISE = 1e-2
# A value with more noise than this, in the same units, says nothing, however much more it is.
_LARGEST_NOISE = 1e12
# When time is short, scalings are compared on so many results at most.
_GRADED = 300


class Kind(NamedTuple):
    """A kind of explanation: whether values are bent by a logarithm, and the kernel."""

    bent: bool
    kernel: type[Kernel]


class Results(NamedTuple):
    """What trials have come to.

    Args:
        X: (n, d), encoded points of complete trials.
        values: (n,), what they were told.
        noise_sd: (n,), standard deviations of the noise, NaN where not given.
        failed: (f, d), encoded points of trials that failed.
        groups: (d,), which parameter each column belongs to, if some have several.
    """

    X: Array
    values: Array
    noise_sd: Array
    failed: Array
    groups: NDArray[np.intp] | None = None

    def some(self, most: int) -> Results:
        """So many of them at most, always the same ones."""
        n = len(self.values)
        if n <= most:
            return self
        rows = np.random.default_rng(0).choice(n, most, replace=False)
        return self._replace(X=self.X[rows], values=self.values[rows], noise_sd=self.noise_sd[rows])


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from n results.

    Args:
        outputs: the scaling that was chosen.
        gp: its surrogate, with the noise variance of results whose noise is not given.
        others: surrogates of other kinds of explanation, to go on from next time.
        n: how many results there were.
        given: results with the posterior given them, so that it is conditioned once; not saved.
    """

    outputs: Outputs
    gp: GaussianProcess
    others: Mapping[Kind, GaussianProcess]
    n: int
    given: tuple[Results, Posterior] | None = field(default=None, repr=False)

    @property
    def kind(self) -> Kind:
        """The kind of explanation that was chosen."""
        return Kind(self.outputs.bent, type(self.gp.kernel))

    def is_due(self, n: int) -> bool:
        """Whether to learn again, now that there are n results."""
        if n <= _FIT_ALWAYS_UP_TO:
            return n != self.n
        return abs(n - self.n) > _FIT_AFTER * self.n

    def noise(self, results: Results) -> Array:
        """Noise variances of the results in units of the surrogate, given or learned: (n,)."""
        given = _given_noise(results, self.outputs)
        return np.where(np.isnan(given), float(np.median(self.gp.noise)), given)

    def posterior(self, results: Results) -> Posterior:
        """The belief given all results; that of results it was learned from is at hand."""
        if self.given is not None and self.given[0].values is results.values:
            return self.given[1]
        return _conditioned(results, self.outputs, self.gp)

    def knowing(self, results: Results) -> Learned:
        """The same, with the posterior given other results at hand."""
        return replace(self, given=(results, self.posterior(results)))

    def is_noisy(self, results: Results) -> bool:
        """Whether noise matters: is the best value seen the best point?"""
        return bool(self.noise(results).mean() > _NEGLIGIBLE_NOISE)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "outputs": asdict(self.outputs),
            "gp": _surrogate_to_dict(self.gp),
            "others": [
                {"bent": kind.bent, **_surrogate_to_dict(gp)} for kind, gp in self.others.items()
            ],
            "n": self.n,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Learned:
        """What `to_dict` wrote down, now or in an earlier version, which had two scalings."""
        outputs = Outputs(**data["outputs"])
        others = data.get("others", [{"bent": not outputs.bent, **data.get("other", {})}])
        found = [(each["bent"], _surrogate_from_dict(each)) for each in others]
        surrogates = {Kind(bent, type(gp.kernel)): gp for bent, gp in found}
        return Learned(outputs, _surrogate_from_dict(data["gp"]), surrogates, data["n"])


def kernels_for(kernel: type[Kernel] | None, *, plain: bool) -> tuple[type[Kernel], ...]:
    """Kernels to choose from.

    Args:
        kernel: what was asked for, if anything was.
        plain: whether there is one objective and nothing else.

    Returns:
        Classes of kernels.
    """
    if kernel is not None:
        return (kernel,)
    return (Matern52,) if plain else _KERNELS


def learn(
    results: Results,
    sign: float,
    before: Learned | None,
    *,
    kernels: tuple[type[Kernel], ...] = (Matern52,),
    seconds: float | None = None,
    bends: bool = True,
) -> Learned:
    """Scaling, kernel and hyperparameters that explain results best, going on from earlier ones.

    A kind of explanation that was worse, and is so by far with its old hyperparameters, need not
    have new ones; but every so many results it is fitted all the same.

    Args:
        results: what was told.
        sign: 1 if large values are good, -1 if small ones are.
        before: what was learned at an earlier ask, if anything was.
        kernels: the kinds of kernels that are fitted, of which the best is kept.
        seconds: about how long an ask may take, of which fits take half at most; by default as long
            as they need.
        bends: whether values may be seen through a logarithm; else they are as they are.

    Returns:
        What was learned.
    """
    bendings = (False, True) if bends else (False,)
    kinds = [Kind(bent, each) for bent in bendings for each in kernels]
    known = {} if before is None else {before.kind: before.gp, **before.others}
    first = before.kind if before is not None and before.kind in kinds else kinds[0]
    scalings = {bent: Outputs.of(results.values, sign=sign, bent=bent) for bent in bendings}
    each = None if seconds is None else 0.5 * seconds / len(kinds)
    n = len(results.values)
    all_due = before is None or n // _ALL_EVERY > before.n // _ALL_EVERY
    found: dict[Kind, _Fitted] = {}
    for kind in sorted(kinds, key=lambda kind: kind != first):
        outputs, start = scalings[kind.bent], known.get(kind)
        if start is not None and found and not all_due:
            graded = _graded(results, outputs, start, each)
            if graded.evidence <= found[first].evidence - _BY_FAR:
                found[kind] = graded
                continue
        if start is None:  # another kernel has about the same lengthscales
            start = next((f.gp for k, f in found.items() if k.bent == kind.bent), None)
        found[kind] = _fit(results, outputs, start, kind.kernel, each)
    # Of equals, values as they are.
    chosen = max(kinds, key=lambda kind: found[kind].evidence)
    best = found.pop(chosen)
    given = None if each is not None else (results, best.posterior)
    others = {kind: fitted.gp for kind, fitted in found.items()}
    return Learned(scalings[chosen.bent], best.gp, others, n, given)


class _Fitted(NamedTuple):
    """A surrogate with its posterior, and log p(values, hyperparameters)."""

    gp: GaussianProcess
    posterior: Posterior
    evidence: float


def _fit(
    results: Results,
    outputs: Outputs,
    start: GaussianProcess | None,
    kernel: type[Kernel],
    seconds: float | None,
) -> _Fitted:
    """Hyperparameters under a scaling, and log p(values, hyperparameters)."""
    given = _given_noise(results, outputs)
    gp = fit(
        results.X,
        outputs.forward(results.values),
        kernel=kernel,
        noise=None if np.isnan(given).any() else given,
        groups=results.groups,
        start=start,
        smallest_noise=_SMALLEST_NOISE,
        tolerance=_TOLERANCE,
        seconds=seconds,
    )
    return _graded(results, outputs, gp, seconds)


def _graded(
    results: Results, outputs: Outputs, gp: GaussianProcess, seconds: float | None
) -> _Fitted:
    """A surrogate under a scaling with log p(values, hyperparameters), of some if time is short."""
    if seconds is not None:
        results = results.some(_GRADED)
    posterior = _conditioned(results, outputs, gp)
    # Densities of the values themselves, so that scalings can be compared.
    density = posterior.log_likelihood + float(outputs.log_slope(results.values).sum())
    prior = priors.DEFAULT.log_density(gp, results.X.shape[1], results.groups)
    plain = GaussianProcess(gp.kernel, gp.mean, float(np.median(gp.noise)))
    return _Fitted(plain, posterior, density + prior)


def _conditioned(results: Results, outputs: Outputs, gp: GaussianProcess) -> Posterior:
    """The belief given results, with their noise as it is given or learned."""
    noise, given = float(np.median(gp.noise)), _given_noise(results, outputs)
    whole = GaussianProcess(gp.kernel, gp.mean, np.where(np.isnan(given), noise, given))
    return whole.condition(results.X, outputs.forward(results.values))


def _given_noise(results: Results, outputs: Outputs) -> Array:
    """Variances of the noise as the surrogate sees it, NaN where they are not known: (n,)."""
    with np.errstate(divide="ignore"):
        logs = np.log(results.noise_sd) + outputs.log_slope(results.values)
    variances: Array = np.exp(np.minimum(2.0 * logs, np.log(_LARGEST_NOISE)))
    return variances


def _surrogate_to_dict(gp: GaussianProcess) -> dict[str, Any]:
    """A surrogate as plain data, ready for JSON."""
    return {
        "kernel": class_name(type(gp.kernel)),
        "lengthscales": gp.kernel.lengthscales.tolist(),
        "variance": gp.kernel.variance,
        "mean": gp.mean,
        "noise": float(np.median(gp.noise)),
    }


def _surrogate_from_dict(data: Mapping[str, Any]) -> GaussianProcess:
    """The surrogate that `_surrogate_to_dict` wrote down."""
    name = data.get("kernel", class_name(Matern52))  # earlier versions had no other
    kind: type[Kernel] = class_of(name, Kernel)  # type: ignore[type-abstract]
    kernel = kind(data["lengthscales"], data["variance"])
    return GaussianProcess(kernel, mean=data["mean"], noise=data["noise"])
