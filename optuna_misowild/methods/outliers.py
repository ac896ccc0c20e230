"""Values so bad that they would flatten the scale of all others.

A diverged training that ends at 1e30 shows that its location is bad, and no more than that: by
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
# How far above the scale a value may be, in units of the scale.
_WIDTH = 20.0
# How much larger than its own the scale of all sources may be for a source to be measured by it:
# one that has diverged at most places, or is in another unit, is no measure for the others.
_COMPARABLE = 100.0


def clip_outliers(y: NDArray[np.float64], source: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the values with the outliers on the high side moved in.

    The scale of a source is the median of its first values, that of all sources the median of
    theirs, each above the lowest one of its source. A source is measured by the larger of the two:
    the first values of one that was queried at the best places of the others lie close together.

    Whatever the unit of y is, and wherever its origin, the result is the same.

    Args:
        y: Finite values, shape (n,), in the order of the trials.
        source: Source of each, shape (n,).
    """
    result: NDArray[np.float64] = y.copy()
    rows_of = {s: np.flatnonzero(source == s) for s in np.unique(source)}
    # In halves, since the differences of the largest numbers overflow.
    first = {s: y[r[:_N_FIRST]] / 2 - y[r].min() / 2 for s, r in rows_of.items()}
    shared = np.median(np.concatenate(list(first.values()))) if first else 0.0
    for s, rows in rows_of.items():
        own = np.median(first[s])
        scale = max(own, _COMPARABLE * min(shared / _COMPARABLE, own))
        width = 2.0 * (1.0 + _WIDTH) * min(scale, 1e300)
        if len(rows) >= _MIN_VALUES and width > 0.0:
            result[rows] = np.minimum(y[rows], y[rows].min() + width)
    return result
