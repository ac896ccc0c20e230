"""Short climbs from several places at once, by projected BFGS within the unit cube.

A model predicts at ten locations in little more time than at one, but SciPy's optimisers evaluate
one after the other. Where it matters to find out which of several hills is the highest, and not
yet to be exactly on its top, this takes a fraction of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


# Of the increase that the slope promises, so much has to come true (Nocedal and Wright, 2006,
# eq. 3.4); where it does not, the step is cut, to at most so much of itself.
_LEAST_INCREASE = 1e-4
_CUT = (0.1, 0.5)
# Cosines that are below this are 0.
_ROUNDING = 1e-10
# Slopes, or squares of slopes, below it have vanished: there is nothing to divide by.
_TINY = float(np.finfo(np.float64).tiny)


def ascend(
    function: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]],
    X: NDArray[np.float64],
    *,
    n_evaluations: int,
    first_step: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Climb from each row of X, all of them by one step at a time.

    Args:
        function: Returns values (k,) and gradients (k, p) at k locations; −inf or NaN where a
            location is excluded.
        X: Where to start, in the unit cube, shape (k, p).
        n_evaluations: Number of calls of the function.
        first_step: Largest change of a coordinate in the first step.

    Returns:
        The highest locations found, (k, p), and their values, (k,).
    """

    def evaluate(
        X: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, slope = function(X)
        usable = np.isfinite(value) & np.isfinite(slope).all(axis=1)
        return np.where(usable, value, -np.inf), np.where(usable[:, None], slope, 0.0)

    k, p = X.shape
    value, slope = evaluate(X)
    # Minus the inverse of the matrix of second derivatives, as far as it is known; by row.
    inverse, known = np.tile(np.eye(p), (k, 1, 1)), np.zeros(k, dtype=bool)
    step = np.ones(k)
    for _ in range(n_evaluations - 1):
        # At a bound there is nothing to climb along a coordinate that leads out of the cube.
        outward = (X <= 0.0) & (slope < 0.0) | (X >= 1.0) & (slope > 0.0)
        inward = np.where(outward, 0.0, slope)
        direction = np.where(outward, 0.0, _times(inverse, inward))
        largest = np.abs(direction).max(axis=1)
        is_flat = largest < _TINY
        unit = np.where(known | is_flat, 1.0, first_step / np.where(is_flat, 1.0, largest))
        Z = np.clip(X + (step * unit)[:, None] * direction, 0.0, 1.0)
        new_value, new_slope = evaluate(Z)

        promised = np.maximum(np.sum(slope * (Z - X), axis=1), 0.0)
        higher = new_value >= value + _LEAST_INCREASE * promised
        # Else, to the top of the parabola through both values, with the slope at the lower end.
        with np.errstate(invalid="ignore", divide="ignore"):
            top = 0.5 * promised / (value + promised - new_value)
        top = np.clip(np.where(np.isfinite(top), top, 0.0), *_CUT)
        step = np.where(higher, 1.0, step * top)
        _learn(inverse, known, higher, Z - X, slope - new_slope)
        X = np.where(higher[:, None], Z, X)
        value = np.where(higher, new_value, value)
        slope = np.where(higher[:, None], new_slope, slope)
    return X, value


def _times(A: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return A_i b_i for A (k, p, p) and b (k, p)."""
    product: NDArray[np.float64] = np.matmul(A, b[:, :, None])[:, :, 0]
    return product


def _learn(
    inverse: NDArray[np.float64],
    known: NDArray[np.bool_],
    moved: NDArray[np.bool_],
    s: NDArray[np.float64],
    y: NDArray[np.float64],
) -> None:
    """Update the inverse matrices in place, where a climb has moved by s and its slope fell by y.

    Nocedal and Wright (2006), eqs. 6.17 and 6.20. Where the slope did not fall, the function is
    not concave, and nothing is learnt.
    """
    sy, yy = np.sum(s * y, axis=1), np.sum(y * y, axis=1)
    learns = moved & (sy > _ROUNDING * np.sqrt(np.sum(s * s, axis=1) * yy))
    rows = np.flatnonzero(learns & (yy > _TINY))
    s, y, sy = s[rows, :, None], y[rows, :, None], sy[rows, None, None]
    new = ~known[rows]
    inverse[rows[new]] *= sy[new] / yy[rows[new], None, None]
    known[rows] = True
    Hy = inverse[rows] @ y
    curvature = 1.0 + np.swapaxes(y, 1, 2) @ Hy / sy
    sHy = s @ np.swapaxes(Hy, 1, 2)
    inverse[rows] += (curvature * (s @ np.swapaxes(s, 1, 2)) - sHy - np.swapaxes(sHy, 1, 2)) / sy
