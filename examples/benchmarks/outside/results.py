"""What is kept of the runs: a row of numbers per run, in one file per tool.

    python -m examples.benchmarks.outside.results

reads the traces that ``run.py`` has written and writes results/TOOL.csv beside this file. A tool's
file holds what its traces hold: rows of other tasks or seeds that are there already stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Mapping
import csv
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from examples.benchmarks.outside.harness import SHARES


KEPT = (0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.75, 0.9, 1.0)  # shares of the budget
CLOCK = (0.25, 0.5, 1.0)  # likewise, where thinking counts as well
WALL = (1 / 16, 1 / 4)  # of the time that one worker needs for the budget
FOLDER = Path(__file__).parent / "results"
FIELDS = (
    ("task", "seed", "workers", "evaluations", "full", "seconds", "failed", "end")
    + tuple(f"r{share:g}" for share in KEPT)
    + tuple(f"c{share:g}" for share in CLOCK)
    + tuple(f"w{share:g}" for share in WALL)
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """One run.

    Attributes:
        tool: Its name among ``TOOLS``.
        task: Its name.
        seed: Of the tool.
        workers: How many were simulated.
        evaluations: How many were paid; each epoch that was reported is one.
        full: How many of them were at the highest fidelity.
        seconds: Of thinking, of the processor.
        failed: Whether an exception ended it.
        regrets: Of the recommendation, by share of the budget.
        clock: The same, if a second of thinking costs as much as one of evaluating.
        end: When its last evaluation ended, by the simulated clock of all workers, as a share of
            the time that one worker needs for the budget.
        wall: Regret at such shares of the time.
    """

    tool: str
    task: str
    seed: int
    workers: int
    evaluations: int
    full: int
    seconds: float
    failed: bool
    regrets: Mapping[float, float]
    clock: Mapping[float, float]
    end: float
    wall: Mapping[float, float]


def result(row: Mapping[str, Any], highest: float, budget: float) -> Result:
    """Return what is kept of a trace."""
    recommended = dict(zip(SHARES, row["recommended"], strict=True))
    evaluations = row["evaluations"]
    return Result(
        tool=row["tool"],
        task=row["task"],
        seed=row["seed"],
        workers=row["workers"],
        evaluations=len(evaluations),
        full=sum(e[1] == highest for e in evaluations),
        seconds=row["seconds"],
        failed=bool(row["failure"]),
        regrets={share: _nearest(recommended, share) for share in KEPT},
        clock={share: _by_clock(row, share, budget) for share in CLOCK},
        end=max((e[-1] for e in evaluations), default=0.0) / budget,
        wall={share: _by_wall(row, share, budget) for share in WALL},
    )


def _nearest(by_share: Mapping[float, float], share: float) -> float:
    return by_share[min(by_share, key=lambda s: abs(s - share))]


def _by_clock(row: Mapping[str, Any], share: float, budget: float) -> float:
    """Regret at a share of the budget in seconds, of evaluating and of thinking."""
    clock = spent = 0.0
    for _, _, _, cost, seconds, _ in row["evaluations"]:
        clock += cost + seconds
        if clock > share * budget:
            break
        spent += cost
    if clock <= share * budget:  # nothing more was paid: what was found in the end
        return float(row["recommended"][round(share * len(SHARES)) - 1])
    return _when_spent(row, spent, budget)


def _by_wall(row: Mapping[str, Any], share: float, budget: float) -> float:
    """Regret at a share of one worker's time, by the simulated clock of all workers."""
    ends = [(end, cost) for _, _, _, cost, _, end in row["evaluations"]]
    now = share * budget * (1.0 + 1e-9)
    if all(end <= now for end, _ in ends):
        return float(row["recommended"][-1])
    return _when_spent(row, sum(cost for end, cost in ends if end <= now), budget)


def _when_spent(row: Mapping[str, Any], spent: float, budget: float) -> float:
    """Regret of the recommendation at the last of the shares that are spent."""
    reached = [k for k, s in enumerate(SHARES) if s * budget <= spent * (1.0 + 1e-9)]
    return float(row["recommended"][reached[-1]]) if reached else 1.0


def read(folder: Path = FOLDER) -> list[Result]:
    """Return all runs that a folder has."""
    return [r for path in sorted(folder.glob("*.csv")) for r in _read(path)]


def _read(path: Path) -> list[Result]:
    with path.open(newline="") as file:
        return [
            Result(
                tool=path.stem,
                task=row["task"],
                seed=int(row["seed"]),
                workers=int(row["workers"]),
                evaluations=int(row["evaluations"]),
                full=int(row["full"]),
                seconds=float(row["seconds"]),
                failed=row["failed"] == "1",
                regrets={s: float(row[f"r{s:g}"]) for s in KEPT},
                clock={s: float(row[f"c{s:g}"]) for s in CLOCK},
                end=float(row["end"]),
                wall={s: float(row[f"w{s:g}"]) for s in WALL},
            )
            for row in csv.DictReader(file)
        ]


def write(results: Iterable[Result], folder: Path = FOLDER) -> None:
    """Write them, a file per tool; runs that a file has already are replaced, others stay."""
    by_tool: dict[str, dict[tuple[str, int, int], Result]] = {}
    for r in results:
        by_tool.setdefault(r.tool, {})[r.task, r.seed, r.workers] = r
    folder.mkdir(parents=True, exist_ok=True)
    for tool, runs in by_tool.items():
        path = folder / f"{tool}.csv"
        known = {(r.task, r.seed, r.workers): r for r in _read(path)} if path.exists() else {}
        with path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            merged = known | runs
            writer.writerows(_row(merged[key]) for key in sorted(merged))


def _row(r: Result) -> list[Any]:
    numbers = [r.end, *r.regrets.values(), *r.clock.values(), *r.wall.values()]
    return [
        *(r.task, r.seed, r.workers, r.evaluations, r.full),
        *(f"{r.seconds:.3g}", int(r.failed)),
        *(f"{n:.3g}".replace("0.", ".", 1) if n < 1.0 else f"{n:.3g}" for n in numbers),
    ]


def main() -> None:
    from examples.benchmarks.outside.tasks import tasks

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--yahpo-data", type=Path, metavar="FOLDER", help="a clone of yahpo_data")
    parser.add_argument("--traces", type=Path, default=Path("results/outside"), metavar="FOLDER")
    args = parser.parse_args()
    made = tasks(args.yahpo_data)
    known: dict[str, tuple[float, float]] = {}
    kept = []
    for path in sorted(args.traces.glob("*.jsonl")):
        with path.open() as file:
            for row in map(json.loads, file):
                if row["task"] not in made:
                    continue
                if row["task"] not in known:
                    task = made[row["task"]]()
                    known[row["task"]] = task.highest, task.budget
                kept.append(result(row, *known[row["task"]]))
    write(kept)


if __name__ == "__main__":
    main()
