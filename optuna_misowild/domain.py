"""The search space as the numerical layer sees it: a unit cube, some of it on a grid."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Domain:
    """The unit cube [0, 1]^d, whose coordinates are continuous or take values on a grid.

    Attributes:
        grids: One entry per coordinate: None if it is continuous, else the sorted values that
            it may take.
        categorical: Whether the values of a coordinate have no order, shape (d,).
    """

    grids: tuple[NDArray[np.float64] | None, ...]
    categorical: NDArray[np.bool_]

    @classmethod
    def continuous(cls, d: int) -> Domain:
        """Return the domain of ``d`` continuous coordinates."""
        return cls((None,) * d, np.zeros(d, dtype=bool))

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return len(self.grids)

    @property
    def is_continuous(self) -> NDArray[np.bool_]:
        """Which coordinates are continuous, shape (d,)."""
        return np.array([grid is None for grid in self.grids], dtype=bool)

    @property
    def size(self) -> float:
        """Number of different points: finite if no coordinate is continuous, else inf."""
        sizes = (math.inf if grid is None else len(grid) for grid in self.grids)
        return math.prod(sizes, start=1.0)  # As a float: integers may grow out of NumPy's range.

    def snap(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Clip into the cube and move each gridded coordinate to its nearest value.

        Args:
            X: Locations, shape (..., d).

        Returns:
            A new array of the same shape.
        """
        X = np.clip(X, 0.0, 1.0)
        for i, grid in enumerate(self.grids):
            if grid is not None:
                middles = 0.5 * (grid[1:] + grid[:-1])
                X[..., i] = grid[np.searchsorted(middles, X[..., i])]
        return X
