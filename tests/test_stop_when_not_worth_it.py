"""Stopping a study once no query is worth its cost."""

from __future__ import annotations

import logging
from typing import Any

import optuna
import pytest
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import MisoWildSampler
from optuna_misowild import StopWhenNotWorthIt
from optuna_misowild import cumulated_cost


N_TRIALS = 40


def stopped(callback: StopWhenNotWorthIt, sampler: Any = None, **arguments: Any) -> optuna.Study:
    sampler = MisoWildSampler(seed=0, budget=200.0) if sampler is None else sampler
    study = study_of(sampler, **arguments)
    sign = 1.0 if study.direction == optuna.study.StudyDirection.MINIMIZE else -1.0
    study.optimize(lambda trial: toy(trial, sign), n_trials=N_TRIALS, callbacks=[callback])
    return study


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_stops_where_the_optimum_is_known_and_says_what_is_saved(
    direction: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    study = stopped(StopWhenNotWorthIt(), direction=direction)
    assert len(study.trials) < N_TRIALS
    assert study.best_params["x"] == pytest.approx(0.3, abs=0.02)
    share = 1.0 - cumulated_cost(study) / 200.0
    assert f"{share:.0%} of the budget of 200 is saved" in caplog.text
    assert f"after {len(study.trials)} trials" in caplog.text


def test_what_an_improvement_is_worth_decides_when() -> None:
    greedy = stopped(StopWhenNotWorthIt(1e-12, cost=1e6))
    assert len(greedy.trials) == N_TRIALS
    thrifty = stopped(StopWhenNotWorthIt(1e6, cost=1e-6))
    usual = stopped(StopWhenNotWorthIt())
    assert len(thrifty.trials) < len(usual.trials)
    # Even then not before the preferred source has six values.
    assert sum(trial.params["source"] == "full" for trial in thrifty.trials) >= 6
    patient = stopped(StopWhenNotWorthIt(1e6, cost=1e-6, patience=6))
    assert len(patient.trials) == len(thrifty.trials) + 3


def test_it_stops_studies_of_other_samplers_too() -> None:
    study = stopped(StopWhenNotWorthIt(1e3, cost=1e-3), optuna.samplers.RandomSampler(seed=0))
    assert len(study.trials) < N_TRIALS


def test_a_study_without_differences_goes_on() -> None:
    study = study_of(MisoWildSampler(seed=0))
    callback = StopWhenNotWorthIt()
    study.optimize(lambda t: 0.0 * t.suggest_float("x", 0.0, 1.0), 12, callbacks=[callback])
    assert len(study.trials) == 12


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"improvement": 0.0}, ValueError, "`improvement` must be"),
        ({"improvement": "a"}, TypeError, "`improvement` must be"),
        ({"cost": -1.0}, ValueError, "`cost` must be"),
        ({"patience": 0}, ValueError, "`patience` must be at least 1"),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        StopWhenNotWorthIt(**arguments)
