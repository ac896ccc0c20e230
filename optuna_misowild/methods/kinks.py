"""Where the paper's acquisition mostly is largest: where the penalty of a source vanishes.

The distance of the means, η_s = abs(μ̂ − μ_s), has a kink where the two cross, and eq:acquisition
a ridge there, the sharper the more the source costs. A climb by gradients stops where it first
meets the ridge. On it the acquisition is its numerator, which is smooth: so candidates are moved
onto the ridge by Newton's method, and climb along it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Protocol

import numpy as np

from optuna_misowild.optim.batched_bfgs import ascend
from optuna_misowild.optim.maximize import FIRST_STEP
from optuna_misowild.optim.maximize import N_ENUMERATE
from optuna_misowild.optim.maximize import Acquisition
from optuna_misowild.optim.slice import Slice


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.optim.domain import Domain


N_CANDIDATES = 256  # Of so many locations, moved onto the ridge of each source,
N_CLIMBS = 4  # so many for each source climb along it,
N_EVALUATIONS = 20  # for so many evaluations.
N_NEWTON = 4  # Steps of Newton's method from a location to the ridge.


class KinkedAcquisition(Acquisition, Protocol):
    """An acquisition with a kink, for each source, where a difference is 0."""

    def difference_with_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the difference at X (m, d) for each of source (m,), and its gradient (m, d)."""


def best_on_kinks(
    acquisition: KinkedAcquisition,
    domain: Domain,
    *,
    rng: np.random.Generator,
    starts: NDArray[np.float64],
    fixed: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return locations on the kinks of each source at which the acquisition is large.

    Args:
        acquisition: What is to be maximised.
        domain: Where the location may be.
        rng: Source of the candidates.
        starts: Promising locations, shape (k, d).
        fixed: Values that coordinates must have, NaN where they are free, shape (d,).

    Returns:
        Locations, shape (m, d): a few for each source. Coordinates on a grid are near its values
        only. None in a domain that is small enough to be searched exhaustively, or where no
        coordinate is continuous or nearly so.
    """
    slice_ = Slice(domain, np.full(domain.d, np.nan) if fixed is None else fixed)
    coordinates = slice_.smooth
    if slice_.size <= N_ENUMERATE or not len(coordinates):
        return np.empty((0, domain.d))
    candidates = slice_.candidates(N_CANDIDATES, starts, rng)
    X, source = [], []
    for column, s in enumerate(acquisition.sources):
        moved = _onto_kink(acquisition, candidates, np.full(len(candidates), s), coordinates)
        X.append(_apart(moved, acquisition.values(moved)[:, column], N_CLIMBS))
        source += [s] * len(X[-1])
    return _climb_along(acquisition, np.concatenate(X), np.array(source), coordinates)


def _onto_kink(
    acquisition: KinkedAcquisition,
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    coordinates: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Move locations (m, d) along some coordinates to where the difference is 0."""
    X = X.copy()
    for _ in range(N_NEWTON):
        value, gradient = acquisition.difference_with_gradient(X, source)
        slope, Z = gradient[:, coordinates], X[:, coordinates]
        # A bound is followed, not crossed.
        towards = -value[:, None] * slope
        slope = np.where((Z <= 0.0) & (towards < 0.0) | (Z >= 1.0) & (towards > 0.0), 0.0, slope)
        X[:, coordinates] = np.clip(Z - value[:, None] * _over_square(slope), 0.0, 1.0)
    return X


def _climb_along(
    acquisition: KinkedAcquisition,
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    coordinates: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Climb from each of X (m, d) along the kink of its source."""

    def onto_kink(Z: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = X.copy()
        moved[:, coordinates] = Z
        return _onto_kink(acquisition, moved, source, coordinates)

    def function(Z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        there = onto_kink(Z)
        value, gradient = acquisition.value_and_gradient(there, source)
        normal = acquisition.difference_with_gradient(there, source)[1][:, coordinates]
        slope = gradient[:, coordinates]
        across = np.sum(slope * normal, axis=1)
        return value, slope - across[:, None] * _over_square(normal)

    Z, _ = ascend(function, X[:, coordinates], n_evaluations=N_EVALUATIONS, first_step=FIRST_STEP)
    return onto_kink(Z)


def _over_square(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each row of A (m, p) over its squared length; 0 where it vanishes."""
    square = np.sum(A * A, axis=1, keepdims=True)
    result: NDArray[np.float64] = A / np.where(square > 0.0, square, np.inf)
    return result


def _apart(X: NDArray[np.float64], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the best n of the locations (m, d), none close to a better one."""
    radius = 0.1 * np.sqrt(X.shape[1])
    chosen: list[NDArray[np.float64]] = []
    values = values.copy()
    while len(chosen) < n and values.max() > -np.inf:
        best = X[np.argmax(values)]
        chosen.append(best)
        values[np.linalg.norm(X - best, axis=1) <= radius] = -np.inf
    return np.array(chosen).reshape(-1, X.shape[1])
