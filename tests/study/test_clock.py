"""How long a trial has been running, where the clocks of workers show different hours."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from datetime import timedelta
from datetime import timezone
import time

import optuna
from optuna.trial import TrialState
import pytest

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild.study import attributes
from optuna_misowild.study import clock
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.snapshot import StudyView


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    if not hasattr(time, "tzset"):
        pytest.skip("A process cannot change its time zone on this system.")
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


def move_to(zone: pytest.MonkeyPatch, hours_east: int) -> None:
    zone.setenv("TZ", f"XXX{-hours_east:+d}")
    time.tzset()


def begun(study: optuna.Study) -> optuna.trial.FrozenTrial:
    study.ask().suggest_float("x", 0.0, 1.0)
    return study._storage.get_all_trials(study._study_id, deepcopy=False)[-1]


@pytest.mark.parametrize("hours", [-9, 9])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_clock_that_is_put_forward_or_back_is_no_cost(
    hours: int, elsewhere: bool, zone: pytest.MonkeyPatch
) -> None:
    move_to(zone, 0)
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    trial = begun(study)
    if elsewhere:  # Told by another process than the one that has asked.
        trial.system_attrs["misowild:begun"][2] = 0
    move_to(zone, hours)
    study.tell(trial.number, 1.0)
    assert 0.0 < study.trials[0].user_attrs["cost"] < 60.0
    assert cumulated_cost(study) < 60.0


def test_where_the_time_is_not_known_there_is_no_cost() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    trial = begun(study)
    # The clock of the process that has begun it was an hour ahead.
    trial.system_attrs["misowild:begun"] = [time.time() + 3600.0, 0.0, 0]
    trial.datetime_start = datetime.now() + timedelta(hours=1)
    assert clock.age(trial) == 0.0
    study.tell(trial.number, 1.0)
    assert "cost" not in study.trials[0].user_attrs
    assert cumulated_cost(study) == 0.0


@pytest.mark.parametrize("hours", [-9, 9])
def test_a_live_trial_of_a_worker_in_another_zone_is_not_lost(
    hours: int, zone: pytest.MonkeyPatch
) -> None:
    move_to(zone, hours)
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0), n_trials=6)
    number = begun(study).number
    new = study.ask().number
    move_to(zone, 0)
    trials = study.get_trials(deepcopy=False)
    assert attributes.is_undecided(trials[new])
    assert StudyView(study, Settings()).observations.trial[-1] == number
    assert not StudyView(study, Settings()).stale
    assert not CostBudgetCallback(600.0, running="elapsed").is_spent(study)


@pytest.mark.parametrize("aware", [False, True])
def test_a_trial_that_no_sampler_of_ours_has_begun_is_as_old_as_its_date(aware: bool) -> None:
    trial = optuna.create_trial(state=TrialState.RUNNING)
    trial.datetime_start = datetime.now(timezone.utc if aware else None) - timedelta(seconds=50)
    assert clock.age(trial) == pytest.approx(50.0, abs=20.0)
    trial.datetime_start += timedelta(hours=1)
    assert clock.age(trial) == 0.0
