"""The picture of what ``quality.py`` has recorded: regret against cost, a panel per problem."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import math

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from examples.benchmarks.problem import Problem
from examples.benchmarks.report import CURVE
from examples.benchmarks.report import OURS
from examples.benchmarks.report import Row
from examples.benchmarks.report import finished
from examples.benchmarks.report import group
from examples.benchmarks.report import regrets


# Okabe and Ito (2008): told apart by those who see few colours. Dashes where only the preferred
# source is asked.
STYLES = {
    "robust": ("#d55e00", "solid"),
    "robust-alone": ("#d55e00", "dash"),
    "paper": ("#0072b2", "solid"),
    "kg": ("#e69f00", "solid"),
    "carbo": ("#009e73", "dash"),
    "ei-per-cost": ("#56b4e9", "dash"),
    "ei": ("#999999", "dash"),
    "gp": ("#000000", "dash"),
    "tpe": ("#cc79a7", "dash"),
    "tpe-hyperband": ("#cc79a7", "solid"),
    "random": ("#bbbbbb", "dot"),
}
BAND = "rgba(213, 94, 0, 0.2)"
FLOOR = 1e-5  # Regrets below it are drawn at it: a logarithm has no 0.


def regret_figure(
    rows: Sequence[Row], problems: Mapping[str, Problem], *, columns: int = 3
) -> go.Figure:
    """Return the medians over the seeds, and the quartiles of ``robust``.

    Args:
        rows: What is recorded.
        problems: By name.
        columns: Panels side by side.
    """
    runs = group(rows)
    names = [name for name in problems if name in runs]
    columns = min(columns, len(names))
    n_rows = math.ceil(len(names) / columns)
    figure = make_subplots(
        n_rows,
        columns,
        subplot_titles=names,
        horizontal_spacing=0.07,
        vertical_spacing=0.14 / max(1, n_rows - 1),
    )
    shown: set[str] = set()
    for panel, name in enumerate(names):
        row, column = divmod(panel, columns)
        for method, (color, dash) in STYLES.items():
            whole = finished(runs[name].get(method, {}))
            if not whole:
                continue
            curves = [regrets(trials, problems[name].budget, CURVE) for trials in whole]
            low, median, high = np.quantile(np.maximum(curves, FLOOR), [0.25, 0.5, 0.75], axis=0)
            traces = []
            if method == OURS:
                edge = dict(
                    mode="lines",
                    line=dict(color=color, width=0),
                    hoverinfo="skip",
                    showlegend=False,
                )
                traces = [
                    go.Scatter(x=CURVE, y=high, **edge),
                    go.Scatter(x=CURVE, y=low, fill="tonexty", fillcolor=BAND, **edge),
                ]
            line = dict(color=color, dash=dash, width=3 if method == OURS else 1.5)
            traces.append(
                go.Scatter(
                    x=CURVE,
                    y=median,
                    name=method,
                    legendgroup=method,
                    showlegend=method not in shown,
                    mode="lines",
                    line=line,
                )
            )
            shown.add(method)
            figure.add_traces(traces, rows=row + 1, cols=column + 1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    figure.update_xaxes(range=[0.0, 1.0], tickformat=".0%", dtick=0.25)
    figure.update_xaxes(title_text="budget spent", row=n_rows)
    figure.update_yaxes(title_text="regret (median)", col=1)
    figure.update_layout(
        template="simple_white",
        width=300 * columns + 60,
        height=230 * n_rows + 90,
        margin=dict(l=60, r=10, t=30, b=10),
        font=dict(size=11),
        legend=dict(orientation="h", y=-0.28 / n_rows, x=0.5, xanchor="center"),
    )
    return figure
