"""Which sources are worth their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.visualization._plotly import go
from optuna_misowild.visualization.look import Look
from optuna_misowild.visualization.look import empty_figure
from optuna_misowild.visualization.look import no_model_figure
from optuna_misowild.visualization.sample import spread_params


if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler


_TITLE = "Source Worth Plot"
_TOP = 1.4
# Sources that cost more than this part of the preferred one are hardly ever worth it.
_DEAR = RobustMethod.max_cost_ratio
# In turn, since sources of nearly the same worth are common.
_POSITIONS = ("bottom center", "top center")
_SMALLEST, _LARGEST = 8.0, 40.0  # of the points, in pixels


def plot_source_worth(study: Study, *, sampler: MethodSampler | None = None) -> go.Figure:
    """Plot how much each source tells of the preferred one, and what a query of it costs.

    Across is the cost of a query as a part of that of the preferred source, by the cost models:
    the geometric mean over the search space, on a logarithmic scale. Upwards is the correlation
    of the source with the preferred one over the search space, by the objective model; what is
    not known of their discrepancy counts as disagreement, so that a source that was hardly
    asked is not taken for a perfect one. The area of a point is the number of queries.

    How to read it: high and far left is good. A source in the green region is worth its cost:
    above the dashed line, a query tells more for the money than one of the preferred source,
    since the square of the correlation, which is the part of the variance that it explains, is
    larger than the relative cost; and it costs less than a third. All this is over the whole
    space: near the optimum a source may tell less, see :func:`plot_discrepancy`.

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
    figure = go.Figure(
        layout=go.Layout(
            title=_TITLE,
            xaxis={"title": f"Cost of a Query, Relative to {look.labels[0]}", "type": "log"},
            yaxis={"title": f"Correlation with {look.labels[0]}", "zeroline": False},
            showlegend=False,
        )
    )
    counts = np.bincount([q.source for q in look.queries], minlength=len(look.labels))
    worths = [source_worth(look, source) for source in look.modelled]
    by_cost = sorted(range(len(worths)), key=lambda i: worths[i])
    for source, (cost, agreement) in zip(look.modelled, worths, strict=True):
        label, count = look.labels[source], int(counts[source])
        area = count / counts.max()
        figure.add_trace(
            go.Scatter(
                x=[cost],
                y=[agreement],
                mode="markers+text",
                marker={
                    "color": look.colors[source],
                    "size": _SMALLEST + (_LARGEST - _SMALLEST) * float(np.sqrt(area)),
                    "opacity": 0.8,
                },
                text=[f"{label}<br>{count} {'query' if count == 1 else 'queries'}"],
                textposition=_POSITIONS[by_cost.index(source) % 2],
                name=label,
                cliponaxis=False,
                hovertemplate=f"{label}<br>relative cost: %{{x:.3g}}<br>correlation: %{{y:.3f}}"
                "<extra></extra>",
            )
        )
    _explain(figure, look.labels[0], worths)
    return figure


def _explain(figure: go.Figure, preferred: str, worths: list[tuple[float, float]]) -> None:
    """Show where a source has to be to be worth its cost."""
    left = min(cost for cost, _ in worths) / 3.0
    bottom = min(-0.05, min(agreement for _, agreement in worths) - 0.2)
    x = np.geomspace(left, _DEAR, 50)
    even = np.sqrt(x).tolist()
    line = go.Scatter(
        x=x.tolist(), y=even, mode="lines", line={"color": "grey", "dash": "dash", "width": 1}
    )
    area = go.Scatter(
        x=[*x.tolist(), _DEAR, left],
        y=[*even, _TOP, _TOP],
        fill="toself",
        fillcolor="rgba(44,160,44,0.12)",
        line={"width": 0},
        mode="lines",
    )
    figure.add_traces([area.update(hoverinfo="skip"), line.update(hoverinfo="skip")])
    # First, so that nothing lies under them.
    figure.data = (*figure.data[-2:], *figure.data[:-2])
    figure.add_annotation(
        text=f"worth its cost: tells more for the money than {preferred}",
        x=0.01,
        y=0.99,
        xref="paper",
        yref="paper",
        showarrow=False,
        font={"color": "darkgreen"},
    )
    figure.update_layout(
        xaxis={"range": [float(np.log10(left)), float(np.log10(2.0))], "dtick": "D2"},
        yaxis={"range": [bottom, _TOP], "tickvals": [-1, -0.5, 0, 0.25, 0.5, 0.75, 1]},
    )


def source_worth(look: Look, source: int) -> tuple[float, float]:
    """Return the relative cost of a source, and its correlation with the preferred one."""
    model = look.model
    assert model is not None
    sample = spread_params(look.view)
    preferred, choice = look.choice(0), look.choice(source)
    costs = [np.abs(model.predict_cost(sample, c)[0]) for c in (choice, preferred)]
    relative = float(np.exp(np.mean(np.log(costs[0]) - np.log(costs[1]))))
    if source == 0:
        return 1.0, 1.0
    target, _ = model.predict(sample, preferred)
    mean, std = model.predict(sample, choice)
    discrepancy = model.discrepancy(sample, choice)
    doubt = discrepancy[1] if isinstance(discrepancy, tuple) else std
    total = target.std() * np.sqrt(mean.var() + np.mean(doubt**2))
    if total == 0.0:
        return relative, 0.0
    return relative, float(np.mean((target - target.mean()) * (mean - mean.mean())) / total)
