"""When to end a run: reasons to stop, and how far the best trial may be from the optimum."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import ks_2samp

import innerloop as il
from commands import call
from innerloop.batches.regret import maxima
from innerloop.surrogate.alternatives import alternatives, resampled
from innerloop.surrogate.posing import pose

SQUARE = il.Space({"x": il.Real(0.0, 1.0), "y": il.Real(0.0, 1.0)})


def bowl(params):
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2


def belief(n, d, seed=0, kernel=None):
    gp = il.GaussianProcess(kernel or il.Matern52(np.full(d, 0.3)), noise=1e-6)
    X = np.random.default_rng(seed).random((n, d))
    return gp.condition(X, np.sin(5.0 * X).sum(axis=1))


@pytest.mark.parametrize("kernel", [il.Matern52, il.Matern32, il.SquaredExponential])
def test_own_products_and_their_gradients(kernel):
    posterior = belief(9, 3, kernel=kernel([0.3, 0.5, 0.8]))
    rng = np.random.default_rng(1)
    X, weights = rng.random((4, 3)), rng.standard_normal((4, 9))
    value, grad = posterior.own_products(X, weights)
    plain = posterior.gp.kernel(X, posterior.X)
    np.testing.assert_allclose(value, (plain * weights).sum(axis=1))
    for x, w, g in zip(X, weights, grad, strict=True):
        numerical = approx_fprime(
            x, lambda t, w=w: posterior.own_products(t[None], w[None])[0][0], 1e-7
        )
        np.testing.assert_allclose(g, numerical, rtol=1e-4, atol=1e-5)


def on_a_grid(posterior, point, inside, draws):
    """Regrets of exact joint draws at many points: no climbing, no conditional means."""
    X = np.concatenate([point[None], inside])
    seen = posterior.belief(X)
    root = np.linalg.cholesky(seen.cov + 1e-9 * np.eye(len(X)))
    z = np.random.default_rng(5).standard_normal((draws, len(X)))
    f = seen.mean + z @ root.T
    return f.max(axis=1) - f[:, 0]


def drawn(posterior, point, domain, draws, **more):
    found = maxima(
        posterior, point, domain, draws=draws, generator=np.random.default_rng(3), **more
    )
    assert (found.largest >= found.there).all()
    return found.largest - found.there


def test_maxima_are_distributed_as_on_a_fine_grid():
    posterior = belief(5, 1)
    point = posterior.X[np.argmax(posterior.fitted)]
    grid = np.linspace(0.0, 1.0, 1500)[:, None]
    ours = drawn(posterior, point, il.make_domain(1), 1000)
    exact = on_a_grid(posterior, point, grid, 1000)
    assert ks_2samp(ours, exact).pvalue > 1e-3
    # The comparison can tell: a tenth of the spread more would be seen.
    assert ks_2samp(ours + 0.1 * exact.std(), exact).pvalue < 1e-3


@pytest.mark.parametrize("constraint", ["x + y <= 0.8", "x**2 + y**2 <= 0.5", "x + y == 0.9"])
@pytest.mark.parametrize("n", [12])
def test_maxima_with_constraints_are_those_of_the_points_that_are_left(n, constraint):
    posterior = belief(n, 2)
    domain = il.Space(SQUARE.parameters, constraints=[constraint]).domain()
    point = domain.project(posterior.X)[0]
    side = np.linspace(0.0, 1.0, 61)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    if "==" in constraint:
        grid = np.column_stack([0.9 * side, 0.9 - 0.9 * side])
    ours = drawn(posterior, point, domain, 600)
    exact = on_a_grid(posterior, point, grid[domain.contains(grid)], 600)
    assert ks_2samp(ours, exact).pvalue > 1e-3
    assert ks_2samp(ours + 0.4 * exact.std(), exact).pvalue < 1e-3


def test_maxima_of_mixed_spaces_lie_within_constraints():
    space = il.Space(
        {"x": il.Real(0.0, 1.0), "k": il.Integer(0, 5), "c": il.Choice(["a", "b", "c"])},
        constraints=["x + k <= 4", "x * k <= 2"],
    )
    optimizer = il.Optimizer(space, direction="maximize", seed=0)
    found = il.maximize(lambda p: p["x"] + p["k"] - (p["c"] == "b"), optimizer, n_trials=16)
    regrets = found.optimizer.regrets(64)
    # The best of all is 4.
    assert np.median(regrets) == pytest.approx(4.0 - found.value, abs=0.5)


def test_maxima_over_few_points_are_exact():
    posterior = belief(6, 2)
    points = np.random.default_rng(4).random((40, 2))
    ours = drawn(posterior, points[7], il.make_domain(2), 3000, everything=points)
    exact = on_a_grid(posterior, points[7], points, 3000)
    assert ks_2samp(ours, exact).pvalue > 1e-3


def test_resampling_is_in_proportion():
    weights = np.log([0.5, 0.3, 0.2, 1e-9])
    counts = resampled(weights - 1e4, 1000, np.random.default_rng(0))
    assert counts.sum() == 1000
    np.testing.assert_allclose(counts, [500, 300, 200, 0], atol=1)


def test_weights_sum_to_the_evidence():
    """Against quadrature over the two hyperparameters of one dimension with known noise."""
    rng = np.random.default_rng(2)
    X = rng.random((7, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(7)
    noise = 0.01
    gp = il.fit(X, y, noise=noise)
    found = alternatives(gp, X, y, size=6000, generator=np.random.default_rng(0), noise=noise)
    assert len(found.surrogates) == 6000
    ours = np.exp(found.log_weights).sum()

    posed = pose(
        X, y, kernel=il.Matern52, noise=noise, groups=None, reach=None, axes=None,
        priors=il.Priors(), smallest_noise=1e-8,
    )  # fmt: skip
    a, b = np.linspace(-6.0, 6.0, 241), np.linspace(-7.0, 7.0, 281)
    theta = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = posed.objective.within_bounds(theta)
    kept = (inside == theta).all(axis=1)
    logs = -posed.objective.evaluate(theta[kept]).values - len(y) * math.log(y.std())
    area = (a[1] - a[0]) * (b[1] - b[0])
    # The t-density in two dimensions has the constant Gamma(7/2) / (Gamma(5/2) 5 pi).
    constant = math.gamma(3.5) / (math.gamma(2.5) * 5.0 * math.pi)
    assert ours / constant == pytest.approx(np.exp(logs).sum() * area, rel=0.05)


def test_regrets_repeat_and_shrink():
    optimizer = il.Optimizer(SQUARE, seed=1)
    seen = []
    for _ in range(6):
        trials = optimizer.ask(4)
        optimizer.tell(trials, [bowl(trial.params) for trial in trials])
        regrets = optimizer.regrets(64)
        np.testing.assert_array_equal(regrets, optimizer.regrets(64))
        assert regrets.shape == (64,)
        assert optimizer.regrets(1).shape == (1,)
        assert (regrets >= 0.0).all()
        seen.append(np.median(regrets))
    assert seen[-1] < 1e-3 * seen[0]


def test_regrets_leave_the_next_ask_as_it_was():
    looked, other = (il.Optimizer(SQUARE, seed=4) for _ in range(2))
    for _ in range(4):
        for optimizer in (looked, other):
            trials = optimizer.ask(4)
            optimizer.tell(trials, [bowl(trial.params) for trial in trials])
        looked.regrets(20)
        asked = [[trial.params for trial in each.ask(2)] for each in (looked, other)]
        assert asked[0] == asked[1]


def test_regrets_need_a_result():
    with pytest.raises(il.InputError, match="no best trial"):
        il.Optimizer(SQUARE).regrets()
    with pytest.raises(il.InputError, match="draws"):
        il.Optimizer(SQUARE).regrets(0)


def test_target():
    found = il.minimize(bowl, SQUARE, n_trials=60, seed=0, stop=[il.Target(1e-3)])
    assert found.stopped.startswith("target: ")
    assert found.value <= 1e-3
    assert all(trial.value > 1e-3 for trial in found.trials[:-1])
    upward = il.maximize(lambda p: -bowl(p), SQUARE, n_trials=60, seed=0, stop=[il.Target(-1e-3)])
    assert [trial.params for trial in upward.trials] == [trial.params for trial in found.trials]


def test_patience_counts_trials_without_a_better_one():
    found = il.minimize(bowl, SQUARE, n_trials=200, seed=0, stop=[il.Patience(7)])
    assert found.stopped == "patience: the last 7 trials brought nothing better"
    values = [trial.value for trial in found.trials]
    assert int(np.argmin(values)) == len(values) - 8


def test_patience_counts_failures_too():
    def f(params):
        raise RuntimeError("no")

    found = il.minimize(f, SQUARE, n_trials=200, max_failures=None, stop=[il.Patience(5)])
    assert found.stopped.startswith("n_trials")  # nothing is best yet

    values = iter([1.0, *[math.nan] * 100])
    found = il.minimize(lambda _: next(values), SQUARE, n_trials=50, stop=[il.Patience(5)])
    assert len(found.trials) == 6


def test_patience_with_several_objectives_looks_at_the_front():
    def f(params):
        return {"a": bowl(params), "b": 2.0 * bowl(params)}  # the front is a single point

    found = il.optimize(
        f,
        SQUARE,
        {"a": "minimize", "b": "minimize"},
        n_trials=60,
        seed=0,
        stop=[il.Patience(3)],
    )
    assert found.stopped.startswith("patience: ")
    last = max(trial.id for trial in found.front)
    assert len(found.trials) - 1 - last == 3


def test_near_optimal_ends_near_the_optimum():
    settings = {"batch_size": 4, "seed": 0}
    found = il.minimize(bowl, SQUARE, n_trials=100, stop=[il.NearOptimal(1e-3)], **settings)
    assert found.stopped.startswith("near optimal: ")
    assert found.value <= 1e-3
    assert len(found.trials) < 60
    # It does not change which trials there are.
    other = il.minimize(bowl, SQUARE, n_trials=len(found.trials), **settings)
    assert [trial.params for trial in other.trials] == [trial.params for trial in found.trials]


def test_near_optimal_does_not_end_where_something_better_is_likely():
    def wavy(params):
        return math.sin(40.0 * params["x"]) + math.sin(40.0 * params["y"])

    stop = [il.NearOptimal(1e-3)]
    found = il.minimize(wavy, SQUARE, n_trials=16, batch_size=4, seed=0, stop=stop)
    assert found.stopped == "n_trials"


def test_what_is_running_may_finish():
    with ThreadPoolExecutor(4) as pool:
        found = il.minimize(
            bowl,
            SQUARE,
            n_trials=60,
            batch_size=4,
            executor=pool,
            seed=0,
            stop=[il.Target(0.5), il.Patience(30)],
        )
    assert found.stopped.startswith("target: ")
    assert {trial.state for trial in found.trials} == {"complete"}


def test_nothing_begins_where_enough_is_known():
    optimizer = il.Optimizer(SQUARE)
    optimizer.add({"x": 0.3, "y": 0.6}, 0.0)
    found = il.minimize(bowl, optimizer, n_trials=10, stop=[il.Target(0.1)])
    assert len(found.trials) == 1
    assert found.stopped.startswith("target: ")


def test_a_stop_of_ones_own():
    class Enough(il.Stop):
        def reached(self, optimizer):
            return "enough: three" if len(optimizer.trials) >= 3 else None

    assert il.minimize(bowl, SQUARE, n_trials=10, stop=[Enough()]).stopped == "enough: three"

    class Broken(il.Stop):
        def reached(self, optimizer):
            raise ValueError("oh")

    with pytest.warns(RuntimeWarning, match="ValueError: oh"):
        found = il.minimize(bowl, SQUARE, n_trials=10, stop=[Broken()])
    assert found.stopped == "stop: ValueError: oh"


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (partial(il.Patience, 0), "trials"),
        (partial(il.Target, math.nan), "value"),
        (partial(il.NearOptimal, 0.0), "gap"),
        (partial(il.NearOptimal, 0.1, 0.001), "risk"),
        (partial(il.NearOptimal, 0.1, 1.0), "risk"),
    ],
)
def test_settings_are_checked(make, match):
    with pytest.raises(il.InputError, match=match):
        make()


def test_stop_is_checked():
    with pytest.raises(il.InputError, match="stop must be a list"):
        il.minimize(bowl, SQUARE, n_trials=3, stop=il.Target(1.0))
    with pytest.raises(il.InputError, match="one objective"):
        il.optimize(
            bowl, SQUARE, {"a": "minimize", "b": "minimize"}, n_trials=3, stop=[il.Target(1.0)]
        )
    with pytest.raises(il.InputError, match="outcome constraints"):
        il.minimize(
            bowl,
            SQUARE,
            n_trials=3,
            outcome_constraints=["c <= 1"],
            stop=[il.NearOptimal(0.1)],
        )


def test_from_the_shell(tmp_path):
    (tmp_path / "f.py").write_text(
        "def f(p):\n    return (p['x'] - 0.3) ** 2 + (p['y'] - 0.6) ** 2\n"
    )
    (tmp_path / "space.toml").write_text(SQUARE.to_toml())
    line = ["run", "f.py:f", "--space", "space.toml", "-n", 40, "--seed", 1]
    line += ["--executor", "threads"]
    assert "stopped, target: " in call(tmp_path, *line, "--target", 0.01)[1]
    # The same line once more: there is nothing to do.
    assert "0 of them in this run" in call(tmp_path, *line, "--target", 0.01)[1]
    more = [*line, "--near-optimal", 0.001, "--patience", 50]
    assert "stopped, near optimal: " in call(tmp_path, *more)[1]
    bad = call(tmp_path, *line, "--near-optimal", -1, status=1)[1]
    assert "gap must be above 0" in bad
