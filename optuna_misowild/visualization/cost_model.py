"""What a query of each source costs, over the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization._figure import no_model_figure
from optuna_misowild.visualization.over_params import figure_over_params
from optuna_misowild.visualization.quantity import Quantity
from optuna_misowild.visualization.quantity import recommended


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.study import Study
    import plotly.graph_objects as go

    from optuna_misowild.base_sampler import MethodSampler


def plot_cost_model(
    study: Study, params: Sequence[str] | None = None, *, sampler: MethodSampler | None = None
) -> go.Figure:
    """Plot the predicted cost of a query of each source over the parameters.

    With two parameters there is a panel of contours per source, all in the same colours, and
    points for the costs that were paid. With any other number there is a panel per parameter
    that shows a line per source, with a band of one standard deviation; all other parameters
    are those that :func:`~optuna_misowild.recommend` gives. The scale is logarithmic.

    How to read it: a source is worth querying where its cost is well below that of the preferred
    one, which is the first. By default the sampler queries the others only where they cost less
    than a third.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_cost_model

            figure = plot_cost_model(study, ["x", "y"])
            figure.write_html("cost-model.html")

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
    return cost_model_figure(FigureData(study, sampler), params)


def cost_model_figure(data: FigureData, params: Sequence[str] | None = None) -> go.Figure:
    """Return the figure of :func:`plot_cost_model`."""
    title = "Cost Model Plot"
    model = data.model
    if model is None:
        return no_model_figure(title, data)

    def predict(
        params: list[dict[str, Any]], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean, std = model.predict_cost(params, data.choice(source))
        return mean, std

    quantity = Quantity(
        title=data.cost_title("Cost"),
        predict=predict,
        sources=data.modelled,
        captions=[data.labels[source] for source in data.modelled],
        centre=data.centre,
        observed=lambda query: query.cost,
        marks=recommended(data),
        is_log=True,
        colorscale="YlOrRd",
    )
    return figure_over_params(data, params, quantity, title)
