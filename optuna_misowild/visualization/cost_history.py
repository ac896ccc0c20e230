"""How good the answer was for the money spent so far."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import optuna

from optuna_misowild.figure_data import FigureData
from optuna_misowild.study.attributes import logger
from optuna_misowild.visualization._figure import empty_figure
from optuna_misowild.visualization._figure import source_colors
from optuna_misowild.visualization._figure import titled
from optuna_misowild.visualization._figure import value_title
from optuna_misowild.visualization._plotly import colors
from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization.outcome import FAILED
from optuna_misowild.visualization.outcome import INFEASIBLE
from optuna_misowild.visualization.outcome import add_at_bottom
from optuna_misowild.visualization.outcome import by_outcome


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.figure_data import Query


_TITLE = "Cost History Plot"
# The worst values are out of the picture if they are this much of its height away from it,
_FAR = 3.0
# or if the line would fall by less than this part of its height.
_LEAST_FALL = 0.05
# A line counts from where this part of the money is spent: what the first trials gave is chance,
# and would take the room of the differences that count.
_BEGINNING = 0.1


def plot_cost_history(
    study: Study | Sequence[Study] | Mapping[str, Study],
    *,
    sampler: MethodSampler | None = None,
) -> go.Figure:
    """Plot the best value on the preferred source against what all trials have cost.

    Of one study, each trial is a point where the money spent had got to when it finished,
    coloured by its source. Large points are values of the preferred source, small ones those of
    the others, which are no results: the line goes through the best of the large ones. Rings are
    infeasible, and crosses at the bottom are trials that failed, without a value. Values so
    bad that nobody could see the line fall lie outside; a double click shows them. Of several
    studies, only the lines and the large points are shown, of values as good as each had
    after a tenth of its money; a double click shows the others.

    How to read it: the earlier and the lower the line falls (in a study that minimises), the
    better. Small points before a fall are the cheap queries that led to it.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_cost_history

            figure = plot_cost_history({"now": study, "before": earlier})
            figure.write_html("cost-history.html")

    Args:
        study: A study, a list of them, or a dict of them by the names to show.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A :class:`plotly.graph_objects.Figure`.

    Raises:
        ImportError: If plotly is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source;
            if there is no study, or some minimise and others maximise.
    """
    if isinstance(study, optuna.Study):
        return cost_history_figure(FigureData(study, sampler))
    named = study if isinstance(study, Mapping) else _by_name(study)
    compared = {name: FigureData(one, sampler) for name, one in named.items()}
    if not compared:
        raise ValueError("`study` must be a study, or contain at least one, but is empty.")
    if len({data.is_maximised for data in compared.values()}) > 1:
        raise ValueError("The studies in `study` must all minimise or all maximise.")
    return _comparison(compared)


def _by_name(studies: Any) -> dict[str, Study]:
    listed = list(studies) if isinstance(studies, Iterable) else [studies]
    if not all(isinstance(study, optuna.Study) for study in listed):
        raise TypeError(
            f"`study` must be an Optuna study, or a list or a dict of them, but got {studies!r}."
        )
    return {study.study_name: study for study in listed}


def cost_history_figure(data: FigureData) -> go.Figure:
    """Return the figure of :func:`plot_cost_history` of one study."""
    if not data.valued:
        logger.warning("Your study does not have any completed trials.")
        return empty_figure(_TITLE, "No trial has finished with a value yet.")
    figure = go.Figure(layout=_layout(data))
    figure.update_layout(title=titled(_TITLE, _answer(data)))
    for source, label in enumerate(data.labels):
        shown = [query for query in data.valued if query.source == source and query.feasible]
        figure.add_trace(
            _points(data, shown, label, source_colors(data)[source], large=source == 0)
        )
    ended = by_outcome(data.queries)
    infeasible = [query for query in ended.get(INFEASIBLE, []) if math.isfinite(query.value)]
    if infeasible:
        points = _points(data, infeasible, INFEASIBLE, "Grey", large=False)
        points.marker.update(
            _colors(data, infeasible), symbol="circle-open", size=7, line_width=1.5
        )
        figure.add_trace(points)
    figure.add_trace(_line(data, f"Best on {data.labels[0]}", source_colors(data)[0]))
    _keep_extremes_out(figure, data)
    if failed := ended.get(FAILED):
        points = _points(data, failed, FAILED, "Grey", large=False)
        points.marker.update(_colors(data, failed), symbol="x", size=7)
        add_at_bottom(figure, points)
    return figure


def _answer(data: FigureData) -> str:
    """Say what was found, and when."""
    preferred, spent = data.labels[0], data.queries[-1].spent
    if not data.best_verified:
        return f"Nothing found on {preferred} yet"
    best = data.best_verified[-1]
    when = f", with {best.spent / spent:.0%} of the cost" if spent > 0.0 else ""
    return (
        f"The best on {preferred}, {best.value:.4g}, was found by trial {best.trial.number}{when}"
    )


def _colors(data: FigureData, shown: list[Query]) -> dict[str, list[str]]:
    return {"color": [source_colors(data)[query.source] for query in shown]}


def _comparison(compared: Mapping[str, FigureData]) -> go.Figure:
    figure = go.Figure(layout=_layout(*compared.values()))
    palette = colors.qualitative.D3
    for i, (name, data) in enumerate(compared.items()):
        if not data.best_verified:
            logger.warning(f"The study {name!r} has no value of its preferred source yet.")
            continue
        color = palette[i % len(palette)]
        shown = [query for query in data.valued if query.source == 0 and query.feasible]
        points = _points(data, shown, name, color, large=False)
        points.update(legendgroup=name, showlegend=False, opacity=0.5)
        line = _line(data, name, color)
        line.update(legendgroup=name)
        figure.add_traces([points, line])
    if not figure.data:
        return empty_figure(_TITLE, "No study has a value of its preferred source yet.")
    _keep_to_lines(figure, [data for data in compared.values() if data.best_verified])
    return figure


def _layout(*compared: FigureData) -> go.Layout:
    titles = {data.cost_title("Cumulated Cost") for data in compared}
    titles_of_values = {value_title(data) for data in compared}
    return go.Layout(
        title=_TITLE,
        xaxis={
            "title": titles.pop() if len(titles) == 1 else "Cumulated Cost",
            "rangemode": "tozero",
        },
        yaxis={"title": titles_of_values.pop() if len(titles_of_values) == 1 else "Value"},
    )


def _points(
    data: FigureData, shown: list[Query], name: str, color: str, *, large: bool
) -> go.Scatter:
    return go.Scatter(
        x=[query.spent for query in shown],
        y=[query.value for query in shown],
        mode="markers",
        marker={
            "color": color,
            "size": 9 if large else 5,
            "line": {"width": 0.5, "color": "Grey"},
        },
        name=name,
        hovertemplate="%{text}<extra></extra>",
        text=[data.hover(query) for query in shown],
    )


def _line(data: FigureData, name: str, color: str) -> go.Scatter:
    best = data.best_verified
    x = [query.spent for query in best]
    y = [query.value for query in best]
    if best:  # To where the money is now.
        x.append(data.queries[-1].spent)
        y.append(y[-1])
    return go.Scatter(
        x=x, y=y, mode="lines", line={"shape": "hv", "color": color, "width": 2}, name=name
    )


def _keep_extremes_out(figure: go.Figure, data: FigureData) -> None:
    """Let no bad value flatten the rest; a double click still shows all."""
    values = np.array([data.sign * query.value for query in data.valued])
    low, high = float(values.min()), float(values.max())
    usual = float(np.quantile(values, 0.75))
    if high - usual > _FAR * (usual - low) > 0.0:
        high = usual
    if data.best_verified:
        begin, end = _course(data)
        room = low + (begin - end) / _LEAST_FALL
        if begin < room:
            high = min(high, room)
    margin = 0.1 * (high - low)
    outside = int(np.sum(values > high + margin))
    if outside:
        bounds = (data.sign * (low - margin), data.sign * (high + margin))
        figure.update_yaxes(range=sorted(bounds))
        what = "value lies" if outside == 1 else "values lie"
        text = f"{outside} worse {what} outside; a double click shows all"
        figure.update_layout(title=titled(_TITLE, _answer(data), text))


def _keep_to_lines(figure: go.Figure, compared: Sequence[FigureData]) -> None:
    """Show the values from which lines go on after the beginning; a double click shows all."""
    begins, ends = zip(*map(_course, compared), strict=True)
    low, high = min(ends), max(begins)
    if low < high:
        margin = 0.06 * (high - low)
        bounds = (compared[0].sign * (low - margin), compared[0].sign * (high + margin))
        figure.update_yaxes(range=sorted(bounds))


def _course(data: FigureData) -> tuple[float, float]:
    """Return where the line of the best values begins and ends, as if minimised."""
    best = data.best_verified
    early = [q for q in best if q.spent <= _BEGINNING * data.queries[-1].spent]
    begin = early[-1] if early else best[0]
    return data.sign * begin.value, data.sign * best[-1].value
