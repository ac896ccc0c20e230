"""``MisoWildSearchCV`` and scikit-learn's and Optuna's searches, for the same processor time.

    python -m examples.benchmarks.sklearn_search --seeds 5 --output results/sklearn.csv

Every tool searches the same 70 % of the rows with the same folds, until the process has used the
task's seconds, and fits the best parameters on all of these rows; the other 30 % are the test. One
run is one process with one thread, and its clock is that of the process: all that a tool computes
counts, its choices too, and nothing that others compute. What is already in the output is not run
again; ``--report`` runs nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import csv
from dataclasses import replace
from pathlib import Path
import time
from typing import Any
from unittest import mock
import warnings

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import get_scorer
from sklearn.model_selection import HalvingRandomSearchCV
from sklearn.model_selection import RandomizedSearchCV
from sklearn.model_selection import cross_val_score
from sklearn.model_selection import train_test_split

from examples.benchmarks.sklearn_tasks import TASKS
from examples.benchmarks.sklearn_tasks import Task
from optuna_misowild.sklearn import MisoWildSearchCV
from optuna_misowild.sklearn.distributions import parameters_of


COLUMNS = ("task", "tool", "seed", "seconds", "evaluations", "cv", "test", "more")


class Clock:
    """Seconds that this process has used, since the clock was made."""

    def __init__(self, seconds: float) -> None:
        self.start = time.process_time()
        self.limit = seconds

    @property
    def seconds(self) -> float:
        return time.process_time() - self.start

    def is_over(self) -> bool:
        return self.seconds >= self.limit


def misowild(task: Task, seed: int, clock: Clock, **settings: Any) -> tuple[Any, float, int, str]:
    """Search with the package's own class. Its seconds are the processor's as well."""
    search = MisoWildSearchCV(
        task.estimator,
        task.distributions,
        budget=clock.limit,
        cv=task.cv,
        scoring=task.scoring,
        refit=False,
        random_state=seed,
        **{"resource": task.resource, **settings},
    )
    with (
        mock.patch("time.time", time.process_time),
        mock.patch("time.perf_counter", time.process_time),
    ):
        search.fit(task.X, task.y)
    names, counts = np.unique(search.cv_results_["source"], return_counts=True)
    cost = [
        search.cv_results_["cost"][search.cv_results_["source"] == name].sum() for name in names
    ]
    more = " ".join(f"{n}:{c}/{s:.1f}s" for n, c, s in zip(names, counts, cost, strict=True))
    return search.best_params_, search.best_score_, len(search.study_.trials), more


def plain(task: Task, seed: int, clock: Clock) -> tuple[Any, float, int, str]:
    """Search with the same class on all rows only."""
    return misowild(task, seed, clock, resource="n_samples", fractions=[1.0])


def randomized(task: Task, seed: int, clock: Clock) -> tuple[Any, float, int, str]:
    """Search at random: one candidate after the other, so that it can end in time."""
    best, score, n = None, -np.inf, 0
    while not clock.is_over():
        search = RandomizedSearchCV(
            task.estimator,
            task.distributions,
            n_iter=1,
            cv=task.cv,
            scoring=task.scoring,
            refit=False,
            random_state=1000 * seed + n,
        ).fit(task.X, task.y)
        n += 1
        if search.best_score_ > score:
            best, score = search.best_params_, search.best_score_
    return best, score, n, ""


def halving(task: Task, seed: int, clock: Clock) -> tuple[Any, float, int, str]:
    """Halve with scikit-learn's defaults, which choose what it costs."""
    return _halving(task, seed, "exhaust", "smallest")


def halving_budget(task: Task, seed: int, clock: Clock) -> tuple[Any, float, int, str]:
    """Halve with as many candidates as come to the seconds, by a run with another seed."""
    key = (repr(task.estimator), task.X.shape, task.resource)
    if key not in _SECONDS_PER_CANDIDATE:
        trial_run = Clock(clock.limit)
        _halving(task, 10_000, _CANDIDATES_TRIED, "smallest")
        _SECONDS_PER_CANDIDATE[key] = trial_run.seconds / _CANDIDATES_TRIED
        clock.start = time.process_time()  # Finding the number is not the tool's.
    n = max(round(clock.limit / _SECONDS_PER_CANDIDATE[key]), 2)
    return _halving(task, seed, n, "smallest")


_CANDIDATES_TRIED = 60
_SECONDS_PER_CANDIDATE: dict[Any, float] = {}


