"""What each sampler has found when a quarter, half and all of the same budget is spent.

    python -m examples.benchmarks.quality --problems forrester branin --methods gp tpe random

Every run is an Optuna study, told simulated costs. It goes into a CSV file with a row per trial;
runs that are in the file already are not repeated, so that an interrupted benchmark goes on where
it stopped, and more seeds, methods or problems only add theirs. In the end it prints the tables,
and writes a summary as CSV and a picture beside that file; --report does so and runs nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import as_completed
import csv
import importlib.metadata
import multiprocessing
import os
from pathlib import Path
import shlex
import signal
import sys
import time
from typing import Any
from typing import NamedTuple

import numpy as np
import optuna
from packaging.requirements import Requirement
from tqdm import tqdm

from examples.benchmarks import dimensions
from examples.benchmarks.methods import METHODS
from examples.benchmarks.methods import Method
from examples.benchmarks.methods import Use
from examples.benchmarks.methods import resource
from examples.benchmarks.picture import regret_figure
from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Problem
from examples.benchmarks.problems import PROBLEMS
from examples.benchmarks.report import CURVE
from examples.benchmarks.report import markdown
from examples.benchmarks.report import ratio_table
from examples.benchmarks.report import ratios
from examples.benchmarks.report import summarise
from examples.benchmarks.report import write_csv
from examples.benchmarks.yahpo import problems as yahpo
from examples.figures import write_figures


FIELDS = (
    "problem",
    "method",
    "seed",
    "trial",
    "source",  # the last one that it asked
    "value",
    "cost",
    "spent",  # with this trial
    "seconds",  # of thinking, for this trial
    "regret",  # of the best trial of the preferred source so far
    "polishing",  # 1 if it asked the preferred source near its best location, to hardly any gain
    "recommended",  # regret of the recommendation; only where a twentieth of the budget ends
    "failure",  # what ended the run, if it was an exception
)

Row = dict[str, Any]

# A query of the preferred source polishes if it is this close to the best one so far, in units of
# √d, and improves on it by less than this part of the spread.
NEAR, GAIN = 0.05, 1e-3


def run(
    problem: Problem,
    method: Method,
    seed: int,
    max_trials: int = 200,
    shares: Sequence[float] = CURVE,
) -> list[Row]:
    """Run one study until the budget would be exceeded, and return a row per trial.

    Wherever one of the shares of the budget is spent, the method is asked for a recommendation.

    What the trial that would exceed the budget has found is thrown away: what a method cannot
    pay for, it does not learn.
    """
    study = method.study(problem.budget, len(problem.sources), seed)
    rng = np.random.default_rng(seed)
    checkpoints = [fraction * problem.budget for fraction in shares]
    rows: list[Row] = []
    spent, best_value, regret, best = 0.0, np.inf, 1.0, None
    try:
        for number in range(max_trials):
            start = time.perf_counter()
            trial = study.ask()
            e = evaluate(problem, method, trial, rng)
            seconds = time.perf_counter() - start

            if spent + e.cost > checkpoints[0]:
                if rows:
                    rows[-1]["recommended"] = recommended_regret(problem, method, seed, study)
                checkpoints = [c for c in checkpoints if spent + e.cost <= c]
                if not checkpoints:
                    return rows
            spent += e.cost
            gain = best_value - e.value
            near = best is not None and is_near(problem, e.x, best)
            polishing = e.source == 0 and near and gain < GAIN * problem.spread
            if e.source == 0 and gain > 0.0 and problem.is_feasible(e.x):
                best_value, regret, best = e.value, float(problem.regret(e.x)), e.x
            trial.set_user_attr("cost", e.cost)
            if e.pruned:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            else:
                study.tell(trial, e.value)
            rows.append(
                {
                    "trial": number,
                    "source": e.source,
                    "value": e.value,
                    "cost": e.cost,
                    "spent": spent,
                    "seconds": seconds,
                    "regret": regret,
                    "polishing": int(polishing),
                }
            )
        rows[-1]["recommended"] = recommended_regret(problem, method, seed, study)
    except Exception as error:
        rows.append({"failure": f"{type(error).__name__}: {error}"})
    return rows


def is_near(problem: Problem, x: Array, y: Array) -> bool:
    """Whether two locations are within NEAR·√d of each other in the unit cube."""
    difference = [p.unit(a) - p.unit(b) for p, a, b in zip(problem.parameters, x, y, strict=True)]
    return bool(np.linalg.norm(difference) <= NEAR * np.sqrt(len(difference)))


class Evaluation(NamedTuple):
    """What an objective has done: the last source that it asked, and what all it asked cost."""

    x: Array
    source: int
    value: float
    cost: float
    pruned: bool = False


def evaluate(
    problem: Problem, method: Method, trial: optuna.Trial, rng: np.random.Generator
) -> Evaluation:
    """Evaluate the objective of a trial as the method uses the sources."""

    def ask(source: int) -> tuple[float, float]:
        for k, constraint in enumerate(problem.sources[source].constraints(x)):
            trial.set_constraint(f"g{k}", float(constraint))
        value, cost = problem.evaluate(source, x)
        return float(value) + problem.sources[source].noise * rng.standard_normal(), float(cost)

    source = 0
    if method.use == Use.CHOSEN:
        choices = problem.choices
        source = choices.index(trial.suggest_categorical("source", choices))
    x = problem.suggest(trial)
    if method.use != Use.RUNGS:
        return Evaluation(x, source, *ask(source))
    total = 0.0
    for rung, source in enumerate(problem.cheapest_first):
        value, cost = ask(source)
        total = cost if problem.resumable else total + cost
        trial.report(value, resource(rung))
        if source != 0 and trial.should_prune():
            return Evaluation(x, source, value, total, pruned=True)
    return Evaluation(x, source, value, total)


def recommended_regret(problem: Problem, method: Method, seed: int, study: optuna.Study) -> float:
    """Regret of what a user who stops now would take; 1 if there is nothing to take."""
    states = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    stopped = method.study(problem.budget, len(problem.sources), seed)
    stopped.add_trials(study.get_trials(deepcopy=False, states=states))
    try:
        params = method.recommended(stopped)
    except ValueError:  # no trial of the preferred source
        return 1.0
    return float(problem.regret(problem.location(params)))


def run_named(problem: Problem, method: str, seed: int, max_trials: int) -> list[Row]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = run(problem, METHODS[method], seed, max_trials)
    return [{"problem": problem.name, "method": method, "seed": seed} | row for row in rows]


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


def process_pool(jobs: int) -> ProcessPoolExecutor:
    """Return new processes of one thread each: more would only fight for the cores."""
    # Set here, to be there before they load their libraries.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    return ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        # An interrupt ends them at once, and is reported by the main process alone.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_DFL),
    )


def complete(
    path: Path, runs: Sequence[tuple[Problem, str, int]], *, max_trials: int, jobs: int
) -> None:
    """Run what is not in the file yet, and append it."""
    done = {(row["problem"], row["method"], int(row["seed"])) for row in read(path)}
    todo = [run for run in runs if (run[0].name, *run[1:]) not in done]
    with process_pool(jobs) as pool:
        futures = [pool.submit(run_named, *run, max_trials) for run in todo]
        try:
            for future in tqdm(as_completed(futures), total=len(futures), unit="run"):
                append(path, future.result())
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise SystemExit(
                f"Interrupted. What has been run is in {path}; the same command goes on there."
            ) from None


def available(names: Sequence[str], among: Mapping[str, Problem | Method]) -> list[str]:
    """Return those whose package is installed, and say which others are not."""
    missing = {}
    for name in names:
        package = among[name].requires
        if package is not None and not is_installed(package):
            missing[name] = package
    if missing:
        print(
            f"Left out: {', '.join(missing)}. To run them: "
            f"pip install {shlex.join(sorted(set(missing.values())))}",
            file=sys.stderr,
        )
    return [name for name in names if name not in missing]


def is_installed(package: str) -> bool:
    """Return whether a package is installed, in a version that is wanted."""
    wanted = Requirement(package)
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", metavar="NAME", default=list(PROBLEMS))
    parser.add_argument(
        "--yahpo-data", type=Path, metavar="FOLDER", help="a clone of yahpo_data: its problems too"
    )
    parser.add_argument(
        "--dimensions",
        nargs="+",
        type=int,
        metavar="D",
        default=(),
        help="numbers of parameters, such as 50: problems of so many too",
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="run the seeds 0 … SEEDS - 1")
    parser.add_argument("--max-trials", type=int, default=200, help="per run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--output", type=Path, default=Path("results/quality.csv"))
    parser.add_argument("--report", action="store_true", help="report only, run nothing")
    args = parser.parse_args()
    known = dict(PROBLEMS) if args.yahpo_data is None else PROBLEMS | yahpo(args.yahpo_data)
    for d in args.dimensions:
        known |= dimensions.problems(d)
    unknown = [name for name in args.problems if name not in known]
    if unknown:
        parser.error(f"--problems: no {', '.join(unknown)}; there are {', '.join(known)}")

    if not args.report:
        problems = available(args.problems, known)
        methods = available(args.methods, METHODS)
        runs = [
            (known[problem], method, seed)
            for seed in range(args.seeds)
            for problem in problems
            for method in methods
        ]
        complete(args.output, runs, max_trials=args.max_trials, jobs=args.jobs)

    rows = [
        row
        for row in read(args.output)
        if row["problem"] in args.problems
        and row["method"] in args.methods
        and int(row["seed"]) < args.seeds
    ]
    if not rows:
        raise SystemExit(f"{args.output} has none of these runs.")
    # In the order of METHODS, whichever of the runs was through first.
    rows.sort(key=lambda row: list(METHODS).index(row["method"]))
    summaries = summarise(rows, known)
    print(markdown(summaries, known))
    print(ratio_table(ratios(rows, known)))
    table = args.output.with_name(f"{args.output.stem}-summary.csv")
    write_csv(table, summaries)
    figures = {args.output.stem: regret_figure(rows, known)}
    for path in [table, *write_figures(figures, args.output.parent)]:
        print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
