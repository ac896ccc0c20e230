"""What each sampler has found when a quarter, half and all of the same budget is spent.

    python -m examples.benchmarks.quality --problems forrester branin --methods gp tpe random

Every run is an Optuna study, told simulated costs. It goes into a CSV file with a row per trial;
runs that are in the file already are not repeated, so that an interrupted benchmark goes on where
it stopped, and more seeds, methods or problems only add theirs. --report prints the table of what
is in the file and runs nothing.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import as_completed
import csv
import multiprocessing
import os
from pathlib import Path
import time
from typing import Any

import numpy as np
import optuna
from tqdm import tqdm

from examples.benchmarks.methods import METHODS
from examples.benchmarks.methods import Method
from examples.benchmarks.problem import Problem
from examples.benchmarks.problems import PROBLEMS
from examples.benchmarks.report import CHECKPOINTS
from examples.benchmarks.report import markdown


FIELDS = (
    "problem",
    "method",
    "seed",
    "trial",
    "source",
    "value",
    "cost",
    "spent",  # with this trial
    "seconds",  # of thinking, for this trial
    "regret",  # of the best trial of the preferred source so far
    "recommended",  # regret of the recommendation; only where a checkpoint's budget ends
    "failure",  # what ended the run, if it was an exception
)

Row = dict[str, Any]


def run(problem: Problem, method: Method, seed: int, max_trials: int) -> list[Row]:
    """Run one study until the budget would be exceeded, and return a row per trial.

    The trial that would exceed the budget is asked for and not evaluated: what a method cannot
    pay for, it does not learn.
    """
    study = optuna.create_study(sampler=method.sampler(problem.budget, seed))
    rng = np.random.default_rng(seed)
    checkpoints = [fraction * problem.budget for fraction in CHECKPOINTS]
    rows: list[Row] = []
    spent, best_value, regret = 0.0, np.inf, 1.0
    try:
        for number in range(max_trials):
            start = time.perf_counter()
            trial = study.ask()
            source = 0
            if method.all_sources:
                source = trial.suggest_categorical("source", range(len(problem.sources)))
            x = problem.suggest(trial)
            seconds = time.perf_counter() - start

            value, cost = (float(v) for v in problem.evaluate(source, x))
            value += problem.sources[source].noise * rng.standard_normal()
            if spent + cost > checkpoints[0]:
                if rows:
                    rows[-1]["recommended"] = recommended_regret(problem, method, seed, study)
                checkpoints = [c for c in checkpoints if spent + cost <= c]
                if not checkpoints:
                    return rows
            spent += cost
            if source == 0 and value < best_value:
                best_value, regret = value, float(problem.regret(x))
            trial.set_user_attr("cost", cost)
            study.tell(trial, value)
            rows.append(
                {
                    "trial": number,
                    "source": source,
                    "value": value,
                    "cost": cost,
                    "spent": spent,
                    "seconds": seconds,
                    "regret": regret,
                }
            )
        rows[-1]["recommended"] = recommended_regret(problem, method, seed, study)
    except Exception as error:
        rows.append({"failure": f"{type(error).__name__}: {error}"})
    return rows


def recommended_regret(problem: Problem, method: Method, seed: int, study: optuna.Study) -> float:
    """Regret of what a user who stops now would take; 1 if there is nothing to take."""
    finished = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    stopped = optuna.create_study(sampler=method.sampler(problem.budget, seed))
    stopped.add_trials(finished)
    try:
        params = method.recommended(stopped)
    except ValueError:  # no trial of the preferred source
        return 1.0
    return float(problem.regret(problem.location(params)))


def run_named(problem: str, method: str, seed: int, max_trials: int) -> list[Row]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = run(PROBLEMS[problem], METHODS[method], seed, max_trials)
    return [{"problem": problem, "method": method, "seed": seed} | row for row in rows]


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="run the seeds 0 … SEEDS - 1")
    parser.add_argument("--max-trials", type=int, default=200, help="per run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--output", type=Path, default=Path("results/quality.csv"))
    parser.add_argument("--report", action="store_true", help="print the table, run nothing")
    args = parser.parse_args()

    if not args.report:
        done = {(row["problem"], row["method"], int(row["seed"])) for row in read(args.output)}
        todo = [
            (problem, method, seed)
            for seed in range(args.seeds)
            for problem in args.problems
            for method in args.methods
            if (problem, method, seed) not in done
        ]
        # A process per core: threads below them would only fight for the cores. Set here, to be
        # there before the new processes load their libraries.
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(args.jobs, mp_context=spawn) as pool:
            futures = [pool.submit(run_named, *which, args.max_trials) for which in todo]
            for future in tqdm(as_completed(futures), total=len(futures), unit="run"):
                append(args.output, future.result())

    rows = [
        row
        for row in read(args.output)
        if row["problem"] in args.problems
        and row["method"] in args.methods
        and int(row["seed"]) < args.seeds
    ]
    print(markdown(rows, PROBLEMS))


if __name__ == "__main__":
    main()
