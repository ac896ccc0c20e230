"""How many workers a storage bears: trials per second, duplicates, and what the workers wait for.

    python -m examples.benchmarks.storages --storage sqlite:///storages.db --workers 1 4 16 32

Every worker is a process that optimises until the study has had its trials. An evaluation is a
sleep, so that many workers fit on few cores. ``--storage`` takes the URL of a database,
``journal:FILE`` for a file of ``JournalStorage``, or ``grpc:PORT`` for Optuna's proxy on this
machine. Each number of workers has a study of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from typing import Any
import warnings

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.storages import GrpcStorageProxy
from optuna.storages import JournalStorage
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

from optuna_misowild import MisoWildSampler


SOURCES = {"fine": 1.0, "coarse": 0.1}  # In seconds; the first is the preferred one.


def open_storage(url: str, **heartbeat: Any) -> BaseStorage:
    """Open a storage; ``heartbeat`` is for those that have one."""
    kind, _, rest = url.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if kind == "journal":
            return JournalStorage(JournalFileBackend(rest))
        if kind == "grpc":
            return GrpcStorageProxy(host="localhost", port=int(rest))
        wait = {"connect_args": {"timeout": 60}} if kind == "sqlite" else None
        return RDBStorage(url, engine_kwargs=wait, **heartbeat)


def objective(trial: optuna.Trial) -> float:
    start = time.perf_counter()
    source = trial.suggest_categorical("source", list(SOURCES))
    x = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(4)]
    trial.set_user_attr("asking", time.perf_counter() - start)
    time.sleep(SOURCES[source])
    return sum((u - 0.3) ** 2 for u in x) + 0.1 * x[0] * (source == "coarse")


def work(url: str, name: str, n_trials: int) -> None:
    """Optimise until the study has had its trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = open_storage(url, heartbeat_interval=60)
    study = optuna.load_study(study_name=name, storage=storage, sampler=MisoWildSampler(seed=0))
    study.optimize(objective, callbacks=[MaxTrialsCallback(n_trials)])


def measure(url: str, n_workers: int, n_trials: int) -> tuple[float, int, float, float]:
    """Run a study with so many workers.

    Returns:
        Trials per second; the number of queries that were made before; the median and the largest
        number of seconds from the first to the last parameter of a trial.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = f"{n_workers} workers at {time.time():.0f}"
    study = optuna.create_study(study_name=name, storage=open_storage(url))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(url, name, n_trials)) for _ in range(n_workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    begun = min(t.datetime_start for t in trials if t.datetime_start)
    ended = max(t.datetime_complete for t in trials if t.datetime_complete)
    queries = {tuple(trial.params.values()) for trial in trials}
    asking = [trial.user_attrs["asking"] for trial in trials]
    seconds = (ended - begun).total_seconds()
    return (
        len(trials) / seconds,
        len(trials) - len(queries),
        float(np.median(asking)),
        max(asking),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--storage", default="sqlite:///storages.db")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 16, 32])
    parser.add_argument("--trials-per-worker", type=int, default=8)
    args = parser.parse_args()
    print("| workers | trials per second | made before | asking, median s | longest |")
    print("|--:|--:|--:|--:|--:|")
    for n_workers in args.workers:
        n_trials = max(args.trials_per_worker * n_workers, 32)
        per_second, n_old, median, longest = measure(args.storage, n_workers, n_trials)
        print(
            f"| {n_workers} | {per_second:.1f} | {n_old} | {median:.2f} | {longest:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
