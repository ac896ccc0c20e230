"""Repeat the paper's experiments, and write the report.

    python -m examples.paper.run --replay --methods paper,robust,carbo --jobs 2
    python -m examples.paper.run --live --dataset svmguide1 --classifier rf --runs 3

Replayed from recorded tables, ten runs of a task take seconds; live they train hundreds of
classifiers. Every run is an Optuna study in one file: what is finished is not run again, what was
interrupted goes on, and optuna-dashboard shows it. See examples/paper/README.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import wait
from importlib.util import find_spec
import multiprocessing
import os
from pathlib import Path
import sys
from typing import Any
import warnings

import optuna
from tqdm import tqdm

from examples.paper import experiment
from examples.paper import report
from examples.paper.data import SPECS
from examples.paper.data import DataError
from examples.paper.data import load
from examples.paper.experiment import Run
from examples.paper.experiment import Task
from examples.paper.tables import TABLES
from examples.paper.tasks import CLASSIFIERS


def names_of(choices: Iterable[str], *, every: bool = True) -> Any:
    """Return a parser of comma-separated choices, or ``all`` of them."""
    known = list(choices)

    def parse(text: str) -> list[str]:
        if every and text == "all":
            return known
        names = text.split(",")
        for name in names:
            if name not in known:
                hint = ", ".join([*known, *(["all"] if every else [])])
                raise argparse.ArgumentTypeError(f"{name!r} is none of {hint}")
        return names

    return parse


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--dataset", type=names_of(SPECS), default=list(SPECS), help=f"{', '.join(SPECS)} or all")
    add("--classifier", type=names_of(CLASSIFIERS), default=list(CLASSIFIERS), help="svc, rf, all")
    add(
        "--methods",
        type=names_of(experiment.METHOD_NAMES, every=False),
        default=["paper", "robust", "carbo"],
        help=f"of {', '.join(experiment.METHOD_NAMES)}; default: paper,robust,carbo",
    )
    add("--runs", type=positive, default=10, help="with the seeds 0 … RUNS - 1 (default: 10)")
    add("--evaluations", type=positive, default=50, help="of each run (default: 50)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--replay", action="store_true", help="from tables (the default)")
    mode.add_argument("--live", action="store_true", help="with real training")
    add("--jobs", type=positive, default=1, help="runs at the same time (default: 1)")
    add("--budget", type=float, help="seconds that cost-cooling plans with (default: see README)")
    add("--storage", type=Path, default=Path("results/paper/studies.log"), help="file of Optuna's")
    add("--output", type=Path, default=Path("results/paper"), help="folder of the report")
    add("--tables", type=Path, default=TABLES, help="folder of the recorded tables")
    add("--data-dir", type=Path, help="folder of the datasets, for --live (see data.py)")
    return parser.parse_args()


def planned(args: argparse.Namespace) -> list[Run]:
    """Return the runs that the arguments ask for; say which tasks are left out, and why.

    Raises:
        SystemExit: If there is nothing to run, or something for it is missing.
    """
    if "gp" in args.methods and find_spec("torch") is None:
        sys.exit("The method gp, Optuna's GPSampler, needs PyTorch: pip install torch")
    tasks = [
        Task(classifier, dataset, args.live, args.tables, args.data_dir)
        for classifier in args.classifier
        for dataset in args.dataset
    ]
    recorded = [task for task in tasks if task.table.exists()]
    if not args.live:
        for task in tasks:
            if task not in recorded:
                print(_unrecorded(task), file=sys.stderr)
        tasks = recorded
    elif "carbo" in args.methods and args.budget is None and tasks != recorded:
        names = ", ".join(f"{t.classifier} on {t.dataset}" for t in tasks if t not in recorded)
        sys.exit(f"Cost-cooling needs a --budget where no table tells costs: {names}.")
    if args.live:
        for dataset in dict.fromkeys(task.dataset for task in tasks):
            load(dataset, args.data_dir)  # Better now than in the middle.
    budgets = {task: _budget(task, args) for task in tasks}
    return [
        Run(task, method, seed, args.evaluations, budgets[task] if method == "carbo" else None)
        for task in tasks
        for seed in range(args.runs)
        for method in args.methods
    ]


def _unrecorded(task: Task) -> str:
    return (
        f"Left out: {task.classifier} on {task.dataset}, of which there is no table in "
        f"{task.tables}. --live trains it; "
        f"python -m examples.paper.record --classifier {task.classifier} --dataset {task.dataset} "
        "records it."
    )


def _budget(task: Task, args: argparse.Namespace) -> float | None:
    """Return what the evaluations of a run would cost at random places on all the data."""
    if args.budget is not None or "carbo" not in args.methods:
        return args.budget  # type: ignore[no-any-return]
    return args.evaluations * experiment.replay(task).mean_cpu_s


_evaluated: Any = None  # In a worker: the queue that tells the main process of evaluations.


def _initialize(evaluated: Any) -> None:
    global _evaluated
    _evaluated = evaluated
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)


def _work(run: Run, storage: Path) -> None:
    experiment.execute(run, experiment.open_storage(storage), lambda: _evaluated.put(1))


def execute(runs: list[Run], storage: Path, jobs: int) -> list[str]:
    """Execute runs in processes, and return what went wrong."""
    # A process per core: threads below them would only fight for the cores. Set here, to be
    # there before the new processes load their libraries.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    spawn = multiprocessing.get_context("spawn")
    evaluated = spawn.Queue()
    failures = []
    with (
        ProcessPoolExecutor(jobs, spawn, initializer=_initialize, initargs=(evaluated,)) as pool,
        tqdm(
            total=sum(run.evaluations for run in runs), unit="evaluation", mininterval=1
        ) as progress,
    ):
        pending: dict[Future[None], Run] = {pool.submit(_work, run, storage): run for run in runs}
        while pending:
            done, _ = wait(pending, timeout=0.5)
            while not evaluated.empty():
                progress.update(evaluated.get())
            for future in done:
                run = pending.pop(future)
                if error := future.exception():
                    failures.append(f"{run.name}: {type(error).__name__}: {error}")
    return failures


def main() -> None:
    args = parse_args()
    try:
        runs = planned(args)
    except DataError as error:
        sys.exit(f"{error}")
    if not runs:
        sys.exit("There is nothing to run.")
    storage = args.storage.resolve()
    known = report.read(storage) if storage.exists() else []
    finished = {(run.name, run.evaluations) for run in known}
    todo = [run for run in runs if (run.name, run.evaluations) not in finished]
    print(f"{len(todo)} runs to do, {len(runs) - len(todo)} of {len(runs)} are done.")
    failures = execute(todo, storage, args.jobs) if todo else []
    report.write(storage, args.output, tables=args.tables)
    if failures:
        sys.exit("\n".join(["These runs failed; the same command tries them again:", *failures]))


if __name__ == "__main__":
    main()
