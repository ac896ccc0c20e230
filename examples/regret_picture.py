"""The README's picture: regret against cost on learning curves and on data subsets.

Reads what `examples.benchmarks.quality` has recorded, and draws the geometric mean over the
problems of the median regret over the seeds: a panel for learning curves (YAHPO's lcbench), and
one for support vector machines and forests on parts of the data.

    python -m examples.regret_picture results/quality.csv --yahpo-data FOLDER [--output FOLDER]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from examples.benchmarks.problem import Problem
from examples.benchmarks.problems import PROBLEMS
from examples.benchmarks.quality import read
from examples.benchmarks.report import CURVE
from examples.benchmarks.report import Runs
from examples.benchmarks.report import finished
from examples.benchmarks.report import group
from examples.benchmarks.report import regrets
from examples.benchmarks.yahpo import problems as yahpo
from examples.figures import write_figures
from examples.report import print_files


PANELS = {"Learning curves": ("lcbench-",), "Data subsets": ("svc-", "rf-")}
# As in the benchmarks' pictures: told apart by those who see few colours.
LINES = {
    "robust": ("MisoWildSampler", "#d55e00", 3.5),
    "tpe-hyperband": ("TPE + Hyperband", "#cc79a7", 2.0),
    "gp": ("GPSampler", "#000000", 1.5),
    "tpe": ("TPE", "#0072b2", 1.5),
    "random": ("random", "#999999", 1.5),
}
FLOOR = 1e-5  # Regrets below it count as it: a logarithm has no 0.


def curve(runs: Runs, problems: Mapping[str, Problem], method: str) -> np.ndarray | None:
    """Return the regret at shares of the budget; None if the method lacks one of the problems.

    Args:
        runs: What is recorded of the problems.
        problems: By name.
        method: Its name.
    """
    medians = []
    for name, by_method in runs.items():
        whole = finished(by_method.get(method, {}))
        if not whole:
            return None
        values = [regrets(trials, problems[name].budget, CURVE) for trials in whole]
        medians.append(np.maximum(np.median(values, axis=0), FLOOR))
    return np.exp(np.mean(np.log(medians), axis=0))


def picture(runs: Runs, problems: Mapping[str, Problem]) -> go.Figure:
    """Return the panels of which any problem is recorded."""
    panels = {
        title: {name: runs[name] for name in problems if name in runs and name.startswith(begins)}
        for title, begins in PANELS.items()
    }
    panels = {title: own for title, own in panels.items() if own}
    titles = [f"{title} ({len(own)} tasks)" for title, own in panels.items()]
    figure = make_subplots(1, len(panels), subplot_titles=titles, horizontal_spacing=0.1)
    shown: set[str] = set()
    for column, own in enumerate(panels.values(), start=1):
        for method, (name, color, width) in LINES.items():
            values = curve(own, problems, method)
            if values is not None:
                line = go.Scatter(x=CURVE, y=values, name=name, legendgroup=name, mode="lines")
                line.update(line={"color": color, "width": width}, showlegend=name not in shown)
                figure.add_trace(line, 1, column)
                shown.add(name)
    figure.update_yaxes(type="log", title_text="regret, 0 is the best", col=1)
    figure.update_xaxes(title_text="budget spent", range=[0, 1], tickformat=".0%", dtick=0.25)
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    legend = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.22}
    figure.update_layout(template="simple_white", width=900, height=380, legend=legend)
    figure.update_layout(font={"size": 13}, margin={"l": 70, "r": 20, "t": 40, "b": 60})
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path, help="what examples.benchmarks.quality has written")
    parser.add_argument("--yahpo-data", type=Path, metavar="FOLDER", help="a clone of yahpo_data")
    parser.add_argument("--output", type=Path, metavar="FOLDER", default=Path("docs/images"))
    args = parser.parse_args()
    problems = {**PROBLEMS, **(yahpo(args.yahpo_data) if args.yahpo_data else {})}
    runs = group(read(args.file))
    print_files(write_figures({"regret": picture(runs, problems)}, args.output, scale=1.0))


if __name__ == "__main__":
    main()
