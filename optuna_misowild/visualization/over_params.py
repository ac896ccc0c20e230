"""A quantity over the parameters: contours of two of them, slices along any other number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_misowild.visualization.axes import chosen_axes
from optuna_misowild.visualization.contours import contour_figure
from optuna_misowild.visualization.slices import slice_figure


if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from optuna_misowild.visualization.look import Look
    from optuna_misowild.visualization.quantity import Quantity


def figure_over_params(
    look: Look, params: Sequence[str] | None, quantity: Quantity, title: str
) -> go.Figure:
    """Return a figure of a quantity over the parameters that a user asks for."""
    axes = chosen_axes(look, params)
    if len(axes) == 2:
        return contour_figure(look, axes[0], axes[1], quantity, title)
    return slice_figure(look, axes, quantity, title)
