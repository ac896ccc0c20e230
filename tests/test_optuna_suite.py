"""Optuna's own tests of a sampler, for each method."""

from __future__ import annotations

from collections.abc import Callable

from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase
from optuna.testing.pytest_samplers import RelativeSamplerTestCase
from optuna.testing.pytest_samplers import SingleOnlySamplerTestCase
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler


SAMPLERS: dict[str, Callable[[], BaseSampler]] = {
    # One row of initial design, so that the models come to work in these short studies.
    "paper": lambda: MisoWildSampler(method="paper", n_startup_trials=1, seed=0),
    "robust": lambda: MisoWildSampler(method="robust", n_startup_trials=1, seed=0),
    "carbo": lambda: CarboCoolingSampler(alpha=1.0, n_startup_trials=1, seed=0),
}


class TestSamplers(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture(
        params=["robust", *(pytest.param(k, marks=pytest.mark.slow) for k in ("carbo", "paper"))]
    )
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return SAMPLERS[request.param]
