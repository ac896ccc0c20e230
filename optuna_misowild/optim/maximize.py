"""Maximise an acquisition over the sources and over a mixed space at once.

A space-filling set of candidates is evaluated for all sources in one batch; the best few are
climbed from all at once, and then the best place that these climbs have reached by L-BFGS-B: along
the continuous coordinates by gradients, along the others by line searches over their values. A
small finite domain is enumerated instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import NamedTuple
from typing import Protocol

import numpy as np

from optuna_misowild.optim.batched_bfgs import ascend
from optuna_misowild.optim.domain import SAME_PLACE
from optuna_misowild.optim.domain import distances
from optuna_misowild.optim.slice import Slice


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from optuna_misowild.optim.domain import Domain


_APART = 0.1  # Places from which to climb on a source are this far apart, in units of √d.
N_ENUMERATE = 2048  # Finite domains up to this size are searched exhaustively.
FIRST_STEP = 0.1  # Length of the first step of a climb, in the unit cube.
N_STARTS = 10  # Places from which to climb, or more: each source has one.
N_SHORT = 12  # Evaluations of the climbs from every start,
N_LONG = 50  # iterations of that from the best place that these have reached,
N_ROUNDS = 20  # and alternations between it and line searches.


class Acquisition(Protocol):
    """A function of source and location, to be maximised."""

    @property
    def sources(self) -> tuple[int, ...]:
        """The sources over which it ranges, in order of preference in case of a tie."""

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return its values at X (m, d) on every source, shape (m, len(sources)).

        −inf (or NaN) marks what must not be chosen.
        """

    def value_and_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return its value at each of X (m, d), and its gradient.

        Args:
            X: Locations, shape (m, d).
            source: On which of ``sources``, shape (m,).

        Returns:
            Two arrays, (m,) and (m, d).
        """


class Maximum(NamedTuple):
    """Where an acquisition is largest."""

    source: int
    x: NDArray[np.float64]
    value: float


def maximize(
    acquisition: Acquisition,
    domain: Domain,
    *,
    rng: np.random.Generator,
    starts: NDArray[np.float64] | None = None,
    fixed: NDArray[np.float64] | None = None,
    avoid: Mapping[int, NDArray[np.float64]] | None = None,
    n_candidates: int = 1024,
) -> Maximum:
    """Return the source and the location at which the acquisition is largest.

    Args:
        acquisition: What to maximise.
        domain: Where the location may be.
        rng: Source of the candidates; the result depends on nothing else that is random.
        starts: Promising locations, shape (k, d), from whose surroundings candidates are
            taken too.
        fixed: Values that coordinates must have, NaN where they are free, shape (d,). They
            are taken as they are.
        avoid: For some sources, locations (k, d) that are chosen only if no other remains, as
            in a finite space that is exhausted.
        n_candidates: Number of space-filling candidates, a power of two.

    Returns:
        The maximum. Where the acquisition excludes everything, this is a random location of
        the domain on the first of the sources, with the value −inf.
    """
    slice_ = Slice(domain, np.full(domain.d, np.nan) if fixed is None else fixed)
    is_small = slice_.size <= N_ENUMERATE
    if is_small:
        X = rng.permutation(slice_.enumerate())
    else:
        X = slice_.candidates(n_candidates, starts, rng)

    categorical = domain.categorical
    target = _Restricted(acquisition, avoid or {}, categorical)
    values = target.values(X)
    if avoid and values.max() == -np.inf:
        target = _Restricted(acquisition, {}, categorical)
        values = target.values(X)
    if is_small or values.max() == -np.inf:
        return _largest(target, X, values)
    promising = _distinct_best(target, X, values, N_STARTS)
    climbed = _climb(target, slice_, promising, _climb_together, 1)
    # A place that is good for one source is often good for another.
    X = np.stack([maximum.x for maximum in climbed])
    highest = _largest(target, X, target.values(X))
    return _climb(target, slice_, [highest], _climb_to_the_top, N_ROUNDS)[0]


@dataclass(frozen=True)
class _Restricted:
    """An acquisition, excluded where locations are to be avoided."""

    acquisition: Acquisition
    avoid: Mapping[int, NDArray[np.float64]]
    categorical: NDArray[np.bool_]

    @property
    def sources(self) -> tuple[int, ...]:
        return self.acquisition.sources

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        values = self.acquisition.values(X)
        excluded = np.isnan(values)
        for column, source in enumerate(self.sources):
            excluded[:, column] |= self._is_avoided(X, source)
        return np.where(excluded, -np.inf, values)

    def value_and_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, gradient = self.acquisition.value_and_gradient(X, source)
        for s in self.avoid:
            rows = np.flatnonzero(source == s)
            value[rows[self._is_avoided(X[rows], s)]] = -np.inf
        return value, gradient

    def _is_avoided(self, X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        points = self.avoid.get(source)
        if points is None or not len(points):
            return np.zeros(len(X), dtype=bool)
        nearest: NDArray[np.float64] = distances(X, points, self.categorical).min(axis=1)
        return nearest < SAME_PLACE


def _largest(target: _Restricted, X: NDArray[np.float64], values: NDArray[np.float64]) -> Maximum:
    """Return the first of the largest values (m, n_sources) and where it is."""
    row, column = np.unravel_index(np.argmax(values), values.shape)
    return Maximum(target.sources[column], X[row], float(values[row, column]))


def _distinct_best(
    target: _Restricted, X: NDArray[np.float64], values: NDArray[np.float64], n: int
) -> list[Maximum]:
    """Return the best of each source, then the best others, about n in all.

    None is excluded, and none is close to a better one of the same source.
    """
    values = values.copy()
    radius = _APART * np.sqrt(X.shape[1])
    chosen: list[Maximum] = []

    def choose(row: int, column: int) -> None:
        if values[row, column] > -np.inf:
            chosen.append(Maximum(target.sources[column], X[row], float(values[row, column])))
            near = distances(X, X[[row]], target.categorical)[:, 0] <= radius
            values[near, column] = -np.inf

    for column in range(values.shape[1]):
        choose(int(np.argmax(values[:, column])), column)
    for _ in range(n - values.shape[1]):
        choose(*divmod(int(np.argmax(values)), values.shape[1]))
    return chosen


def _climb(
    target: _Restricted,
    slice_: Slice,
    starts: list[Maximum],
    climb: Callable[[_Restricted, NDArray[np.intp], list[Maximum]], list[Maximum]],
    max_rounds: int,
) -> list[Maximum]:
    """Climb from each start along the continuous and the discrete coordinates in turn.

    In the first round, ordered coordinates of many values are relaxed to continuous ones, which
    follows a ridge between them where line searches along single coordinates would stop.
    """
    best = starts
    rounds = range(max_rounds)
    if len(slice_.smooth) > len(slice_.continuous):
        relaxed = climb(target, slice_.smooth, best)
        placed = slice_.place(np.stack([maximum.x for maximum in relaxed]))
        best = [
            _better(target, maximum, slice_.line_searches(x))
            for maximum, x in zip(best, placed, strict=True)
        ]
        rounds = rounds[1:]
    for _ in rounds:
        if len(slice_.continuous):
            best = climb(target, slice_.continuous, best)
        if not len(slice_.discrete):
            break
        found = [_better(target, maximum, slice_.line_searches(maximum.x)) for maximum in best]
        if all(new is old for new, old in zip(found, best, strict=True)):
            break
        best = found
    return best


def _better(target: _Restricted, best: Maximum, X: NDArray[np.float64]) -> Maximum:
    """Return the best of X (m, d) for the source of a maximum, or that itself if none is."""
    values = target.values(X)[:, target.sources.index(best.source)]
    row = int(np.argmax(values))
    return Maximum(best.source, X[row], float(values[row])) if values[row] > best.value else best


def _climb_together(
    target: _Restricted, coordinates: NDArray[np.intp], starts: list[Maximum]
) -> list[Maximum]:
    """Climb from all starts at once for a few steps."""
    source = np.array([start.source for start in starts])

    def place(Z: NDArray[np.float64]) -> NDArray[np.float64]:
        X = np.stack([start.x for start in starts])
        X[:, coordinates] = Z
        return X

    def function(Z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        value, gradient = target.value_and_gradient(place(Z), source)
        return value, gradient[:, coordinates]

    Z = np.stack([start.x[coordinates] for start in starts])
    Z, values = ascend(function, Z, n_evaluations=N_SHORT, first_step=FIRST_STEP)
    return [
        Maximum(start.source, x, float(value)) if value > start.value else start
        for start, x, value in zip(starts, place(Z), values, strict=True)
    ]


def _climb_to_the_top(
    target: _Restricted, coordinates: NDArray[np.intp], starts: list[Maximum]
) -> list[Maximum]:
    """Climb from one start after the other by L-BFGS-B, within [0, 1].

    The function is shifted and scaled so that the search starts at 0 with a first step of
    FIRST_STEP, whatever its units are. Where it is excluded the search sees the level of the
    start, which any line search rejects without being thrown far back.
    """
    return [_lbfgs(target, coordinates, start) for start in starts]


def _lbfgs(target: _Restricted, coordinates: NDArray[np.intp], start: Maximum) -> Maximum:
    from scipy.optimize import minimize

    best = start
    scale = 0.0

    def descend(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        nonlocal best, scale
        x = start.x.copy()
        x[coordinates] = z
        values, gradients = target.value_and_gradient(x[None], np.array([start.source]))
        value, slope = values[0], gradients[0, coordinates]
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return 0.0, np.zeros(len(z))
        if value > best.value:
            best = Maximum(start.source, x, float(value))
        if not scale:
            outward = ((z <= 0.0) & (slope < 0.0)) | ((z >= 1.0) & (slope > 0.0))
            scale = float(np.abs(np.where(outward, 0.0, slope)).max()) / FIRST_STEP or 1.0
        return (start.value - value) / scale, -slope / scale

    minimize(
        descend,
        start.x[coordinates],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(coordinates),
        options={"maxiter": N_LONG, "maxfun": 2 * N_LONG, "gtol": 1e-6},
    )
    return best
