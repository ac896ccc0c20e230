"""The paper's figures, and one of our own."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from scipy.stats.qmc import LatinHypercube

from examples.paper.data import SPECS
from examples.paper.experiment import Task
from examples.paper.experiment import replay
from examples.paper.results import Result
from examples.paper.tasks import CLASSIFIERS


N_CONFIGURATIONS = 1000
TITLES = {"svc": "C-SVC", "rf": "random forest"}
# Colours that people with colour blindness can tell apart (Okabe and Ito 2008).
COLOURS = {
    "robust": "#0072B2",
    "paper": "#D55E00",
    "carbo": "#009E73",
    "gp": "#CC79A7",
    "tpe": "#E69F00",
    "random": "#000000",
    "ei": "#56B4E9",
    "ei-per-cost": "#999999",
}
DASHES = {"carbo": "dash"}
LOGARITHMIC = {
    "type": "log",
    "tickvals": [m * 10.0**k for k in range(-3, 6) for m in (1, 2, 5)],
    "tickformat": "~g",
}

Figures = dict[str, go.Figure]


def figures(results: Sequence[Result], tables: Path) -> Figures:
    """Return all figures by the names of their files."""
    made: Figures = {}
    for number, classifier in ((1, "svc"), (2, "rf")):
        tasks = [Task(classifier, dataset, tables=tables) for dataset in SPECS]
        tasks = [task for task in tasks if task.table.exists()]
        if tasks:
            made[f"figure{number}"] = cost_against_error(tasks)
    for mode in dict.fromkeys(run.mode for run in results):
        of_mode = [run for run in results if run.mode == mode]
        suffix = "" if mode == "replay" else f"_{mode}"
        for classifier in CLASSIFIERS:
            runs = _panels(run for run in of_mode if run.classifier == classifier)
            if runs:
                made[f"figure3_{classifier}{suffix}"] = cost_per_evaluation(classifier, runs)
                made[f"error_{classifier}{suffix}"] = error_against_cost(classifier, runs)
    return made


def cost_against_error(tasks: Sequence[Task]) -> go.Figure:
    """Figures 1 and 2: cost and error of configurations on all the data, and the Pareto front."""
    figure = _axes([SPECS[task.dataset].title for task in tasks])
    for column, task in enumerate(tasks, start=1):
        table = replay(task)
        recorded = table.points
        x = table.classifier.spread(LatinHypercube(2, seed=0).random(N_CONFIGURATIONS))
        cost, error = table.cpu_s(0, x), table.error(0, x)
        figure.add_scatter(
            x=cost,
            y=error,
            mode="markers",
            marker={"size": 4, "color": "#BBBBBB"},
            name="configurations (interpolated)",
            showlegend=column == 1,
            row=1,
            col=column,
        )
        figure.add_scatter(
            x=table.cpu_s(0, recorded),
            y=table.error(0, recorded),
            mode="markers",
            marker={"size": 4, "color": "#555555"},
            name="recorded grid",
            showlegend=column == 1,
            row=1,
            col=column,
        )
        front = pareto_front(cost, error)
        figure.add_scatter(
            x=cost[front],
            y=error[front],
            mode="lines+markers",
            line={"color": "#0072B2", "shape": "hv"},
            marker={"size": 6},
            name="Pareto front",
            showlegend=column == 1,
            row=1,
            col=column,
        )
    figure.update_xaxes(title="query cost [s]", **LOGARITHMIC)
    classifier = tasks[0].classifier
    figure.update_yaxes(title={"svc": "mce-FCV", "rf": "mce-OOB"}[classifier], col=1)
    number = {"svc": 1, "rf": 2}[classifier]
    title = f"Figure {number}: {N_CONFIGURATIONS} configurations, {TITLES[classifier]}"
    return figure.update_layout(title=title)


def pareto_front(cost: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the indices of the points that no other beats in both, by rising cost."""
    order = np.lexsort((error, cost))
    best = np.minimum.accumulate(error[order])
    better = np.append(True, best[1:] < best[:-1])
    return order[better]


