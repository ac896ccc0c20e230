"""A quantity over the parameters: contours of two of them, slices along any other number."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from optuna_misowild.figure_data import shorten
from optuna_misowild.visualization.axes import chosen_axes
from optuna_misowild.visualization.contours import contour_figure
from optuna_misowild.visualization.slices import slice_figure


if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from optuna_misowild.figure_data import FigureData
    from optuna_misowild.visualization.axes import Axis
    from optuna_misowild.visualization.quantity import Quantity


# Of the small letters below a title, and what plotly's layout has where none is set; in pixels.
_LETTER_WIDTH, _LINE_HEIGHT = 6.0, 25
_WIDTH, _HEIGHT = 700, 450
# Above a title with more than one line below it, where plotly has its buttons, and above the
# panels if there is only one.
_ABOVE, _TOP = 40, 84


def figure_over_params(
    data: FigureData, params: Sequence[str] | None, quantity: Quantity, title: str, text: str = ""
) -> go.Figure:
    """Return a figure of a quantity over the parameters that a user wants.

    Args:
        data: The study.
        params: The names of the parameters; None for all.
        quantity: What to show.
        title: The title of the figure.
        text: What stands in small letters below it, in as many lines as it takes.
    """
    axes = chosen_axes(data, params)
    text = ". ".join(part for part in (text, _cut(data, axes, quantity)) if part)
    if len(axes) == 2:
        figure = contour_figure(data, axes[0], axes[1], quantity, title)
        more_in_captions = max(caption.count("<br>") for caption in quantity.captions)
    else:
        figure = slice_figure(data, axes, quantity, title)
        more_in_captions = 0  # They stand in the legend.
    layout = figure.layout
    # Whatever the figure's own width: on the dashboard it is that of a frame.
    lines = textwrap.wrap(text, int(_WIDTH / _LETTER_WIDTH), break_on_hyphens=False)
    more = _LINE_HEIGHT * (max(len(lines) - 1, 0) + more_in_captions)
    figure.update_layout(title="<br>".join([title, *(f"<sup>{line}</sup>" for line in lines)]))
    if more:
        top, height = _TOP + more, (layout.height or _HEIGHT) + more
        figure.update_layout(
            margin={"t": top}, height=height, title={"y": 1.0 - _ABOVE / height, "yanchor": "top"}
        )
    return figure


def _cut(data: FigureData, axes: Sequence[Axis], quantity: Quantity) -> str:
    """Say where the parameters are that a panel does not show."""
    shown = {axis.name for axis in axes} if len(axes) == 2 else set()
    hidden = {name: quantity.centre[name] for name in data.view.space if name not in shown}
    if not hidden or len(data.view.space) == 1 or quantity.centre_is_said:
        return ""
    at = ", ".join(f"{shorten(name)} = {_text(value)}" for name, value in hidden.items())
    has_far = quantity.observed is not None and len(axes) != 2
    return f"Cut at {at}" + ("; grey points lie far from it" if has_far else "")


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else shorten(str(value))
