"""Several workers on one study, in one storage; some of them may be killed on the way.

Each worker is a process that loads the study and optimises it; on many machines, run this with
the URL of a database that all of them reach. A worker that dies is replaced, and what it has left
running is failed when its heartbeat stops, so that the study ends with all of its trials, or with
its whole budget spent.

    python examples/parallel.py [--storage sqlite:///parallel.db] [--workers 4]
        [--n-trials 40 | --budget 10] [--kill-every 5]
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import time
import warnings

import optuna
from optuna.storages import RDBStorage
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost


GRACE_SECONDS = 10  # A worker that gives no sign of life for so long is dead.
SOURCES = ["fine", "coarse"]  # the first is the preferred one


def objective(trial: optuna.Trial) -> float:
    """Branin's function, and a coarse copy of it that costs a tenth."""
    source = trial.suggest_categorical("source", SOURCES)
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    time.sleep(0.5 if source == "fine" else 0.05)
    value = (y - 0.129 * x**2 + 1.592 * x - 6) ** 2 + 9.602 * math.cos(x) + 10
    return value if source == "fine" else value + 3 * math.cos(x + y)


def open_storage(url: str) -> RDBStorage:
    """Open a database with heartbeats: a worker gives a sign of life every two seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return RDBStorage(
            url,
            heartbeat_interval=2,
            grace_period=GRACE_SECONDS,
            engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else None,
        )


def work(args: argparse.Namespace) -> None:
    """Optimise until the study, not this worker, has had its trials or spent its budget."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = MisoWildSampler(budget=args.budget, seed=args.seed)
    study = optuna.load_study(
        study_name=args.name, storage=open_storage(args.storage), sampler=sampler
    )
    enough = CostBudgetCallback(args.budget) if args.budget else MaxTrialsCallback(args.n_trials)
    if not is_done(study, args):
        study.optimize(objective, callbacks=[enough])


def is_done(study: optuna.Study, args: argparse.Namespace) -> bool:
    if args.budget:
        return CostBudgetCallback(args.budget).is_spent(study)
    return len(complete(study)) >= args.n_trials


def complete(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--storage", default="sqlite:///parallel.db", help="URL of a database")
    parser.add_argument("--name", default="parallel")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--n-trials", type=int, default=40, help="of all workers together")
    parser.add_argument("--budget", type=float, help="seconds of all trials, in place of a number")
    parser.add_argument("--kill-every", type=float, help="kill a worker every so many seconds")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        study_name=args.name, storage=open_storage(args.storage), load_if_exists=True
    )
    context = multiprocessing.get_context("spawn")

    def start() -> multiprocessing.process.BaseProcess:
        worker = context.Process(target=work, args=(args,))
        worker.start()
        return worker

    workers = [start() for _ in range(args.workers)]
    kills, last_kill = 0, time.monotonic()
    while any(worker.is_alive() for worker in workers) or not is_done(study, args):
        time.sleep(0.5)
        if args.kill_every and time.monotonic() - last_kill > args.kill_every:
            victim = random.choice(workers)
            if victim.is_alive():
                victim.kill()
                kills += 1
            last_kill = time.monotonic()
        if not is_done(study, args):
            for i, worker in enumerate(workers):
                if not worker.is_alive():
                    worker.join()
                    workers[i] = start()

    if any(trial.state == TrialState.RUNNING for trial in study.trials):
        time.sleep(GRACE_SECONDS + 1)  # What a killed worker has left is failed then.
        optuna.storages.fail_stale_trials(study)
    points = [
        (t.params["source"], round(t.params["x"], 4), round(t.params["y"], 4))
        for t in complete(study)
    ]
    states = [trial.state.name for trial in study.trials]
    print(f"Workers killed: {kills}")
    print("Trials: " + ", ".join(f"{states.count(s)} {s}" for s in sorted(set(states))))
    print(f"Queries made twice: {len(points) - len(set(points))}")
    print(f"Best on the preferred source: {study.best_params}, value {study.best_value:.4f}")
    print(f"Cost of all trials: {cumulated_cost(study):.1f} s")


if __name__ == "__main__":
    main()
