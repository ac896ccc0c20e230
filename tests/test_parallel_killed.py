"""Workers killed with SIGKILL, wherever they are; and the study that goes on after them."""

from __future__ import annotations

from collections import Counter
import os
from pathlib import Path
import signal
import time
from typing import Any

import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState
import pytest
from storage_servers import open_storage
from storage_servers import processes
from storage_servers import url_of
from toy_studies import SOURCES

from optuna_misowild import MisoWildSampler
from optuna_misowild import base_sampler
from optuna_misowild.study import stale_trials
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.snapshot import StudyView


pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="This system has no SIGKILL."
)

N_VALUES = 6
N_QUERIES = len(SOURCES) * N_VALUES  # All that there are.
PLACES = [
    "before the first heartbeat",
    "before it has chosen",
    "before it has suggested",
    "in the objective",
    "before it has told",
]


def die(*args: Any, **kwargs: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


class Dying(MisoWildSampler):
    """Kills its process at one place in the life of a trial."""

    place = ""

    def reach(self, place: str) -> None:
        if place == self.place:
            if place != PLACES[0]:
                time.sleep(0.5)  # The heartbeat has begun meanwhile.
            die()

    def before_trial(self, study: Any, trial: Any) -> None:
        self.reach("before the first heartbeat")
        super().before_trial(study, trial)

    def sample_relative(self, *args: Any) -> dict[str, Any]:
        self.reach("before it has chosen")
        if self.place == "before it has suggested":
            base_sampler.must_give_way = die
        return super().sample_relative(*args)

    def after_trial(self, *args: Any) -> None:
        self.reach("before it has told")
        super().after_trial(*args)


def objective(trial: optuna.Trial) -> float:
    source, n = trial.suggest_categorical("source", SOURCES), trial.suggest_int("n", 1, N_VALUES)
    if isinstance(trial.study.sampler, Dying):
        trial.study.sampler.reach("in the objective")
    trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
    return (n - 4.0) ** 2 + n % 3


def load(url: str, sampler: MisoWildSampler, patience: int = 2) -> optuna.Study:
    storage = open_storage(url, heartbeat_interval=1, grace_period=patience)
    return optuna.load_study(study_name="s", storage=storage, sampler=sampler)


def work_until_killed(url: str, place: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = Dying(seed=0)
    sampler.place = place
    load(url, sampler, patience=3600).optimize(objective, n_trials=1)


def queries(trials: list[optuna.trial.FrozenTrial]) -> Counter[tuple[Any, ...]]:
    return Counter((t.params["source"], t.params["n"]) for t in trials)


# In the initial design, and after it.
@pytest.mark.parametrize(
    ("kind", "n_before"),
    [
        ("sqlite", 5),
        pytest.param("postgresql", 8, marks=pytest.mark.slow),
        ("journal", 5),
        pytest.param("grpc", 8, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_study_whose_workers_are_killed_goes_on_where_it_was(
    kind: str, n_before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a heartbeat it is their age that tells: here more than half a second, in place of a
    # minute and ten times the longest of five trials.
    monkeypatch.setattr(stale_trials, "_LEAST_SECONDS", 0.5)
    monkeypatch.setattr(stale_trials, "_FACTOR", 0.0)
    monkeypatch.setattr(stale_trials, "_MANY", 1)
    has_heartbeat = kind in ("sqlite", "postgresql")
    with url_of(kind, tmp_path) as url:
        optuna.create_study(study_name="s", storage=open_storage(url))
        study = load(url, MisoWildSampler(seed=0))
        study.optimize(objective, n_trials=n_before)
        for place in PLACES:  # One by one: what kills two workers counts as failed.
            worker = processes.Process(target=work_until_killed, args=(url, place))
            worker.start()
            worker.join(300)
            assert worker.exitcode == -signal.SIGKILL

        killed = [t for t in study.trials if t.state == TrialState.RUNNING]
        assert len(killed) == len(PLACES)
        assert sorted(len(t.params) for t in killed) == [0, 0, 0, 2, 2]
        deadline = time.monotonic() + 120.0
        while StudyView(study, Settings()).stale != {t.number for t in killed}:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        view = StudyView(study, Settings())
        assert view.observations.trial.tolist() == list(range(n_before))
        assert not view.design_observations.pending.any()

        study.optimize(objective, callbacks=[MaxTrialsCallback(N_QUERIES)])
        finished = [t for t in study.trials if t.state == TrialState.COMPLETE]
        # Each query once, those that were lost among them.
        assert queries(finished) == {(s, n): 1 for s in SOURCES for n in range(1, N_VALUES + 1)}
        assert [t.number for t in finished[:n_before]] == list(range(n_before))
        after = [study.trials[t.number].state for t in killed]
        n_failed = len(PLACES) - 1 if has_heartbeat else 0  # Not the one without a heartbeat.
        assert after.count(TrialState.FAIL) == n_failed
        assert after.count(TrialState.RUNNING) == len(PLACES) - n_failed


def test_a_resumed_study_asks_what_it_would_have_asked_without_the_break(tmp_path: Path) -> None:
    with url_of("journal", tmp_path) as url:
        straight = optuna.create_study(sampler=MisoWildSampler(seed=0))
        straight.optimize(objective, n_trials=N_QUERIES)
        optuna.create_study(study_name="s", storage=open_storage(url))
        for _ in range(4):
            load(url, MisoWildSampler(seed=0)).optimize(objective, n_trials=3)
        resumed = load(url, MisoWildSampler(seed=0))
        assert [t.params for t in resumed.trials] == [t.params for t in straight.trials]
