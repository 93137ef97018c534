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
# Noise with a smaller variance than the first of these, in units of that of the values, is as good
# as none; with a larger one than the second it matters. In between it does if it was given, or if
# results show it: if a hundredth of it makes them less probable by so many nats, and there are so
# many of them for each hyperparameter.
_NEGLIGIBLE_NOISE, _PLAIN_NOISE = 3e-4, 1e-2
_LESS_NOISE, _SHOWN_BY, _SHOWN_FROM = 0.01, 3.0, 5
# A value with more noise than this, in the same units, says nothing, however much more it is.
_LARGEST_NOISE = 1e12
# Axes may turn with so many results for each dimension, in so many dimensions at most.
_TURNED_FROM, _MOST_TO_TURN = 4, 12
# Explanations are compared on so many results at most, and on fewer when time is short.
_COMPARED, _COMPARED_IN_HASTE = 750, 300


class Kind(NamedTuple):
    """A kind of explanation: whether values are bent by a logarithm, the kernel, and whether its
    lengthscales are along other axes than those of the coordinates."""

    bent: bool
    kernel: type[Kernel]
    turned: bool = False

    @staticmethod
    def of(bent: bool, gp: GaussianProcess) -> Kind:
        """That of a surrogate of values that are bent or not."""
        return Kind(bent, type(gp.kernel), gp.kernel.axes is not None)


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


