"""The search space as the numerical layer sees it: a unit cube, some of it on a grid."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.kernels import scaled_squared_distance


if TYPE_CHECKING:
    from numpy.typing import NDArray


# The distances within which two locations are the same, for three purposes; see :func:`distances`.
# Is it the same place? Rounding may separate two computations of a location by this much. The
# closest values of a grid, those of a logarithmic one of 2¹⁴ integers, are 6e-6 apart.
SAME_PLACE = 1e-9
# Is it a duplicate, which adds nothing to what is known of a source? To a kernel of the longest
# length scales such locations are one, and its matrix has two rows that are nearly the same.
DUPLICATE = 1e-5
# Have two searches found the same optimum? Those of different candidates that do so ended within
# 2e-5 of each other, and those that do not more than 5e-2 apart, in studies of 2 to 8 parameters.
SAME_OPTIMUM = 1e-3


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


def distances(
    A: NDArray[np.float64], B: NDArray[np.float64], categorical: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the distances in the unit cube of the rows of A (m, d) and B (n, d), (m, n).

    Different values of a categorical coordinate are at distance 1, since they have no order.
    """
    unit = np.ones(len(categorical))
    return np.sqrt(scaled_squared_distance(A, B, unit, categorical))
