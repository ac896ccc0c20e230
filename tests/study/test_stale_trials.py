"""Trials whose worker is gone, and records that nobody of ours has written."""

from __future__ import annotations

from datetime import datetime
from datetime import timedelta
import json
import math
from pathlib import Path
import time
from typing import Any

import optuna
from optuna.trial import FrozenTrial
from optuna.trial import TrialState
import pytest

from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild.study import attributes
from optuna_misowild.study import stale_trials
from optuna_misowild.study.seed import study_seed
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.snapshot import StudyView


SOURCES = ["full", "cheap"]


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", SOURCES)
    x = trial.suggest_float("x", 0.0, 1.0)
    return (x - 0.3) ** 2 + (0.0 if source == "full" else 0.05)


def study_with(n_trials: int, seconds: float) -> optuna.Study:
    """A study whose trials have all taken so long, in a storage without heartbeats."""
    study = optuna.create_study(sampler=MisoWildSampler(method="paper", seed=0))
    study.optimize(objective, n_trials=n_trials)
    for trial in study.get_trials(deepcopy=False):
        assert trial.datetime_complete is not None
        trial.datetime_start = trial.datetime_complete - timedelta(seconds=seconds)
    return study


def running_for(study: optuna.Study, seconds: float, source: str = "full") -> int:
    trial = study.ask(fixed_distributions=None)
    study._storage.set_trial_system_attr(trial._trial_id, "fixed_params", {"source": source})
    objective(trial)
    frozen = study._storage.get_all_trials(study._study_id, deepcopy=False)[trial.number]
    began(frozen, seconds)
    return trial.number


def began(trial: FrozenTrial, seconds: float) -> None:
    """Another worker has begun a trial so long ago, where the clocks show another hour."""
    trial.system_attrs["misowild:begun"] = [time.time() - seconds, 0.0, 0]
    trial.datetime_start = datetime.now() + timedelta(hours=7)


@pytest.mark.parametrize(("age", "stale"), [(90.0, False), (150.0, True)])
def test_a_trial_is_stale_after_ten_times_the_longest_duration(age: float, stale: bool) -> None:
    study = study_with(12, seconds=12.0)
    number = running_for(study, age)
    view = StudyView(study, Settings())
    assert (number in view.stale) is stale
    assert (number in view.observations.trial) is not stale


@pytest.mark.parametrize(("age", "stale"), [(1000.0, False), (2000.0, True)])
def test_with_few_durations_it_takes_longer_but_not_for_ever(age: float, stale: bool) -> None:
    # One of the preferred source is known, of 2 s, and one of the other of 8 s, which counts too:
    # (5/1)² times max(10 · 2, 10 · 8, a minute) would be 2000 s.
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    for source, seconds in (("full", 2.0), ("cheap", 7.9)):
        study.enqueue_trial({"source": source})
        study.optimize(objective, n_trials=1)
        trial = study.get_trials(deepcopy=False)[-1]
        assert trial.datetime_complete is not None
        trial.datetime_start = trial.datetime_complete - timedelta(seconds=seconds)
    number = running_for(study, age)
    assert (number in StudyView(study, Settings()).stale) is stale
    # Of a source that nothing is known of, it may take as long as it likes.
    never = study_with(0, seconds=1.0)
    running_for(never, 1e6)
    assert not StudyView(never, Settings()).stale


def killed_at(study: optuna.Study, x: float) -> None:
    study.add_trial(
        optuna.create_trial(
            state=TrialState.FAIL,
            params={"x": x, "source": "full"},
            distributions=study.trials[0].distributions,
            system_attrs={"misowild:thinking": 0.1},
        )
    )


def test_what_has_killed_two_workers_counts_as_failed() -> None:
    study = study_with(10, seconds=1.0)
    cost = cumulated_cost(study)
    killed_at(study, 0.5)
    assert 10 not in StudyView(study, Settings()).observations.trial
    assert cumulated_cost(study) == cost
    killed_at(study, 0.51)
    killed_at(study, 0.9)
    seen = StudyView(study, Settings()).observations
    assert {10, 11} <= set(seen.trial) and 12 not in seen.trial
    assert not seen.pending.any()


