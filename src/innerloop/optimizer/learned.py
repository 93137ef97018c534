"""What was learned from results, and the belief that follows from it.

Hyperparameters are kept from one ask to the next; a posterior follows from them and from results,
and is conditioned as seldom as can be. Up to a number of results it is given all of them. Beyond,
it is given a part, which is brought to where queries are (`innerloop.surrogate.part`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from innerloop.optimizer.outputs import Outputs
from innerloop.optimizer.plain_data import class_name, class_of
from innerloop.optimizer.results import Results
from innerloop.optimizer.trials import Prediction
from innerloop.surrogate import part
from innerloop.surrogate.gaussian_process import GaussianProcess, Posterior
from innerloop.surrogate.kernels import Kernel, Matern52
from innerloop.types import Array

# With this many results hyperparameters no longer change with every one of them; from there on
# they are fitted again when the number of results has grown by this share.
_FIT_ALWAYS_UP_TO, _FIT_AFTER = 150, 0.05
# Noise with a smaller variance than the first of these, in units of that of the values, is as good
# as none; with a larger one than the second it matters. In between it does if it was given, or if
# results show it: if a hundredth of it makes them less probable by so many nats, and there are so
# many of them for each hyperparameter.
NEGLIGIBLE_NOISE, PLAIN_NOISE = 3e-4, 1e-2
LESS_NOISE, _SHOWN_BY, _SHOWN_FROM = 0.01, 3.0, 5
# A value with more noise than this, in the same units, says nothing, however much more it is.
_LARGEST_NOISE = 1e12
# Noise of results learned from before it was noted is worked out from so many of them.
_SHOWN_TO = 750
# A posterior is given all of so many results; of more, it is given a part of this size at first.
MOST_AT_ONCE, _PART = 1500, 1000


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


class Given(NamedTuple):
    """Results with the posterior given them, or some of them.

    Args:
        results: n of them.
        posterior: given those in `rows`.
        rows: which results, in the posterior's order.
    """

    results: Results
    posterior: Posterior
    rows: NDArray[np.intp]


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
    given: Given | None = field(default=None, repr=False)

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
        given = given_noise(results, self.outputs)
        return np.where(np.isnan(given), float(np.median(self.gp.noise)), given)

    def knowing(self, results: Results) -> Learned:
        """The same, with the posterior given other results at hand.

        Results that are new since hyperparameters were learned are appended to those from which
        they were, which are factorized once.
        """
        if self.given is not None and self.given.results.values is results.values:
            return self
        n, is_new = len(results.values), self._new(results)
        if n > MOST_AT_ONCE:
            rows = part.promising(self.outputs.forward(results.values), _PART)
            posterior = conditioned(results.rows(rows), self.outputs, self.gp)
            return replace(self, basis=None, given=Given(results, posterior, rows))
        if is_new is None or not is_new.any():
            posterior = self._basis(results)
            return replace(self, basis=posterior, given=Given(results, posterior, np.arange(n)))
        basis, new = self._basis(results.rows(~is_new)), results.rows(is_new)
        posterior = basis.condition(new.X, self.outputs.forward(new.values), self.noise(new))
        rows = np.concatenate([np.flatnonzero(~is_new), np.flatnonzero(is_new)])
        return replace(self, basis=basis, given=Given(results, posterior, rows))

    def posterior(self, results: Results) -> Posterior:
        """The belief given results; that of results it was learned from is at hand."""
        return self._given(results).posterior

    def best(self, results: Results) -> int:
        """Which result has the best posterior mean, of those in the space."""
        given = self._given(results)
        fitted = given.posterior.fitted
        if results.outside is not None:
            fitted = np.where(results.outside[given.rows], -np.inf, fitted)
        return int(given.rows[np.argmax(fitted)])

    def inside(self, results: Results) -> NDArray[np.bool_] | None:
        """Which of the posterior's observations are in the space; None if all are."""
        return None if results.outside is None else ~results.outside[self._given(results).rows]

    def fitted(self, results: Results) -> Array:
        """Posterior means of all results: (n,)."""
        given = self._given(results)
        fitted = np.empty(len(results.values))
        if len(given.rows) < len(fitted):
            fitted[:] = part.means(given.posterior, results.X)
        fitted[given.rows] = given.posterior.fitted
        return fitted

    def sharper(self, results: Results, X: Array) -> Learned | None:
        """The same, with a posterior that is given more of the results near points X (q, d).

        None if it is given all of them, or as many as make a difference.
        """
        given = self._given(results)
        if len(given.rows) == len(results.values):
            return None
        rows = part.missing(given.posterior, given.rows, results.X, self.noise(results), X)
        if not len(rows):
            return None
        more = results.rows(rows)
        values = self.outputs.forward(more.values)
        posterior = given.posterior.condition(more.X, values, self.noise(more))
        return replace(self, given=Given(results, posterior, np.concatenate([given.rows, rows])))

    def predictions(
        self, results: Results, X: Array, *, is_sharp: bool = False
    ) -> list[Prediction]:
        """What is expected at points X (N, d), given all results that matter there.

        is_sharp: whether the posterior lacks nothing there.
        """
        given = self._given(results)
        if is_sharp or len(given.rows) == len(results.values):
            return self.outputs.predictions(*given.posterior.marginals(X))
        y, noise = self.outputs.forward(results.values), self.noise(results)
        moments = part.marginals_nearby(given.posterior, given.rows, results.X, y, noise, X)
        return self.outputs.predictions(*moments)

    def _given(self, results: Results) -> Given:
        given = self.knowing(results).given
        assert given is not None
        return given

    def _basis(self, old: Results) -> Posterior:
        """The posterior given the results that were learned from, factorized unless at hand."""
        kept = self.basis
        values = self.outputs.forward(old.values)
        if kept is not None and np.array_equal(kept.X, old.X) and np.array_equal(kept.y, values):
            return kept
        return conditioned(old, self.outputs, self.gp)

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
        if given or not NEGLIGIBLE_NOISE < typical <= PLAIN_NOISE:
            return typical > (NEGLIGIBLE_NOISE if given else PLAIN_NOISE)
        n, d = results.X.shape
        return n >= _SHOWN_FROM * (d + 2) and self._evidence_of_noise(results) > _SHOWN_BY

    def _evidence_of_noise(self, results: Results) -> float:
        """By how much noise makes results more probable, as far as it was learned from them."""
        if self.evidence_of_noise is not None:
            return self.evidence_of_noise
        posterior = conditioned(results.some(_SHOWN_TO), self.outputs, self.gp)
        return posterior.evidence_of_noise(LESS_NOISE)

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


def conditioned(results: Results, outputs: Outputs, gp: GaussianProcess) -> Posterior:
    """The belief given results, with their noise as it is given or learned."""
    noise, given = float(np.median(gp.noise)), given_noise(results, outputs)
    whole = GaussianProcess(gp.kernel, gp.mean, np.where(np.isnan(given), noise, given))
    return whole.condition(results.X, outputs.forward(results.values))


def given_noise(results: Results, outputs: Outputs) -> Array:
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
