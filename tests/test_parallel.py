"""Real processes on one study that ask at the same moment, with the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from storage_servers import KINDS
from storage_servers import open_storage
from storage_servers import processes
from storage_servers import url_of
from toy_studies import SOURCES

from optuna_misowild import MisoWildSampler
from optuna_misowild import base_sampler
from optuna_misowild.study import conflicts


N_WORKERS, N_ROUNDS = 3, 6
N_VALUES = 15  # So few that workers which know the same choose the same.


def never(*args: Any, **kwargs: Any) -> bool:
    return False


def work(url: str, barrier: Any, resolved: bool) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    conflicts._PATIENCE_SECONDS = 60.0  # On a busy machine, a slow worker is not a dead one.
    if not resolved:
        base_sampler.must_give_way = never
    study = optuna.load_study(
        study_name="s", storage=open_storage(url), sampler=MisoWildSampler(seed=0)
    )
    for _ in range(N_ROUNDS):
        trial = study.ask()
        barrier.wait(60)
        source = trial.suggest_categorical("source", SOURCES)
        n = trial.suggest_int("n", 1, N_VALUES)
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        barrier.wait(60)
        study.tell(trial, (n - 4.0) ** 2 + n % 3)


def queries(url: str, *, resolved: bool) -> list[tuple[str, int]]:
    """Return what the workers have asked, in a study of their own."""
    study = optuna.create_study(study_name="s", storage=open_storage(url))
    barrier = processes.Barrier(N_WORKERS)
    workers = [
        processes.Process(target=work, args=(url, barrier, resolved)) for _ in range(N_WORKERS)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * N_WORKERS
    return [(t.params["source"], t.params["n"]) for t in study.trials]


@pytest.mark.parametrize(
    "kind", ["sqlite", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS[1:])]
)
def test_processes_that_ask_at_once_ask_different_things(kind: str, tmp_path: Path) -> None:
    with url_of(kind, tmp_path) as url:
        asked = queries(url, resolved=True)
    assert len(set(asked)) == len(asked) == N_WORKERS * N_ROUNDS


def test_where_no_conflict_is_resolved_they_would_ask_the_same(tmp_path: Path) -> None:
    # What the test above can tell.
    with url_of("journal", tmp_path) as url:
        asked = queries(url, resolved=False)
    assert len(set(asked)) < len(asked)