def cost_per_evaluation(classifier: str, panels: Mapping[str, Sequence[Result]]) -> go.Figure:
    """Figure 3: cost of each evaluation, mean and standard deviation over the runs."""
    figure = _axes([SPECS[dataset].title for dataset in panels])
    for column, runs in enumerate(panels.values(), start=1):
        for method, of_method in _by_method(runs).items():
            if method not in ("paper", "carbo", "robust"):
                continue
            n = min(len(run.costs) for run in of_method)
            costs = np.array([run.costs[:n] for run in of_method])
            mean, sd = costs.mean(axis=0), costs.std(axis=0, ddof=min(1, len(costs) - 1))
            _band(
                figure,
                column,
                method,
                x=np.arange(1, n + 1),
                middle=mean,
                low=np.maximum(mean - sd, 0.0),
                high=mean + sd,
            )
    figure.update_xaxes(title="evaluation")
    figure.update_yaxes(title="query cost [s]", rangemode="tozero", col=1)
    title = f"Figure 3: cost of each evaluation, {TITLES[classifier]} (mean and sd)"
    return figure.update_layout(title=title)


def error_against_cost(classifier: str, panels: Mapping[str, Sequence[Result]]) -> go.Figure:
    """Our own: best verified error against cumulated cost, median and quartiles over the runs."""
    figure = _axes([SPECS[dataset].title for dataset in panels])
    for column, runs in enumerate(panels.values(), start=1):
        for method, of_method in _by_method(runs).items():
            of_method = [run for run in of_method if run.on_all_data.any()]
            if not of_method:
                continue
            grid = np.geomspace(*_range_of_costs(of_method), 200)
            quartiles = np.quantile(
                [_best_at(run, grid) for run in of_method], [0.25, 0.5, 0.75], axis=0
            )
            _band(
                figure,
                column,
                method,
                x=grid,
                middle=quartiles[1],
                low=quartiles[0],
                high=quartiles[2],
            )
    figure.update_xaxes(title="cumulated cost [s]", **LOGARITHMIC)
    figure.update_yaxes(title="best error on all the data", col=1)
    if classifier == "svc":
        figure.update_yaxes(**LOGARITHMIC)
    title = f"Best verified error, {TITLES[classifier]} (median and quartiles)"
    return figure.update_layout(title=title)


def _range_of_costs(runs: Sequence[Result]) -> tuple[float, float]:
    """Return from where all runs have evaluated all the data, to where half of them have ended."""
    start = max(run.costs.cumsum()[run.on_all_data][0] for run in runs)
    return start, max(start, float(np.median([run.cost for run in runs])))


def _best_at(run: Result, costs: np.ndarray) -> np.ndarray:
    """Return the best verified error of a run at these costs; after its end, the last one."""
    spent = run.costs.cumsum()
    # Rounding must not take away the evaluation that a cost of the grid stands for.
    index = np.searchsorted(spent, costs * (1 + 1e-9), side="right") - 1
    return run.best_verified[index]


def _panels(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the runs by dataset, in the paper's order."""
    runs = list(runs)
    by_dataset = {name: [run for run in runs if run.dataset == name] for name in SPECS}
    return {name: some for name, some in by_dataset.items() if some}


def _by_method(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the runs by method, in the order of the legend."""
    runs = list(runs)
    by_method = {name: [run for run in runs if run.method == name] for name in COLOURS}
    return {name: some for name, some in by_method.items() if some}


def _axes(titles: Sequence[str]) -> go.Figure:
    """Return an empty figure with a panel for each title, side by side."""
    spacing = 0.08 if len(titles) > 1 else 0.0
    figure = make_subplots(1, len(titles), subplot_titles=titles, horizontal_spacing=spacing)
    return figure.update_layout(
        template="plotly_white", width=max(600, 420 * len(titles)), height=450
    )


def _band(
    figure: go.Figure,
    column: int,
    method: str,
    *,
    x: np.ndarray,
    middle: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Draw a line with a band around it."""
    where = {"row": 1, "col": column}
    colour = COLOURS[method]
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=f"rgba({red}, {green}, {blue}, 0.15)",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=method,
        **where,
    )
    first = all(trace.name != method for trace in figure.data)
    line = {"color": colour, "dash": DASHES.get(method, "solid")}
    figure.add_scatter(
        x=x,
        y=middle,
        mode="lines",
        line=line,
        name=method,
        legendgroup=method,
        showlegend=first,
        **where,
    )
