"""Studies with the samplers: what users see."""

from __future__ import annotations

from collections import Counter
import math
import time
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest
from toy_studies import METHODS
from toy_studies import OPTIMUM
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of

from optuna_misowild import MisoWildSampler
from optuna_misowild import PaperMethod
from optuna_misowild import RobustMethod
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild.study.attributes import is_feasible


@pytest.mark.slow
@pytest.mark.parametrize(("method", "direction"), [("paper", "minimize"), ("robust", "maximize")])
def test_forty_trials_find_the_optimum_of_the_preferred_source(
    method: str, direction: str
) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(
        sampler=MisoWildSampler(method=method, seed=1), direction=direction
    )
    study.optimize(lambda trial: toy(trial, sign), n_trials=40)

    assert study.best_trial.params["source"] == "full"
    assert abs(study.best_params["x"] - OPTIMUM) < 0.03
    assert sign * study.best_value >= 0.0
    recommendation = recommend(study)
    assert "source" not in recommendation.params
    assert repr(recommendation) == (
        f"Recommendation(params={recommendation.params}, source={recommendation.source!r}, value="
        f"{recommendation.value}, std={recommendation.std}, verified={recommendation.verified}, "
        f"mean={recommendation.mean}, feasible=True, probability={recommendation.probability})"
    )
    if method == "robust":
        expected = study.sampler.model(study).predict(recommendation.params)
        assert (sign * recommendation.mean, recommendation.std) == pytest.approx(expected)
    if recommendation.verified:
        assert recommendation.source == "full"
        assert recommendation.value == recommendation.trial.value
    else:
        assert recommendation.value == recommendation.mean
    study.enqueue_trial(recommendation.to_enqueue())
    study.optimize(lambda trial: toy(trial, sign), n_trials=1)
    assert study.trials[-1].params == {**recommendation.params, "source": "full"}
    assert recommend(study).verified


@pytest.mark.parametrize("method", METHODS)
def test_both_directions_suggest_the_same(method: str) -> None:
    minimised = optuna.create_study(sampler=MisoWildSampler(method=method, seed=3))
    maximised = optuna.create_study(
        sampler=MisoWildSampler(method=method, seed=3), direction="maximize"
    )
    minimised.optimize(toy, n_trials=16)
    maximised.optimize(lambda trial: toy(trial, -1.0), n_trials=16)
    assert [t.params for t in minimised.trials] == [t.params for t in maximised.trials]


@pytest.mark.parametrize("method, is_nested", [("paper", False), ("robust", True)])
def test_whether_the_sources_share_the_latin_hypercube(method: str, is_nested: bool) -> None:
    class EveryRow(RobustMethod):
        """The robust method, asking every source at every row."""

        design = PaperMethod.design

    chosen = EveryRow() if is_nested else method
    sampler = MisoWildSampler(method=chosen, seed=0, n_startup_trials=5)
    study = study_of(sampler, n_trials=10)
    by_source = {
        source: sorted(t.params["x"] for t in study.trials if t.params["source"] == source)
        for source in SOURCES
    }
    for x in by_source.values():
        assert [int(5 * u) for u in x] == [0, 1, 2, 3, 4]
    common = set(by_source["full"]) & set(by_source["cheap"])
    assert len(common) == (5 if is_nested else 0)


def test_what_a_trial_carries() -> None:
    study = study_of(n_trials=4)
    for trial in study.trials:
        expected = SOURCES.index(trial.params["source"])
        assert trial.user_attrs["source_index"] == expected
        assert trial.user_attrs["cost"] > 0.0
        if hasattr(trial, "constraints"):
            assert trial.constraints == {"preferred_source": float(expected)}
        else:
            assert trial.system_attrs["constraints"] == [float(expected)]
    costs = [t.user_attrs["cost"] for t in study.trials]
    assert cumulated_cost(study) == pytest.approx(sum(costs))


def test_the_best_trial_is_never_a_cheap_one() -> None:
    study = study_of(n_trials=12)
    best = min(t.value for t in study.trials if t.value is not None)
    assert best < 0.0  # It is of the cheap source.
    assert study.best_value >= 0.0
    assert study.best_params["source"] == "full"


def test_constraints_of_the_user_stay() -> None:
    def objective(trial: optuna.Trial) -> float:
        if hasattr(trial, "set_constraint"):
            trial.set_constraint("mine", 2.0)
        else:
            trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [2.0])
        return toy(trial)

    study = study_of()
    study.optimize(objective, n_trials=1)
    trial = study.trials[0]
    if hasattr(trial, "constraints"):
        assert trial.constraints == {"mine": 2.0, "preferred_source": 0.0}
    else:
        assert trial.system_attrs["constraints"] == [2.0, 0.0]


