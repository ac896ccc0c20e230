"""Arguments, values and costs that are wrong or odd: said at once, and no trial is lost."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

import optuna
from optuna.trial import TrialState
import pytest
from toy_studies import METHODS
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import MisoWildSampler
from optuna_misowild import PaperMethod
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend


@pytest.mark.parametrize("method", METHODS)
def test_a_corner_that_fails_is_left(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0)  # Seconds would differ from run to run.
        return -x if x < 0.7 else math.nan

    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(objective, n_trials=20)
    assert len({round(t.params["x"], 3) for t in study.trials}) > 12
    assert study.best_value < -0.6


def test_multi_objective_studies_are_refused() -> None:
    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=MisoWildSampler(seed=0)
    )
    with pytest.raises(ValueError, match="multi-objective"):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=1)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"method": "best"}, ValueError, r"`method` must be one of \['paper', .* but got 'best'"),
        ({"method": 3}, TypeError, "`method` must be one of .* but got 3"),
        ({"method": PaperMethod}, TypeError, r"the class PaperMethod. Did .* PaperMethod\(\)\?"),
        ({"method": int}, TypeError, "`method` must be one of .* but got <class 'int'>"),
        ({"source": ""}, ValueError, "`source` must not be empty"),
        ({"source": 1}, TypeError, "`source` must be a string, but got 1"),
        ({"budget": 0}, ValueError, "`budget` must be finite and positive, but got 0"),
        ({"budget": math.nan}, ValueError, "`budget` must be finite and positive, but got nan"),
        ({"budget": "1h"}, TypeError, "`budget` must be a number, but got '1h'"),
        ({"cost_attr": None}, TypeError, "`cost_attr` must be a string, but got None"),
        ({"n_startup_trials": 0}, ValueError, "`n_startup_trials` must be at least 1, but got 0"),
        ({"n_startup_trials": 2.5}, TypeError, "`n_startup_trials` must be an integer"),
        ({"query_sources": "full"}, TypeError, "`query_sources` must be a list of choices"),
        ({"query_sources": []}, ValueError, "`query_sources` must not be empty"),
        ({"independent_sampler": "tpe"}, TypeError, "`independent_sampler` must be an Optuna"),
        ({"warn_independent_sampling": 1}, TypeError, "`warn_independent_sampling` must be True"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0, but got -1"),
        ({"seed": "x"}, TypeError, "`seed` must be an integer, but got 'x'"),
    ],
)
def test_wrong_constructor_arguments(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        MisoWildSampler(**arguments)


@pytest.mark.parametrize("lacking", ["fit", "too_expensive", "nested_design"])
def test_a_method_has_all_that_is_asked_for(lacking: str) -> None:
    own = {name: getattr(PaperMethod, name) for name in dir(PaperMethod) if name[0] != "_"}
    assert MisoWildSampler(method=type("Own", (), own)())
    del own[lacking]
    with pytest.raises(TypeError, match="`method` must be one of"):
        MisoWildSampler(method=type("Own", (), own)())


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"m": -1.0}, ValueError, "`m` must be finite and 0 or more, but got -1.0"),
        ({"beta": math.inf}, ValueError, "`beta` must be finite and 0 or more"),
        ({"beta": "srinivas"}, TypeError, "`beta` must be a number"),
        ({"min_distance": 0.0}, ValueError, "`min_distance` must be finite and positive"),
        ({"mean": "median"}, ValueError, "`mean` must be one of .*'gls'.*, but got 'median'"),
        ({"preferred_ahead": 1}, TypeError, "`preferred_ahead` must be True or False, but got 1"),
    ],
)
def test_wrong_constants_of_the_method(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PaperMethod(**arguments)


def test_an_unknown_preferred_source_is_noticed_in_the_first_trial() -> None:
    study = study_of(MisoWildSampler(preferred_source="whole"))
    with pytest.raises(ValueError, match="`preferred_source` has 'whole'"):
        study.optimize(toy, n_trials=1)


def test_a_numerical_source_parameter_is_noticed_in_the_first_trial() -> None:
    study = study_of()
    with pytest.raises(ValueError, match="must be suggested with `suggest_categorical`"):
        study.optimize(lambda trial: trial.suggest_float("source", 0.1, 1.0), n_trials=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cost", ["12 s", math.nan, -1.0])
def test_a_malformed_cost_is_said_and_the_study_goes_on(
    method: str, cost: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        if trial.number == 3:
            trial.set_user_attr("cost", cost)
        return value

    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=8)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 8
    said = [r.getMessage() for r in caplog.records if "which is" in r.getMessage()]
    assert len(said) == 1
    assert "Trial 3" in said[0] and repr(cost) in said[0]
    assert cumulated_cost(study) == pytest.approx(
        sum(t.user_attrs["cost"] for t in study.trials if t.number != 3)
    )


def nan(x: float, number: int) -> float:
    return math.nan if number % 3 == 0 else x


def infinite(x: float, number: int) -> float:
    return math.inf * (-1) ** number if number % 3 == 0 else x


def constant(x: float, number: int) -> float:
    return 1.0


def enormous(x: float, number: int) -> float:
    return 1e30 if number % 4 == 0 else x


def overflowing(x: float, number: int) -> float:
    return (-1.0) ** number * 1e300 if number % 4 == 0 else 1e160 * x


def tiny(x: float, number: int) -> float:
    return 1e-300 * x


def fails(x: float, number: int) -> float:
    if number % 3 == 0:
        raise RuntimeError("out of memory")
    return x


def pruned(x: float, number: int) -> float:
    if number % 3 == 0:
        raise optuna.TrialPruned
    return x


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "values",
    [nan, infinite, constant, enormous, overflowing, tiny, fails, pruned],
    ids=lambda function: function.__name__,
)
@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_odd_values_do_not_stop_a_study(
    method: str, values: Callable[[float, int], float]
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", SOURCES)
        return values(trial.suggest_float("x", 0.0, 1.0), trial.number)

    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=10, catch=(RuntimeError,))
    assert len(study.trials) == 10
    assert len({(t.params["source"], t.params["x"]) for t in study.trials}) >= 9
    assert all(t.user_attrs["cost"] >= 0.0 for t in study.trials)
    assert recommend(study).trial.state == TrialState.COMPLETE


def test_a_preferred_source_that_has_only_failed() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        if trial.params["source"] == "full":
            raise RuntimeError
        return value

    study = study_of(MisoWildSampler(method="paper", seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=10, catch=(RuntimeError,))
    assert len({(t.params["source"], t.params["x"]) for t in study.trials}) == 10
    recommendation = recommend(study)
    assert not recommendation.verified
    assert recommendation.source == "cheap"
    assert recommendation.to_enqueue()["source"] == "full"


def test_nothing_to_recommend_or_to_model_yet() -> None:
    study = study_of()
    with pytest.raises(ValueError, match="nothing to recommend yet"):
        recommend(study)
    with pytest.raises(ValueError, match="no model yet"):
        study.sampler.model(study)  # type: ignore[attr-defined]


def test_nothing_goes_wrong_for_a_trial_when_recording_fails(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("optuna_misowild.study.attributes.write_source", broken)
    study = study_of()
    study.optimize(toy, n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE
    assert "trial 0 failed with OSError('disk full')" in caplog.text


class Faulty(optuna.samplers.RandomSampler):
    def after_trial(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("constraints of another sampler")


def test_what_an_independent_sampler_raises_is_not_blamed_on_recording(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(independent_sampler=Faulty(), seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    messages = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(messages) == 2
    assert "The independent sampler, Faulty, after trial 0 failed with RuntimeError" in messages[0]
    assert "constraints of another sampler" in messages[0]
    assert "Recording" not in messages[0]
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 2
    assert all(t.user_attrs["source_index"] == 0 for t in study.trials)
    assert all("cost" in t.user_attrs for t in study.trials)
