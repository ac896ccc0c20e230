"""Stopping a study once no query is worth its cost."""

from __future__ import annotations

import logging
from pathlib import Path
import pickle
from typing import Any

import optuna
from optuna.trial import TrialState
import pytest
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import MisoWildSampler
from optuna_misowild import StopWhenNotWorthIt
from optuna_misowild import budget
from optuna_misowild import cumulated_cost
from optuna_misowild import import_trials
from optuna_misowild.study.snapshot import StudyView


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


# Its patience.


def go_on(
    study: optuna.Study,
    n_trials: int,
    callback: StopWhenNotWorthIt,
    *,
    objective: Any = toy,
    n_worth_it: int = 0,
    **kwargs: Any,
) -> int:
    """Return how many trials run, where a query is worth its cost after the first ones only."""
    n_before = len(study.trials)

    def best_offer(sampler: MisoWildSampler, view: StudyView) -> Any:
        n_known = sum(t.state != TrialState.RUNNING for t in view.trials)
        return budget._Offer(1.0 if n_known <= n_worth_it else 0.0, 1.0, 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(callback, "_best_offer", best_offer)
        study.optimize(objective, n_trials, callbacks=[callback], **kwargs)
    return len(study.trials) - n_before


def test_it_may_serve_two_studies() -> None:
    callback = StopWhenNotWorthIt(patience=3)
    studies = [study_of(optuna.samplers.RandomSampler(seed=0)) for _ in range(2)]
    assert [go_on(study, 9, callback) for study in studies] == [3, 3]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_study_that_is_resumed_goes_on_where_it_was(n_jobs: int, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = study_of(optuna.samplers.RandomSampler(seed=0), storage=storage, study_name="s")
    assert go_on(study, 4, StopWhenNotWorthIt(patience=3), n_worth_it=2) == 4
    again = optuna.load_study(study_name="s", storage=storage)
    callback = pickle.loads(pickle.dumps(StopWhenNotWorthIt(patience=3)))
    assert go_on(again, 9, callback, n_worth_it=2, n_jobs=n_jobs) == n_jobs


def test_trials_that_fail_and_imported_ones_are_no_reason_to_stop() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        return float("nan") if trial.number % 2 else value

    study = study_of(optuna.samplers.RandomSampler(seed=0))
    # After trials 0 and 1 a query is worth it; of the later ones 2, 4 and 6 have a value.
    callback = StopWhenNotWorthIt(patience=3)
    assert go_on(study, 20, callback, objective=objective, n_worth_it=2) == 7
    new = study_of(optuna.samplers.RandomSampler(seed=0))
    import_trials(new, study)
    assert go_on(new, 9, callback) == 3


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
