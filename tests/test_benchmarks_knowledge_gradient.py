"""BoTorch's knowledge gradient as a competitor; skipped where BoTorch is not installed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest

from examples.benchmarks import quality
from examples.benchmarks.methods import METHODS


pytest.importorskip("botorch")
from botorch.utils.sampling import manual_seed  # noqa: E402

from examples.benchmarks import knowledge_gradient  # noqa: E402
from examples.benchmarks.knowledge_gradient import KnowledgeGradientSampler  # noqa: E402
from examples.benchmarks.problems import PROBLEMS  # noqa: E402


pytestmark = pytest.mark.slow

FINE, COARSE = "fine", "coarse"
OPTIMUM = 0.3


def fine(x: float) -> float:
    return (x - OPTIMUM) ** 2


def cost(x: float, source: str, ratio: float = 0.01) -> float:
    return float(np.exp(2.0 * x)) * (1.0 if source == FINE else ratio)


def study(
    coarse: Callable[[float], float], direction: str = "minimize", ratio: float = 0.01
) -> optuna.Study:
    """Return a study that has been asked eight times each at both sources."""
    sign = 1.0 if direction == "minimize" else -1.0
    result = optuna.create_study(direction=direction, sampler=KnowledgeGradientSampler(seed=1))
    for source in (FINE, COARSE):
        for x in (np.arange(8) + 0.5) / 8:
            f = fine if source == FINE else coarse
            result.enqueue_trial({"source": source, "x": float(x)})
            trial = result.ask()
            suggest(trial)
            trial.set_user_attr("cost", cost(x, source, ratio))
            result.tell(trial, sign * f(x))
    return result


def suggest(trial: optuna.Trial) -> tuple[str, float]:
    source = trial.suggest_categorical("source", [FINE, COARSE])
    return source, trial.suggest_float("x", 0.0, 1.0)


def fitted(of: optuna.Study) -> knowledge_gradient.Surrogate:
    with manual_seed(0):
        return knowledge_gradient.fit(of, optuna.search_space.intersection_search_space(of.trials))


def test_initial_design_is_that_of_our_sampler() -> None:
    rows = quality.run(PROBLEMS["forrester"], METHODS["kg"], seed=0, max_trials=13, shares=(1.0,))
    assert [row["source"] for row in rows] == [0] * 3 + [1] * 5 + [2] * 5
    costs = np.array([row["cost"] for row in rows])
    at_first = np.log(costs[:3]) / 3.0  # of the ramp of the preferred source
    np.testing.assert_allclose(np.log(costs[3:6] / 0.1) / 2.0, at_first)
    np.testing.assert_allclose(np.log(costs[8:11] / 0.05) / 3.0, at_first)
    assert {int(5 * x) for x in np.log(costs[8:] / 0.05) / 3.0} == set(range(5))


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_recommendation_is_the_optimum_of_the_preferred_source(direction: str) -> None:
    of = study(coarse=lambda x: -((x - 0.9) ** 2), direction=direction)  # best at 0
    assert of.sampler.recommend(of) == {"x": pytest.approx(OPTIMUM, abs=0.05)}


@pytest.mark.parametrize(("ratio", "asked"), [(0.01, COARSE), (100.0, FINE)])
def test_cheaper_of_two_equal_sources_is_asked(ratio: float, asked: str) -> None:
    source, x = suggest(study(coarse=fine, ratio=ratio).ask())
    assert source == asked
    assert 0.0 <= x <= 1.0


def test_source_that_tells_nothing_is_not_asked() -> None:
    unrelated = study(coarse=lambda x: np.sin(40.0 * x), ratio=0.9)
    assert suggest(unrelated.ask())[0] == FINE


def test_costs_are_learnt_by_source_and_location() -> None:
    surrogate = fitted(study(coarse=fine))
    X = knowledge_gradient.torch.tensor([[0.1, 0.0], [0.9, 0.0], [0.1, 1.0], [0.9, 1.0]]).double()
    predicted = surrogate.cost(X).detach().numpy()[:, 0]
    paid = [cost(x, source) for source in (FINE, COARSE) for x in (0.1, 0.9)]
    np.testing.assert_allclose(predicted, paid, rtol=0.1)


def test_same_seed_same_query() -> None:
    first, second = (suggest(study(coarse=fine).ask()) for _ in range(2))
    assert first == second


def test_what_it_does_not_take_is_said() -> None:
    of = optuna.create_study(sampler=KnowledgeGradientSampler())
    trial = of.ask()
    trial.suggest_categorical("source", [FINE, COARSE])
    with pytest.raises(ValueError, match="'kind' is categorical"):
        trial.suggest_categorical("kind", ["a", "b"])


def test_trial_without_cost_or_source_is_named() -> None:
    of = study(coarse=fine)
    without = optuna.create_trial(
        params=of.trials[0].params, distributions=of.trials[0].distributions, value=1.0
    )
    of.add_trial(without)
    with pytest.raises(ValueError, match="Trial 16 .*'cost' None: it must be"):
        suggest(of.ask())

    alone = optuna.create_study(sampler=KnowledgeGradientSampler())
    alone.tell(alone.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)}), 1.0)
    with pytest.raises(ValueError, match="Trial 0 has no source"):
        suggest(alone.ask())


def test_nothing_is_recommended_before_the_preferred_source_was_asked() -> None:
    of = optuna.create_study(sampler=KnowledgeGradientSampler())
    with pytest.raises(ValueError, match="No trial of the preferred source"):
        of.sampler.recommend(of)