def _halving(task: Task, seed: int, n: Any, least: Any) -> tuple[Any, float, int, str]:
    most: Any = "auto"
    if task.resource != "n_samples":
        most = task.estimator.get_params()[task.resource]
        least = max(most // 27, 1)  # Three times a third, rather than from 1 on.
    search = HalvingRandomSearchCV(
        task.estimator,
        task.distributions,
        n_candidates=n,
        resource=task.resource,
        min_resources=least,
        max_resources=most,
        cv=task.cv,
        scoring=task.scoring,
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y)
    return (
        search.best_params_,
        np.nan,
        len(search.cv_results_["params"]),
        f"{search.n_candidates_}",
    )


def optuna_search(task: Task, seed: int, clock: Clock) -> tuple[Any, float, int, str]:
    """Search with Optuna's own class for scikit-learn, and its default sampler."""
    from optuna_integration import OptunaSearchCV

    def stop(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if clock.is_over():
            study.stop()

    distributions = {
        name: CategoricalDistribution(given)
        if isinstance(given, list)
        else parameters_of({name: given})[name].distribution
        for name, given in task.distributions.items()
    }
    search = OptunaSearchCV(
        task.estimator,
        distributions,
        n_trials=10_000,
        cv=task.cv,
        scoring=task.scoring,
        refit=False,
        random_state=seed,
        callbacks=[stop],
    ).fit(task.X, task.y)
    return search.best_params_, search.best_score_, len(search.study_.trials), ""


TOOLS: dict[str, Callable[[Task, int, Clock], tuple[Any, float, int, str]]] = {
    "MisoWildSearchCV": misowild,
    "MisoWildSearchCV, all rows": plain,
    "RandomizedSearchCV": randomized,
    "HalvingRandomSearchCV": halving,
    "HalvingRandomSearchCV, same seconds": halving_budget,
    "OptunaSearchCV": optuna_search,
}


def run(name: str, tool: str, seed: int) -> dict[str, Any]:
    """Run one tool on one task; return the row of the output."""
    task = TASKS[name]()
    X, X_test, y, y_test = train_test_split(
        task.X, task.y, test_size=0.3, stratify=task.y, random_state=seed
    )
    train = replace(task, X=X, y=y)
    train.estimator.fit(X[:200], y[:200])  # What is imported only once is not the tool's.
    clock = Clock(task.seconds)
    best, score, n, more = TOOLS[tool](train, seed, clock)
    used = clock.seconds
    estimator = task.estimator.set_params(**best)
    if np.isnan(score):  # Halving's own may be of fewer rows.
        score = cross_val_score(estimator, X, y, cv=task.cv, scoring=task.scoring).mean()
    estimator.fit(X, y)
    test = get_scorer(task.scoring)(estimator, X_test, y_test)
    return dict(
        zip(
            COLUMNS,
            (name, tool, seed, f"{used:.2f}", n, f"{score:.5f}", f"{test:.5f}", more),
            strict=True,
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("results/sklearn.csv"))
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    if not arguments.report:
        run_all(arguments)
    print(report(read(arguments.output)))


def run_all(arguments: argparse.Namespace) -> None:
    """Run what is not in the output yet, seed by seed."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", FutureWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    done = read(arguments.output)
    known = {(row["task"], row["tool"], int(row["seed"])) for row in done}
    is_new = not done
    with arguments.output.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for task in arguments.tasks:
                for tool in arguments.tools:
                    if (task, tool, seed) not in known:
                        row = run(task, tool, seed)
                        writer.writerow(row)
                        file.flush()
                        print(row, flush=True)


def report(rows: list[dict[str, str]]) -> str:
    """Return the table in Markdown: means over seeds, and differences to ours at the same seeds.

    Tasks come in the order of what the best of the other tools has more than ours in
    cross-validation, so losses first.
    """
    found = {(row["task"], row["tool"], row["seed"]): row for row in rows}
    ours = next(iter(TOOLS))
    tasks = []
    for task in TASKS:
        lines, losses = [], [0.0]
        for tool in TOOLS:
            seeds = [s for t, name, s in found if (t, name) == (task, tool)]
            pairs = [
                [found[task, name, seed] for name in (tool, ours)]
                for seed in seeds
                if (task, ours, seed) in found
            ]
            if not pairs:
                continue
            cv, test, seconds = (
                np.array([[float(row[name]) for row in pair] for pair in pairs])
                for name in ("cv", "test", "seconds")
            )
            line = f"| {task} | {tool} | {seconds[:, 0].mean():.0f}"
            line += f" | {cv[:, 0].mean():.4f} ± {cv[:, 0].std():.4f} | {test[:, 0].mean():.4f} |"
            if tool != ours:
                more = cv[:, 0] - cv[:, 1]
                losses.append(more.mean())
                n_better = int((more < 0.0).sum())
                line += f" {more.mean():+.4f} ± {more.std():.4f} | {n_better} of {len(more)}"
                line += f" | {(test[:, 0] - test[:, 1]).mean():+.4f} |"
            else:
                line += " | | |"
            lines.append(line)
        tasks.append((max(losses), lines))
    header = (
        "| task | tool | seconds | CV | test | CV, more than ours | ours better | test, more |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    ordered = sorted(tasks, key=lambda task: -task[0])
    return "\n".join([header, *(line for _, lines in ordered for line in lines)])


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of the output so far."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
