"""A diverged evaluation is not what is recommended, as long as any other has a value."""

from __future__ import annotations

import math

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.snapshot import StudyView


DISTRIBUTIONS = {
    "x": FloatDistribution(0.0, 1.0),
    "source": CategoricalDistribution(["full", "cheap"]),
}
SAMPLERS = {
    "robust": MisoWildSampler(seed=0),
    "paper": MisoWildSampler(method="paper", seed=0),
    "carbo": CarboCoolingSampler(10.0, seed=0),
}


def study_of(
    kind: str, *queries: tuple[float, str, float], direction: str = "minimize"
) -> optuna.Study:
    study = optuna.create_study(sampler=SAMPLERS[kind], direction=direction)
    for x, source, value in queries:
        params = {"x": x, "source": source}
        study.add_trial(
            optuna.create_trial(params=params, distributions=DISTRIBUTIONS, value=value)
        )
    return study


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize(
    ("direction", "diverged"),
    [("minimize", math.inf), ("minimize", -math.inf), ("maximize", -math.inf)],
)
def test_an_infinite_value_is_not_recommended_for_the_worst_finite_one(
    kind: str, direction: str, diverged: float
) -> None:
    """Both count as 1: the only finite value is the worst and the best."""
    study = study_of(kind, (0.1, "full", diverged), (0.5, "full", 1.0), direction=direction)
    best = recommend(study)
    assert (best.params, best.value, best.verified) == ({"x": 0.5}, 1.0, True)


def test_where_the_preferred_source_has_diverged_the_best_of_another_is_to_be_verified() -> None:
    study = study_of("robust", (0.1, "full", math.inf), (0.3, "cheap", 2.0), (0.5, "cheap", 1.0))
    best = recommend(study)
    assert (best.params, best.verified) == ({"x": 0.5}, False)
    assert math.isfinite(best.value)


@pytest.mark.parametrize("kind", SAMPLERS)
def test_where_everything_has_diverged_it_is_recommended_all_the_same(kind: str) -> None:
    best = recommend(study_of(kind, (0.1, "full", math.inf), (0.5, "full", math.inf)))
    assert best.value == math.inf and best.verified


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])
def test_values_beyond_1e100_count_as_1e100(direction: str, sign: float) -> None:
    values = [1e99, 1e101, -1e300, 1.7e308, -1.0]
    queries = [(0.1 * i, "full", value) for i, value in enumerate(values)]
    view = StudyView(study_of("robust", *queries, direction=direction), Settings())
    assert (sign * view.observations.y).tolist() == [1e99, 1e100, -1e100, 1e100, -1.0]
