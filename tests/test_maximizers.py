"""All maximizers on the same analytic objectives; domains; and grading a few draws at a time."""

import numpy as np
import pytest
from scipy.optimize import minimize

import innerloop as il
from innerloop.domain.domain import make_domain
from innerloop.maximizers.adam import Adam
from innerloop.maximizers.bfgs import BFGS
from innerloop.maximizers.budget import CLOCKS, Allowance, Budget, Meter
from innerloop.maximizers.cma_es import CMAES
from innerloop.maximizers.direct import Direct
from innerloop.maximizers.random_search import RandomSearch
from innerloop.maximizers.successive_halving import SuccessiveHalving
from problems import TickingClock, make_problem, utilities

MAXIMIZERS = [
    BFGS(),
    Adam(),
    Adam(average=True),
    CMAES(population=16),
    RandomSearch(sets=1000),
    Direct(sets=600),
    SuccessiveHalving(sets=600),
]
# How near each comes to an optimum in two dimensions.
REACH = {BFGS: 1e-3, Adam: 1e-3, CMAES: 1e-3, Direct: 1e-2, RandomSearch: 0.1}
REACH[SuccessiveHalving] = REACH[RandomSearch]


def name(value):
    if isinstance(value, Adam):
        return "Adam-average" if value.average else "Adam"
    return type(value).__name__ if type(value) in REACH else None


each_maximizer = pytest.mark.parametrize("maximizer", MAXIMIZERS, ids=name)


class Counted:
    """Counts the query sets valued, and remembers them."""

    def __init__(self):
        self.seen = []

    @property
    def evaluations(self):
        return sum(map(len, self.seen))

    def value(self, X):
        self.seen.append(X.copy())
        return self.f(X)[0]

    def value_and_grad(self, X):
        self.seen.append(X.copy())
        return self.f(X)


class Quadratic(Counted):
    """Concave, with its top at `center` in every coordinate."""

    def __init__(self, center):
        super().__init__()
        self.center = center

    def f(self, X):
        away = X - self.center
        return -(away**2).sum((1, 2)), -2.0 * away


class Multimodal(Counted):
    """Waves on a hill: local optima every 0.25, the best of all at 0.6."""

    def f(self, X):
        away, w = X - 0.6, 8.0 * np.pi
        value = (-(away**2) + 0.05 * np.cos(w * away)).sum((1, 2))
        return value, -2.0 * away - 0.05 * w * np.sin(w * away)


class Flat(Counted):
    def __init__(self, level):
        super().__init__()
        self.level = level

    def f(self, X):
        return np.full(len(X), self.level), np.zeros_like(X)


class HalfDead(Quadratic):
    """No value and no gradient where the first coordinate is beyond 0.5."""

    def f(self, X):
        value, grad = super().f(X)
        dead = X[:, 0, 0] > 0.5
        return np.where(dead, -np.inf, value), np.where(dead[:, None, None], np.nan, grad)


class Noisy(Quadratic):
    """Draws are fresh at every evaluation, and shared by the query sets of one evaluation."""

    def __init__(self, center, seed=0):
        super().__init__(center)
        self.rng = np.random.default_rng(seed)

    def f(self, X):
        shift = 0.1 * self.rng.standard_normal(X.shape[1:])
        away = X - (self.center + shift)
        return -(away**2).sum((1, 2)), -2.0 * away


def solve(maximizer, objective, *, q=1, d=2, R=8, domain=None, evaluations=None, seed=0):
    rng = np.random.default_rng(seed)
    domain = make_domain(d) if domain is None else domain
    starts = domain.sample(R * q, rng).reshape(R, q, d)
    allowance = Allowance(objective, Meter(Budget(evaluations=evaluations)))
    solution = maximizer(allowance, starts, domain, rng)
    assert allowance.meter.evaluations == objective.evaluations
    return solution, starts


OBJECTIVES = {
    "inside": lambda: Quadratic(0.37),
    "on a bound": lambda: Quadratic(1.4),
    "multimodal": Multimodal,
    "flat": lambda: Flat(2.0),
    "minus infinity": lambda: Flat(-np.inf),
    "half dead": lambda: HalfDead(0.3),
}
OPTIMA = {"inside": 0.37, "on a bound": 1.0, "multimodal": 0.6, "half dead": 0.3}


