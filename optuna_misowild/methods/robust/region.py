"""A region that is excluded, since the search has stagnated there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Region:
    """Where f_1 is much like at a location: within a length scale of it.

    Once closed, it is excluded: the rest of the space is searched as if there were nothing else,
    by what was observed there. So the search climbs to the best place of the rest, which would
    promise no improvement on the best place of all until it is found.

    Attributes:
        center: The location, shape (d,).
        length_scale: ℓ, shape (d,).
        categorical: Which coordinates only say whether two values are the same, shape (d,).
    """

    center: NDArray[np.float64]
    length_scale: NDArray[np.float64]
    categorical: NDArray[np.bool_]

    def contains(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which of X (m, d) lie in it, shape (m,)."""
        difference = np.where(self.categorical, X != self.center, X - self.center)
        inside: NDArray[np.bool_] = np.sum((difference / self.length_scale) ** 2, axis=1) <= 1.0
        return inside
