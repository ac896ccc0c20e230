"""A quantity along one parameter after the other, all sources in one panel."""

from __future__ import annotations

from itertools import pairwise
import math
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState

from optuna_misowild.study.space import to_unit
from optuna_misowild.visualization._figure import source_colors
from optuna_misowild.visualization._plotly import colors
from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization._plotly import subplots
from optuna_misowild.visualization.axes import log_axis
from optuna_misowild.visualization.outcome import FAILED
from optuna_misowild.visualization.outcome import INFEASIBLE
from optuna_misowild.visualization.outcome import OUTCOME_RANK
from optuna_misowild.visualization.outcome import PROBABLY_INFEASIBLE
from optuna_misowild.visualization.outcome import SHADE
from optuna_misowild.visualization.outcome import add_at_bottom
from optuna_misowild.visualization.outcome import by_outcome
from optuna_misowild.visualization.outcome import probability_of_failure
from optuna_misowild.visualization.quantity import compact


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.figure_data import FigureData
    from optuna_misowild.figure_data import Query
    from optuna_misowild.visualization.axes import Axis
    from optuna_misowild.visualization.quantity import Mark
    from optuna_misowild.visualization.quantity import Quantity


_COLUMNS = 3
_STANDOFF = 4
_TICKS = 5  # On a logarithmic axis of one of several rows.
_RESOLUTION = 101
_PANEL_HEIGHT = 320
# Between two rows of panels, in their height: the axis below the upper one, also where the page of
# the dashboard gives all of the figure 450 pixels.
_ROW_GAP = 0.16
# An observation is near the slice if its other parameters differ from it by no more than this, in
# the mean square over the unit cube. Others are grey, and faint.
_NEAR = 0.25
_FAR_COLOR, _FAINT = "#aaaaaa", 0.35


class _Curve(NamedTuple):
    x: list[Any]
    mean: NDArray[np.float64]
    std: NDArray[np.float64] | None


def slice_figure(
    data: FigureData, axes: Sequence[Axis], quantity: Quantity, title: str
) -> go.Figure:
    """Return one panel per axis; each goes through ``quantity.centre``."""
    n_columns = min(len(axes), _COLUMNS)
    n_rows = math.ceil(len(axes) / n_columns)
    figure = subplots.make_subplots(
        rows=n_rows,
        cols=n_columns,
        shared_yaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=_ROW_GAP * 2 / max(n_rows, 2),
    )
    # At the bottom, so that narrow frames have room for the panels.
    legend = {"orientation": "h", "x": 0.5, "xanchor": "center"}
    legend |= {"yref": "container", "y": 0.0, "yanchor": "bottom"}
    figure.update_layout(title=title, legend=legend, margin={"l": 60, "r": 20})
    if n_rows > 1:
        figure.update_layout(height=_PANEL_HEIGHT * n_rows + 100)
    curves = [[_curve(axis, quantity, source) for source in quantity.sources] for axis in axes]
    least = quantity.floor(np.concatenate([c.mean for panel in curves for c in panel]))
    for i, axis in enumerate(axes):
        row, column = 1 + i // n_columns, 1 + i % n_columns
        for source, caption, curve in zip(
            quantity.sources, quantity.captions, curves[i], strict=True
        ):
            traces = _draw(
                axis, quantity, curve, least, source_colors(data)[source], bold=source == 0
            )
            ended = by_outcome(
                query
                for query in data.queries
                if query.source == source and axis.name in query.trial.params
            )
            traces.append(_observations(data, axis, quantity, source, ended[None]))
            for trace in traces:
                trace.update(legendgroup=caption, name=caption, showlegend=False)
            traces[-2].update(showlegend=i == 0)
            figure.add_traces(traces, rows=row, cols=column)
            if quantity.observed is not None:
                for outcome in (INFEASIBLE, FAILED):
                    trace = _observations(data, axis, quantity, source, ended.get(outcome, []))
                    symbol = "x" if outcome == FAILED else "circle-open"
                    trace.update(name=outcome, legendgroup=outcome, legendrank=OUTCOME_RANK)
                    trace.update(marker={"symbol": symbol, "line": {"width": 1.5}})
                    _add(figure, trace, row, column)
        _shade(figure, data, axis, quantity, row, column)
        for mark in quantity.marks:
            figure.add_trace(_mark(axis, quantity, mark, first=i == 0), row=row, col=column)
        layout = axis.layout(narrow=n_columns > 1)
        figure.update_xaxes(**layout, title_standoff=_STANDOFF, row=row, col=column)
    figure.update_yaxes(title_text=quantity.title, col=1)
    if quantity.is_log:
        shown = [c.mean for panel in curves for c in panel]
        shown.append(np.array([quantity.observation(query) for query in data.queries]))
        figure.update_yaxes(**log_axis(np.concatenate(shown), most=_TICKS if n_rows > 1 else 12))
    if quantity.midpoint is not None:
        line = {"width": 1, "dash": "dot", "color": "grey"}
        figure.add_hline(y=quantity.midpoint, line=line)
    return figure


