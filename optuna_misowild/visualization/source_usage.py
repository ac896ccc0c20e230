"""Which sources were queried when, and what they have cost."""

from __future__ import annotations

from collections import Counter
import math
from typing import TYPE_CHECKING

from optuna.trial import TrialState

from optuna_misowild.figure_data import FigureData
from optuna_misowild.study.attributes import logger
from optuna_misowild.visualization._figure import FONT_SIZE
from optuna_misowild.visualization._figure import empty_figure
from optuna_misowild.visualization._figure import source_colors
from optuna_misowild.visualization._figure import titled
from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization._plotly import subplots


if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler


_SYMBOLS = {
    TrialState.COMPLETE: "circle",
    TrialState.PRUNED: "circle-open",
    TrialState.FAIL: "x",
}


def plot_source_usage(study: Study, *, sampler: MethodSampler | None = None) -> go.Figure:
    """Plot the queries and the cost of each source, along the study.

    At the top, a point for each finished trial shows which source it queried (a cross if it
    failed, a ring if it was pruned), and bars count them. At the bottom is the money that each
    source has taken, stacked, in the order in which trials finished, and bars of what it came to
    in the end.

    How to read it: a source that was queried often and took little of the money has been a cheap
    guide. One that was queried at the start only was given up: it cost too much, or others said
    more for the money. Whether it said anything of the preferred source is another question:
    :func:`plot_source_worth` answers it if there are enough queries.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_source_usage

            figure = plot_source_usage(study)
            figure.write_html("source-usage.html")

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
    return source_usage_figure(FigureData(study, sampler))


def source_usage_figure(data: FigureData) -> go.Figure:
    """Return the figure of :func:`plot_source_usage`."""
    title = "Source Usage Plot"
    if not data.queries:
        logger.warning("Your study does not have any finished trials.")
        return empty_figure(title, "No trial has finished yet.")
    figure = subplots.make_subplots(
        rows=2,
        cols=2,
        shared_yaxes=True,
        column_widths=[0.75, 0.25],
        row_heights=[0.45, 0.55],
        horizontal_spacing=0.03,
        vertical_spacing=0.2,
    )
    order = range(1, len(data.queries) + 1)
    total = data.queries[-1].spent
    for source, label in enumerate(data.labels):
        color = source_colors(data)[source]
        own = [(i, q) for i, q in zip(order, data.queries, strict=True) if q.source == source]
        paid = [q.paid for _, q in own]
        cost = math.fsum(paid)
        points = go.Scatter(
            x=[i for i, _ in own],
            y=[label] * len(own),
            mode="markers",
            marker={"color": color, "symbol": [_SYMBOLS[q.trial.state] for _, q in own]},
            hovertemplate="%{text}<extra></extra>",
            text=[data.hover(q) for _, q in own],
        )
        spent = dict.fromkeys(order, 0.0) | {i: c for (i, _), c in zip(own, paid, strict=True)}
        cumulated = 0.0
        area = []
        for i in order:
            cumulated += spent[i]
            area.append(cumulated)
        stacked = go.Scatter(
            x=list(order),
            y=area,
            mode="lines",
            stackgroup="cost",
            line={"width": 0.5, "color": color, "shape": "hv"},
            hovertemplate=f"{label}: %{{y:.4g}}<extra></extra>",
        )
        queries = go.Bar(x=[len(own)], y=[label], text=[len(own)], orientation="h")
        share = f"<br>{cost / total:.0%}" if total > 0.0 else ""
        costs = go.Bar(x=[label], y=[cost], text=[f"{_amount(cost)}{share}"])
        for bars in (queries, costs):
            bars.update(marker={"color": color}, textposition="outside", cliponaxis=False)
            bars.update(textfont={"size": FONT_SIZE}, textangle=0, constraintext="none")
        for trace, row, column in (
            (points, 1, 1),
            (queries, 1, 2),
            (stacked, 2, 1),
            (costs, 2, 2),
        ):
            figure.add_trace(trace.update(name=label), row, column)
    figure.update_layout(title=titled(title, _answer(data)), height=560, showlegend=False)
    figure.update_xaxes(range=[0, len(order) + 1], zeroline=False, col=1)
    figure.update_xaxes(title_text="Finished Trials", row=2, col=1)
    figure.update_xaxes(title_text="Queries", row=1, col=2)
    figure.update_yaxes(title_text="Source", row=1, col=1)
    figure.update_yaxes(title_text=data.cost_title("Cumulated Cost"), row=2, col=1)
    figure.update_yaxes(range=[0.0, 1.2 * total or 1.0], row=2)
    categories = {"type": "category", "categoryorder": "array", "categoryarray": data.labels}
    figure.update_xaxes(dtick=1, row=2, col=2)
    figure.update_yaxes(dtick=1, row=1)
    figure.update_yaxes(**categories, range=[len(data.labels) - 0.5, -0.5], row=1)
    figure.update_xaxes(**categories, row=2, col=2)
    return figure


def _answer(data: FigureData) -> str:
    """Say which source took most of the money, and which most of the queries."""
    paid = [
        math.fsum(q.paid for q in data.queries if q.source == s) for s in range(len(data.labels))
    ]
    n_queries = Counter(query.source for query in data.queries)
    (source, count), *_ = n_queries.most_common(1)
    most = f"{count} of {len(data.queries)} queries on {data.labels[source]}"
    total = data.queries[-1].spent
    if total <= 0.0:
        return f"{most}, the most"
    costly = max(n_queries, key=lambda source: paid[source])
    return f"Most of the cost on {data.labels[costly]}: {paid[costly] / total:.0%}; {most}"


def _amount(cost: float) -> str:
    return f"{cost:.0f}" if 100.0 <= cost < 1e6 else f"{cost:.3g}"
