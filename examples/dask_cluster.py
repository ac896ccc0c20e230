"""The workers of a Dask cluster on one study, whose storage lives in the cluster's scheduler.

Each task loads the study and optimises it until all of them together have had their trials. A
database is not needed; for a study that outlives the cluster, give the URL of one.

    python examples/dask_cluster.py [--scheduler tcp://HOST:8786] [--storage URL] [--tasks 4]
        [--n-trials 40]

Without --scheduler it starts a cluster on this machine, of two processes with two threads each.
"""

from __future__ import annotations

import argparse
from collections import Counter
import math
import time
import warnings

from distributed import Client
from distributed import LocalCluster
import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import FrozenTrial
from optuna.trial import TrialState
from optuna_integration import DaskStorage

from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost


SOURCES = ["fine", "coarse"]  # the first is the preferred one


def objective(trial: optuna.Trial) -> float:
    """Branin's function, and a coarse copy of it that costs a tenth."""
    source = trial.suggest_categorical("source", SOURCES)
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    cost = 1.0 if source == "fine" else 0.1
    time.sleep(0.2 * cost)
    trial.set_user_attr("cost", cost)  # Without this, the seconds that the trial takes.
    value = (y - 0.129 * x**2 + 1.592 * x - 6) ** 2 + 9.602 * math.cos(x) + 10
    return value if source == "fine" else value + 3 * math.cos(x + y)


def work(storage: DaskStorage, name: str, n_trials: int, seed: int) -> None:
    """Optimise until the study, not this task, has had its trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(
        study_name=name,
        storage=storage,
        sampler=MisoWildSampler(seed=seed),  # The storage does not keep the sampler.
    )
    if len(complete(study)) < n_trials:
        study.optimize(objective, callbacks=[MaxTrialsCallback(n_trials)])


def complete(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scheduler", help="address of a cluster's scheduler")
    parser.add_argument("--storage", help="URL of a database; by default the scheduler's memory")
    parser.add_argument("--name", default="dask")
    parser.add_argument("--tasks", type=int, default=4, help="that run at the same time")
    parser.add_argument("--n-trials", type=int, default=40, help="of all tasks together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="12 trials")
    args = parser.parse_args()
    n_trials = 12 if args.short else args.n_trials

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    cluster = args.scheduler or LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None
    )
    with Client(cluster) as client:
        # Once on every worker, too.
        client.run(warnings.simplefilter, "ignore", optuna.exceptions.ExperimentalWarning)
        storage = DaskStorage(args.storage, client=client)
        study = optuna.create_study(study_name=args.name, storage=storage, load_if_exists=True)
        tasks = [
            client.submit(work, storage, args.name, n_trials, args.seed, pure=False)
            for _ in range(args.tasks)
        ]
        client.gather(tasks)
        trials = complete(study)

        points = {(t.params["source"], t.params["x"], t.params["y"]) for t in trials}
        sources = Counter(t.params["source"] for t in trials)
        print(f"Trials: {len(trials)}, " + ", ".join(f"{n} {s}" for s, n in sources.items()))
        print(f"Queries made twice: {len(trials) - len(points)}")
        print(f"Best on the preferred source: {study.best_params}, value {study.best_value:.4f}")
        print(f"Cost of all trials: {cumulated_cost(study):.1f}")
    if not args.scheduler:
        cluster.close()


if __name__ == "__main__":
    main()