@each_maximizer
@pytest.mark.parametrize("shape", [(1, 1, 1), (8, 1, 2), (6, 3, 2), (3, 3, 1)], ids=str)
@pytest.mark.parametrize("problem", OBJECTIVES)
def test_beats_its_starts_within_the_domain(maximizer, problem, shape):
    R, q, d = shape
    objective = OBJECTIVES[problem]()
    solution, starts = solve(maximizer, objective, q=q, d=d, R=R)
    assert solution.X.shape == (len(solution.value), q, d)
    assert make_domain(d).contains(np.concatenate(objective.seen), 0.0).all()
    # Best first; and the value is that of the point it comes with.
    assert (solution.value[:-1] >= solution.value[1:]).all()
    np.testing.assert_array_equal(solution.value, objective.f(solution.X)[0])
    assert solution.value[0] >= objective.f(starts)[0].max()


@each_maximizer
@pytest.mark.parametrize("problem", OPTIMA)
def test_finds_the_optimum(maximizer, problem):
    solution, _ = solve(maximizer, OBJECTIVES[problem](), R=16)
    assert np.abs(solution.X[0] - OPTIMA[problem]).max() < REACH[type(maximizer)]


@each_maximizer
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize(
    "domain",
    [
        make_domain(3, fixed={1: 0.2}),
        make_domain(3, fixed={0: 0.5, 1: 0.2, 2: 1.0}),
        make_domain(3, inequalities=([[1.0, 1.0, 1.0]], [2.1])),
        make_domain(
            3, inequalities=([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]], [1.5, 0.1]), fixed={2: 1}
        ),
    ],
    ids=["fixed", "all fixed", "inequality", "both"],
)
def test_respects_the_domain(maximizer, domain, q):
    objective = Quadratic(1.0)
    solution, starts = solve(maximizer, objective, q=q, d=3, domain=domain)
    assert domain.contains(np.concatenate(objective.seen)).all()
    assert solution.value[0] >= objective.f(starts)[0].max()
    if type(maximizer) in (BFGS, Adam, CMAES):
        best = domain.project(np.ones((1, q, 3)))
        slack = 0.1 if isinstance(maximizer, CMAES) else 1e-3
        assert solution.value[0] >= objective.f(best)[0][0] - slack


@each_maximizer
@pytest.mark.parametrize("evaluations", [1, 2, 7, 40, 333])
def test_keeps_to_a_budget_and_repeats(maximizer, evaluations):
    runs = []
    for _ in range(2):
        objective = Noisy(0.37) if isinstance(maximizer, Adam | CMAES) else Multimodal()
        solution, _ = solve(maximizer, objective, q=2, R=8, evaluations=evaluations)
        assert 1 <= objective.evaluations <= evaluations
        runs.append(solution)
        every = np.concatenate(objective.seen)
        assert all((every == X).all((1, 2)).any() for X in solution.X)
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    np.testing.assert_array_equal(runs[0].value, runs[1].value)


@each_maximizer
def test_keeps_to_a_time(maximizer, monkeypatch):
    """By a clock that moves on a thousandth whenever it is read: to a step, a few readings."""
    monkeypatch.setitem(CLOCKS, "wall", TickingClock())
    objective = Multimodal()
    allowance = Allowance(objective, Meter(Budget(seconds=0.05)))
    domain, rng = make_domain(2), np.random.default_rng(0)
    solution = maximizer(allowance, rng.random((8, 1, 2)), domain, rng)
    np.testing.assert_array_equal(solution.value, objective.f(solution.X)[0])
    assert allowance.meter.seconds < 0.05 + 0.01


@pytest.mark.parametrize("maximizer", [Adam(), Adam(average=True), CMAES()], ids=name)
def test_noise_does_not_win(maximizer):
    objective = Noisy(0.37)
    solution, starts = solve(maximizer, objective, q=2, R=8)
    # The last call values everything that is returned with the same draws.
    assert len(objective.seen[-1]) == len(solution.value)
    expected = Quadratic(0.37).f
    assert expected(solution.X[:1])[0] > expected(starts)[0].max()
    reach = 0.1 if maximizer == Adam(average=True) else 0.25
    assert np.abs(solution.X[0] - 0.37).max() < reach


def test_averages_are_nearer_under_noise():
    def distance(maximizer):
        ends = [solve(maximizer, Noisy(0.37, seed), R=1)[0].X[0] for seed in range(10)]
        return np.abs(np.array(ends) - 0.37).mean()

    assert distance(Adam(average=True)) < distance(Adam())