def test_without_a_cost_the_trial_costs_its_time() -> None:
    study = study_of()
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    for trial in study.trials:
        assert trial.duration is not None
        assert trial.user_attrs["cost"] == pytest.approx(trial.duration.total_seconds(), abs=0.1)
    assert 0.0 < cumulated_cost(study) < 5.0


def test_the_time_of_the_suggestion_is_no_cost_of_the_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose = MisoWildSampler._choose

    def slowly(*args: Any) -> dict[str, Any]:
        time.sleep(0.5)
        return choose(*args)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        time.sleep(0.1)
        return x

    monkeypatch.setattr(MisoWildSampler, "_choose", slowly)
    study = study_of()
    study.optimize(objective, n_trials=1)
    assert study.trials[0].duration is not None
    assert study.trials[0].duration.total_seconds() > 0.6
    assert 0.1 <= study.trials[0].user_attrs["cost"] < 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_study_without_sources(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=20)
    assert abs(study.best_params["x"] - 0.3) < 0.05
    recommendation = recommend(study)
    assert recommendation.verified
    assert recommendation.source is None
    assert recommendation.to_enqueue() == recommendation.params


@pytest.mark.parametrize("method", METHODS)
def test_mixed_and_conditional_spaces(method: str, caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", [None, 0, "full", True])
        x = trial.suggest_float("x", 1e-5, 1e5, log=True)
        n = trial.suggest_int("n", 1, 6)
        kind = trial.suggest_categorical("kind", ["a", "b", "c"])
        trial.suggest_int("one", 3, 3)
        value = math.log10(x) ** 2 + (n - 4) ** 2 + (0.0 if kind == "b" else 1.0)
        if kind == "a":
            value += trial.suggest_float("only_a", 0.0, 1.0)
        return value + (0.0 if source is None else 0.1)

    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=3))
    study.optimize(objective, n_trials=30)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert study.best_params["source"] is None
    assert "'only_a'" in warnings_of(caplog)
    caplog.clear()
    study.sampler = MisoWildSampler(
        method=method, seed=0, n_startup_trials=3, warn_independent_sampling=False
    )
    study.optimize(objective, n_trials=3)
    assert "only_a" not in warnings_of(caplog)


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_source_is_respected(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0), n_trials=12)
    study.enqueue_trial({"source": "cheap"})
    study.enqueue_trial({"source": "full"})
    study.enqueue_trial({"x": 0.123})
    study.optimize(toy, n_trials=3)
    cheap, full, fixed_x = study.trials[-3:]
    assert cheap.params["source"] == "cheap"
    assert full.params["source"] == "full"
    assert fixed_x.params["x"] == 0.123

    study.sampler = optuna.samplers.PartialFixedSampler({"source": "cheap"}, study.sampler)
    study.optimize(toy, n_trials=4)
    locations = [t.params["x"] for t in study.trials[-4:]]
    assert {t.params["source"] for t in study.trials[-4:]} == {"cheap"}
    assert len(set(locations)) == 4


def test_a_source_fixed_from_the_start_gets_an_initial_design_of_its_own() -> None:
    sampler = MisoWildSampler(method="paper", seed=0, n_startup_trials=5)
    study = study_of(optuna.samplers.PartialFixedSampler({"source": "cheap"}, sampler))
    study.optimize(toy, n_trials=8)
    assert sorted(int(5 * t.params["x"]) for t in study.trials[:5]) == [0, 1, 2, 3, 4]
    assert len({t.params["x"] for t in study.trials}) == 8
    # Then the model takes over, without any value of the preferred source.
    assert "misowild:row" not in study.trials[-1].system_attrs


