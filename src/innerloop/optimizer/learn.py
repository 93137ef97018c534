"""What is learned from results: the scaling of outputs, hyperparameters, and a posterior.

Learning is a function of the results and of what was learned at an earlier ask, from where the
search for hyperparameters goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from innerloop.optimizer.learned import (
    LESS_NOISE,
    NEGLIGIBLE_NOISE,
    PLAIN_NOISE,
    Given,
    Kind,
    Learned,
    conditioned,
    given_noise,
)
from innerloop.optimizer.outputs import Outputs
from innerloop.optimizer.results import Results
from innerloop.surrogate import priors
from innerloop.surrogate.fit import fit
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import Kernel, Matern52, SquaredExponential

#: Functions without noise are followed down to this variance, in units of that of the values.
SMALLEST_NOISE = 1e-10
# A fit ends with a step that gains less than this of the log density: a thousandth of a nat or so.
_TOLERANCE = 1e-5
# Kernels of several outcomes to choose from: limits are often smooth, and whoever is smooth enough
# to be told from afar is worth knowing. On a single objective the choice did harm.
_KERNELS: tuple[type[Kernel], ...] = (Matern52, SquaredExponential)
# An explanation is worse by far if its log density is smaller by this; all are fitted every so
# often.
_BY_FAR, _ALL_EVERY = 10.0, 8
# Axes may turn with so many results for each dimension, in so many dimensions at most.
_TURNED_FROM, _MOST_TO_TURN = 4, 12
# Explanations are compared on so many results at most, and on fewer when time is short.
_COMPARED, _COMPARED_IN_HASTE = 500, 300


class Kinds(NamedTuple):
    """The kinds of explanations that the evidence chooses from.

    Args:
        kernels: kinds of kernels.
        bends: whether values may be seen through a logarithm; else they are as they are.
        turns: whether lengthscales may be along other axes than those of the coordinates.
    """

    kernels: tuple[type[Kernel], ...] = (Matern52,)
    bends: bool = True
    turns: bool = False

    @staticmethod
    def of(kernel: type[Kernel] | None, *, plain: bool, bends: bool = True) -> Kinds:
        """What suits an outcome.

        Args:
            kernel: what was asked for, if anything was.
            plain: whether there is one objective and nothing else.
            bends: whether its values may be bent.

        Returns:
            The kinds to choose from.
        """
        if kernel is not None:
            return Kinds((kernel,), bends)
        return Kinds((Matern52,), bends, turns=True) if plain else Kinds(_KERNELS, bends)


def learn(
    results: Results,
    sign: float,
    before: Learned | None,
    kinds: Kinds = Kinds(),  # noqa: B008 - it never changes
    *,
    seconds: float | None = None,
) -> Learned:
    """Scaling, kernel and hyperparameters that explain results best, going on from earlier ones.

    A kind of explanation that was worse, and is so by far with its old hyperparameters, need not
    have new ones; but every so many results it is fitted all the same.

    Args:
        results: what was told.
        sign: 1 if large values are good, -1 if small ones are.
        before: what was learned at an earlier ask, if anything was.
        kinds: the kinds of explanations, of which the best is kept.
        seconds: about how long an ask may take, of which fits take half at most; by default as long
            as they need.

    Returns:
        What was learned.
    """
    bendings = (False, True) if kinds.bends else (False,)
    straight = [Kind(bent, each) for bent in bendings for each in kinds.kernels]
    known = {} if before is None else {before.kind: before.gp, **before.others}
    first = straight[0] if before is None else before.kind._replace(turned=False)
    n = len(results.values)
    found = _Explanations(
        results=results.some(_COMPARED if seconds is None else _COMPARED_IN_HASTE),
        scalings={bent: Outputs.of(results.values, sign=sign, bent=bent) for bent in bendings},
        known=known,
        all_due=before is None or n // _ALL_EVERY > before.n // _ALL_EVERY,
        seconds=None if seconds is None else 0.5 * seconds / (len(straight) + 1),
    )
    for kind in sorted(straight, key=lambda kind: kind != first):
        found.explain(kind, known.get(kind) or found.alike(kind))
    chosen = found.best(straight)
    if kinds.turns and seconds is None and _can_turn(results):
        # Along the axes that are known, if any are, and along those that this leads to.
        kind = chosen._replace(turned=True)
        if found.explain(kind, known.get(kind) or found.along_slopes(chosen)):
            found.explain(kind, found.along_slopes(kind))
        chosen = found.best([chosen, kind])
    outputs, best = found.scalings[chosen.bent], found.by_kind[chosen]
    others = {**known, **{kind: each.gp for kind, each in found.by_kind.items()}}
    others.pop(chosen)
    matters = NEGLIGIBLE_NOISE < best.gp.noise <= PLAIN_NOISE
    shown = best.posterior.evidence_of_noise(LESS_NOISE) if matters else None
    if best.n == n:
        given = Given(results, best.posterior, np.arange(n))
        return Learned(outputs, best.gp, others, n, results.ids, shown, best.posterior, given)
    gp = _fit(results, outputs, chosen, best.gp, found.seconds)()
    return Learned(outputs, gp, others, n, results.ids, shown)


class _Explained(NamedTuple):
    """A surrogate with its posterior, and log p(values, hyperparameters)."""

    gp: GaussianProcess
    posterior: Posterior
    evidence: float

    @property
    def n(self) -> int:
        """How many results it explains."""
        return self.posterior.n


@dataclass(eq=False)
class _Explanations:
    """The best explanation of results that was found, of every kind so far.

    scalings: of values that are bent or not. known: surrogates of an earlier ask. all_due: whether
    these are all to be fitted again. seconds: for each fit, if there is a limit.
    """

    results: Results
    scalings: Mapping[bool, Outputs]
    known: Mapping[Kind, GaussianProcess]
    all_due: bool
    seconds: float | None
    by_kind: dict[Kind, _Explained] = field(default_factory=dict)

    def explain(self, kind: Kind, start: GaussianProcess | None) -> bool:
        """Fit hyperparameters from a start, along its axes, and say whether that was worth it.

        Those of an earlier ask stay as they are, if they are worse than others by far.
        """
        results, outputs = self.results, self.scalings[kind.bent]
        if (
            self.by_kind
            and not self.all_due
            and start is not None
            and start is self.known.get(kind)
        ):
            as_before = _graded(results, outputs, start)
            best = max(each.evidence for each in self.by_kind.values())
            if as_before.evidence <= best - _BY_FAR:
                self.by_kind[kind] = as_before
                return False
        gp = _fit(results, outputs, kind, start, self.seconds)()
        found = _graded(results, outputs, gp)
        if kind not in self.by_kind or found.evidence > self.by_kind[kind].evidence:
            self.by_kind[kind] = found
        return True

    def best(self, kinds: list[Kind]) -> Kind:
        """That with the highest evidence; of equals, the first."""
        return max(kinds, key=lambda kind: self.by_kind[kind].evidence)

    def alike(self, kind: Kind) -> GaussianProcess | None:
        """A surrogate of another kind that has about the same lengthscales, if there is one."""
        return next((each.gp for k, each in self.by_kind.items() if k.bent == kind.bent), None)

    def along_slopes(self, kind: Kind) -> GaussianProcess:
        """A surrogate with axes along which the slopes of a belief are uncorrelated.

        For a quadratic function, those of its Hessian. Lengthscales are such that it varies as fast
        along each of them as the belief's own kernel.
        """
        posterior = self.by_kind[kind].posterior
        gp, d, slopes = posterior.gp, posterior.d, posterior.slopes
        axes = np.linalg.eigh(slopes.T @ slopes)[1]
        old = np.eye(d) if gp.kernel.axes is None else gp.kernel.axes
        rates = np.sqrt(((axes.T @ old * gp.kernel.inverse_lengthscales(d)) ** 2).sum(axis=1))
        kernel = type(gp.kernel)(1.0 / rates, gp.kernel.variance, axes)
        return GaussianProcess(kernel, gp.mean, float(np.median(gp.noise)))


def _can_turn(results: Results) -> bool:
    """Whether results may tell other axes than those of the coordinates."""
    n, d = results.X.shape
    return results.groups is None and 2 <= d <= _MOST_TO_TURN and n >= _TURNED_FROM * d


def _fit(
    results: Results,
    outputs: Outputs,
    kind: Kind,
    start: GaussianProcess | None,
    seconds: float | None,
) -> Callable[[], GaussianProcess]:
    """The search for hyperparameters of one kind of explanation, from a start, along its axes."""
    noise = given_noise(results, outputs)
    return partial(
        fit,
        results.X,
        outputs.forward(results.values),
        kernel=kind.kernel,
        noise=None if np.isnan(noise).any() else noise,
        groups=results.groups,
        reach=results.reach,
        axes=None if start is None else start.kernel.axes,
        start=start,
        smallest_noise=SMALLEST_NOISE,
        tolerance=_TOLERANCE,
        seconds=seconds,
    )


def price_of_axes(n: int, d: int) -> float:
    """What axes of their own cost in evidence: they suit the values, and have no prior.

    Args:
        n: how many results there are.
        d: dimension of the points.

    Returns:
        BIC's price of so many angles, in nats.
    """
    return float(0.5 * np.log(n) * (d * (d - 1) // 2))


def _graded(results: Results, outputs: Outputs, gp: GaussianProcess) -> _Explained:
    """A surrogate under a scaling with log p(values, hyperparameters)."""
    posterior = conditioned(results, outputs, gp)
    # Densities of the values themselves, so that scalings can be compared.
    density = posterior.log_likelihood + float(outputs.log_slope(results.values).sum())
    n, d = results.X.shape
    prior = priors.DEFAULT.log_density(gp, d, results.groups, results.reach)
    if gp.kernel.axes is not None:
        prior -= price_of_axes(n, d)
    plain = GaussianProcess(gp.kernel, gp.mean, float(np.median(gp.noise)))
    return _Explained(plain, posterior, density + prior)
