"""Which sources are worth their cost."""

from __future__ import annotations

from itertools import pairwise
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization._figure import empty_figure
from optuna_misowild.visualization._figure import joined
from optuna_misowild.visualization._figure import no_model_figure
from optuna_misowild.visualization._figure import source_colors
from optuna_misowild.visualization._figure import titled
from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization.axes import log_axis
from optuna_misowild.worth import NOT_WORTH
from optuna_misowild.worth import TOO_FEW
from optuna_misowild.worth import WORTH
from optuna_misowild.worth import source_worths


if TYPE_CHECKING:
    from collections.abc import Mapping

    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.worth import Worth


_TITLE = "Source Worth Plot"
_TOP = 1.05
_CORRELATIONS = (-1, -0.5, 0, 0.25, 0.5, 0.75, 1)
_SMALLEST, _LARGEST = 9.0, 36.0  # Of the points, in pixels.
_UNKNOWN = "#999999"
_CROWDED = 0.1  # Which part of the axis of costs a name may need.
# In pixels: the two lines of a source in the legend, and what plotly has without a height.
_LEGEND_LINES, _PLOT_HEIGHT, _MARGINS = 36, 270, 180


def plot_source_worth(study: Study, *, sampler: MethodSampler | None = None) -> go.Figure:
    """Plot how much each source has said of the preferred one, and what its queries cost.

    Across is the cost of a query as a part of that of the preferred source, by the cost models,
    on a logarithmic scale. Upwards is the correlation of the values of a source with what models
    that have never seen one of its values expect of the preferred source at the same places: so
    no source vouches for itself, and what these models do not know counts as disagreement. Both
    are over the places where the source was queried. The bar is the 95 % interval of the
    correlation (Fisher's), as if queries were independent. With less than five queries of the
    source, or of the preferred one, there is no correlation to speak of: a hollow grey point,
    below the axis.

    How to read it: on the dashed line the square of the correlation, which is the part of the
    variance that a query explains, is the relative cost. Above it, a query of the source says
    more for the money than one of the preferred source. A source is *worth its cost* if all of
    its bar is above the line, *not worth its cost* if all of it is below, and otherwise
    *undecided*: then its point is hollow. The legend says it in words, with the share of the
    money that went to each source, and of which source there are too few values. *Dropped* is one
    that was given up before that for what it costs. Where a source was queried near the optimum
    only, the values differ less, and so the correlation is lower; :func:`plot_discrepancy` shows
    where a source misleads.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_source_worth

            figure = plot_source_worth(study)
            figure.write_html("source-worth.html")

    Args:
        study: A study, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A :class:`plotly.graph_objects.Figure`.

    Raises:
        ImportError: If plotly is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source.
    """
    return source_worth_figure(FigureData(study, sampler))


def source_worth_figure(data: FigureData) -> go.Figure:
    """Return the figure of :func:`plot_source_worth`."""
    if data.model is None:
        return no_model_figure(_TITLE, data)
    if len(data.modelled) == 1:
        return empty_figure(_TITLE, "There is no other source than the preferred one.")
    preferred = data.labels[0]
    worths = source_worths(data)
    known_costs = [worth.cost for worth in worths.values() if math.isfinite(worth.cost)]
    known = [worth.low for worth in worths.values() if math.isfinite(worth.correlation)]
    ends = min([*known_costs, 0.1]) / 2.0, max([*known_costs, 1.0]) * 1.8
    costs = log_axis(np.array(ends), most=8)
    left = 10.0 ** costs["range"][0]
    lowest = min([-0.1, *known]) - 0.05
    # Those without a correlation stand below the axis of correlations, in a strip of their own.
    strip = lowest - 0.1
    is_unknown = any(not math.isfinite(worth.correlation) for worth in worths.values())
    legend_height = _LEGEND_LINES * len(worths)
    figure = go.Figure(
        layout=go.Layout(
            height=legend_height + _MARGINS if legend_height > _PLOT_HEIGHT else None,
            title=titled(
                _TITLE,
                _answer(data, worths),
                f"Dashed: a query says as much for the money as one of {preferred}. Bar: 95 % "
                "interval. Area: number of values",
            ),
            margin={"t": 110},
            xaxis={"title": f"Cost of a Query, Relative to {preferred}", "tickangle": 0, **costs},
            yaxis={
                "title": f"Correlation with {preferred}, Where Queried",
                "zeroline": False,
                "range": [strip - 0.1 if is_unknown else lowest, _TOP],
                "tickvals": [tick for tick in _CORRELATIONS if tick > lowest]
                + [strip] * is_unknown,
                "ticktext": [f"{tick:g}" for tick in _CORRELATIONS if tick > lowest]
                + ["too few<br>values"] * is_unknown,
            },
        )
    )
    _shade(figure, left)
    if is_unknown:
        figure.add_hline(y=lowest, line={"width": 1, "color": "grey"})
    most = max(1, *(worth.n_values for worth in worths.values()))
    on_the_right = _on_the_right(worths, *costs["range"])
    for source, worth in worths.items():
        figure.add_trace(_point(data, source, worth, most, source in on_the_right, strip))
    return figure


