"""Values agree with exact ones: oracles, quadrature, numerical integration, brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import innerloop as il
from problems import make_problem, problem_sizes, utilities

SQRT_PI = np.sqrt(np.pi)


@pytest.mark.parametrize(
    ("utility", "exact"),
    [
        (il.ExpectedImprovement(0.0), (1.0 + np.sqrt(2.0)) / (2.0 * SQRT_PI)),
        (il.SimpleRegret(), 1.0 / SQRT_PI),
        (il.ProbabilityOfImprovement(0.0, temperature=1e-9), 0.75),
        (il.UpperConfidenceBound(beta=1.0), np.sqrt(2.0)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, il.Utility) else "",
)
def test_two_independent_standard_normals(utility, exact):
    z = il.sobol_normal(2**16, 2, seed=0)
    assert il.expected_utility(utility, np.zeros(2), np.eye(2), z) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(("mean", "exact"), [(-0.5, 0.19780), (0.0, 0.39894), (0.5, 0.69780)])
def test_expected_improvement_oracle(mean, exact):
    assert il.ExpectedImprovement(0.0).marginal(mean, 1.0) == pytest.approx(exact, abs=5e-6)


def pointwise(utility, mean, y):
    """The utilities of Table 1, written out again."""
    match utility:
        case il.ExpectedImprovement():
            return max(y - utility.threshold, 0.0)
        case il.ProbabilityOfImprovement():
            return float(y > utility.threshold)
        case il.SimpleRegret():
            return y
        case il.UpperConfidenceBound():
            return mean + np.sqrt(utility.beta * np.pi / 2.0) * abs(y - mean)


def kinks(utility, mean, floor):
    c = getattr(utility, "spread", 1.0)
    spread = abs(floor - mean) / c if np.isfinite(floor) else 0.0
    threshold = getattr(utility, "threshold", mean)
    return [threshold, threshold + max(floor, 0.0), floor, mean, mean - spread, mean + spread]


def expected_by_quadrature(utility, mean, center, sd, floor):
    """E[relu(u(y) - floor)], y ~ N(center, sd^2); E[u(y)] if floor is -inf."""

    def integrand(y):
        u = pointwise(utility, mean, y)
        gain = u if np.isneginf(floor) else max(u - floor, 0.0)
        return gain * np.exp(-0.5 * ((y - center) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))

    low, high = center - 12.0 * sd, center + 12.0 * sd
    edges = sorted({low, high, *(k for k in kinks(utility, mean, floor) if low < k < high)})
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12)[0]
        for a, b in itertools.pairwise(edges)
    )


finite = st.floats(-2.0, 2.0)
deviations = st.floats(0.05, 3.0)


@pytest.mark.parametrize("utility", utilities(), ids=lambda u: type(u).__name__)
@given(mean=finite, sd=deviations)
def test_marginals_against_quadrature(utility, mean, sd):
    exact = expected_by_quadrature(utility, mean, mean, sd, -np.inf)
    assert utility.marginal(mean, sd**2) == pytest.approx(exact, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("utility", utilities(), ids=lambda u: type(u).__name__)
@given(mean=finite, shift=finite, sd=deviations, held=st.floats(-2.0, 2.0))
def test_gains_against_quadrature(utility, mean, shift, sd, held):
    if isinstance(utility, il.ProbabilityOfImprovement):
        held = float(held > 0.0)
    if isinstance(utility, il.ExpectedImprovement):
        held = abs(held)
    exact = expected_by_quadrature(utility, mean, mean + shift, sd, held)
    state = np.array([[mean]]), np.array([[shift]]), np.array([[sd]]), np.array([held])
    assert utility.gain(*state).value[0, 0] == pytest.approx(exact, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("utility", utilities(temperature=1e-9), ids=lambda u: type(u).__name__)
@given(mean=finite, sd=deviations)
def test_monte_carlo_against_closed_form(utility, mean, sd):
    z = il.sobol_normal(2**14, 1, seed=1)
    estimate = il.expected_utility(utility, [mean], [[sd**2]], z)
    assert estimate == pytest.approx(utility.marginal(mean, sd**2), rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("q", [2, 3])
@settings(max_examples=8)
@given(seed=st.integers(0, 2**20))
def test_joint_expected_improvement_against_integration(q, seed):
    """E max(Y - t)+ is the integral over u > t of P(max Y > u)."""
    rng = np.random.default_rng(seed)
    mean, root = rng.standard_normal(q), rng.standard_normal((q, q + 1))
    cov, threshold = root @ root.T, float(rng.normal())
    belief = stats.multivariate_normal(mean, cov)
    top = mean.max() + 9.0 * np.sqrt(cov.max())
    levels = np.linspace(threshold, max(top, threshold), 101)
    exact = integrate.simpson([1.0 - belief.cdf(np.full(q, u)) for u in levels], x=levels)
    z = il.sobol_normal(2**15, q, seed=2)
    estimate = il.expected_utility(il.ExpectedImprovement(threshold), mean, cov, z)
    assert estimate == pytest.approx(exact, rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("utility", utilities(temperature=1e-9), ids=lambda u: type(u).__name__)
@given(sizes=problem_sizes(max_q=4))
def test_incremental_gains_add_up_to_the_joint_value(utility, sizes):
    problem = make_problem(**sizes | {"R": 1})
    q, m = sizes["q"], 2**12
    acquisition = il.Incremental(utility, problem.posterior, il.sobol_normal(m, q, seed=3))
    total = 0.0
    for x in problem.X[0]:
        total += acquisition.value(x[None, None])[0]
        acquisition = acquisition.extend(x)
    belief = problem.posterior.belief(problem.X[0])
    z = il.sobol_normal(2**14, q, seed=4)
    joint = il.expected_utility(utility, belief.mean, belief.cov, z)
    # Spread of the utility over draws bounds the error of either average, with Sobol draws below.
    sd = np.sqrt(belief.cov.diagonal().max()) * getattr(utility, "spread", 1.0)
    assert total == pytest.approx(joint, abs=4.0 * sd / np.sqrt(m))


@given(sizes=problem_sizes())
def test_log_gains_are_logarithms(sizes):
    problem = make_problem(**sizes)
    z = il.iid_normal(32, sizes["p"], seed=5)
    for utility in (il.ExpectedImprovement(0.3), il.ProbabilityOfImprovement(0.3)):
        plain = il.Incremental(utility, problem.posterior, z).extend(problem.pending)
        logarithmic = il.Incremental(utility, problem.posterior, z, log=True).extend(
            problem.pending
        )
        X = problem.X[:, :1]
        gains = plain.value(X)
        logs = logarithmic.value(X)
        normal = gains > 1e-300  # below, only the logarithm is left
        np.testing.assert_allclose(logs[normal], np.log(gains[normal]), rtol=1e-9, atol=1e-9)
        assert (logs[~normal] < -690.0).all()


def test_log_space_against_arbitrary_precision():
    """log h(u) and log Phi(u) far below zero, from their continued fraction in exact arithmetic."""
    from fractions import Fraction

    from innerloop.acquisition.normal import log_below, log_positive_part

    def mills(t):
        ratio = Fraction(0)
        for k in range(400, 0, -1):
            ratio = Fraction(k) / (Fraction(t) + ratio)
            ratio = Fraction(ratio.numerator * 2**200 // ratio.denominator, 2**200)
        return 1 / (Fraction(t) + ratio)

    for t in (2, 5, 10, 30, 59, 61, 100, 1000, 10**6):
        M = mills(t)
        log_phi = -0.5 * t**2 - 0.5 * np.log(2.0 * np.pi)
        log_h, below, density = log_positive_part(np.array([-float(t)]))
        deficit = 1 - t * M
        assert log_h[0] == pytest.approx(log_phi + np.log(float(deficit)), rel=1e-14, abs=1e-12)
        assert below[0] == pytest.approx(float(M / deficit), rel=1e-9)
        assert density[0] == pytest.approx(float(1 / deficit), rel=1e-9)
        log_p, slope = log_below(np.array([-float(t)]))
        assert log_p[0] == pytest.approx(log_phi + np.log(float(M)), rel=1e-14, abs=1e-12)
        assert slope[0] == pytest.approx(float(1 / M), rel=1e-12)


@given(u=st.floats(-30.0, 30.0))
def test_log_space_above_and_below_zero(u):
    from innerloop.acquisition.normal import log_below, log_positive_part

    assert log_below(np.array([u]))[0][0] == pytest.approx(
        special.log_ndtr(u), rel=1e-12, abs=1e-15
    )
    if u > -5.0:
        h = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi) + u * special.ndtr(u)
        assert log_positive_part(np.array([u]))[0][0] == pytest.approx(
            np.log(h), rel=1e-9, abs=1e-9
        )


def lookahead_by_brute_force(problem, points, X, z, grade):
    """Average of `grade(mean_b|a, cov_b|a)` over outcomes, by conditioning again for every one."""
    post = problem.posterior
    noise = post.query_noise
    belief = post.belief(X)
    L = np.linalg.cholesky(belief.cov + noise * np.eye(len(X)))
    outcomes = belief.mean + z @ L.T
    total = 0.0
    for y in outcomes:
        after = post.condition(X, y).belief(points)
        total += grade(after.mean, after.cov)
    return total / len(z)


@given(sizes=problem_sizes())
def test_knowledge_gradient_against_conditioning(sizes):
    problem = make_problem(**sizes)
    points = np.random.default_rng(1).random((6, sizes["d"]))
    z = il.iid_normal(8, sizes["q"], seed=6)
    value = il.Joint(il.KnowledgeGradient(points), problem.posterior, z).value(problem.X)
    for X, v in zip(problem.X, value, strict=True):
        exact = lookahead_by_brute_force(problem, points, X, z, lambda mean, cov: mean.max())
        assert v == pytest.approx(exact, rel=1e-8, abs=1e-10)


@given(sizes=problem_sizes())
def test_entropy_search_against_conditioning(sizes):
    problem = make_problem(**sizes)
    points = np.random.default_rng(1).random((4, sizes["d"]))
    z, z_b, temperature = il.iid_normal(4, sizes["q"], 6), il.iid_normal(16, 4, 7), 0.2
    utility = il.EntropySearch(points, temperature=temperature, z=z_b)
    value = il.Joint(utility, problem.posterior, z).value(problem.X)

    def minus_entropy(mean, cov):
        paths = mean + z_b @ np.linalg.cholesky(cov).T
        chance = special.softmax(paths / temperature, axis=1).mean(axis=0)
        return -stats.entropy(chance)

    for X, v in zip(problem.X, value, strict=True):
        exact = lookahead_by_brute_force(problem, points, X, z, minus_entropy)
        assert v == pytest.approx(exact, rel=1e-7, abs=1e-8)
