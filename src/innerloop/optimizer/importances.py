"""How much of what an outcome varies by each parameter is responsible for, by its model.

With f the posterior mean in the units of the values and x uniform over the space, each parameter
along its scale,

    first_i = Var(E[f | x_i]) / Var(f)         total_i = E[Var(f | all x_j but x_i)] / Var(f)

(Sobol 1993; Homma and Saltelli 1996). All columns of a choice are one parameter. Where there are
constraints, x is uniform over what meets them, and given the others x_i is where these let it be.
Where an equation ties parameters, they cannot change alone; where parameters may be left out, every
choice of those that are there counts the same. In both cases there are no totals, nor where some of
the parameters in constraints do not always apply. Else a parameter that does not apply may change,
and nothing comes of it.

Randomized quasi-Monte Carlo: several scramblings of a Sobol sequence, which differ by the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from innerloop.errors import InputError
from innerloop.optimizer.outputs import Outputs
from innerloop.sobol import sobol
from innerloop.space.parameters import Parameter
from innerloop.space.space import Space
from innerloop.surrogate import part
from innerloop.surrogate.gaussian_process import Posterior
from innerloop.surrogate.leave_one_out import skill
from innerloop.types import Array

# So many scramblings; each is doubled from the first of these until the error is small enough, or
# until that would take so many evaluations, or so many products.
_SCRAMBLINGS, _POINTS, _ERROR = 8, 256, 0.005
_MOST_EVALUATIONS, _MOST_PRODUCTS = 2**18, 2e10
# Constraints that are functions take most of a millisecond for a point.
_POINTS_FOR_FUNCTIONS = 32
# Left-out results have to be explained to this share, and to more if they are few: by 1 / sqrt(n).
# Models of noise come up to that by chance, and below it shares were wrong by 0.3 and more.
_SKILL = 0.6
# Means that differ by less than this share of their size differ by rounding errors.
_ROUNDING = 1e-13
# Points are grouped so finely by their value of a parameter; and other values are drawn so often
# until one meets the constraints.
_GROUPS, _TRIES = 32, 32
_NUMBERS_AT_A_TIME = 4_000_000


@dataclass(frozen=True)
class Importances(Mapping[str, float]):
    """By parameter, its share of the variance of what the model expects over the space.

    As a mapping, it gives total shares, the largest first: what is left of the variance once all
    other parameters are known. They add up to 1 if each acts by itself, else to more. In spaces
    where equations tie parameters, or where some may be left out, it gives the first-order shares,
    as there are no total ones.

    Args:
        first: first-order shares, what is gone of the variance once that parameter is known.
        total: total shares; None if parameters cannot change one by one.
        errors: standard errors of the shares that the mapping gives, as they were computed.
        explained: what share of what results differ by the model explains when each is left out in
            turn: the less, the more wrong it may be itself.
    """

    first: Mapping[str, float]
    total: Mapping[str, float] | None
    errors: Mapping[str, float]
    explained: float

    @property
    def _shares(self) -> Mapping[str, float]:
        return self.first if self.total is None else self.total

    def __getitem__(self, name: str) -> float:
        return self._shares[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)


@dataclass(frozen=True, eq=False)
class _Shares:
    """First-order and total shares by scrambling and parameter, (R, k) each."""

    first: Array
    total: Array

    @property
    def shown(self) -> Array:
        """Those that are shown: total ones, if there are any."""
        return self.first if np.isnan(self.total).any() else self.total

    @property
    def errors(self) -> Array:
        """Standard errors of the means over scramblings: (k,)."""
        errors: Array = self.shown.std(axis=0, ddof=1) / np.sqrt(len(self.shown))
        return errors


def importances(space: Space, outputs: Outputs, posterior: Posterior) -> Importances:
    """Shares of the variance of a posterior mean.

    Args:
        space: over which parameters vary.
        outputs: from what the posterior sees to values.
        posterior: the belief.

    Returns:
        The shares; an `InputError` is raised if the model has learned too little for them to mean
        anything.
    """
    explained, needed = skill(posterior), min(_SKILL + posterior.n**-0.5, 1.0)
    if explained < needed:
        raise InputError(
            "the model cannot tell which parameters matter: of what results differ by, it explains "
            f"{max(explained, 0.0):.0%} when each is left out in turn, less than {needed:.0%}"
        )
    domain = space.domain()

    def mean(X: Array) -> Array:
        return _means(outputs, posterior, domain.held(X))

    found = _found(space, mean, _most(outputs, posterior))
    if found is None:
        raise InputError("no parameter matters: the model expects the same value everywhere")
    names = list(space.varying)
    first, shown = (np.clip(each.mean(axis=0), 0.0, 1.0) for each in (found.first, found.shown))
    order = np.argsort(-shown, kind="stable")

    def by_name(shares: Array) -> dict[str, float]:
        return {names[k]: float(shares[k]) for k in order}

    total = None if np.isnan(found.total).any() else by_name(shown)
    return Importances(by_name(first), total, by_name(found.errors), explained)


def _most(outputs: Outputs, posterior: Posterior) -> int:
    """How many means may be computed; those of bent values take n^2 products, others n."""
    products = posterior.n ** (2 if outputs.bent else 1)
    return int(min(_MOST_EVALUATIONS, _MOST_PRODUCTS / products))


def _means(outputs: Outputs, posterior: Posterior, X: Array) -> Array:
    """What is expected at points (N, d), in the units of the values: (N,)."""
    if not outputs.bent:
        return outputs.backward(part.means(posterior, X))
    step = max(_NUMBERS_AT_A_TIME // posterior.n, 1)
    blocks = (X[i : i + step] for i in range(0, len(X), step))
    return np.concatenate([outputs.moments(*posterior.marginals(block))[0] for block in blocks])


def _found(space: Space, mean: Callable[[Array], Array], most: int) -> _Shares | None:
    """Shares, as exact as they have to be or so many means allow; None if all means are equal."""
    estimate = _in_the_cube if space.domain().is_box else _in_the_constraints
    slow = any(callable(each) for each in space.constraints)
    largest = 0 if slow else most // (_SCRAMBLINGS * (len(space.varying) + 2))
    size, found = _POINTS_FOR_FUNCTIONS if slow else _POINTS, None
    while found is None or (found.errors.max() > _ERROR and 2 * size <= largest):
        size *= 1 if found is None else 2
        generators = np.random.default_rng(0).spawn(_SCRAMBLINGS)
        each = [estimate(space, mean, size, generator) for generator in generators]
        if any(shares is None for shares in each):
            return None
        first, total = zip(*(shares for shares in each if shares is not None), strict=True)
        found = _Shares(np.array(first), np.array(total))
    return found


def _scaled(values: list[Array]) -> list[Array] | None:
    """Values around 0 and of the size of 1, however large they are; None if they are all equal."""
    together = np.concatenate(values)
    largest = float(np.abs(together).max())
    if not largest > 0.0:
        return None
    shares = [each / largest for each in values]
    center, spread = float(np.mean(together / largest)), float(np.ptp(together / largest))
    return [each - center for each in shares] if spread > _ROUNDING else None


def _in_the_cube(
    space: Space, mean: Callable[[Array], Array], size: int, generator: np.random.Generator
) -> tuple[Array, Array] | None:
    """Shares (k,) each, from points with all parameters redrawn, or one (Saltelli et al. 2010)."""
    kinds, columns = list(space.varying.values()), _columns(space)
    halves = np.split(sobol(size, 2 * len(kinds), generator), 2, axis=1)
    A, B = (_points(kinds, U) for U in halves)
    redrawn = []
    for own in columns:
        redrawn.append(A.copy())
        redrawn[-1][:, own] = B[:, own]
    values = _scaled(np.split(mean(np.concatenate([A, B, *redrawn])), len(kinds) + 2))
    if values is None:
        return None
    a, b, *each = values
    variance = np.concatenate([a, b]).var()
    first = np.array([np.mean(b * (c - a)) for c in each]) / variance
    return first, np.array([np.mean((c - a) ** 2) for c in each]) / (2.0 * variance)


def _in_the_constraints(
    space: Space, mean: Callable[[Array], Array], size: int, generator: np.random.Generator
) -> tuple[Array, Array] | None:
    """The same where constraints leave a part of the cube; totals are NaN if there are none."""
    kinds, columns = list(space.varying.values()), _columns(space)
    size *= 4  # independent draws, and most of them for the first-order shares
    X = space.sample(size, generator)
    tied = any(each.equation for each in space.inequalities)
    domain = space.domain()
    alone = not tied and domain.sparse is None and domain.conditions is None
    moved = X[: size // 4] if alone else X[:0]
    redrawn = [
        _redrawn(space, kind, own, moved, generator)
        for kind, own in zip(kinds, columns, strict=True)
    ]
    lengths = np.cumsum([size, *(len(each) for each in redrawn[:-1])])
    values = _scaled(np.split(mean(np.concatenate([X, *redrawn])), lengths))
    if values is None:
        return None
    f, *each = values
    first = np.array([_between(f, X[:, own]) for own in columns]) / f.var()
    if not alone:
        return first, np.full(len(kinds), np.nan)
    before = f[: size // 4]
    return first, np.array([np.mean((c - before) ** 2) for c in each]) / (2.0 * before.var())


def _columns(space: Space) -> list[slice]:
    return [space.columns[name] for name in space.varying]


def _points(kinds: list[Parameter], U: Array) -> Array:
    """Points to which uniform numbers (N, k) lead: (N, d)."""
    return np.hstack([kind.quantile(u) for kind, u in zip(kinds, U.T, strict=True)])


def _redrawn(
    space: Space, kind: Parameter, own: slice, X: Array, generator: np.random.Generator
) -> Array:
    """Points (N, d) with another value of one parameter, of those which the others leave."""
    domain, redrawn, left = space.domain(), X.copy(), np.arange(len(X))
    for _ in range(_TRIES):
        if not len(left):
            break
        some = X[left]
        some[:, own] = kind.quantile(generator.random(len(left)))
        inside = domain.contains(some)
        redrawn[left[inside]] = some[inside]
        left = left[~inside]
    return redrawn


def _between(f: Array, coordinates: Array) -> float:
    """The variance of f (N,) between groups of points by their coordinates (N, w).

    From that of the means of groups is taken what it would be by chance (one-way ANOVA).
    """
    groups = _groups(coordinates)
    counts = np.bincount(groups)
    means = np.bincount(groups, f) / counts
    within = float(((f - means[groups]) ** 2).sum()) / max(len(f) - len(counts), 1)
    center = f.mean()
    between = float(counts @ (means - center) ** 2)
    return (between - (len(counts) - 1) * within) / len(f)


def _groups(coordinates: Array) -> NDArray[np.intp]:
    """Numbers of groups, the same for the same coordinates (N, w) and else for those near by."""
    if coordinates.shape[1] > 1:
        return np.unique(coordinates.argmax(axis=1), return_inverse=True)[1]
    column = coordinates[:, 0]
    below = np.searchsorted(np.sort(column), column) * _GROUPS // len(column)
    return np.unique(below, return_inverse=True)[1]