def _curve(axis: Axis, quantity: Quantity, source: int) -> _Curve:
    values = axis.values(_RESOLUTION)
    mean, std = quantity.predict([{**quantity.centre, axis.name: v} for v in values], source)
    if quantity.is_log:
        mean = np.where(mean > 0.0, mean, np.nan)
    return _Curve([axis.place(value) for value in values], mean, std)


def _draw(
    axis: Axis, quantity: Quantity, curve: _Curve, least: float, color: str, *, bold: bool
) -> list[go.Scatter]:
    """Return the band and the line of a source; for a category, points with error bars."""
    x, mean, std = curve.x, np.maximum(curve.mean, least), curve.std
    hover = f"{axis.name}: %{{x}}<br>predicted: %{{y:.4g}}"
    if axis.is_categorical:
        low, high = (mean, mean) if std is None else quantity.band(mean, std)
        return [
            go.Scatter(
                x=x,
                y=compact(mean),
                error_y={
                    "type": "data",
                    "array": compact(high - mean),
                    "arrayminus": compact(mean - low),
                    "symmetric": False,
                    "visible": std is not None,
                },
                mode="markers",
                marker={"color": color, "symbol": "line-ew-open", "size": 16},
                hovertemplate=hover,
            )
        ]
    traces = []
    if std is not None:
        low, high = quantity.band(mean, std)
        traces.append(_band(x, low, high, color))
    line = {"color": color, "width": 2.5 if bold else 1.5}
    traces.append(go.Scatter(x=x, y=compact(mean), mode="lines", line=line, hovertemplate=hover))
    return traces


def _band(
    x: list[float], low: NDArray[np.float64], high: NDArray[np.float64], color: str
) -> go.Scatter:
    known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    there = [x[i] for i in known]
    return go.Scatter(
        x=there + there[::-1],
        y=compact(high[known]) + compact(low[known])[::-1],
        fill="toself",
        fillcolor=_translucent(color, 0.15),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
    )


def _translucent(color: str, opacity: float) -> str:
    red, green, blue = colors.hex_to_rgb(color)
    return f"rgba({red},{green},{blue},{opacity})"


def _add(figure: go.Figure, trace: go.Scatter, row: int, column: int) -> None:
    """Add points to a panel; those without a value, if they failed, lie at its bottom."""
    panel = figure.get_subplot(row, column)
    x_axis, y_axis = (axis.plotly_name.replace("axis", "") for axis in panel)
    at_bottom = [i for i, y in enumerate(trace.y) if math.isnan(y)]
    for group in ([i for i in range(len(trace.x)) if i not in at_bottom], at_bottom):
        if not group or (group is at_bottom and trace.name != FAILED):
            continue
        part = go.Scatter(trace)
        part.update({key: [trace[key][i] for i in group] for key in ("x", "y", "text")})
        part.update(showlegend=not any(t.name == trace.name for t in figure.data))
        if group is at_bottom:
            add_at_bottom(figure, part, x_axis, y_axis)
        else:
            figure.add_trace(part, row, column)


