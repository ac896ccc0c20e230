"""Recorded tasks: hours of training, in an instant."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from examples.paper import tables
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Classifier
from examples.paper.tasks import Measurement
from examples.paper.tasks import Params


class Replay:
    """Evaluates a classifier from a table of recorded evaluations.

    Between the recorded points, the error and the logarithms of the seconds are interpolated
    linearly; in the logarithms of the hyperparameters where these are logarithmic.

    Args:
        classifier: The classifier that was recorded.
        path: Its table.

    Attributes:
        lowest_error: The lowest error recorded on all the data.
        points: The recorded hyperparameters on all the data, shape (n, 2).
        mean_cpu_s: The mean of the processor seconds on all the data, over the search space.

    Raises:
        FileNotFoundError: If there is no such table.
        ValueError: If it lacks a point of the grid that it spans on some source.
    """

    def __init__(self, classifier: Classifier, path: Path) -> None:
        rows = tables.read(path, classifier)
        if not rows:
            raise FileNotFoundError(f"There is no recording at {path}.")
        self.classifier = classifier
        by_source = defaultdict(list)
        for row in rows:
            by_source[row.source].append(row)
        self._sources = []
        for source in range(1, len(SOURCES) + 1):
            try:
                self._sources.append(_interpolator(by_source[source]))
            except ValueError as error:
                raise ValueError(f"The recording at {path}, source {source}: {error}.") from None
        self.lowest_error = min(row.measured.error for row in by_source[1])
        self.points = np.array([row.point for row in by_source[1]])
        if classifier.logarithmic:
            self.points = 10.0**self.points
        axes = [np.linspace(axis[0], axis[-1], 101) for axis in self._sources[0].grid]
        everywhere = np.stack(np.meshgrid(*axes), axis=-1)
        self.mean_cpu_s = float(np.exp(self._sources[0](everywhere)[..., 1]).mean())

    def __call__(self, source: str, params: Params) -> Measurement:
        x = np.array([params[name] for name in self.classifier.hyperparameters], dtype=float)
        return Measurement(*map(float, self._at(SOURCES.index(source), x)))

    def error(self, source: int, x: np.ndarray) -> np.ndarray:
        """Return the errors of a source, 0 … 4, at hyperparameters x (..., 2), shape (...)."""
        return self._at(source, x)[..., 0]

    def cpu_s(self, source: int, x: np.ndarray) -> np.ndarray:
        """Return the processor seconds of a source, 0 … 4, at x (..., 2), shape (...)."""
        return self._at(source, x)[..., 1]

    def _at(self, source: int, x: np.ndarray) -> np.ndarray:
        """Return errors, processor and wall-clock seconds at x (..., 2), shape (..., 3)."""
        interpolator = self._sources[source]
        if self.classifier.logarithmic:
            x = np.log10(x)
        # Rounding may carry the logarithm of a bound out of the grid.
        low, high = zip(*((axis[0], axis[-1]) for axis in interpolator.grid), strict=True)
        found = interpolator(np.clip(x, low, high)).reshape(*x.shape[:-1], 3)
        return np.concatenate([found[..., :1], np.exp(found[..., 1:])], axis=-1)


def _interpolator(rows: list[tables.Row]) -> RegularGridInterpolator:
    values = {
        row.point: (row.measured.error, np.log(row.measured.cpu_s), np.log(row.measured.wall_s))
        for row in rows
    }
    axes = [sorted({point[i] for point in values}) for i in (0, 1)]
    grid = [[values.get((a, b)) for b in axes[1]] for a in axes[0]]
    missing = sum(line.count(None) for line in grid)
    if missing or min(map(len, axes)) < 2:
        raise ValueError(
            f"{len(values)} rows, and {missing} missing to complete a grid of "
            f"{len(axes[0])} × {len(axes[1])}"
        )
    return RegularGridInterpolator(axes, np.array(grid))