def _answer(data: FigureData, worths: Mapping[int, Worth]) -> str:
    """Say which sources were worth their cost, which not, and which are undecided."""
    named: dict[str, list[str]] = {WORTH: [], NOT_WORTH: []}
    for source, worth in worths.items():
        if source > 0:
            named.setdefault(worth.verdict, []).append(data.labels[source])
    parts = []
    for verdict, names in named.items():
        if not names:
            continue
        were = "was" if len(names) == 1 else "were"
        their = "its" if len(names) == 1 else "their"
        said = {
            WORTH: f"{were} worth {their} cost",
            NOT_WORTH: f"{were} not worth {their} cost",
            TOO_FEW: f"{were} observed too rarely for a verdict",
        }.get(verdict, f"({verdict})")
        parts.append(f"{joined(names)} {said}")
    return "; ".join(parts)


def _shade(figure: go.Figure, left: float) -> None:
    """Show where a query says more for the money than one of the preferred source."""
    x = np.geomspace(left, 1.0, 60)
    even = np.sqrt(x).tolist()
    area = go.Scatter(
        x=[*x.tolist(), 1.0, left],
        y=[*even, 1.0, 1.0],
        fill="toself",
        fillcolor="rgba(44,160,44,0.12)",
        line={"width": 0},
        mode="lines",
    )
    line = go.Scatter(
        x=x.tolist(), y=even, mode="lines", line={"color": "grey", "dash": "dash", "width": 1}
    )
    figure.add_traces([trace.update(hoverinfo="skip", showlegend=False) for trace in (area, line)])


def _on_the_right(worths: Mapping[int, Worth], begin: float, end: float) -> set[int]:
    """Return the sources whose names stand on the right of their points.

    To the right of the preferred source is the legend, so names stand on the left. Of
    two sources that cost nearly the same, and both have a correlation or none, the more expensive
    one has its name on the right.
    """
    places = {s: math.log10(w.cost) for s, w in worths.items() if 0.0 < w.cost < math.inf}
    result: set[int] = set()
    for is_known in (False, True):  # Those without a correlation stand below the axis.
        own = [s for s in places if math.isfinite(worths[s].correlation) == is_known]
        for cheaper, source in pairwise(sorted(own, key=places.__getitem__)):
            is_crowded = places[source] - places[cheaper] < _CROWDED * (end - begin)
            if source > 0 and is_crowded and cheaper not in result:
                result.add(source)
    return result


def _point(
    data: FigureData, source: int, worth: Worth, most: int, is_right: bool, strip: float
) -> go.Scatter:
    label = data.labels[source]
    values = f"{worth.n_values} {'value' if worth.n_values == 1 else 'values'}"
    is_decided = source == 0 or worth.verdict in (WORTH, NOT_WORTH)
    known = source == 0 or math.isfinite(worth.correlation)
    color = source_colors(data)[source] if known else _UNKNOWN
    spent = f", {worth.share:.0%} of the cost" if math.isfinite(worth.share) else ""
    verdict = "" if source == 0 else f"<br>   {worth.verdict}"
    name = f"{label}: {values}{spent}{verdict}"
    there = math.isfinite(worth.cost)
    y = worth.correlation if known else strip
    return go.Scatter(
        x=[worth.cost if there else None],
        y=[y],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [worth.high - y],
            "arrayminus": [y - worth.low],
            "visible": known and source > 0,
            "color": color,
            "thickness": 1.5,
        },
        mode="markers+text",
        marker={
            "color": color if is_decided else "white",
            "size": _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(worth.n_values / most),
            "line": {"color": color, "width": 2},
            "opacity": 0.8,
        },
        text=[label],
        textposition="middle right" if is_right else "middle left",
        name=name,
        legendrank=source,
        cliponaxis=False,
        hovertemplate=f"{name}<br>relative cost: {worth.cost:.3g}<br>correlation: "
        f"{worth.correlation:.3f}, in [{worth.low:.2f}, {worth.high:.2f}]<extra></extra>",
    )
