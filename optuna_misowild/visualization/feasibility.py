"""Where queries meet the constraints, and do not fail."""

from __future__ import annotations

from collections import Counter
import math
from typing import TYPE_CHECKING
from typing import Any

from optuna.trial import TrialState

from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization._figure import empty_figure
from optuna_misowild.visualization._figure import no_model_figure
from optuna_misowild.visualization.outcome import FAILED
from optuna_misowild.visualization.outcome import INFEASIBLE
from optuna_misowild.visualization.outcome import by_outcome
from optuna_misowild.visualization.outcome import has_outcomes
from optuna_misowild.visualization.over_params import figure_over_params
from optuna_misowild.visualization.quantity import Quantity
from optuna_misowild.visualization.quantity import recommended


if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from optuna.study import Study
    import plotly.graph_objects as go

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.figure_data import Query


# Light enough for points to be seen everywhere.
_COLORS = ((0.0, "#ef8a62"), (0.5, "#f7f7f7"), (1.0, "#67a9cf"))


def plot_feasibility(
    study: Study, params: Sequence[str] | None = None, *, sampler: MethodSampler | None = None
) -> go.Figure:
    """Plot how likely queries of each source are to meet the user's constraints and not to fail.

    With two parameters there is a panel of contours per source; points show where it was queried,
    crossed circles what broke a constraint, and crosses what failed. With any other number there
    is a panel per parameter that shows a line per source; all other parameters are those that
    :func:`~optuna_misowild.recommend` gives. The title counts what has failed or is infeasible.

    How to read it: red is to be avoided. What counts is the preferred source, which is the first.
    Where another one differs from it, its constraint is another, or it fails by itself. The other
    figures have in grey where the probability is below one half.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_feasibility

            figure = plot_feasibility(study)
            figure.write_html("feasibility.html")

    Args:
        study: A study, finished or running.
        params: Names of the parameters to show; by default all.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A :class:`plotly.graph_objects.Figure`.

    Raises:
        ImportError: If plotly is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source,
            or a name in ``params`` is not that of a parameter that all completed trials have.
    """
    return feasibility_figure(FigureData(study, sampler), params)


def feasibility_figure(data: FigureData, params: Sequence[str] | None = None) -> go.Figure:
    """Return the figure of :func:`plot_feasibility`."""
    title = "Feasibility Plot"
    if not has_outcomes(data):
        return empty_figure(title, "No trial has failed, and none has a constraint.")
    model = data.model
    if model is None:
        return no_model_figure(title, data)

    def predict(params: list[dict[str, Any]], source: int) -> tuple[NDArray[np.float64], None]:
        return model.probability_of_feasibility(params, data.choice(source)), None

    quantity = Quantity(
        title="Probability",
        predict=predict,
        sources=data.modelled,
        captions=[data.labels[source] for source in data.modelled],
        centre=data.centre,
        observed=_observed,
        marks=recommended(data),
        colorscale=_COLORS,
        midpoint=0.5,
        is_feasibility=True,
    )
    return figure_over_params(data, params, quantity, title, _counts(data))


def _observed(query: Query) -> float:
    if query.trial.state == TrialState.FAIL or not query.feasible:
        return 0.0
    return 1.0 if query.trial.state == TrialState.COMPLETE else math.nan


def _counts(data: FigureData) -> str:
    parts = []
    for source in data.modelled:
        ended = by_outcome(query for query in data.queries if query.source == source)
        count = Counter({outcome: len(queries) for outcome, queries in ended.items()})
        parts.append(
            f"{data.labels[source]}: {count[FAILED]} failed, {count[INFEASIBLE]} infeasible "
            f"of {count.total()}"
        )
    return "; ".join(parts)
