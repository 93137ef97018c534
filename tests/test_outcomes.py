"""Several outcomes: feasible and hypervolume improvement against brute force, and their batches."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

import innerloop as il
from innerloop.acquisition import expected_volume
from innerloop.acquisition.boxes import boxes_of, cut
from innerloop.acquisition.expected_volume import log_expected_volume
from innerloop.acquisition.normal import log_difference, log_positive_part
from innerloop.acquisition.unions import corners_of, number_of_corners
from innerloop.batches.states import Incremental, States

DRAWS = 200_000


# Differences of h


@pytest.mark.parametrize("a", [-40.0, -30.0, -8.0, -1.0, 0.0, 0.7, 5.0, 60.0])
@pytest.mark.parametrize("width", [1e-12, 1e-6, 1e-4, 1e-2, 1.0, 10.0, 300.0])
def test_differences_of_h(a, width):
    """log(h(a) - h(b)) is the logarithm of the integral of Phi from b to a."""
    b = a - width
    reach = min(a - b, 60.0)
    area, _ = quad(lambda t: np.exp(log_ndtr(a - t) - log_ndtr(a)), 0.0, reach, limit=200)
    if reach < a - b:
        more, _ = quad(lambda t: np.exp(log_ndtr(a - t) - log_ndtr(a)), reach, a - b, limit=200)
        area += more
    value, below, density = log_difference(np.array([a]), np.array([b]))
    assert value[0] == pytest.approx(log_ndtr(a) + np.log(area), rel=1e-7, abs=1e-7)
    # Derivatives: when both ends move, and when the scale does.
    step = 1e-4 * max(width, 1e-3)
    if width >= 1e-2:
        up = log_difference(np.array([a + step]), np.array([b + step]))[0]
        down = log_difference(np.array([a - step]), np.array([b - step]))[0]
        assert below[0] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-3, abs=1e-5)
    assert np.isfinite([value[0], below[0], density[0]]).all()


def test_differences_of_h_without_a_lower_end():
    a = np.array([-1e6, -30.0, 0.0, 8.0])
    for ours, whole in zip(
        log_difference(a, np.full(4, -np.inf)), log_positive_part(a), strict=True
    ):
        np.testing.assert_allclose(ours, whole)


# Boxes


@given(st.integers(2, 4), st.integers(0, 9), st.integers(0, 10_000))
def test_boxes_are_what_is_not_dominated(M, P, seed):
    rng = np.random.default_rng(seed)
    front, reference = rng.random((P, M)).round(1), np.full(M, 0.15)
    boxes = boxes_of(front, reference)
    z = rng.random((500, M)) * 1.3
    within = ((z[:, None] >= boxes[:, 0]) & (z[:, None] < boxes[:, 1])).all(axis=2).sum(axis=1)
    dominated = (front >= z[:, None]).all(axis=2).any(axis=1)
    strictly = (front > z[:, None]).all(axis=2).any(axis=1)
    outside = (z < reference).any(axis=1)
    assert (within[~outside & ~dominated] == 1).all()
    assert (within[outside | strictly] == 0).all()


@given(st.integers(2, 3), st.integers(0, 10_000))
def test_cutting_state_by_state_is_cutting_one_by_one(M, seed):
    rng = np.random.default_rng(seed)
    reference, points = np.zeros(M), rng.random((4, 5, M))
    points[2, 1] = -np.inf
    together = np.broadcast_to(boxes_of(np.zeros((0, M)), reference), (5, 1, 2, M))
    for each in points:
        together = cut(together, each)
    z = rng.random((300, M))
    for state in range(5):
        alone = boxes_of(points[np.isfinite(points[:, state, 0]), state], reference)
        for boxes in (together[state], alone):
            within = ((z[:, None] >= boxes[:, 0]) & (z[:, None] < boxes[:, 1])).all(axis=2)
            assert within.sum(axis=1).max() <= 1
        same = [
            ((z[:, None] >= boxes[:, 0]) & (z[:, None] < boxes[:, 1])).all(axis=2).any(axis=1)
            for boxes in (together[state], alone)
        ]
        np.testing.assert_array_equal(*same)


# Values


def feasible(Y, objectives):
    return (Y[..., objectives:] <= 0.0).all(axis=-1)


def improvement(threshold, Y):
    """The feasible improvement of batches of outcomes (..., q, 1 + C), written out."""
    values = np.where(feasible(Y, 1), np.maximum(Y[..., 0] - threshold, 0.0), 0.0)
    return values.max(axis=-1)


def volume(front, reference, Y):
    """The volume that batches (N, q, M + C) add, by counting points of a lattice."""
    M, ticks = len(reference), 40
    sides = [np.linspace(r, 3.5, ticks + 1) for r in reference]
    middles = np.stack(
        np.meshgrid(*[(s[1:] + s[:-1]) / 2 for s in sides], indexing="ij"), axis=-1
    ).reshape(-1, M)
    cell = np.prod([s[1] - s[0] for s in sides])
    free = middles[~(front[:, None] >= middles).all(axis=2).any(axis=0)]
    objectives = np.where(feasible(Y, M)[..., None], Y[..., :M], -np.inf)
    covered = (objectives[:, :, None] >= free).all(axis=3).any(axis=1)
    return cell * covered.sum(axis=1)


FRONT = np.array([[0.2, 1.0], [0.6, 0.7], [1.1, 0.1], [0.1, 0.2]])
REFERENCE = np.array([-0.5, -0.4])
UTILITIES = {
    "improvement": il.FeasibleImprovement(0.4, 2),
    "feasibility": il.FeasibleImprovement(None, 2),
    "hypervolume": il.HypervolumeImprovement(FRONT, REFERENCE),
    "constrained hypervolume": il.HypervolumeImprovement(FRONT, REFERENCE, constraints=1),
    "three objectives": il.HypervolumeImprovement(
        np.random.default_rng(0).random((5, 3)), np.full(3, -0.3)
    ),
    "no front": il.HypervolumeImprovement([], REFERENCE),
}


def written_out(name, Y):
    """The utility of batches of outcomes (N, q, K)."""
    utility = UTILITIES[name]
    if name == "improvement":
        return improvement(0.4, Y)
    if name == "feasibility":
        return feasible(Y, 1).any(axis=-1).astype(float)
    return volume(utility.front, utility.reference, Y)


@pytest.mark.parametrize("name", UTILITIES)
def test_values_of_single_outcomes(name):
    utility, rng = UTILITIES[name], np.random.default_rng(0)
    number = 300
    Y = rng.standard_normal((number, 1, utility.outcomes))
    tolerance = 0.0 if "hypervolume" not in name and name != "no front" else 0.35
    tolerance = 0.6 if name == "three objectives" else tolerance
    np.testing.assert_allclose(utility.value(Y[:, 0]), written_out(name, Y), atol=tolerance)
    difference = (utility.value(Y[:, 0]) - written_out(name, Y)).mean()
    assert abs(difference) <= 0.05  # a lattice is right on average


@pytest.mark.parametrize("name", UTILITIES)
def test_expected_values_of_one_query(name):
    utility, rng = UTILITIES[name], np.random.default_rng(1)
    K = utility.outcomes
    mean, var = 0.5 * rng.standard_normal((4, K)), 0.05 + rng.random((4, K))
    found = utility.marginal(mean, var)
    for i in range(4):
        Y = mean[i] + np.sqrt(var[i]) * rng.standard_normal((DRAWS, K))
        drawn = utility.value(Y)
        error = 5.0 * drawn.std() / np.sqrt(DRAWS)
        assert found[i] == pytest.approx(drawn.mean(), abs=error)


@pytest.mark.parametrize("name", UTILITIES)
def test_expected_values_without_variance(name):
    utility, rng = UTILITIES[name], np.random.default_rng(2)
    Y = 0.7 * rng.standard_normal((200, utility.outcomes))
    found = utility.marginal(Y, np.zeros_like(Y))
    np.testing.assert_allclose(found, utility.value(Y), rtol=1e-12, atol=1e-100)


def posteriors_of(K, d=2, n=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    found = []
    for k in range(K):
        kernel = il.Matern52(np.full(d, 0.3 + 0.2 * k), 0.8 + 0.2 * k)
        y = np.sin((3.0 + k) * X).sum(axis=1) - 0.4 * k
        found.append(il.GaussianProcess(kernel, mean=float(y.mean()), noise=1e-3).condition(X, y))
    return found


def draws_of_outcomes(posteriors, X, number, seed):
    """Outcomes (number, q, K) at a batch X (q, d)."""
    rng, drawn = np.random.default_rng(seed), []
    for posterior in posteriors:
        belief = posterior.belief(X)
        L = np.linalg.cholesky(belief.cov + 1e-10 * np.eye(len(X)))
        drawn.append(belief.mean + rng.standard_normal((number, len(X))) @ L.T)
    return np.stack(drawn, axis=-1)


def exact_volume(utility, Y):
    """The volume that batches (N, q, K) add, point after point."""
    values = np.zeros(len(Y))
    floor = utility.nothing_held()
    for j in range(Y.shape[1]):
        M = utility.objectives
        boxes = np.broadcast_to(floor, (len(Y), *floor.shape[1:]))
        inside = np.minimum(Y[:, j, None, :M], boxes[:, :, 1]) - boxes[:, :, 0]
        full = (boxes[:, :, 1] > boxes[:, :, 0]).all(axis=2)
        added = (np.maximum(inside, 0.0).prod(axis=2) * full).sum(axis=1)
        values += np.where(feasible(Y[:, j], M), added, 0.0)
        floor = utility.hold(floor, Y[None, :, j], np.zeros((1, 1, 1)))
    return values


def worth(name, posteriors, X, number=20_000, seed=5):
    Y = draws_of_outcomes(posteriors, X, number, seed)
    utility = UTILITIES[name]
    if name in ("improvement", "feasibility"):
        return written_out(name, Y).mean()
    return exact_volume(utility, Y).mean()


def test_volumes_of_batches_are_those_of_a_lattice():
    Y = np.random.default_rng(3).standard_normal((300, 3, 3))
    utility = UTILITIES["constrained hypervolume"]
    found, counted = exact_volume(utility, Y), written_out("constrained hypervolume", Y)
    assert np.abs(found - counted).max() < 0.4
    assert abs((found - counted).mean()) < 0.03


# Gradients and logarithms


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", UTILITIES)
def test_gradients(name, log):
    utility, rng = UTILITIES[name], np.random.default_rng(3)
    posteriors = tuple(posteriors_of(utility.outcomes))
    z = rng.standard_normal((8, 2, utility.outcomes))
    states = States.start(utility, posteriors, z).extend(rng.random((2, 2))).still_open
    objective, X = Incremental.of(states, log=log), rng.random((5, 1, 2))
    value, grad = objective.value_and_grad(X)
    np.testing.assert_allclose(value, objective.value(X))
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-6
        slope = (objective.value(X + step) - objective.value(X - step)) / 2e-6
        np.testing.assert_allclose(grad[:, 0, k], slope, rtol=1e-5, atol=1e-6)


def test_logarithms_thirty_deviations_out():
    """Nothing underflows: the logarithm of a product of tails is the sum of their logarithms."""
    mean, sd = np.array([[[-30.0, 30.0]]]), np.ones((1, 1, 2))
    gain = il.FeasibleImprovement(0.0, 1).log_gain(mean, np.zeros((1, 1, 2)), sd, np.zeros(1))
    log_h = log_positive_part(np.array([-30.0]))[0]
    assert gain.value[0, 0] == pytest.approx(log_h[0] + log_ndtr(-30.0), rel=1e-12)
    mean = np.array([[[-30.0, -30.0]]])
    utility = il.HypervolumeImprovement([], [0.0, 0.0])
    gain = utility.log_gain(mean, np.zeros((1, 1, 2)), sd, utility.nothing_held())
    assert gain.value[0, 0] == pytest.approx(2.0 * log_h[0], rel=1e-12)
    # With a front, what is added far out lies next to its edges: at most what there is without.
    utility = il.HypervolumeImprovement([[1.0, 1.0], [2.0, 0.5]], [0.0, 0.0])
    with_front = utility.log_gain(mean, np.zeros((1, 1, 2)), sd, utility.nothing_held())
    assert with_front.value[0, 0] < gain.value[0, 0]
    assert all(np.isfinite(each).all() for each in with_front)


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def precise_mills(t):
    """Phi(-t) / phi(t) for t of 5 and above, by its continued fraction."""
    rest = t
    for k in range(400, 0, -1):
        rest = t + k / rest
    return 1 / rest


def precise_density(u):
    return (-u * u / 2).exp() / (2 * PI).sqrt()


def precise_h(u):
    """phi(u) + u Phi(u) for u of -5 and below."""
    return precise_density(u) * (1 + u * precise_mills(-u))


@pytest.mark.parametrize("constraints", [0, 1])
@pytest.mark.parametrize("M", [2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_logarithms_far_out_in_sixty_digits(M, constraints, seed):
    """Slice by slice along the first objective, each above those of the front that reach as far."""
    rng = np.random.default_rng(seed)
    front, reference = rng.random((5, M)).round(2), np.full(M, -0.25)
    mean, sd = np.zeros(M + constraints), (0.5 + rng.random(M + constraints)).round(2)
    mean[:M] = (-sd[:M] * rng.uniform(25.0, 35.0, M)).round(2)
    mean[M:] = (sd[M:] * 30.0).round(2)

    def precise_volume(front, reference, k):
        """Of all objectives from the k-th on."""

        def excess(bar):
            s = Decimal(sd[k])
            return s * precise_h((Decimal(mean[k]) - Decimal(bar)) / s)

        if k == M - 1:
            return excess(front[:, 0].max(initial=reference[0]))
        front, total = front[np.argsort(front[:, 0])], Decimal(0)
        ends = [reference[0], *front[:, 0]]
        for i, start in enumerate(ends):
            width = excess(start) - (excess(ends[i + 1]) if i < len(front) else 0)
            total += width * precise_volume(front[i:, 1:], reference[1:], k + 1)
        return total

    with localcontext(prec=60):
        expected = precise_volume(front, reference, 0).ln()
        for k in range(M, M + constraints):
            u = -Decimal(mean[k]) / Decimal(sd[k])
            expected += (precise_density(u) * precise_mills(-u)).ln()
    utility = il.HypervolumeImprovement(front, reference, constraints)
    gain = utility.log_gain(
        mean[None, None], np.zeros_like(mean)[None, None], sd[None, None], utility.nothing_held()
    )
    assert expected < -600
    assert gain.value[0, 0] == pytest.approx(float(expected), abs=1e-8)
    assert all(np.isfinite(each).all() for each in gain)


@pytest.mark.parametrize("u", [-5.0, -12.5, -30.0, -100.0, -1000.0])
def test_logarithms_of_improvement_in_sixty_digits(u):
    with localcontext(prec=60):
        one, chance = (
            precise_h(Decimal(u)),
            precise_density(Decimal(u)) * precise_mills(Decimal(-u)),
        )
        improvement, chance = float((one * chance).ln()), float(chance.ln())
    mean, sd = np.array([[[u, -u]]]), np.ones((1, 1, 2))
    for threshold, expected in ((0.0, improvement), (None, chance)):
        utility = il.FeasibleImprovement(threshold)
        gain = utility.log_gain(mean, np.zeros_like(mean), sd, np.zeros(1))
        assert gain.value[0, 0] == pytest.approx(expected, rel=1e-12, abs=1e-9)
        assert all(np.isfinite(each).all() for each in gain)


@pytest.mark.parametrize("name", UTILITIES)
@given(seed=st.integers(0, 100_000))
def test_utilities_of_batches_are_monotone_and_submodular(name, seed):
    """One more outcome adds no less to some of a batch than to all of it: 20 sets at a time."""
    rng, utility = np.random.default_rng(seed), UTILITIES[name]
    Y = 0.8 * rng.standard_normal((1, 5, 20, utility.outcomes))
    few, one = int(rng.integers(0, 4)), Y[:, -1:]

    def worth_of(points):
        if points.shape[1] == 0:
            return np.zeros((1, 20))
        return utility.together(points)

    small, large = Y[:, :few], Y[:, :4]
    to_few = worth_of(np.concatenate([small, one], axis=1)) - worth_of(small)
    to_many = worth_of(np.concatenate([large, one], axis=1)) - worth_of(large)
    assert (to_many >= -1e-12).all()
    assert (to_many <= to_few + 1e-12).all()


@given(st.integers(2, 4), st.integers(0, 100_000))
def test_volumes_are_monotone_and_submodular(M, seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        front, more = rng.random((3, M)), rng.random((2, M))
        reference, y = np.full(M, -0.1), rng.random(M) * 1.2
        few = il.HypervolumeImprovement(front, reference).value(y)
        many = il.HypervolumeImprovement(np.vstack([front, more]), reference).value(y)
        assert 0.0 <= many <= few + 1e-12


# The joint form


def sample_paths(posteriors, X, z):
    """Outcomes (m, q, K) at a batch X (q, d), by draws z (m, q, K)."""
    paths = []
    for k, posterior in enumerate(posteriors):
        belief = posterior.belief(X)
        paths.append(belief.mean + z[..., k] @ np.linalg.cholesky(belief.cov).T)
    return np.stack(paths, axis=-1)


def nearly_hard(name):
    """A utility whose relaxation draws do not come close enough to, to see it."""
    utility = UTILITIES[name]
    if "hypervolume" in name or name in ("three objectives", "no front"):
        return il.HypervolumeImprovement(
            utility.front, utility.reference, utility.constraints, temperature=1e-9
        )
    return il.FeasibleImprovement(utility.threshold, utility.constraints, temperature=1e-9)


def utility_of_batches(name, Y):
    """The utility of batches (m, q, K), point after point."""
    if name in ("improvement", "feasibility"):
        return written_out(name, Y)
    return exact_volume(UTILITIES[name], Y)


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("q", [1, 2, 3, 7])
@pytest.mark.parametrize("p", [0, 3])
def test_joint_values_are_averages_over_sample_paths(name, q, p):
    posteriors = posteriors_of(UTILITIES[name].outcomes)
    rng = np.random.default_rng(q)
    X, waiting = rng.random((2, q, 2)), rng.random((p, 2))
    z = rng.standard_normal((32, p + q, len(posteriors)))
    joint = il.Joint(nearly_hard(name), posteriors, z, pending=waiting if p else None)
    by_hand = [
        utility_of_batches(name, sample_paths(posteriors, np.concatenate([waiting, x]), z)).mean()
        for x in X
    ]
    np.testing.assert_allclose(joint.value(X), by_hand, rtol=1e-8, atol=1e-10)
    prepared = joint.prepare(X)
    halves = prepared.total(0, 16) + prepared.total(16, 32)
    np.testing.assert_allclose(halves / 32, by_hand, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("q", [1, 4])
@pytest.mark.parametrize("p", [0, 2])
def test_joint_gradients(name, q, p):
    utility, rng = UTILITIES[name], np.random.default_rng(7)
    posteriors = posteriors_of(utility.outcomes)
    z, X = rng.standard_normal((16, p + q, utility.outcomes)), rng.random((3, q, 2))
    joint = il.Joint(utility, posteriors, z, pending=rng.random((p, 2)) if p else None)
    value, grad = joint.value_and_grad(X)
    np.testing.assert_allclose(value, joint.value(X))
    for place in np.ndindex(q, 2):
        step = np.zeros((q, 2))
        step[place] = 1e-6
        slope = (joint.value(X + step) - joint.value(X - step)) / 2e-6
        np.testing.assert_allclose(grad[(slice(None), *place)], slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("M", [2, 3, 4])
@pytest.mark.parametrize("q", [1, 2, 5, 8])
def test_volumes_of_unions(M, q):
    """By the volume that each point adds to boxes that earlier ones have cut."""
    rng = np.random.default_rng(10 * M + q)
    utility = il.HypervolumeImprovement(rng.random((6, M)), np.zeros(M))
    Y = rng.random((200, q, M)) * 1.3 - 0.1
    Y[:50] = Y[:50].round(1)  # ties
    found = utility.together(Y.swapaxes(0, 1)[None])
    np.testing.assert_allclose(found[0], exact_volume(utility, Y), rtol=1e-12, atol=1e-13)
    _, slopes = utility.together_and_slopes(Y[50:].swapaxes(0, 1)[None])
    for place in np.ndindex(q, M):
        up, down = Y[50:].copy(), Y[50:].copy()
        up[(slice(None), *place)] += 1e-7
        down[(slice(None), *place)] -= 1e-7
        difference = (exact_volume(utility, up) - exact_volume(utility, down)) / 2e-7
        np.testing.assert_allclose(slopes[0, place[0], :, place[1]], difference, atol=1e-6)
    one_draw = np.zeros((q, M, 1, 1))
    assert len(corners_of(one_draw).signs) == number_of_corners(q, M) <= 2**q - 1


def test_fresh_draws_of_several_outcomes():
    utility = UTILITIES["constrained hypervolume"]
    posteriors, X = posteriors_of(3), np.random.default_rng(0).random((2, 2, 2))
    fresh = il.Joint(utility, posteriors, il.FreshDraws(64, 2, seed=0, outcomes=3))
    first, second = fresh.value(X), fresh.value(X)
    assert not np.array_equal(first, second)
    z = np.random.default_rng(0).standard_normal((64, 2, 3))
    np.testing.assert_array_equal(first, il.Joint(utility, posteriors, z).value(X))


# Expected volumes in plain space and in log space


@pytest.mark.parametrize("M", [2, 3, 4])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 30.0])
def test_expected_volumes_are_the_same_in_plain_and_in_log_space(M, scale):
    rng = np.random.default_rng(M)
    front = rng.random((8, M))
    front[4:] = front[:4] + 1e-9 * rng.standard_normal((4, M))  # narrow boxes
    boxes = boxes_of(front, np.full(M, -0.1))[None]
    mean, sd = rng.random((50, 1, M)) * 1.2, scale * (0.1 + rng.random((50, 1, M)))
    found, logs = log_expected_volume(mean, sd, boxes), expected_volume._log_sums(mean, sd, boxes)
    for ours, by_logs in zip(found, logs, strict=True):
        np.testing.assert_allclose(ours, by_logs, rtol=1e-7, atol=1e-7)


@given(st.integers(1, 12), st.integers(0, 10_000))
def test_two_objectives_have_strips_one_after_the_other(P, seed):
    rng = np.random.default_rng(seed)
    strips = boxes_of(rng.random((P, 2)).round(1), np.zeros(2))[None]
    strips = cut(np.repeat(strips, 5, axis=0), rng.random((5, 2)))
    strips = cut(strips, np.where(rng.random((5, 1)) < 0.5, rng.random((5, 2)), -np.inf))
    np.testing.assert_array_equal(strips[:, :-1, 1, 0], strips[:, 1:, 0, 0])
    assert (strips[:, 0, 0, 0] == 0.0).all()
    assert (strips[:, -1, 1, 0] == np.inf).all()
    full = strips[..., 1, 0] > strips[..., 0, 0]
    assert (strips[full][:, 1, 1] == np.inf).all()


# Batches


@pytest.mark.parametrize(
    ("name", "pending"),
    [
        ("improvement", 0),
        ("improvement", 2),
        ("hypervolume", 0),
        ("hypervolume", 2),
        ("constrained hypervolume", 0),
        ("constrained hypervolume", 2),
        ("three objectives", 0),
    ],
)
def test_lazy_choice_is_that_among_all(name, pending, monkeypatch):
    utility, rng = UTILITIES[name], np.random.default_rng(0)
    posteriors, candidates = posteriors_of(utility.outcomes, d=3, n=12), rng.random((5000, 3))
    waiting = rng.random((pending, 3)) if pending else None
    options = {"candidates": candidates, "pending": waiting, "seed": 0}
    lazy = il.suggest(posteriors, 3, utility, **options)
    monkeypatch.setattr(type(utility), "monotone", False)
    plain = il.suggest(posteriors, 3, utility, **options)
    np.testing.assert_array_equal(lazy.X, plain.X)
    assert lazy.upper_bound == pytest.approx(plain.upper_bound)
    assert lazy.evaluations < 0.6 * plain.evaluations


@pytest.mark.parametrize("name", ["improvement", "constrained hypervolume"])
@pytest.mark.parametrize("options", [{"way": "joint"}, {"form": "joint"}, {"maximizer": "adam"}])
def test_other_ways_and_forms(name, options):
    utility = UTILITIES[name]
    posteriors = posteriors_of(utility.outcomes)
    batch = il.suggest(posteriors, 2, utility, seed=0, **options)
    best = worth(name, posteriors, il.suggest(posteriors, 2, utility, seed=0).X)
    assert worth(name, posteriors, batch.X) >= 0.9 * best


def test_joint_ascent_improves_on_greedy_rounds():
    utility, ratios = UTILITIES["hypervolume"], []
    for seed in range(8):
        posteriors = posteriors_of(2, seed=seed)
        default, greedy = (
            il.suggest(posteriors, 3, utility, way=way, seed=0).X for way in ("default", "greedy")
        )
        ratios.append(
            worth("hypervolume", posteriors, default) / worth("hypervolume", posteriors, greedy)
        )
    assert np.mean(ratios) > 1.0
    assert min(ratios) > 0.98


def test_batches_that_draws_cannot_see():
    """Nothing is gained but far out: rounds in log space find the best place all the same."""
    utility = il.HypervolumeImprovement([[60.0, 60.0]], [0.0, 0.0])
    posteriors = posteriors_of(2)
    batch = il.suggest(posteriors, 2, utility, seed=0)
    states = States.start(utility, tuple(posteriors), np.zeros((1, 1, 2)))
    alone = Incremental.of(states, log=True)
    others = np.random.default_rng(0).random((2000, 1, 2))
    assert alone.value(batch.X[:1, None])[0] >= alone.value(others).max() - 1e-6


@pytest.mark.parametrize("name", ["improvement", "feasibility", "constrained hypervolume"])
@pytest.mark.parametrize("q", [1, 3])
def test_suggested_batches_are_worth_what_they_say(name, q):
    utility = UTILITIES[name]
    posteriors = posteriors_of(utility.outcomes)
    batch = il.suggest(posteriors, q, utility, seed=0)
    value = worth(name, posteriors, batch.X)
    assert batch.value == pytest.approx(value, rel=0.05, abs=0.01)
    rng = np.random.default_rng(1)
    others = [worth(name, posteriors, rng.random((q, 2)), 2000) for _ in range(100)]
    assert value >= max(others)
    assert batch.upper_bound >= 0.98 * value  # which is drawn
    assert 0.5 < batch.fraction <= 1.0


@pytest.mark.parametrize("name", ["improvement", "hypervolume", "constrained hypervolume"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_not_below_the_best_pair_of_a_grid(name, seed):
    utility = UTILITIES[name]
    posteriors = posteriors_of(utility.outcomes, d=1, n=5, seed=seed)
    batch = il.suggest(posteriors, 2, utility, seed=seed)
    grid = np.linspace(0.0, 1.0, 16)[:, None]
    Y = draws_of_outcomes(posteriors, grid, 1000, seed)
    best = 0.0
    for i in range(16):
        for j in range(i):
            pair = Y[:, [i, j]]
            plain = improvement(0.4, pair) if name == "improvement" else exact_volume(utility, pair)
            best = max(best, float(plain.mean()))
    assert batch.upper_bound >= 0.97 * best
    assert batch.value >= 0.9 * best


def test_candidates_pending_domains_and_budgets():
    utility = UTILITIES["constrained hypervolume"]
    posteriors = posteriors_of(3)
    rng = np.random.default_rng(0)
    candidates = rng.random((40, 2))
    chosen = il.suggest(posteriors, 2, utility, candidates=candidates, seed=0)
    means, variances = zip(*(each.marginals(candidates) for each in posteriors), strict=True)
    alone = utility.marginal(np.stack(means, axis=-1), np.stack(variances, axis=-1))
    np.testing.assert_array_equal(chosen.X[0], candidates[np.argmax(alone)])
    assert chosen.upper_bound >= chosen.value

    beside = il.suggest(posteriors, 2, utility, pending=chosen.X, seed=0)
    assert beside.value < il.suggest(posteriors, 2, utility, seed=0).value

    levels = il.make_domain(2, discrete=(il.Ordinal(0, 4),))
    mixed = il.suggest(posteriors, 2, utility, domain=levels, seed=0)
    np.testing.assert_allclose(mixed.X[:, 0] * 3, np.round(mixed.X[:, 0] * 3))

    few = il.suggest(posteriors, 2, utility, budget=il.Budget(evaluations=300), seed=0)
    assert few.evaluations <= 300


def test_what_makes_no_sense_is_refused():
    posteriors = posteriors_of(2)
    with pytest.raises(il.InputError, match="is of 3 outcomes, got 2 posteriors"):
        il.suggest(posteriors, 1, il.FeasibleImprovement(0.0, 2))
    with pytest.raises(il.InputError, match="is of 1 outcomes, got 2 posteriors"):
        il.suggest(posteriors, 1)
    volume = il.HypervolumeImprovement(FRONT, REFERENCE)
    with pytest.raises(il.InputError, match=r"z must have shape \(m, q, 2\)"):
        il.Joint(volume, posteriors, np.zeros((4, 2)))
    with pytest.raises(il.InputError, match="z must be of 2 outcomes"):
        il.Joint(volume, posteriors, il.FreshDraws(4, 2)).value(np.zeros((1, 2, 2)))
    with pytest.raises(il.InputError, match="is of 2 outcomes, got 1 posteriors"):
        il.Joint(volume, posteriors[0], np.zeros((4, 2, 2)))
    with pytest.raises(il.InputError, match="over the same inputs"):
        il.suggest([posteriors[0], posteriors_of(1, d=3)[0]], 1, il.FeasibleImprovement(0.0))
    with pytest.raises(il.InputError, match="2 objectives or more"):
        il.HypervolumeImprovement([], [0.0])
    with pytest.raises(il.InputError, match=r"front must have shape \(P, 2\)"):
        il.HypervolumeImprovement([[1.0, 2.0, 3.0]], [0.0, 0.0])
    with pytest.raises(il.InputError, match="constraints must be an integer of 1 or more"):
        il.FeasibleImprovement(0.0, 0)
