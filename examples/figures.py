"""Figures as files: HTML to look into, PNG to print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import sys

import optuna
import plotly.graph_objects as go
import plotly.io as pio

from optuna_misowild import visualization


def write_figures(
    figures: Mapping[str, go.Figure], directory: Path | str, *, scale: float = 2.0
) -> list[Path]:
    """Write every figure to ``NAME.html`` and ``NAME.png`` in a directory.

    The HTML files share one copy of plotly.js beside them and need no network. The PNG files are
    drawn by Chrome or a relative of it, through Kaleido; where either is missing, one line says
    so and how to get it, and the HTML files are all there is.

    Args:
        figures: The figures by the names of their files.
        directory: Where to write them; made if it does not exist.
        scale: Pixels of the PNG per pixel of the figure's layout.

    Returns:
        The files written.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    pages = [directory / f"{name}.html" for name in figures]
    for figure, page in zip(figures.values(), pages, strict=True):
        figure.write_html(page, include_plotlyjs="directory")
    pictures = [page.with_suffix(".png") for page in pages]
    if not pictures:
        return []
    try:
        # All at once, because starting the browser takes seconds.
        pio.write_images(
            fig=list(figures.values()),
            file=pictures,
            width=[figure.layout.width for figure in figures.values()],
            height=[figure.layout.height for figure in figures.values()],
            scale=scale,
        )
    except (RuntimeError, ValueError) as error:
        # The figures are fine, or they would not have become HTML: what is missing is a tool.
        print(_advice(error), file=sys.stderr)
        return pages
    return pages + pictures


def write_study(study: optuna.Study, directory: Path | str) -> list[Path]:
    """Write the figures of a study that have something to show.

    Args:
        study: The study.
        directory: Where to write them; made if it does not exist.

    Returns:
        The files written.
    """
    return write_figures(figures_of(study), directory)


def figures_of(study: optuna.Study) -> dict[str, go.Figure]:
    """Return the figures of a study that have something to show, by name."""
    plots = {name: getattr(visualization, name) for name in visualization.__all__}
    figures = {
        name.removeprefix("plot_").replace("_", "-"): plot(study)
        for name, plot in plots.items()
        if name.startswith("plot_")
    }
    # One without traces says only why it is empty.
    return {name: figure for name, figure in figures.items() if figure.data}


def _advice(error: Exception) -> str:
    if "chrome" in str(error).lower():
        missing = "needs Chrome or Chromium: install it, or run plotly_get_chrome"
    elif "kaleido" in str(error).lower():
        missing = 'needs Kaleido: pip install "kaleido>=1"'
    else:
        missing = f"failed: {' '.join(str(error).split())}"
    return f"The figures are there as HTML only; drawing PNG files {missing}."
