"""Which sources are worth their cost."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.methods.outliers import clip_outliers
from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization.axes import log_ticks
from optuna_misowild.visualization.look import Look
from optuna_misowild.visualization.look import empty_figure
from optuna_misowild.visualization.look import no_model_figure


if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.methods.base import Observations


_TITLE = "Source Worth Plot"
# Below that many queries, of the source or of the preferred one, no correlation is worth a word.
_FEWEST = 5
_CONFIDENCE = 1.96  # Standard deviations of a normal distribution: 95 %.
_TOP = 1.05
_SMALLEST, _LARGEST = 9.0, 36.0  # Of the points, in pixels.
_UNKNOWN = "#999999"
# In pixels: the two lines of a source in the legend, and what plotly has without a height.
_LEGEND_LINES, _PLOT_HEIGHT, _MARGINS = 36, 270, 180
_WORTH, _NOT_WORTH = "worth its cost", "not worth its cost"
# What observations have per query.
_ARRAYS = ("X", "source", "y", "cost", "pending", "trial", "row", "failed", "constraints")


@dataclass(frozen=True)
class Worth:
    """What the queries of a source have shown, compared with the preferred one.

    Attributes:
        n_queries: How often it has given a value.
        share: Its part of what the study has cost.
        cost: Cost of a query relative to the preferred source, the geometric mean over where it
            was asked; NaN if it never was, or has cost nothing.
        correlation: Of its values with the preferred source; NaN if there are too few.
        low: Lower end of the 95 % interval of the correlation; −1 if there are too few.
        high: Its upper end; 1 if there are too few.
        n_asked: How many of its trials have finished, with a value or without.
        n_preferred: How often the preferred source has given a value.
        is_dropped: Whether it is not asked again, since it is hardly cheaper.
    """

    n_queries: int
    share: float
    cost: float
    correlation: float = math.nan
    low: float = -1.0
    high: float = 1.0
    n_asked: int = 0
    n_preferred: int = 0
    is_dropped: bool = False

    @property
    def break_even(self) -> float:
        """The correlation from which on a query tells more for the money than a preferred one.

        What has cost nothing need only tell anything.
        """
        return math.sqrt(self.cost) if math.isfinite(self.cost) else 0.0

    @property
    def verdict(self) -> str:
        """What can be said of it, of a source that is not the preferred one."""
        if math.isfinite(self.correlation):
            if self.low > self.break_even:
                return _WORTH
            return _NOT_WORTH if self.high < self.break_even else "cannot be told"
        if self.is_dropped:
            return "dropped: hardly cheaper"
        if self.n_queries == 0:
            return "no value" if self.n_asked else "never asked"
        if self.n_queries >= _FEWEST:
            return "too few preferred values to tell"
        both = " of both" if self.n_preferred < _FEWEST else ""
        return f"too few values{both} to tell"


def plot_source_worth(study: Study, *, sampler: MethodSampler | None = None) -> go.Figure:
    """Plot how much each source has told of the preferred one, and what its queries cost.

    Across is the cost of a query as a part of that of the preferred source, by the cost models,
    on a logarithmic scale. Upwards is the correlation of the values of a source with what models
    that have never seen one of its values expect of the preferred source at the same places: so
    no source vouches for itself, and what these models do not know counts as disagreement. Both
    are over the places where the source was asked. The bar is the 95 % interval of the
    correlation (Fisher's), as if queries were independent. With less than five queries of the
    source, or of the preferred one, there is no correlation to speak of: a hollow grey point,
    at 0.

    How to read it: on the dashed line the square of the correlation, which is the part of the
    variance that a query explains, is the relative cost. Above it, a query of the source tells
    more for the money than one of the preferred source. A source is *worth its cost* if all of
    its bar is above the line, *not worth its cost* if all of it is below, and otherwise it
    *cannot be told*: filled points are those that can. The legend says it in words, with the
    share of the money that went to each source, and of which source there are too few values.
    *Dropped* is one that was given up before that for what it costs. Where a source was asked
    near the optimum only, the values differ less, and so the correlation is lower;
    :func:`plot_discrepancy` shows where a source misleads.

    Args:
        study: A study, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A :class:`plotly.graph_objects.Figure`.

    Raises:
        ImportError: If plotly is not installed.
    """
    return source_worth_figure(Look(study, sampler))


def source_worth_figure(look: Look) -> go.Figure:
    """Return the figure of :func:`plot_source_worth`."""
    if look.model is None:
        return no_model_figure(_TITLE, look)
    if len(look.modelled) == 1:
        return empty_figure(_TITLE, "There is no other source than the preferred one.")
    preferred = look.labels[0]
    worths = source_worths(look)
    asked = [worth.cost for worth in worths.values() if math.isfinite(worth.cost)]
    known = [worth.low for worth in worths.values() if math.isfinite(worth.correlation)]
    left, right = min([*asked, 0.1]) / 2.0, max([*asked, 1.0]) * 1.8
    ticks = log_ticks(math.log10(left), math.log10(right))
    legend_height = _LEGEND_LINES * len(worths)
    figure = go.Figure(
        layout=go.Layout(
            height=legend_height + _MARGINS if legend_height > _PLOT_HEIGHT else None,
            title=f"{_TITLE}<br><sup>Dashed: a query tells as much for the money as one of "
            f"{preferred}. Bar: 95 % interval. Area: number of queries</sup>",
            xaxis={
                "title": f"Cost of a Query, Relative to {preferred}",
                "type": "log",
                "range": [math.log10(left), math.log10(right)],
                "tickvals": ticks,
                "ticktext": [f"{tick:g}" for tick in ticks],
            },
            yaxis={
                "title": f"Correlation with {preferred}, Where Asked",
                "zeroline": False,
                "range": [min([-0.1, *known]) - 0.05, _TOP],
                "tickvals": [-1, -0.5, 0, 0.25, 0.5, 0.75, 1],
            },
        )
    )
    _shade(figure, left)
    most = max(1, *(worth.n_queries for worth in worths.values()))
    # Neighbours on the axis of costs have their names on different sides.
    by_cost = sorted(
        (source for source, worth in worths.items() if math.isfinite(worth.cost)),
        key=lambda source: worths[source].cost,
    )
    for source, worth in worths.items():
        figure.add_trace(_point(look, source, worth, most, by_cost))
    return figure


def _shade(figure: go.Figure, left: float) -> None:
    """Show where a query tells more for the money than one of the preferred source."""
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


def _point(look: Look, source: int, worth: Worth, most: int, by_cost: list[int]) -> go.Scatter:
    label = look.labels[source]
    queries = f"{worth.n_queries} {'query' if worth.n_queries == 1 else 'queries'}"
    told = source == 0 or worth.verdict in (_WORTH, _NOT_WORTH)
    known = source == 0 or math.isfinite(worth.correlation)
    color = look.colors[source] if known else _UNKNOWN
    spent = f", {worth.share:.0%} of the cost" if math.isfinite(worth.share) else ""
    verdict = "" if source == 0 else f"<br>   {worth.verdict}"
    name = f"{label}: {queries}{spent}{verdict}"
    there = math.isfinite(worth.cost)
    y = worth.correlation if known else 0.0
    sides = ("middle left", "middle right") if known else ("top center", "bottom center")
    # To the right of the preferred source is the legend.
    side = sides[by_cost.index(source) % 2] if there and source > 0 else sides[0]
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
            "color": color if told else "white",
            "size": _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(worth.n_queries / most),
            "line": {"color": color, "width": 2},
            "opacity": 0.8,
        },
        text=[label],
        textposition=side,
        name=name,
        legendrank=source,
        cliponaxis=False,
        hovertemplate=f"{name}<br>relative cost: {worth.cost:.3g}<br>correlation: "
        f"{worth.correlation:.3f}, in [{worth.low:.2f}, {worth.high:.2f}]<extra></extra>",
    )


def source_worths(look: Look) -> dict[int, Worth]:
    """Return what is known of each source that the method has a model of."""
    seen = look.view.observations
    first = seen.valued(0)
    total = look.queries[-1].spent
    result = {}
    dropped = look.sampler.method.too_expensive(seen, look.view.domain)
    for source in look.modelled:
        rows = seen.valued(source)
        own = [query.paid for query in look.queries if query.source == source]
        spent = math.fsum(own)
        share = spent / total if total > 0.0 else math.nan
        cost = 1.0 if source == 0 else _relative_cost(look, source)
        interval = (1.0, 1.0, 1.0) if source == 0 else (math.nan, -1.0, 1.0)
        if source > 0 and min(len(rows), len(first)) >= _FEWEST:
            interval = _correlation(look, source)
        result[source] = Worth(
            len(rows), share, cost, *interval, len(own), len(first), source in dropped
        )
    return result


def _relative_cost(look: Look, source: int) -> float:
    """Return the geometric mean of the relative cost over where a source was asked.

    Over the places where both are predicted to cost anything; NaN if there is none, or if only
    the source has no cost at all, as one whose trials were added.
    """
    model, space = look.model, look.view.space
    assert model is not None
    has_cost = [len(look.view.observations.costed(s)) > 0 for s in (source, 0)]
    if has_cost == [False, True]:
        return math.nan
    places = [
        {name: query.trial.params[name] for name in space}
        for query in look.valued
        if query.source == source
    ]
    if not places:
        return math.nan
    costs = np.stack([np.abs(model.predict_cost(places, look.choice(s))[0]) for s in (source, 0)])
    costs = costs[:, (costs > 0.0).all(axis=0)]
    if not costs.size:
        return math.nan
    return float(np.exp(np.mean(np.log(costs[0]) - np.log(costs[1]))))


def _correlation(look: Look, source: int) -> tuple[float, float, float]:
    """Return the correlation of a source with the preferred one, and its 95 % interval.

    Of its values with what the models that have never seen one of them expect of the preferred
    source at the same places.
    """
    seen = look.view.observations
    rows = seen.valued(source)
    with_value = np.flatnonzero(seen.has_value)
    y = seen.y.copy()
    y[with_value] = clip_outliers(y[with_value], seen.source[with_value])
    y, X = y[rows], seen.X[rows]
    others = _without(seen, source)
    with single_blas_thread():
        mean, std = look.sampler.method.fit(others, look.view.domain).predict(X, 0)
    total = math.sqrt(float(mean.var() + np.mean(std**2)) * float(y.var()))
    r = float(np.mean((mean - mean.mean()) * (y - y.mean()))) / total if total > 0.0 else 0.0
    r = min(max(r, -0.9999), 0.9999)
    reach = _CONFIDENCE / math.sqrt(len(rows) - 3)
    return r, math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def _without(seen: Observations, source: int) -> Observations:
    """Return the observations of all other sources."""
    rows = seen.source != source
    return replace(
        seen,
        **{name: getattr(seen, name)[rows] for name in _ARRAYS},
        n_imported=int(rows[: seen.n_imported].sum()),
    )
