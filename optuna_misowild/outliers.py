"""Values so bad that they would flatten the scale of all others.

A diverged training that ends at 1e30 tells that its location is bad, and no more than that: by
how much must not decide how a model sees the differences among the good ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray


# A source has a scale once it has this many values, and keeps it: that of its first ten, which
# are spread over the space. Later ones crowd around the optimum, and all others would be outliers.
_MIN_VALUES = 4
_N_FIRST = 10
# How far above the median a value may be, in units of the median's distance to the lowest value.
_WIDTH = 20.0


def clip_outliers(y: NDArray[np.float64], source: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the values with the outliers on the high side moved in.

    Whatever the unit of y is, and wherever its origin, the result is the same.

    Args:
        y: Finite values, shape (n,), in the order of the trials.
        source: Source of each, shape (n,).
    """
    result: NDArray[np.float64] = y.copy()
    for s in np.unique(source):
        rows = np.flatnonzero(source == s)
        median = np.median(y[rows[:_N_FIRST]])
        # In halves, since the differences of the largest numbers overflow.
        width = 2.0 * _WIDTH * min(median / 2 - y[rows].min() / 2, 1e300)
        if len(rows) >= _MIN_VALUES and width > 0.0:
            result[rows] = np.minimum(y[rows], median + width)
    return result