def _shade(
    figure: go.Figure, data: FigureData, axis: Axis, quantity: Quantity, row: int, column: int
) -> None:
    """Shade where the preferred source is probably infeasible."""
    values = axis.values(_RESOLUTION)
    grid = [{**quantity.centre, axis.name: value} for value in values]
    probability = None if quantity.is_feasibility else probability_of_failure(data, grid, 0)
    if probability is None:
        return
    hidden = probability > 0.5
    places = range(len(values)) if axis.is_categorical else [axis.place(v) for v in values]
    edges = [places[0], *(0.5 * (a + b) for a, b in pairwise(places)), places[-1]]
    if axis.is_categorical:
        edges[0], edges[-1] = edges[0] - 0.5, edges[-1] + 0.5
    changes = np.flatnonzero(np.diff(np.r_[False, hidden, False].astype(int)))
    for start, end in changes.reshape(-1, 2):
        figure.add_vrect(
            x0=edges[start],
            x1=edges[end],
            fillcolor=SHADE,
            opacity=0.5,
            line_width=0,
            layer="below",
            row=row,
            col=column,
        )
    if hidden.any() and not any(t.name == PROBABLY_INFEASIBLE for t in figure.data):
        marker = {"symbol": "square", "size": 12, "color": SHADE}
        figure.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", marker=marker, name=PROBABLY_INFEASIBLE
            ),
            row,
            column,
        )


def _observations(
    data: FigureData, axis: Axis, quantity: Quantity, source: int, queries: Sequence[Query]
) -> go.Scatter:
    shown = [
        query
        for query in queries
        if math.isfinite(quantity.observation(query)) or query.trial.state == TrialState.FAIL
    ]
    near = [_is_near(data, axis, quantity, query) for query in shown]
    return go.Scatter(
        x=[axis.place(query.trial.params[axis.name]) for query in shown],
        y=[quantity.observation(query) for query in shown],
        mode="markers",
        marker={
            "color": [source_colors(data)[source] if there else _FAR_COLOR for there in near],
            "opacity": [1.0 if there else _FAINT for there in near],
            "size": 7 if source == 0 else 5,
            "line": {"width": 0.5, "color": "Grey"},
        },
        cliponaxis=False,
        hovertemplate="%{text}<extra></extra>",
        text=[data.hover(query) for query in shown],
    )


def _is_near(data: FigureData, axis: Axis, quantity: Quantity, query: Query) -> bool:
    """Whether a query lies near the slice along an axis: in all of the other parameters."""
    squares = []
    for name, distribution in data.view.space.items():
        if name == axis.name:
            continue
        if name not in query.trial.params:
            return False
        one, other = (
            to_unit(distribution, value)
            for value in (query.trial.params[name], quantity.centre[name])
        )
        is_categorical = isinstance(distribution, CategoricalDistribution)
        squares.append(float(one != other) if is_categorical else (one - other) ** 2)
    return not squares or math.fsum(squares) / len(squares) <= _NEAR**2


def _mark(axis: Axis, quantity: Quantity, mark: Mark, *, first: bool) -> go.Scatter:
    source = quantity.sources[0] if mark.source is None else mark.source
    height, _ = quantity.predict([{**quantity.centre, axis.name: mark.params[axis.name]}], source)
    return go.Scatter(
        x=[axis.place(mark.params[axis.name])],
        y=[float(height[0])],
        mode="markers",
        marker={"symbol": mark.symbol, "size": 14, "color": "black"},
        name=mark.label,
        legendgroup=mark.label,
        showlegend=first,
        cliponaxis=False,
    )
