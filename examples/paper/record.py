"""Record a tuning task: its error and seconds over a grid, on every source, as a CSV table.

    python -m examples.paper.record --classifier svc --dataset magic \\
        --grid=-2:2:1,-4:4:0.5 --output results/svc_magic.csv

One process and one thread, so that seconds mean something. What is in the file already is not
measured again: stop it and start it as you like. The grid is measured from coarse to fine, on all
sources at each step, so that a recording that was stopped has a coarser grid complete
(--coarser-part FILE writes that one).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import itertools
import os
from pathlib import Path
import sys


# Before the libraries below are loaded, which start their threads.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from tqdm import tqdm

from examples.paper import tables
from examples.paper.data import SPECS
from examples.paper.data import DataError
from examples.paper.data import load
from examples.paper.tasks import CLASSIFIERS
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Classifier
from examples.paper.tasks import Live


Point = tuple[float, float]


def default_grid(classifier: Classifier) -> list[np.ndarray]:
    """Return the values of both hyperparameters, in the units of the table."""
    if classifier.logarithmic:
        return parse_grid("-2:2:0.5,-4:4:0.25")
    low, high = classifier.m_try  # type: ignore[attr-defined]
    return [parse_range("300:700:100"), np.arange(low, high + 1, 2 if high - low > 10 else 1)]


def parse_grid(text: str) -> list[np.ndarray]:
    """Return the values of both hyperparameters."""
    ranges = text.split(",")
    if len(ranges) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW:HIGH:STEP,LOW:HIGH:STEP")
    return [parse_range(part) for part in ranges]


def parse_range(text: str) -> np.ndarray:
    """Return the values that ``LOW:HIGH:STEP`` means, both ends included."""
    try:
        low, high, step = map(float, text.split(":"))
        n = round((high - low) / step)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW:HIGH:STEP") from None
    if n < 1 or abs(low + n * step - high) > 1e-9:
        raise argparse.ArgumentTypeError(f"{text!r} does not get from LOW to HIGH in whole steps")
    return np.round(low + step * np.arange(n + 1), 9)


def levels(n: int) -> np.ndarray:
    """Return, for each of n grid values, how often a grid of its two ends was halved to get it."""
    depth = max(n - 1, 1).bit_length() - 1
    index = np.arange(n)
    level = np.zeros(n, dtype=int)
    for k in range(depth):
        level[index % 2 ** (depth - k) != 0] = k + 1
    level[-1] = 0
    return level


def coarse_to_fine(grid: Sequence[np.ndarray]) -> list[list[Point]]:
    """Return the points of a grid in steps, each of which completes a finer grid."""
    of_axes = [dict(zip(values.tolist(), levels(len(values)), strict=True)) for values in grid]
    points = list(itertools.product(*of_axes))
    level = [max(of[v] for of, v in zip(of_axes, point, strict=True)) for point in points]
    return [[p for p, k in zip(points, level, strict=True) if k == i] for i in sorted(set(level))]


def record(path: Path, live: Live, grid: Sequence[np.ndarray]) -> None:
    """Measure what the file does not have yet, the cheapest sources first within each step."""
    done = {(row.source, row.point) for row in tables.read(path, live.classifier)}
    todo = [
        (source, point)
        for points in coarse_to_fine(grid)
        for source in range(len(SOURCES), 0, -1)
        for point in points
        if (source, point) not in done
    ]
    progress = tqdm(todo, unit="row")
    for source, point in progress:
        progress.set_postfix_str(f"source {source}, {point}")
        name = SOURCES[source - 1]
        measured = live(name, tables.params_at(live.classifier, point))
        row = tables.Row(source, point, len(live.rows[name]), measured)
        tables.append(path, live.classifier, row)


def coarser_part(rows: Sequence[tables.Row], grid: Sequence[np.ndarray]) -> list[tables.Row]:
    """Return the rows of the finest grid that every source has complete."""
    have = {(row.source, row.point) for row in rows}
    complete: set[Point] = set()
    for points in coarse_to_fine(grid):
        if any((s, p) not in have for s in range(1, len(SOURCES) + 1) for p in points):
            break
        complete.update(points)
    return [row for row in rows if row.point in complete]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--classifier", choices=CLASSIFIERS, required=True)
    parser.add_argument("--dataset", choices=SPECS, required=True)
    parser.add_argument(
        "--grid",
        type=parse_grid,
        metavar="LOW:HIGH:STEP,LOW:HIGH:STEP",
        help="values of both hyperparameters; of C and gamma, log10; by default those of the\n"
        "tables in examples/paper/tables",
    )
    parser.add_argument("--output", type=Path, help="default: results/CLASSIFIER_DATASET.csv")
    parser.add_argument("--data-dir", type=Path, help="folder of the data (see data.py)")
    parser.add_argument(
        "--coarser-part",
        type=Path,
        metavar="FILE",
        help="measure nothing; write the finest grid that is complete to FILE",
    )
    args = parser.parse_args()
    path = args.output or Path("results") / f"{args.classifier}_{args.dataset}.csv"
    classifier = CLASSIFIERS[args.classifier](SPECS[args.dataset].n_features)
    grid = args.grid or default_grid(classifier)

    if args.coarser_part:
        rows = coarser_part(tables.read(path, classifier), grid)
        if not rows:
            sys.exit(f"{path} has not even the corners of the grid on every source.")
        tables.write(args.coarser_part, classifier, rows)
        print(f"{args.coarser_part}: {len(rows)} rows, {len(rows) // len(SOURCES)} a source")
        return
    try:
        dataset = load(args.dataset, args.data_dir)
    except DataError as error:
        sys.exit(f"{error}")
    record(path, Live(classifier, dataset), grid)


if __name__ == "__main__":
    main()