def test_sources_that_are_read_only_are_not_queried() -> None:
    study = study_of(MisoWildSampler(method="paper", seed=0, query_sources=["full"]))
    distributions = {
        "x": FloatDistribution(0.0, 1.0),
        "source": CategoricalDistribution(SOURCES),
    }
    for x in (0.1, 0.4, 0.9):
        study.add_trial(
            optuna.create_trial(
                params={"x": x, "source": "cheap"},
                distributions=distributions,
                value=(x - 0.4) ** 2,
                user_attrs={"cost": 0.1},
            )
        )
    study.optimize(toy, n_trials=10)
    assert {t.params["source"] for t in study.trials[3:]} == {"full"}
    assert study.sampler.model(study).objective[1].X.shape == (3, 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", METHODS)
def test_a_design_row_is_taken_also_if_the_source_was_never_suggested(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_float("x", 0.0, 1.0) < 0.3:
            raise optuna.TrialPruned
        return toy(trial)

    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(objective, n_trials=16)
    points = Counter((t.params.get("source"), t.params["x"]) for t in study.trials)
    assert max(points.values()) <= len(SOURCES)


@pytest.mark.parametrize("method", METHODS)
def test_a_long_log_scale_of_integers_is_not_repeated(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(
        lambda t: math.log(t.suggest_int("n", 1, 10**6, log=True) / 2) ** 2, n_trials=18
    )
    assert len({t.params["n"] for t in study.trials}) == 18


@pytest.mark.parametrize("method", METHODS)
def test_no_parameter_in_common_leaves_a_recommendation(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0, warn_independent_sampling=False))
    for low in (-3.0, -4.0):
        study.optimize(lambda t, low=low: t.suggest_float("x", low, 3.0) ** 2, n_trials=7)
    assert recommend(study).value == study.best_value


def test_of_a_condition_not_the_branch_counts_but_what_was_observed() -> None:
    """The models know the branch only, not the parameter that a branch alone has."""
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    fixed = FloatDistribution(0.5, 0.5)
    for kind, x, value in [
        *(("a", i / 5, 1.0 + 0.01 * i) for i in range(5)),
        *(("b", i / 5, value) for i, value in enumerate((4.0, 0.1, 3.0, 5.0, 2.0))),
    ]:
        study.add_trial(
            optuna.create_trial(
                params={"kind": kind, f"x_of_{kind}": x, "always": 0.5},
                distributions={
                    "kind": CategoricalDistribution(("a", "b")),
                    f"x_of_{kind}": FloatDistribution(0.0, 1.0),
                    "always": fixed,
                },
                value=value,
            )
        )
    best = recommend(study)
    assert (best.params["kind"], best.value) == ("b", 0.1)
    seen = study.sampler.view(study).observations
    assert seen.hidden.all()
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0) + t.suggest_float("c", 2.0, 2.0), 4)
    assert not study.sampler.view(study).observations.hidden.any()


def test_what_breaks_a_constraint_of_the_user_is_not_recommended() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if hasattr(trial, "set_constraint"):
            trial.set_constraint("low", x - 0.5)
        else:
            trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [x - 0.5])
        return -x

    study = study_of(MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=10)
    assert recommend(study).params["x"] == study.best_params["x"] <= 0.5


@pytest.mark.parametrize("method", METHODS)
def test_added_trials_without_attributes_are_used(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    for x in np.linspace(0.0, 1.0, 6):
        for i, source in enumerate(SOURCES):
            study.add_trial(
                optuna.create_trial(
                    params={"x": float(x), "source": source},
                    distributions={
                        "x": FloatDistribution(0.0, 1.0),
                        "source": CategoricalDistribution(SOURCES),
                    },
                    value=(x - 0.3) ** 2 + 0.1 * i,
                )
            )
    # They take the place of the initial design.
    model = study.sampler.model(study)  # type: ignore[attr-defined]
    assert model.predict({"x": 0.2}, "full")[0] == pytest.approx(0.01, abs=1e-2)
    study.optimize(toy, n_trials=1)
    assert "misowild:row" not in study.trials[-1].system_attrs


def test_a_finite_space_that_is_exhausted_ends_in_repeats() -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        return trial.suggest_int("n", 1, 3) + (0.0 if source == "full" else 0.5)

    study = study_of(MisoWildSampler(method="paper", seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=12)
    full = {t.params["n"] for t in study.trials if t.params["source"] == "full"}
    assert full == {1, 2, 3}


class Constrained(optuna.samplers.RandomSampler):
    """What a sampler of Optuna with a ``constraints_func`` records."""

    def after_trial(
        self, study: optuna.Study, trial: optuna.trial.FrozenTrial, *args: Any
    ) -> None:
        constraints = [trial.params["x"] - 0.5]
        study._storage.set_trial_system_attr(trial._trial_id, "constraints", constraints)


def test_constraints_that_the_independent_sampler_sets_are_the_users() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(independent_sampler=Constrained(), seed=0))

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["full", "cheap"])
        return -trial.suggest_float("x", 0.0, 1.0) - (source == "cheap")

    study.optimize(objective, n_trials=8)
    assert {trial.params["source"] for trial in study.trials} == {"full", "cheap"}
    for trial in study.trials:
        assert is_feasible(trial, "source") == (trial.params["x"] <= 0.5)
    assert study.best_trial.params["source"] == "full"
    assert study.best_trial.params["x"] <= 0.5
