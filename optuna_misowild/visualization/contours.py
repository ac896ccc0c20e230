"""A quantity over two parameters, one panel per source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization._plotly import subplots
from optuna_misowild.visualization.axes import log_ticks
from optuna_misowild.visualization.outcome import FAILED
from optuna_misowild.visualization.outcome import INFEASIBLE
from optuna_misowild.visualization.outcome import PROBABLY_INFEASIBLE
from optuna_misowild.visualization.outcome import SHADE
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


_COLUMNS = 5
_RESOLUTION = 24
_PANEL_WIDTH = 250
_PANEL_HEIGHT = 240
_MARGIN_HEIGHT = 200
_GAP = 60
_LEVELS = 12


def contour_figure(
    data: FigureData, x_axis: Axis, y_axis: Axis, quantity: Quantity, title: str
) -> go.Figure:
    """Return a panel per source, and below a second one if there is a standard deviation."""
    x, y = x_axis.values(_RESOLUTION), y_axis.values(_RESOLUTION)
    grid = [{**quantity.centre, x_axis.name: a, y_axis.name: b} for b in y for a in x]
    means, spreads = [], []
    for source in quantity.sources:
        mean, std = quantity.predict(grid, source)
        means.append(quantity.scaled(mean).reshape(len(y), len(x)))
        if std is not None:
            # On a logarithmic scale, what counts is the ratio; to 0 there is none.
            spread = std / np.where(mean == 0.0, np.nan, np.abs(mean)) if quantity.is_log else std
            spreads.append(spread.reshape(len(y), len(x)))
    bounds = _bounds(means, quantity)
    widest = max((float(s[np.isfinite(s)].max(initial=0.0)) for s in spreads), default=None)

    figure, places, n_blocks = _panels(quantity, title, with_spread=bool(spreads))
    for (row, column), source, mean in zip(places, quantity.sources, means, strict=True):
        contour = _contour(x_axis, y_axis, x, y, np.maximum(mean, bounds[0]), bounds)
        figure.add_trace(contour.update(coloraxis="coloraxis"), row, column)
        failing = None if quantity.is_feasibility else probability_of_failure(data, grid, source)
        if failing is not None and (failing > 0.5).any():
            shade = _shade(x_axis, y_axis, x, y, failing.reshape(mean.shape))
            _add(figure, shade, row, column)
        for trace in _observations(data, x_axis, y_axis, quantity, source):
            _add(figure, trace, row, column)
    for (row, column), spread in zip(places, spreads, strict=False):
        contour = _contour(x_axis, y_axis, x, y, spread, (0.0, widest or 0.0))
        figure.add_trace(contour.update(coloraxis="coloraxis2"), row + n_blocks, column)
    for (row, column), source in zip(places, quantity.sources, strict=True):
        for mark in quantity.marks:
            if mark.source in (None, source):
                _add(figure, _mark(x_axis, y_axis, mark), row, column)

    figure.update_xaxes({**x_axis.layout(narrow=True), "title_text": None})
    figure.update_yaxes({**y_axis.layout(), "title_text": None})
    for column, row in {column: row for row, column in places}.items():
        bottom = row + n_blocks if spreads else row
        figure.update_xaxes(title_text=x_axis.title, showticklabels=True, row=bottom, col=column)
    figure.update_yaxes(title_text=y_axis.title, col=1)
    _color_axes(figure, quantity, bounds, widest)
    return figure


def _add(figure: go.Figure, trace: Any, row: int, column: int) -> None:
    """Add a trace to a panel; of those with the same name one stands in the legend."""
    if trace.name is not None:
        trace.update(showlegend=not any(t.name == trace.name for t in figure.data))
    figure.add_trace(trace, row, column)


def _panels(
    quantity: Quantity, title: str, *, with_spread: bool
) -> tuple[go.Figure, list[tuple[int, int]], int]:
    """Return the empty panels, the (row, column) of each source, and how many rows these take."""
    n = len(quantity.sources)
    n_blocks = math.ceil(n / _COLUMNS)
    n_columns = math.ceil(n / n_blocks)
    n_rows = 2 * n_blocks if with_spread else n_blocks
    captions = [*quantity.captions, *[""] * (n_blocks * n_columns - n)]
    if with_spread:
        names = [caption.split("<br>")[0] for caption in captions]
        captions += [f"{name} (std)" if name else "" for name in names]
    height = _PANEL_HEIGHT * n_rows + _MARGIN_HEIGHT
    figure = subplots.make_subplots(
        rows=n_rows,
        cols=n_columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=captions,
        horizontal_spacing=0.02,
        vertical_spacing=_GAP / height,
    )
    figure.update_annotations(font_size=14)
    # At the bottom, whatever the height: on the dashboard it is that of a frame.
    legend = {"orientation": "h", "x": 1.0, "xanchor": "right"}
    legend |= {"yref": "container", "y": 0.0, "yanchor": "bottom"}
    figure.update_layout(title=title, height=height, legend=legend)
    if n_columns > 2:
        figure.update_layout(width=_PANEL_WIDTH * n_columns + 180)
    return figure, [(1 + i // n_columns, 1 + i % n_columns) for i in range(n)], n_blocks


def _bounds(means: Sequence[NDArray[np.float64]], quantity: Quantity) -> tuple[float, float]:
    """Return the least and the largest value that have a colour of their own."""
    shown = np.concatenate([mean.ravel() for mean in means])
    shown = shown[np.isfinite(shown)]
    if len(shown) == 0:
        return 0.0, 1.0
    low, high = max(float(shown.min()), quantity.floor(shown)), float(shown.max())
    if quantity.midpoint is not None:
        reach = max(quantity.midpoint - low, high - quantity.midpoint)
        low, high = quantity.midpoint - reach, quantity.midpoint + reach
    return low, high


def _contour(
    x_axis: Axis,
    y_axis: Axis,
    x: list[Any],
    y: list[Any],
    z: NDArray[np.float64],
    bounds: tuple[float, float],
) -> go.Contour | go.Heatmap:
    shared = {
        "x": [x_axis.place(value) for value in x],
        "y": [y_axis.place(value) for value in y],
        "z": np.reshape(np.array(compact(z.ravel()), dtype=object), z.shape).tolist(),
        "hovertemplate": f"{x_axis.name}: %{{x}}<br>{y_axis.name}: %{{y}}<br>%{{z:.4g}}"
        "<extra></extra>",
    }
    if x_axis.is_categorical or y_axis.is_categorical or min(z.shape) < 2:
        return go.Heatmap(**shared)
    low, high = bounds
    levels = {"start": low, "end": high, "size": (high - low) / _LEVELS or 1.0}
    return go.Contour(contours={"coloring": "heatmap", **levels}, line={"width": 0.5}, **shared)


def _shade(
    x_axis: Axis, y_axis: Axis, x: list[Any], y: list[Any], failing: NDArray[np.float64]
) -> go.Contour | go.Heatmap:
    """Return what hides the panel where the probability of failing is above one half."""
    shade = _contour(x_axis, y_axis, x, y, np.where(failing > 0.5, 1.0, 0.0), (0.0, 1.0))
    shade.update(
        colorscale=[[0.0, "rgba(0,0,0,0)"], [1.0, SHADE]],
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        hoverinfo="skip",
        hovertemplate=None,
        name=PROBABLY_INFEASIBLE,
        legendgroup=PROBABLY_INFEASIBLE,
    )
    if isinstance(shade, go.Contour):
        shade.update(contours={"coloring": "fill", "start": 0.5, "end": 0.5, "size": 1.0})
        shade.update(line={"width": 0})
    return shade


def _observations(
    data: FigureData, x_axis: Axis, y_axis: Axis, quantity: Quantity, source: int
) -> list[go.Scatter]:
    shown = [
        query
        for query in data.queries
        if query.source == source
        and x_axis.name in query.trial.params
        and y_axis.name in query.trial.params
    ]
    return [
        _points(data, x_axis, y_axis, quantity, queries, outcome)
        for outcome, queries in by_outcome(shown).items()
    ]


def _points(
    data: FigureData,
    x_axis: Axis,
    y_axis: Axis,
    quantity: Quantity,
    shown: list[Query],
    outcome: str | None,
) -> go.Scatter:
    """Return points in the colours of what they have observed; white if it is not to be seen."""
    fill: dict[str, Any] = {"color": "white"}
    if outcome is None and quantity.observed is not None:
        shown = [query for query in shown if math.isfinite(quantity.observation(query))]
        observed = np.array([quantity.observation(query) for query in shown])
        fill = {"color": compact(quantity.scaled(observed)), "coloraxis": "coloraxis"}
    return go.Scatter(
        x=[x_axis.place(query.trial.params[x_axis.name]) for query in shown],
        y=[y_axis.place(query.trial.params[y_axis.name]) for query in shown],
        mode="markers",
        marker={
            **fill,
            "size": 6 if outcome is None else 9,
            "symbol": {None: "circle", INFEASIBLE: "circle-x", FAILED: "x"}[outcome],
            "line": {"width": 1, "color": "black"},
        },
        name=outcome,
        legendgroup=outcome,
        showlegend=False,
        cliponaxis=False,
        hovertemplate="%{text}<extra></extra>",
        text=[data.hover(query) for query in shown],
    )


def _mark(x_axis: Axis, y_axis: Axis, mark: Mark) -> go.Scatter:
    return go.Scatter(
        x=[x_axis.place(mark.params[x_axis.name])],
        y=[y_axis.place(mark.params[y_axis.name])],
        mode="markers",
        marker={
            "symbol": mark.symbol,
            "size": 15,
            "color": "gold",
            "line": {"width": 1.5, "color": "black"},
        },
        name=mark.label,
        legendgroup=mark.label,
        cliponaxis=False,
    )


def _color_axes(
    figure: go.Figure,
    quantity: Quantity,
    bounds: tuple[float, float],
    largest_spread: float | None,
) -> None:
    length = 1.0 if largest_spread is None else 0.5
    bar = {"title": quantity.title, "len": length, "y": 1.0, "yanchor": "top"}
    if quantity.is_log:
        ticks = log_ticks(*bounds)
        bar["tickvals"] = [math.log10(tick) for tick in ticks]
        bar["ticktext"] = [f"{tick:g}" for tick in ticks]
    figure.update_layout(
        coloraxis={
            "colorscale": quantity.colorscale,
            "reversescale": quantity.low_is_dark,
            "cmin": bounds[0],
            "cmax": bounds[1],
            "colorbar": bar,
        }
    )
    if largest_spread is not None:
        title = "Relative Std" if quantity.is_log else "Std"
        bar = {"title": title, "len": length, "y": 0.0, "yanchor": "bottom"}
        figure.update_layout(
            coloraxis2={
                "colorscale": "Greys",
                "cmin": 0.0,
                "cmax": largest_spread,
                "colorbar": bar,
            }
        )