def test_no_choice_is_close_to_another_that_has_killed_a_worker() -> None:
    choices = list(range(3000))
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.optimize(lambda t: float(t.suggest_categorical("c", choices) % 7), n_trials=10)

    def kill_at(choice: int) -> None:
        study.add_trial(
            optuna.create_trial(
                state=TrialState.FAIL,
                params={"c": choice},
                distributions=study.trials[0].distributions,
                system_attrs={"misowild:thinking": 0.1},
            )
        )

    for choice in (1500, 1501, 1502):
        kill_at(choice)
    assert StudyView(study, Settings()).observations.trial.max() == 9
    kill_at(1501)
    assert set(StudyView(study, Settings()).observations.trial[10:]) == {11, 13}


JUNK: list[Any] = [
    "text",
    -1,
    1e300,
    10**400,
    [[[]]],
    {"a": [1]},
    True,
    "[" * 100_000,
    "1;" + "[" * 9999,
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:12])
@pytest.mark.parametrize("key", ["row", "params:0", "thinking", "timed", "begun"])
def test_malformed_records_are_skipped(
    key: str, junk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(method="paper", seed=0))
    study.optimize(objective, n_trials=6)
    study.ask()
    for trial in study.trials[-2:]:
        frozen = study._storage.get_all_trials(study._study_id, deepcopy=False)[trial.number]
        frozen.system_attrs[f"misowild:{key}"] = junk
    caplog.clear()
    study.optimize(objective, n_trials=2)
    said = [r.getMessage() for r in caplog.records if "malformed" in r.getMessage()]
    # Each trial once, by the first of two suggestions; that a cost is timed is said by True.
    expected = [] if (key, junk) == ("timed", True) and junk is True else [5, 6]
    assert [int(message.split()[1]) for message in said] == expected
    assert all(message.count(f"'misowild:{key}'") == 1 and len(message) < 300 for message in said)
    assert recommend(study).trial.state == TrialState.COMPLETE


@pytest.mark.parametrize("seed", ["x", -1, 1.5, True, [1], 10**30])
def test_a_malformed_seed_is_replaced(seed: Any, caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study()
    study._storage.set_study_system_attr(study._study_id, "misowild:seed", seed)
    assert 0 <= study_seed(study) < 2**32
    assert "is replaced" in caplog.text


def test_none_can_be_the_preferred_source() -> None:
    def choose(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", ["fast", None])
        return trial.suggest_float("x", 0.0, 1.0)

    for preferred, expected in (({}, None), ({"preferred_source": None}, "fast")):
        study = optuna.create_study(sampler=MisoWildSampler(seed=0, **preferred))
        study.optimize(choose, n_trials=1)
        assert study.trials[0].params["source"] == expected  # The other one comes first.


def test_a_range_changed_on_resume_is_used_again() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0, warn_independent_sampling=False))
    study.optimize(lambda t: (t.suggest_float("x", 0.0, 1.0) - 0.9) ** 2, n_trials=6)
    study.optimize(lambda t: (t.suggest_float("x", 0.5, 2.0) - 0.9) ** 2, n_trials=4)
    view = StudyView(study, Settings())
    assert view.space["x"].high == 2.0  # type: ignore[attr-defined]
    inside = [t.number for t in study.trials if t.params["x"] >= 0.5]
    assert view.observations.trial.tolist() == inside