def test_cma_es_refuses_a_population_too_small():
    with pytest.raises(il.InputError, match="population must be 4 or more, got 2"):
        CMAES(population=2)


# Domains


def nearest_by_quadratic_program(domain, x):
    constraint = {
        "type": "ineq",
        "fun": lambda y: domain.b - domain.A @ y,
        "jac": lambda y: -domain.A,
    }
    result = minimize(
        lambda y: 0.5 * ((y - x) ** 2).sum(),
        domain.interior,
        jac=lambda y: y - x,
        method="SLSQP",
        bounds=np.stack([domain.low, domain.high], axis=1),
        constraints=constraint,
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return result.x


@pytest.mark.parametrize("seed", range(12))
def test_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    A = rng.standard_normal((k, d))
    b = A @ rng.random(d) + 0.2 * rng.random(k)
    domain = make_domain(d, inequalities=(A, b))
    X = rng.random((6, d)) + 0.25 * rng.standard_normal((6, d))
    projected = domain.project(X)
    assert domain.contains(projected).all()
    expected = np.array([nearest_by_quadratic_program(domain, x) for x in X])
    distance, shortest = (np.linalg.norm(Y - X, axis=1) for Y in (projected, expected))
    np.testing.assert_allclose(distance, shortest, atol=1e-6)
    np.testing.assert_allclose(domain.project(projected), projected, atol=1e-9)


@pytest.mark.parametrize("limit", [0.05, 0.5, 2.0])
def test_samples_are_feasible_and_spread(limit):
    domain = make_domain(3, inequalities=([[1.0, 1.0, 1.0]], [limit]), fixed={2: 0.01})
    X = domain.sample(500, np.random.default_rng(0))
    assert domain.contains(X).all()
    assert (X[:, 2] == 0.01).all()
    assert (X[:, :2].std(axis=0) > 0.15 * min(limit, 1.0)).all()
    assert domain.contains(domain.interior)


def test_box_samples_are_uniform():
    X = make_domain(2).sample(4000, np.random.default_rng(0))
    np.testing.assert_allclose(X.mean(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(X.std(axis=0), 12**-0.5, atol=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inequalities": ([[1.0, 1.0]], [-0.5])}, "no point of the unit cube meets"),
        ({"inequalities": ([[1.0, 1.0]], [0.7]), "fixed": {0: 0.9}}, "with 1 coordinates fixed"),
        ({"inequalities": ([[1.0, 1.0, 1.0]], [0.7])}, "A in inequalities"),
        ({"inequalities": ([[1.0, 1.0]], [0.7, 0.1])}, "b in inequalities"),
        ({"fixed": {2: 0.5}}, "fixed maps coordinates 0 to 1"),
        ({"fixed": {0: 1.5}}, "fixed maps coordinates 0 to 1"),
    ],
)
def test_impossible_domains_are_refused(arguments, message):
    with pytest.raises(il.InputError, match=message):
        make_domain(2, **arguments)


# A few draws at a time


def assert_totals_add_up(acquisition, X):
    prepared, m = acquisition.prepare(X), acquisition.draws
    whole = prepared.total(0, m)
    value = acquisition.value(X)
    if getattr(acquisition, "log", False):
        np.testing.assert_allclose(np.log(whole / m) + prepared.log_unit, value, rtol=1e-12)
    else:
        np.testing.assert_allclose(whole / m, value, rtol=1e-12, atol=1e-14)
    rows = np.array([2, 0])
    middle = m // 3
    parts = prepared.total(0, middle)[rows] + prepared.keep(rows).total(middle, m)
    np.testing.assert_allclose(parts, whole[rows], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("with_pending", [False, True])
@pytest.mark.parametrize("kind", ["EI", "PI", "SR", "UCB", "ES", "KG"])
def test_joint_totals_add_up(kind, with_pending):
    problem = make_problem(R=5, q=2, p=2)
    points = np.random.default_rng(1).random((5, 2))
    utility = {
        **dict(zip(["EI", "PI", "SR", "UCB"], utilities(), strict=True)),
        "ES": il.EntropySearch(points, temperature=0.3, z=il.iid_normal(8, 5, 0)),
        "KG": il.KnowledgeGradient(points),
    }[kind]
    acquisition = il.Joint(
        utility,
        problem.posterior,
        il.iid_normal(24, 4, 0),
        pending=problem.pending if with_pending else None,
    )
    assert_totals_add_up(acquisition, problem.X)


@pytest.mark.parametrize("fixed", [0, 2])
@pytest.mark.parametrize(
    ("utility", "log"),
    [*((u, False) for u in utilities()), *((u, True) for u in utilities()[:2])],
    ids=lambda v: type(v).__name__ if isinstance(v, il.Utility) else str(v),
)
def test_incremental_totals_add_up(utility, log, fixed):
    problem = make_problem(R=20, q=1, p=2)
    acquisition = il.Incremental(utility, problem.posterior, il.iid_normal(24, 2, 0), log=log)
    if fixed:
        acquisition = acquisition.extend(problem.pending)
    assert acquisition.draws == (24 if fixed else 1)
    assert_totals_add_up(acquisition, problem.X)


def test_totals_in_log_space_tell_apart_what_underflows():
    problem = make_problem(R=20, q=1)
    acquisition = il.Incremental(
        il.ExpectedImprovement(100.0), problem.posterior, il.iid_normal(16, 1, 0), log=True
    ).extend(problem.pending[0])
    value = acquisition.value(problem.X)
    assert value.max() < -745.0  # the gain itself is zero
    total = acquisition.prepare(problem.X).total(0, 16)
    assert np.isfinite(total).all()
    assert total.argmax() == value.argmax()


def test_preparing_takes_fresh_draws_once():
    problem = make_problem(R=3, q=2)
    acquisition = il.Joint(il.SimpleRegret(), problem.posterior, il.FreshDraws(16, 2, seed=0))
    assert acquisition.draws == 16
    prepared = acquisition.prepare(problem.X)
    same = il.Joint(il.SimpleRegret(), problem.posterior, il.iid_normal(16, 2, 0))
    np.testing.assert_allclose(prepared.total(0, 16) / 16, same.value(problem.X), rtol=1e-12)
    np.testing.assert_array_equal(prepared.total(0, 16), prepared.total(0, 16))


@pytest.mark.parametrize("evaluations", [None, 1, 9, 30, 200])
@pytest.mark.parametrize("form", ["joint", "incremental"])
def test_halving_values_survivors_in_full(form, evaluations):
    problem = make_problem(d=2, n=8)
    z = il.sobol_normal(512, 2, seed=0)
    utility = il.ExpectedImprovement(0.3)
    acquisition = (
        il.Joint(utility, problem.posterior, z)
        if form == "joint"
        else il.Incremental(utility, problem.posterior, z, log=True).extend(problem.pending)
    )
    rng, q = np.random.default_rng(0), 2 if form == "joint" else 1
    starts, domain = rng.random((16, q, 2)), make_domain(2)
    allowance = Allowance(acquisition, Meter(Budget(evaluations=evaluations)))
    solution = SuccessiveHalving(sets=256, smallest=32)(allowance, starts, domain, rng)
    np.testing.assert_allclose(solution.value, acquisition.value(solution.X), rtol=1e-12)
    assert allowance.meter.evaluations <= (evaluations or 256 + 8)
    if evaluations is None:
        assert solution.value[0] >= acquisition.value(starts).max()
        # Near the best of as many sets that are all valued in full.
        many = domain.sample(256 * q, rng).reshape(256, q, 2)
        assert solution.value[0] >= np.quantile(acquisition.value(many), 0.95)


def test_halving_spends_fewer_draws_than_valuing_everything():
    class Spy:
        """Three sets and eight draws; notes which draws of how many sets are asked for."""

        draws, asked = 8, ()

        def __init__(self, grades):
            self.grades = grades

        def value(self, X):
            return self.grades[: len(X)].mean(axis=1)

        def prepare(self, X):
            return self

        def keep(self, rows):
            self.grades = self.grades[rows]
            return self

        def total(self, first, last):
            self.asked = (*self.asked, (len(self.grades), first, last))
            return self.grades[:, first:last].sum(axis=1)

    objective = Spy(np.arange(32.0).reshape(4, 8))
    allowance = Allowance(objective, Meter(Budget()))
    starts, rng = np.random.default_rng(0).random((4, 1, 2)), np.random.default_rng(0)
    solution = SuccessiveHalving(sets=4, smallest=2)(allowance, starts, make_domain(2), rng)
    assert objective.asked == ((4, 0, 2), (2, 2, 4), (1, 4, 8))
    np.testing.assert_array_equal(solution.X[0], starts[3])
