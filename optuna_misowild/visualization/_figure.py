"""What all figures share: the colour of a source, and what stands where nothing can be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_misowild.figure_data import shorten
from optuna_misowild.visualization._plotly import colors
from optuna_misowild.visualization._plotly import go


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna_misowild.figure_data import FigureData


# Of what stands beside points and bars, as of the ticks.
FONT_SIZE = 12


def source_colors(data: FigureData) -> tuple[str, ...]:
    """Return a colour for each source."""
    palette = colors.qualitative.D3 if len(data.labels) <= 10 else colors.qualitative.Dark24
    return tuple(palette[i % len(palette)] for i in range(len(data.labels)))


def titled(name: str, *lines: str) -> str:
    """Return a title: the name of the figure, and in small letters what it answers."""
    return "<br>".join([name, *(f"<sup>{line}</sup>" for line in lines if line)])


def joined(names: Sequence[str]) -> str:
    """Return names as a sentence has them: ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def value_title(data: FigureData) -> str:
    """Return the title of an axis of objective values: the name that the study has for them."""
    names = data.study.metric_names
    return shorten(names[0]) if names else "Objective Value"


def empty_figure(title: str, reason: str) -> go.Figure:
    """Return a figure that says why it shows nothing."""
    figure = go.Figure(layout=go.Layout(title=title))
    figure.add_annotation(text=reason, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure


def no_model_figure(title: str, data: FigureData) -> go.Figure:
    """Return the figure to show in place of one that needs models."""
    if not data.valued:
        return empty_figure(title, "No trial has finished with a value yet.")
    return empty_figure(title, "There is no parameter that all completed trials have.")
