"""The quickstart's comparison for several seeds, and with more of Optuna's samplers and pruners.

Prints a table in Markdown: the median loss over the seeds when a quarter, half and all of the
budget is spent, the lowest and the highest in the end, and in how many seeds MisoWildSampler's is
lower in the end. What has been run stands in a file, and is not run again.

    python examples/quickstart_table.py [--seeds 10] [--file FILE] [--only NAME ...]

GPSampler needs PyTorch, which comes with the extra "benchmarks".
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Sequence
import csv
import math
from pathlib import Path
from statistics import median

import optuna
from quickstart import BUDGET
from quickstart import RIVALS
from quickstart import STEPS
from quickstart import Objective
from quickstart import misowild
from quickstart import search
from report import lowest
from report import require


OURS = "misowild"
Losses = dict[tuple[str, int], list[float]]


def read(path: Path) -> Losses:
    """Return what has been run: by name and seed the losses at a quarter, half and the end."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(name, int(seed), values) for name, seed, *values in csv.reader(file)]
    return {(name, seed): [float(value) for value in values] for name, seed, values in rows}


def run(name: str, seed: int, objective: Objective) -> list[float]:
    """Return the losses at a quarter, half and the end of the budget; NaN if there is none."""
    searcher = misowild(seed, STEPS, BUDGET) if name == OURS else RIVALS[name](seed, STEPS)
    study = search(searcher, objective, BUDGET)
    values = [lowest(study, part * BUDGET, STEPS[-1]) for part in (0.25, 0.5, math.inf)]
    return [math.nan if value is None else 10.0**value for value in values]


def table(losses: Losses) -> str:
    """Return the table in Markdown; a median is over the seeds, where NaN is the worst."""
    lines = [
        "| | a quarter | half | all | all, lowest and highest | ours lower |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(name for name, _ in losses):
        seeds = [seed for other, seed in losses if other == name]
        columns = [
            [math.inf if math.isnan(v) else v for v in values]
            for values in zip(*(losses[name, seed] for seed in seeds), strict=True)
        ]
        medians = " | ".join(
            f"{m:.4f}" if (m := median(c)) < math.inf else "none" for c in columns
        )
        shared = [seed for seed in seeds if (OURS, seed) in losses]
        wins = sum(losses[OURS, seed][-1] < losses[name, seed][-1] for seed in shared)
        against = "" if name == OURS else f"{wins} of {len(shared)}"
        end = columns[-1]
        lines.append(f"| {name} | {medians} | {min(end):.4f}, {max(end):.4f} | {against} |")
    return "\n".join(lines)


def complete(
    names: Sequence[str], n_seeds: int, path: Path, run: Callable[[str, int], list[float]]
) -> None:
    """Run what the file lacks, append it, and print the table."""
    if any(name.startswith("gp") for name in names):
        require("torch", "benchmarks")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    losses = read(path)
    for seed in range(n_seeds):
        for name in names:
            if (name, seed) not in losses:
                losses[name, seed] = run(name, seed)
                with path.open("a", encoding="utf-8", newline="") as file:
                    csv.writer(file).writerow([name, seed, *losses[name, seed]])
                print(name, seed, *(f"{loss:.4f}" for loss in losses[name, seed]), flush=True)
    wanted = {key: losses[key] for key in losses if key[0] in names and key[1] < n_seeds}
    print(table(dict(sorted(wanted.items(), key=lambda item: names.index(item[0][0])))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--file", type=Path, default=Path("quickstart-table.csv"))
    parser.add_argument("--only", nargs="+", choices=[OURS, *RIVALS], default=[OURS, *RIVALS])
    args = parser.parse_args()
    objective = Objective()
    complete(args.only, args.seeds, args.file, lambda name, seed: run(name, seed, objective))


if __name__ == "__main__":
    main()