class Results(NamedTuple):
    """What trials have come to.

    Args:
        X: (n, d), encoded points of complete trials.
        values: (n,), what they were told.
        noise_sd: (n,), standard deviations of the noise, NaN where not given.
        failed: (f, d), encoded points of trials that failed.
        groups: (d,), which parameter each column belongs to, if some have several.
        reach: (d,), how far apart values are along each column; None if all are continuous.
        ids: (n,), those of the trials, if they have any.
    """

    X: Array
    values: Array
    noise_sd: Array
    failed: Array
    groups: NDArray[np.intp] | None = None
    reach: Array | None = None
    ids: NDArray[np.intp] | None = None

    def some(self, most: int) -> Results:
        """So many of them at most, always the same ones."""
        n = len(self.values)
        if n <= most:
            return self
        return self.rows(np.random.default_rng(0).choice(n, most, replace=False))

    def rows(self, rows: NDArray[Any]) -> Results:
        """Some of them, by number or by a mask."""
        return self._replace(
            X=self.X[rows],
            values=self.values[rows],
            noise_sd=self.noise_sd[rows],
            ids=None if self.ids is None else self.ids[rows],
        )


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from n results.

    Args:
        outputs: the scaling that was chosen.
        gp: its surrogate, with the noise variance of results whose noise is not given.
        others: surrogates of other kinds of explanation, to go on from next time.
        n: how many results there were.
        ids: (n,), of which trials, if that is known.
        evidence_of_noise: by how many nats noise makes them more probable than next to none, if
            that was worked out.
        basis: the posterior given these; not saved.
        given: results with the posterior given them, so that it is conditioned once; not saved.
    """

    outputs: Outputs
    gp: GaussianProcess
    others: Mapping[Kind, GaussianProcess]
    n: int
    ids: NDArray[np.intp] | None = field(default=None, repr=False)
    evidence_of_noise: float | None = None
    basis: Posterior | None = field(default=None, repr=False)
    given: tuple[Results, Posterior] | None = field(default=None, repr=False)

    @property
    def kind(self) -> Kind:
        """The kind of explanation that was chosen."""
        return Kind.of(self.outputs.bent, self.gp)

    def is_due(self, n: int) -> bool:
        """Whether to learn again, now that there are n results."""
        if n <= _FIT_ALWAYS_UP_TO:
            return n != self.n
        return abs(n - self.n) > _FIT_AFTER * self.n

    def noise(self, results: Results) -> Array:
        """Noise variances of the results in units of the surrogate, given or learned: (n,)."""
        given = _given_noise(results, self.outputs)
        return np.where(np.isnan(given), float(np.median(self.gp.noise)), given)

    def knowing(self, results: Results) -> Learned:
        """The same, with the posterior given other results at hand.

        Results that are new since hyperparameters were learned are appended to those from which
        they were, which are factorized once.
        """
        if self.given is not None and self.given[0].values is results.values:
            return self
        is_new = self._new(results)
        if is_new is None:
            return replace(self, given=(results, _conditioned(results, self.outputs, self.gp)))
        posterior = basis = self._basis(results.rows(~is_new))
        if is_new.any():
            new = results.rows(is_new)
            values, noise = self.outputs.forward(new.values), self.noise(new)
            posterior = basis.condition(new.X, values, noise)
        return replace(self, basis=basis, given=(results, posterior))

    def posterior(self, results: Results) -> Posterior:
        """The belief given all results; that of results it was learned from is at hand."""
        given = self.knowing(results).given
        assert given is not None
        return given[1]

    def _basis(self, old: Results) -> Posterior:
        """The posterior given the results that were learned from, factorized unless at hand."""
        kept = self.basis
        if kept is not None and np.array_equal(kept.X, old.X):
            if np.array_equal(kept.y, self.outputs.forward(old.values)):
                return kept
        return _conditioned(old, self.outputs, self.gp)

    def _new(self, results: Results) -> NDArray[np.bool_] | None:
        """Which results are new (n,), if all others were there before; None if they were not."""
        if self.ids is None or results.ids is None:
            return None
        is_new = ~np.isin(results.ids, self.ids)
        return is_new if (~is_new).sum() == len(self.ids) else None

    def is_noisy(self, results: Results) -> bool:
        """Whether noise matters: is the best value seen the best point?"""
        typical = float(self.noise(results).mean())
        given = not np.isnan(results.noise_sd).any()
        if given or not _NEGLIGIBLE_NOISE < typical <= _PLAIN_NOISE:
            return typical > (_NEGLIGIBLE_NOISE if given else _PLAIN_NOISE)
        n, d = results.X.shape
        return n >= _SHOWN_FROM * (d + 2) and self._evidence_of_noise(results) > _SHOWN_BY

    def _evidence_of_noise(self, results: Results) -> float:
        """By how much noise makes results more probable, as far as it was learned from them."""
        if self.evidence_of_noise is not None:
            return self.evidence_of_noise
        posterior = _conditioned(results.some(_COMPARED), self.outputs, self.gp)
        return posterior.evidence_of_noise(_LESS_NOISE)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "outputs": asdict(self.outputs),
            "gp": _surrogate_to_dict(self.gp),
            "others": [
                {"bent": kind.bent, **_surrogate_to_dict(gp)} for kind, gp in self.others.items()
            ],
            "n": self.n,
            "ids": None if self.ids is None else self.ids.tolist(),
            "evidence_of_noise": self.evidence_of_noise,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Learned:
        """What `to_dict` wrote down, now or in an earlier version, which had two scalings."""
        outputs = Outputs(**data["outputs"])
        others = data.get("others", [{"bent": not outputs.bent, **data.get("other", {})}])
        found = [(each["bent"], _surrogate_from_dict(each)) for each in others]
        surrogates = {Kind.of(bent, gp): gp for bent, gp in found}
        ids = data.get("ids")
        known = None if ids is None else np.array(ids, dtype=np.intp)
        gp, shown = _surrogate_from_dict(data["gp"]), data.get("evidence_of_noise")
        return Learned(outputs, gp, surrogates, data["n"], known, shown)


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
    shown = best.posterior.evidence_of_noise(_LESS_NOISE)
    if best.n == n:
        given = results, best.posterior
        return Learned(outputs, best.gp, others, n, results.ids, shown, best.posterior, given)
    gp = _fitted(results, outputs, chosen, best.gp, found.seconds)
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
        gp = _fitted(results, outputs, kind, start, self.seconds)
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


def _fitted(
    results: Results,
    outputs: Outputs,
    kind: Kind,
    start: GaussianProcess | None,
    seconds: float | None,
) -> GaussianProcess:
    """Hyperparameters of one kind of explanation, searched from a start and along its axes."""
    noise = _given_noise(results, outputs)
    return fit(
        results.X,
        outputs.forward(results.values),
        kernel=kind.kernel,
        noise=None if np.isnan(noise).any() else noise,
        groups=results.groups,
        reach=results.reach,
        axes=None if start is None else start.kernel.axes,
        start=start,
        smallest_noise=_SMALLEST_NOISE,
        tolerance=_TOLERANCE,
        seconds=seconds,
    )


def _graded(results: Results, outputs: Outputs, gp: GaussianProcess) -> _Explained:
    """A surrogate under a scaling with log p(values, hyperparameters)."""
    posterior = _conditioned(results, outputs, gp)
    # Densities of the values themselves, so that scalings can be compared.
    density = posterior.log_likelihood + float(outputs.log_slope(results.values).sum())
    n, d = results.X.shape
    prior = priors.DEFAULT.log_density(gp, d, results.groups, results.reach)
    if gp.kernel.axes is not None:
        # Angles were chosen to suit the values, and have no prior: by BIC, so much for each.
        prior -= 0.5 * np.log(n) * (d * (d - 1) // 2)
    plain = GaussianProcess(gp.kernel, gp.mean, float(np.median(gp.noise)))
    return _Explained(plain, posterior, density + prior)


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
        **({} if gp.kernel.axes is None else {"axes": gp.kernel.axes.tolist()}),
    }


def _surrogate_from_dict(data: Mapping[str, Any]) -> GaussianProcess:
    """The surrogate that `_surrogate_to_dict` wrote down."""
    name = data.get("kernel", class_name(Matern52))  # earlier versions had no other
    kind: type[Kernel] = class_of(name, Kernel)  # type: ignore[type-abstract]
    more = {"axes": data["axes"]} if "axes" in data else {}
    kernel = kind(data["lengthscales"], data["variance"], **more)
    return GaussianProcess(kernel, mean=data["mean"], noise=data["noise"])
