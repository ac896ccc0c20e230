"""Spaces and sources of every kind: not only does nothing fail, the right thing happens.

Each is what users of similar samplers have stumbled over. What the models do with odd values is
in the tests of the models; what workers do to each other, in those of parallel studies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import math
from typing import Any

import optuna
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend


Objective = Callable[[optuna.Trial], float]


def optimise(objective: Objective, n_trials: int, **arguments: Any) -> optuna.Study:
    arguments = {"seed": 0, "warn_independent_sampling": False, **arguments}
    study = optuna.create_study(sampler=MisoWildSampler(**arguments))
    study.optimize(objective, n_trials=n_trials)
    return study


def sampler_of(kind: str) -> MisoWildSampler | CarboCoolingSampler:
    if kind == "carbo":
        return CarboCoolingSampler(alpha=1.0, seed=0)
    return MisoWildSampler(method=kind, seed=0)


def queries_of(study: optuna.Study, source: str = "source") -> Counter[Any]:
    """How often each source has been asked; True and 1 are not told apart."""
    return Counter(trial.params.get(source) for trial in study.trials)


def two_sources(trial: optuna.Trial, cost: float = 0.05) -> bool:
    """Suggest the source; return whether it is the preferred one, of cost 1."""
    preferred: bool = trial.suggest_categorical("source", ["full", "cheap"]) == "full"
    trial.set_user_attr("cost", 1.0 if preferred else cost)
    return preferred


# Sources.


def test_sources_of_mixed_type() -> None:
    costs = {None: 0.05, 0: 0.9, "full": 0.1, True: 1.0}

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", list(costs))
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", costs[source])
        return (x - 0.3) ** 2 + {None: -0.1 * x, 0: -1.0, "full": 0.1 * x, True: 0.0}[source]

    study = optimise(objective, 28, preferred_source=True, query_sources=[True, None, 0])
    assert study.best_params["source"] is True
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.02)
    assert recommend(study).to_enqueue()["source"] is True
    asked = queries_of(study)
    assert asked["full"] == 0  # It is read only.
    assert asked[0] == 2  # Hardly cheaper than the preferred one, which two queries tell.
    assert asked[None] > 3
    indices = {trial.params["source"]: trial.user_attrs["source_index"] for trial in study.trials}
    assert indices == {True: 0, None: 1, 0: 2}


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_sources_that_optuna_cannot_tell_apart(method: str) -> None:
    """1 is recorded as True, and 0 as False: four choices, but two sources."""

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", [True, 1, False, 0])
        trial.set_user_attr("cost", 1.0 if source else 0.1)
        return abs(trial.suggest_float("x", 0.0, 1.0) - 0.3) + (0.0 if source else 0.1)

    study = optimise(objective, 16, method=method)
    points = {(t.params["source"], t.params["x"]) for t in study.trials}
    assert len(points) == 16
    assert set(queries_of(study)) == {True, False}
    # Beyond the design of the one that would be asked for ever.
    assert "misowild:row" not in study.trials[-1].system_attrs
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_one_source_only(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", ["full"])
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0 + x)
        return (x - 0.3) ** 2

    study = optimise(objective, 14, method=method)
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.02)
    recommendation = recommend(study)
    assert recommendation.verified
    assert recommendation.to_enqueue() == study.best_params


def test_twelve_sources() -> None:
    names = [f"{2.0**-i:.2%}" for i in range(12)]

    def objective(trial: optuna.Trial) -> float:
        i = names.index(trial.suggest_categorical("source", names))
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        trial.set_user_attr("cost", 2.0**-i)
        return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.02 * i * x

    study = optimise(objective, 66)
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.03)
    assert study.best_params["y"] == pytest.approx(0.6, abs=0.03)
    asked = queries_of(study)
    assert asked[names[1]] == 0  # It costs a half, as the smallest tell.
    assert all(asked[name] >= 1 for name in names if name != names[1])
    assert asked[names[0]] < 22
    assert cumulated_cost(study) < 30.0


@pytest.mark.parametrize("shift", [0.0, 0.05])
def test_a_source_of_a_millionth_of_the_cost_does_not_take_over(shift: float) -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial, cost=1e-6)
        x = trial.suggest_float("x", 0.0, 1.0)
        return (x - 0.3) ** 2 if preferred else (x - 0.3 - shift) ** 2 - shift

    study = optimise(objective, 40)
    asked = queries_of(study)
    assert 4 <= asked["full"] <= 8
    assert study.best_params["source"] == "full"
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.03)
    # It never goes for long without the preferred source: ten queries, after the initial design.
    chosen = [t for t in study.trials if "misowild:row" not in t.system_attrs]
    gaps = "".join(t.params["source"][0] for t in chosen).split("f")
    assert max(map(len, gaps)) <= 10


def test_a_source_of_a_million_times_the_cost_is_asked_once() -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial, cost=1e6)
        return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 - (0.0 if preferred else 0.1)

    study = optimise(objective, 14)
    assert queries_of(study)["cheap"] == 1
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("unit", [1e12, 1e-12])
def test_sources_whose_values_differ_by_twelve_decades(unit: float) -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial)
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        value = (x - 0.3) ** 2 + (y - 0.6) ** 2
        return value if preferred else unit * (value + 0.05 * x)

    study = optimise(objective, 25)
    assert study.best_params["source"] == "full"
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.05)
    assert study.best_params["y"] == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("kind", ["robust", "paper", "carbo"])
def test_a_preferred_source_that_only_fails_is_never_recommended(kind: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial)
        x = trial.suggest_float("x", 0.0, 1.0)
        if preferred:
            raise RuntimeError("out of memory")
        return (x - 0.4) ** 2

    study = optuna.create_study(sampler=sampler_of(kind))
    for x in (0.1, 0.45, 0.9):
        study.enqueue_trial({"source": "cheap", "x": x})
    study.optimize(objective, n_trials=14, catch=(RuntimeError,))
    assert len({(t.params["source"], t.params["x"]) for t in study.trials}) == 14
    if kind == "carbo":  # It learns nothing from the others.
        with pytest.raises(ValueError, match="nothing to recommend yet.*as far as CostCooling"):
            recommend(study)
        return
    recommendation = recommend(study)
    assert not recommendation.verified
    assert recommendation.source == "cheap"
    assert recommendation.to_enqueue() == {**recommendation.params, "source": "full"}
    if kind == "paper":
        assert recommendation.params["x"] == pytest.approx(0.4, abs=0.1)
    else:  # Not where it has failed: nothing is likely to succeed.
        failed = [t.params["x"] for t in study.trials if t.params["source"] == "full"]
        assert min(abs(recommendation.params["x"] - x) for x in failed) > 1e-3
        assert not recommendation.feasible and recommendation.probability < 0.5


# Spaces.


def test_a_conditional_space_in_which_the_source_is_conditional() -> None:
    """Of kind b there is no cheap source, and the better of the two optima."""

    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["a", "b"])
        x = trial.suggest_float("x", 0.0, 1.0)
        preferred = two_sources(trial) if kind == "a" else True
        if kind == "b":
            trial.set_user_attr("cost", 1.0)
        return (x - 0.3) ** 2 + (0.2 if kind == "a" else 0.0) + (0.0 if preferred else 0.1 * x)

    study = optimise(objective, 22)
    assert {"full", "cheap", None} == set(queries_of(study))
    points = {tuple(sorted(t.params.items())) for t in study.trials}
    assert len(points) == 22
    recommendation = recommend(study)
    assert recommendation.verified
    assert recommendation.params["kind"] == "b"
    assert recommendation.params["x"] == pytest.approx(0.3, abs=0.02)
    without = [t for t in study.trials if "source" not in t.params]
    assert all(t.user_attrs["source_index"] == 0 for t in without)


def test_single_valued_and_enormous_ranges_of_integers() -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial)
        n, one = trial.suggest_int("n", 1, 10**9), trial.suggest_int("one", 7, 7)
        m = trial.suggest_int("m", 1, 10**9, log=True)
        distance = (n / 1e9 - 0.3) ** 2 + (math.log10(m) / 9 - 0.7) ** 2 + (one - 7)
        return distance + (0.0 if preferred else 0.05 * n / 1e9)

    study = optimise(objective, 25)
    assert study.best_params["n"] == pytest.approx(3e8, abs=5e7)
    assert math.log10(study.best_params["m"]) == pytest.approx(6.3, abs=0.3)
    assert len({tuple(t.params.values()) for t in study.trials}) == 25


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_many_enormous_ranges_have_more_points_than_numpy_can_count(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        return sum(trial.suggest_int(f"n{i}", 1, 10**9) / 1e9 for i in range(6))

    study = optimise(objective, 9, method=method)
    assert len({tuple(t.params.values()) for t in study.trials}) == 9


def test_log_ranges_over_twelve_decades() -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial)
        x = math.log10(trial.suggest_float("x", 1e-9, 1e3, log=True))
        y = math.log10(trial.suggest_float("y", 1e-6, 1e6, log=True))
        return (x + 4) ** 2 + (y - 2) ** 2 + (0.0 if preferred else 0.5 * y)

    study = optimise(objective, 25)
    assert math.log10(study.best_params["x"]) == pytest.approx(-4.0, abs=0.4)
    assert math.log10(study.best_params["y"]) == pytest.approx(2.0, abs=0.4)


def test_thirty_mixed_parameters() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = 0.0 if two_sources(trial) else 0.1
        for i in range(10):
            value += (trial.suggest_float(f"x{i}", -1.0, 1.0) - 0.3) ** 2
            value += (trial.suggest_int(f"n{i}", 1, 10) / 10 - 0.5) ** 2
        for i in range(5):
            value += (math.log10(trial.suggest_float(f"l{i}", 1e-5, 1.0, log=True)) / 5 + 0.4) ** 2
            value += 0.2 * (trial.suggest_categorical(f"c{i}", ["a", "b", "c"]) != "b")
        return value

    study = optimise(objective, 50)
    full = [t.values[0] for t in study.trials if t.params["source"] == "full"]
    assert study.best_value < 0.85 * min(full[:3])  # Better than the initial design.
    assert queries_of(study)["cheap"] >= 10


def test_only_the_source_is_left_to_choose() -> None:
    def objective(trial: optuna.Trial) -> float:
        preferred = two_sources(trial)
        return trial.suggest_int("n", 3, 3) + (0.0 if preferred else 0.1)

    study = optimise(objective, 5)
    # Each is asked once, then only the preferred one is left to be asked again.
    assert [t.params["source"] for t in study.trials] == ["cheap", *["full"] * 4]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["robust", "paper"])
@pytest.mark.parametrize("has_sources", [False, True])
def test_with_nothing_to_choose_the_models_are_fitted(method: str, has_sources: bool) -> None:
    def objective(trial: optuna.Trial) -> float:
        is_preferred = not has_sources or two_sources(trial)
        return float(trial.number % 3) + (0.0 if is_preferred else 10.0)

    study = optuna.create_study(sampler=MisoWildSampler(method=method, seed=0, budget=100.0))
    study.optimize(objective, 8, callbacks=[CostBudgetCallback(100.0)])
    mean, std = MisoWildSampler(method=method).model(study).predict({})
    assert 0.0 < mean < 2.0 and std < 1.0


def test_choices_that_cannot_be_hashed() -> None:
    layers = [[8], [8, 8], [8, 8, 8]]

    def objective(trial: optuna.Trial) -> float:
        return abs(len(trial.suggest_categorical("layers", layers)) - 2.0)  # type: ignore[arg-type]

    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    with pytest.warns(UserWarning, match="Choices for a categorical distribution"):
        study.optimize(objective, n_trials=8)
    assert study.best_params == {"layers": [8, 8]}


# The cost surface.


@pytest.mark.parametrize(
    "sampler",
    [
        lambda: MisoWildSampler(seed=0, n_startup_trials=3),
        lambda: CarboCoolingSampler(3000.0, seed=0, n_startup_trials=3),
    ],
    ids=["robust", "carbo"],
)
def test_the_dearest_corner_is_not_tried_first(
    sampler: Callable[[], optuna.samplers.BaseSampler],
) -> None:
    """Costs rise a thousandfold towards a bound, and nothing is known of the values there."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1000.0**x)
        return (x - 0.4) ** 2

    study = optuna.create_study(sampler=sampler())
    study.optimize(objective, n_trials=12)
    assert max(t.params["x"] for t in study.trials[3:]) < 0.8
    assert study.best_params["x"] == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("kind", ["robust", "carbo"])
def test_of_two_places_that_are_both_hopeless_the_cheap_one_is_better(kind: str) -> None:
    """Where the utility is negative, dividing it by the cost would favour the dear one."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        dear = trial.suggest_categorical("dear", [False, True])
        trial.set_user_attr("cost", 100.0 if dear else 1.0)
        return 100.0 * (x - 0.1) ** 2

    sampler = sampler_of(kind)
    study = optuna.create_study(sampler=sampler)
    for i in range(14):
        study.enqueue_trial({"x": i // 2 / 6, "dear": i % 2 == 0})
    study.optimize(objective, n_trials=14)
    model = sampler.model(study)
    cheap, dear = (model.acquisition({"x": 0.9, "dear": dear}) for dear in (False, True))
    assert cheap < 0.0
    assert cheap - dear == pytest.approx(math.log(100.0), rel=0.1)
