"""Run tools on tasks, and keep what became of them.

    python -m examples.benchmarks.outside.run --tools smac smac+c --yahpo-data yahpo_data

Each run is a line of JSON in FOLDER/TOOL.jsonl, with all its evaluations, and a row of
results/TOOL.csv beside this file. Runs that are there already are not repeated: an interrupted
benchmark goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
import json
from pathlib import Path
import sys
import time
import warnings

from examples.benchmarks.outside.harness import record
from examples.benchmarks.outside.harness import run
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.outside.tasks import tasks
from examples.benchmarks.outside.tools import TOOLS


def path_of(folder: Path, tool: str, workers: int) -> Path:
    """Return the file of a tool's runs."""
    return folder / (f"{tool}.jsonl" if workers == 1 else f"{tool}-{workers}.jsonl")


def done(path: Path) -> set[tuple[str, int]]:
    """Return task and seed of the runs that a file has."""
    if not path.exists():
        return set()
    with path.open() as file:
        return {(row["task"], row["seed"]) for row in map(json.loads, file)}


def complete(
    path: Path,
    tool: str,
    made: dict[str, Callable[[], Task]],
    seeds: range,
    *,
    workers: int = 1,
    until: float = float("inf"),
) -> None:
    """Run what is not in the file yet, until a time, and append it."""
    use, known = TOOLS[tool], done(path)
    for name, make in made.items():
        todo = [seed for seed in seeds if (name, seed) not in known]
        if not todo:
            continue
        task = make()
        if use.resumable_only and not task.resumable:
            continue
        for seed in todo:
            if time.time() > until:
                return
            start = time.time()
            result = run(task, use.make(task, seed), checkpoints=use.checkpoints, workers=workers)
            row = {"task": name, "tool": tool, "seed": seed, "workers": workers} | record(result)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(
                f"{tool} {name} {seed}: {len(result.evaluations)} evaluations, regret "
                f"{result.recommended[9]:.3g}, {result.recommended[-1]:.3g}; thought "
                f"{result.seconds:.1f} s, took {time.time() - start:.1f} s {result.failure}",
                file=sys.stderr,
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tools", nargs="+", choices=TOOLS, required=True, metavar="TOOL")
    parser.add_argument("--yahpo-data", type=Path, metavar="FOLDER", help="a clone of yahpo_data")
    parser.add_argument("--tasks", nargs="+", metavar="PREFIX", help="names that begin so")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), metavar=("FROM", "BEFORE"))
    parser.add_argument("--workers", type=int, default=1, help="simulated")
    parser.add_argument("--traces", type=Path, default=Path("results/outside"), metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="then no new run")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    made = tasks(args.yahpo_data)
    if args.tasks:
        made = {n: m for n, m in made.items() if n.startswith(tuple(args.tasks))}
    made = {name: cache(make) for name, make in made.items()}
    until = time.time() + 60 * args.minutes
    for seed in range(*args.seeds):
        for tool in args.tools:
            path = path_of(args.traces, tool, args.workers)
            complete(path, tool, made, range(seed, seed + 1), workers=args.workers, until=until)


if __name__ == "__main__":
    main()
