"""What has not been observed yet: in a space of few points, that may be little, or nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.base import Proposal
from optuna_misowild.optim.domain import SAME_PLACE
from optuna_misowild.optim.domain import distances


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.optim.domain import Domain


_N_ENUMERATE = 2**12  # Of larger or continuous spaces, so many random points are looked at.
_BLOCK = 2**8


def is_observed(
    x: NDArray[np.float64], source: int, X: NDArray[np.float64], sources: NDArray[np.int_]
) -> bool:
    """Return whether a query at x (d,) of a source is among those at X (n, d) of ``sources``.

    Up to rounding, so that it does not matter which coordinates are categorical.
    """
    return bool(((sources == source) & (np.abs(X - x) <= SAME_PLACE).all(axis=1)).any())


def nearest_unobserved(
    proposal: Proposal,
    X: NDArray[np.float64],
    sources: NDArray[np.int_],
    domain: Domain,
    *,
    fixed: NDArray[np.float64],
    allowed: Sequence[int],
    rng: np.random.Generator,
) -> Proposal:
    """Return a proposal, or the closest unobserved one if it has been observed before.

    On the same source if anything remains there, else on another one. Where nothing remains, it
    is the proposal itself.

    Args:
        proposal: The proposal.
        X: Locations of all queries so far, shape (n, d).
        sources: Their sources, shape (n,).
        domain: The search space.
        fixed: Coordinates that are fixed, NaN where free, shape (d,).
        allowed: The sources that may be queried.
        rng: Source of randomness, for ties and for spaces that cannot be enumerated.
    """
    if not is_observed(proposal.x, proposal.source, X, sources):
        return proposal
    grids = [
        np.array([value]) if np.isfinite(value) else grid
        for value, grid in zip(fixed, domain.grids, strict=True)
    ]
    # Many may be equally near, such as all other values of a categorical coordinate.
    points = rng.permutation(_points(grids, rng))
    away = distances(points, proposal.x[None], domain.categorical)[:, 0]
    points = points[np.argsort(away, kind="stable")]
    for source in [proposal.source, *(s for s in allowed if s != proposal.source)]:
        row = _first_new(points, X[sources == source])
        if row is not None:
            return Proposal(source, points[row])
    return proposal


def _first_new(points: NDArray[np.float64], X: NDArray[np.float64]) -> int | None:
    """Return which of some points (m, d) is the first that is none of X (n, d), or None.

    A tree finds it, since of thousands of both there are too many pairs.
    """
    if not len(X):
        return 0
    if not X.shape[1]:
        return None
    from scipy.spatial import cKDTree

    tree = cKDTree(X)
    # What lies at the bound or beyond has the distance inf.
    bound = np.nextafter(SAME_PLACE, 1.0)
    for start in range(0, len(points), _BLOCK):  # Mostly, there is one in the first.
        block = points[start : start + _BLOCK]
        distance, _ = tree.query(block, p=np.inf, distance_upper_bound=bound)
        if np.isinf(distance).any():
            return start + int(np.argmax(distance))
    return None


def _points(
    grids: Sequence[NDArray[np.float64] | None], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return all points of a grid, or some if it is large or continuous (None), shape (m, d)."""
    if not grids:
        return np.empty((1, 0))
    axes = [grid for grid in grids if grid is not None]
    if len(axes) == len(grids) and math.prod(map(len, axes)) <= _N_ENUMERATE:
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    columns = [
        rng.random(_N_ENUMERATE) if grid is None else rng.choice(grid, _N_ENUMERATE)
        for grid in grids
    ]
    return np.stack(columns, axis=1)
