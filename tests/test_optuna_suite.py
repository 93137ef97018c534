"""Optuna's own tests of samplers, which it ships for samplers written elsewhere."""

import pytest

pytest.importorskip("optuna", reason="needs Optuna: pip install 'innerloop[study]'")
# The suite is a module and not a plugin: its asserts say nothing unless they are rewritten.
pytest.register_assert_rewrite("optuna.testing.pytest_samplers")

from optuna.testing.pytest_samplers import (  # noqa: E402
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from innerloop.integrations.optuna import InnerLoopSampler  # noqa: E402


class TestInnerLoopSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self):
        return lambda: InnerLoopSampler(seed=0, n_startup_trials=0)
