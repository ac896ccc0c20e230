"""Plotly, imported when the first figure is drawn; an optional dependency."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any


__all__ = ["colors", "go", "is_available", "subplots"]


class _Module:
    """A module that is imported when it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            module = import_module(self._name)
        except ImportError as error:
            raise ImportError(
                "The figures need plotly, which cannot be imported. Install it with "
                '`pip install "optuna-misowild[visualization]"`.'
            ) from error
        return getattr(module, attribute)


if TYPE_CHECKING:
    from plotly import colors
    from plotly import graph_objects as go
    from plotly import subplots
else:
    colors = _Module("plotly.colors")
    go = _Module("plotly.graph_objects")
    subplots = _Module("plotly.subplots")


def is_available() -> bool:
    """Return whether plotly is there, so that figures can be drawn.

    Example:

        .. code-block:: python

            if is_available():
                plot_source_usage(study)
    """
    try:
        import_module("plotly.graph_objects")
    except ImportError:
        return False
    return True