@pytest.mark.parametrize("method", ["paper", "robust"])
@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_nothing_in_a_finite_space_is_repeated(method: str) -> None:
    def finite(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        return trial.suggest_int("n", 1, 4) * 1e250 + (0.0 if source == "full" else 0.5)

    study = optuna.create_study(sampler=MisoWildSampler(method=method, seed=0))
    study.optimize(finite, n_trials=8)
    assert len({(t.params["source"], t.params["n"]) for t in study.trials}) == 8


@pytest.mark.parametrize("dead", [False, True])
def test_a_trial_of_which_nothing_is_known_takes_no_row_of_the_design(dead: bool) -> None:
    # Two have begun, or were killed or failed before they suggested anything.
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    unobserved = [study.ask() for _ in range(2)]
    if dead:
        study.tell(unobserved[0], state=TrialState.FAIL)
        frozen = study._storage.get_all_trials(study._study_id, deepcopy=False)[1]
        began(frozen, 3600.0)
    later = [study.ask() for _ in range(3 if dead else 1)]
    for trial in later:
        objective(trial)
    rows = [attributes.row_of(study.trials[trial.number]) for trial in later]
    # Those that have just begun are left the first two rows; of the dead ones nothing is left.
    assert rows == [(1, 0), (0, 0), (1, 1)][: len(later)]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("enqueued", [False, True])
def test_a_trial_without_its_first_heartbeat_is_lost_by_its_age(
    enqueued: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/s.db", heartbeat_interval=60)
    study = optuna.create_study(storage=storage, sampler=MisoWildSampler(method="paper", seed=0))
    study.optimize(objective, n_trials=10)
    if enqueued:
        study.enqueue_trial({"x": 0.5, "source": "cheap"})
    with pytest.warns(UserWarning, match="Heartbeat"):
        number = study.ask().number
    assert number not in StudyView(study, Settings()).stale
    longest = max(t.duration for t in study.trials if t.duration is not None).total_seconds()
    monkeypatch.setattr(stale_trials, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(stale_trials, "age", lambda trial: 9.0 * longest)
    assert number not in StudyView(study, Settings()).stale
    monkeypatch.setattr(stale_trials, "age", lambda trial: 61.0 + 11.0 * longest)
    view = StudyView(study, Settings())
    assert view.stale == {number}
    assert number not in view.observations.trial


def test_several_malformed_records_of_a_trial_are_said_together(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(method="paper", seed=0))
    study.optimize(objective, n_trials=6)
    attrs = study._storage.get_all_trials(study._study_id, deepcopy=False)[5].system_attrs
    attrs.update({"misowild:row": "x", "misowild:thinking": math.nan, "misowild:timed": 0})
    study.optimize(objective, n_trials=3)
    said = [r.getMessage() for r in caplog.records if "malformed" in r.getMessage()]
    assert len(said) == 1
    keys = ("'misowild:row' = 'x'", "'misowild:thinking' = nan", "'misowild:timed' = 0")
    assert all(said[0].count(key) == 1 for key in keys)


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, nothing, or a list of numbers."""
    if isinstance(value, list):
        return all(isinstance(element, (int, float)) for element in value)
    return value is None or isinstance(value, (bool, int, float, str))


@pytest.mark.parametrize("method", ["paper", "robust"])
@pytest.mark.parametrize("letter", ["a", '"', "é"])
def test_what_is_written_is_plain_and_short(letter: str, method: str) -> None:
    # Thirty parameters with the longest names that a database takes, and long choices.
    names = [f"{i}{letter * 500}" for i in range(30)]
    choices = [f"{i}{letter * 300}" for i in range(200)]

    def wide(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", choices[:2])
        trial.suggest_categorical(names[0], choices)
        return sum(trial.suggest_float(name, 0.0, 1.0) for name in names[1:])

    study = optuna.create_study(sampler=MisoWildSampler(method=method, n_startup_trials=1, seed=0))
    study.optimize(wide, n_trials=5)
    trials = study.get_trials(deepcopy=False)
    written = [study._storage.get_study_system_attrs(study._study_id)]
    written += [attrs for t in trials for attrs in (t.system_attrs, t.user_attrs)]
    ours = [(key, value) for attrs in written for key, value in attrs.items()]
    announced = [key for key, _ in ours if key.startswith("misowild:params")]
    assert len(set(announced)) > 10
    for key, value in ours:
        assert is_plain(value), key
        assert len(json.dumps(value)) < 2045, key
        assert json.loads(json.dumps(value)) == value
    # And others can read it.
    last = trials[-1]
    assert attributes._announced(last.system_attrs).keys() == last.params.keys()
