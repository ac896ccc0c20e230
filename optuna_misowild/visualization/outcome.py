"""How queries have ended, and would: what is infeasible, and what fails, compared different."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.visualization._plotly import go


if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from optuna_misowild.figure_data import FigureData
    from optuna_misowild.figure_data import Query


INFEASIBLE = "Infeasible Trial"
FAILED = "Failed Trial"
PROBABLY_INFEASIBLE = "Probably Infeasible"
OUTCOME_RANK = 1001  # Behind the sources, in a legend.
SHADE = "rgba(120,120,120,0.6)"

# In plotly, that of another axis with the same panel is this much larger.
_SECOND_AXIS = 1000
# Where failed trials, which have no value, lie above the bottom of a panel, in its height.
_BOTTOM = 0.025


def by_outcome(queries: Iterable[Query]) -> dict[str | None, list[Query]]:
    """Return the queries by how they ended: None for all that is well, which may be empty.

    Failed ones, and others that break a constraint of the user, stand under their names, if
    there are any.
    """
    result: dict[str | None, list[Query]] = {None: []}
    for query in queries:
        failed = query.trial.state == TrialState.FAIL
        outcome = FAILED if failed else None if query.feasible else INFEASIBLE
        result.setdefault(outcome, []).append(query)
    return result


def probability_of_failure(
    data: FigureData, params: list[dict[str, Any]], source: int
) -> NDArray[np.float64] | None:
    """Return how likely a query is to fail or to break a constraint of the user, (m,).

    None while no trial has failed and none has a constraint.
    """
    if data.model is None or not has_outcomes(data):
        return None
    return 1.0 - np.asarray(data.model.probability_of_feasibility(params, data.choice(source)))


def has_outcomes(data: FigureData) -> bool:
    """Whether any trial has failed, or has a constraint."""
    seen = data.view.observations
    return bool(seen.failed.any()) or seen.constraints.shape[1] > 0


def add_at_bottom(
    figure: go.Figure, trace: go.Scatter, x_axis: str = "x", y_axis: str = "y"
) -> None:
    """Add points that have a place on the horizontal axis only, at the bottom of a panel.

    Args:
        figure: The figure.
        trace: The points; their heights are overwritten.
        x_axis: The panel's horizontal axis, by plotly's short name.
        y_axis: Its vertical one.
    """
    number = _SECOND_AXIS + int(y_axis[1:] or 1)
    trace.update(y=[_BOTTOM] * len(trace.x), xaxis=x_axis, yaxis=f"y{number}")
    figure.add_trace(trace)
    figure.layout[f"yaxis{number}"] = {
        "overlaying": y_axis,
        "anchor": x_axis,
        "range": [0.0, 1.0],
        "fixedrange": True,
        "visible": False,
    }
