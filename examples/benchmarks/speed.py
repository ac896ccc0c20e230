"""Seconds that a sampler thinks per trial, beside Optuna's GPSampler, in one process and thread.

    python -m examples.benchmarks.speed --n 50 200 --parameters 4 --sources 5

Each sampler gets a study of n finished trials, GPSampler and TPESampler one of the same points on
one source, and is asked for further trials. The first suggestion has nothing to start from, as in
a study that is resumed, and is reported apart; those after it may build on the one before, as in
any study that goes on. Seconds are those of the processor, which other work on the machine
disturbs less than those of the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import csv
from dataclasses import dataclass
from itertools import product
from pathlib import Path
import sys
import warnings

import numpy as np
import optuna
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from threadpoolctl import threadpool_limits
import torch
from tqdm import tqdm

from examples.benchmarks.methods import METHODS
from examples.benchmarks.methods import Use
from examples.benchmarks.study import Session
from examples.benchmarks.study import Task
from examples.figures import write_figures


REFERENCE = "gp"
STARTUP = 5  # Trials per source up to which the initial design may go on: nothing to time there.


@dataclass(frozen=True)
class Timing:
    """Seconds per trial of one method on one task; the first one, then the others."""

    method: str
    n: int
    d: int
    n_sources: int
    seconds: tuple[float, ...]

    @property
    def first(self) -> float:
        """Of the first suggestion."""
        return self.seconds[0]

    @property
    def median(self) -> float:
        """Of the others."""
        return float(np.median(self.seconds[1:]))


def measure(
    methods: Sequence[str], n: int, d: int, sources: Iterable[int], repetitions: int
) -> list[Timing]:
    """Time the methods on one size of study, in turn, so that all suffer the same disturbances."""
    sessions = [
        Session(method, Task(d, n_sources), n)
        for method in methods
        for n_sources in (sources if METHODS[method].use == Use.CHOSEN else [1])
        if n >= STARTUP * n_sources
    ]
    seconds = [
        [session.seconds_of_one_trial() for session in sessions] for _ in range(repetitions + 1)
    ]
    return [
        Timing(s.method, n, d, s.task.n_sources, of)
        for s, of in zip(sessions, zip(*seconds, strict=True), strict=True)
    ]


def one_thread() -> None:
    """Let the libraries compute in one thread, and Optuna be silent, to the end of the process."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    torch.set_num_threads(1)
    threadpool_limits(1)


def references(timings: Iterable[Timing]) -> dict[tuple[int, int], Timing]:
    """Return the timing of the reference by n and d."""
    return {(t.n, t.d): t for t in timings if t.method == REFERENCE}


def markdown(timings: Sequence[Timing]) -> str:
    """Return a table with a row per timing."""
    reference = references(timings)
    lines = [
        "| trials | parameters | method | sources | first, s | next: median, s | slowest, s "
        f"| median / {REFERENCE} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for t in timings:
        ratio = t.median / reference[t.n, t.d].median
        lines.append(
            f"| {t.n} | {t.d} | {t.method} | {t.n_sources} | {t.first:.3f} | {t.median:.3f} "
            f"| {max(t.seconds[1:]):.3f} | {ratio:.2f} |"
        )
    return "\n".join(lines)


def overview(timings: Sequence[Timing], method: str) -> str:
    """Return a table of the ratios of a method to the reference, for each number of sources."""
    reference = references(timings)
    dimensions = sorted({t.d for t in timings})
    counts = sorted({t.n_sources for t in timings if t.method == method})
    lines = [
        f"| trials | {' | '.join(f'{d} parameters' for d in dimensions)} |",
        "|---" * (1 + len(dimensions)) + "|",
    ]
    for n in sorted({t.n for t in timings}):
        cells = []
        for d in dimensions:
            medians = {
                t.n_sources: t.median for t in timings if (t.method, t.n, t.d) == (method, n, d)
            }
            unit = reference[n, d].median
            cells.append(
                ", ".join(f"{medians[s] / unit:.2f}" if s in medians else "–" for s in counts)
                + f" of {unit:.2f} s"
            )
        lines.append(f"| {n} | {' | '.join(cells)} |")
    sources = ", ".join(map(str, counts))
    title = f"Time of {method} with {sources} sources, as a part of that of {REFERENCE}"
    return "\n".join([f"\n### {title}\n", *lines])


def write_csv(path: Path, timings: Sequence[Timing]) -> None:
    """Write a row per trial."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "trials", "parameters", "sources", "suggestion", "seconds"])
        for t in timings:
            for i, seconds in enumerate(t.seconds):
                writer.writerow([t.method, t.n, t.d, t.n_sources, i, seconds])


def ratio_figure(timings: Sequence[Timing], method: str) -> go.Figure:
    """Return the ratios of a method to the reference, a panel per number of parameters."""
    reference = references(timings)
    dimensions = sorted({t.d for t in timings})
    counts = sorted({t.n_sources for t in timings if t.method == method})
    figure = make_subplots(
        1,
        len(dimensions),
        shared_yaxes=True,
        horizontal_spacing=0.02,
        subplot_titles=[f"{d} parameters" for d in dimensions],
    )
    colors = ("#56b4e9", "#d55e00", "#009e73", "#0072b2", "#cc79a7")
    for (column, d), (k, n_sources) in product(enumerate(dimensions, 1), enumerate(counts)):
        of = [t for t in timings if (t.method, t.d, t.n_sources) == (method, d, n_sources)]
        figure.add_scatter(
            x=[t.n for t in of],
            y=[t.median / reference[t.n, d].median for t in of],
            name=f"{n_sources} source{'s' if n_sources > 1 else ''}",
            legendgroup=str(n_sources),
            showlegend=column == 1,
            mode="lines+markers",
            line=dict(color=colors[k % len(colors)]),
            row=1,
            col=column,
        )
    figure.add_hline(1.0, line=dict(color="black", width=1, dash="dot"))
    figure.update_xaxes(
        type="log", title_text="finished trials", tickvals=[20, 50, 100, 200, 500, 1000]
    )
    figure.update_yaxes(type="log", tickvals=[0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0])
    figure.update_yaxes(title_text=f"time of {method} / {REFERENCE}", col=1)
    figure.update_layout(
        template="simple_white",
        width=230 * len(dimensions) + 150,
        height=300,
        margin=dict(l=60, r=10, t=30, b=10),
        font=dict(size=11),
    )
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    choices = [m for m in METHODS if m != REFERENCE and METHODS[m].use != Use.RUNGS]
    parser.add_argument("--methods", nargs="+", choices=choices, default=["tpe", "robust"])
    parser.add_argument("--n", nargs="+", type=int, default=[20, 50, 100, 200, 500, 1000])
    parser.add_argument("--parameters", nargs="+", type=int, default=[2, 4, 10, 20])
    parser.add_argument("--sources", nargs="+", type=int, default=[1, 5, 10])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("results/speed.csv"))
    args = parser.parse_args()

    one_thread()
    methods = [REFERENCE, *args.methods]
    measure(methods, 20, 2, args.sources, 1)  # What a process does once is not counted.
    timings: list[Timing] = []
    for n, d in tqdm(list(product(args.n, args.parameters)), unit="size"):
        timings += measure(methods, n, d, args.sources, args.repetitions)
        write_csv(args.output, timings)
    print(markdown(timings))
    chosen = [method for method in args.methods if METHODS[method].use == Use.CHOSEN]
    for method in chosen:
        print(overview(timings, method))
    figures = {f"{args.output.stem}-{m}": ratio_figure(timings, m) for m in chosen}
    for path in [args.output, *write_figures(figures, args.output.parent)]:
        print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
