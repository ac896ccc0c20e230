"""What each source says of the objective, over the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization._figure import no_model_figure
from optuna_misowild.visualization._figure import value_title
from optuna_misowild.visualization.over_params import figure_over_params
from optuna_misowild.visualization.quantity import Quantity
from optuna_misowild.visualization.quantity import recommended


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.study import Study
    import plotly.graph_objects as go

    from optuna_misowild.base_sampler import MethodSampler


def plot_objective_model(
    study: Study, params: Sequence[str] | None = None, *, sampler: MethodSampler | None = None
) -> go.Figure:
    """Plot the predicted objective value of each source over the parameters.

    With two parameters there are two panels of contours per source: the mean, with points for
    the values that were observed, and the standard deviation. With any other number there is a
    panel per parameter that shows a line per source, with a band of one standard deviation; all
    other parameters are those that :func:`~optuna_misowild.recommend` gives, and observations
    that lie far from there are grey. Dark contours are good values.

    How to read it: the preferred source, which is the first, is what counts. The others help as
    far as their good regions are the same as its. Where the standard deviation is large, the
    model does not know.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_objective_model

            figure = plot_objective_model(study, ["x", "y"])
            figure.write_html("objective-model.html")

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
    return objective_model_figure(FigureData(study, sampler), params)


def objective_model_figure(data: FigureData, params: Sequence[str] | None = None) -> go.Figure:
    """Return the figure of :func:`plot_objective_model`."""
    title = "Objective Model Plot"
    model = data.model
    if model is None:
        return no_model_figure(title, data)

    def predict(
        params: list[dict[str, Any]], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean, std = model.predict(params, data.choice(source))
        return data.sign * mean, std

    quantity = Quantity(
        title=value_title(data),
        predict=predict,
        sources=data.modelled,
        captions=[data.labels[source] for source in data.modelled],
        centre=data.centre,
        observed=lambda query: data.moved_in.get(query.key, query.value),
        marks=recommended(data),
        low_is_dark=not data.is_maximised,
    )
    return figure_over_params(data, params, quantity, title, _moved(data))


def _moved(data: FigureData) -> str:
    """Say which observations are shown, as the models saw them, at another value."""
    parts = []
    for source in data.modelled:
        own = [query.key for query in data.queries if query.source == source]
        moved = [data.moved_in[key] for key in own if key in data.moved_in]
        if moved:
            parts.append(f"{data.labels[source]}: {len(moved)} to {moved[0]:.3g}")
    if not parts:
        return ""
    return f"Outliers, moved in before the fit and shown so: {'; '.join(parts)}"
