"""Where the robust method looks when the queries of the preferred source make no progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.optim.domain import distances


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.robust.model import RobustModel
    from optuna_misowild.optim.domain import Domain


def has_progressed(y: NDArray[np.float64], n: int, tolerance: float) -> bool:
    """Whether the last n of the values (more than n) have lowered their minimum.

    By more than ``tolerance`` standard deviations.
    """
    return bool(y[:-n].min() - y.min() > tolerance * y.std())


def feasible_values(observations: Observations, rows: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the values of some rows, none lower than a feasible one unless it is feasible."""
    y, feasible = observations.y[rows], observations.feasible[rows]
    return np.where(feasible, y, np.maximum(y, y[feasible].max(initial=y.min(initial=0.0))))


def is_creeping(
    observations: Observations, domain: Domain, *, n: int, tolerance: float, radius: float
) -> bool:
    """Whether the latest queries of the preferred source were near its best one, for nothing.

    Args:
        observations: The trials so far; running and failed ones count by where they are, and so
            do infeasible ones. Those that were imported are no latest ones.
        domain: The search space.
        n: Number of queries.
        tolerance: What counts as no progress, see :func:`has_progressed`.
        radius: What counts as near.
    """
    valued = observations.valued(0)
    others = np.flatnonzero(
        (observations.source == 0) & (observations.pending | observations.failed)
    )
    latest = np.sort(np.concatenate([valued, others]))[-n:]
    y = feasible_values(observations, valued)
    if len(valued) <= n or latest[0] < observations.n_imported or has_progressed(y, n, tolerance):
        return False
    best = observations.X[valued[[np.argmin(y)]]]
    distance = distances(observations.X[latest], best, domain.categorical)
    return bool(np.all(distance <= radius))


def unfollowed_promise(
    observations: Observations,
    domain: Domain,
    sources: Sequence[int],
    *,
    candidates: NDArray[np.bool_],
    n: int,
    tolerance: float,
    radius: float,
    min_distance: float,
) -> NDArray[np.float64] | None:
    """Return the best location of another source, if the preferred one makes no progress.

    On a plateau, or in a mode that only one source has, both models may agree on a wrong
    picture and explain away what the other sources say. So after some queries of the
    preferred source without progress, none of them at a location that another source has
    seen, one goes to where another source is best, away from where it has been.

    Args:
        observations: The trials so far.
        domain: The search space.
        sources: Those that are kept.
        candidates: Which rows may be chosen, shape (n,).
        n: Number of queries of the preferred source.
        tolerance: What counts as no progress, see :func:`has_progressed`.
        radius: Distance up to which the preferred source has been at a location.
        min_distance: Distance up to which two locations are the same.

    Returns:
        The location, shape (d,), or None.
    """
    first = observations.valued(0)
    others = np.flatnonzero(
        np.isin(observations.source, [s for s in sources if s != 0]) & observations.has_value
    )
    if len(first) <= n or first[-n] < observations.n_imported or not len(others):
        return None
    if has_progressed(feasible_values(observations, first), n, tolerance):
        return None
    X, latest = observations.X, first[-n:]
    before = others[None, :] < latest[:, None]
    same = distances(X[latest], X[others], domain.categorical) <= min_distance
    running = (observations.source == 0) & observations.pending
    if (before & same).any() or running.any():
        return None
    score = np.empty(len(others))
    for s in np.unique(observations.source[others]):
        rows = observations.source[others] == s
        values = observations.y[others[rows]]
        score[rows] = (values - values.mean()) / (values.std() or 1.0)
    # A query that failed there does not become better by being repeated.
    been = X[observations.source == 0]
    far = distances(X[others], been, domain.categorical).min(axis=1) > radius
    promising = far & (score < 0.0) & candidates[others]
    if not promising.any():
        return None
    best: NDArray[np.float64] = X[others[np.argmin(np.where(promising, score, np.inf))]]
    return best


def remote_place(
    X: NDArray[np.float64],
    observations: Observations,
    domain: Domain,
    model: RobustModel,
    *,
    min_distance: float,
) -> NDArray[np.float64] | None:
    """Return which of X (m, d) is far from the queries of the preferred source, and not too dear.

    The argmax of d·log(distance to the nearest) − α·log ĉ_1 over those that can be paid;
    None if all of these are old ones. Those that are rather infeasible or fail are left out if
    there are others.
    """
    first = observations.X[observations.source == 0]
    nearest = distances(X, first, domain.categorical).min(axis=1)
    log_cost = model.cost.gp.predict_mean(X)
    chosen = np.flatnonzero((nearest > min_distance) & (log_cost <= np.log(model.limit.cost)))
    if not len(chosen):
        return None
    likely = chosen[~model.is_unlikely(X[chosen], 0)]
    chosen = likely if len(likely) else chosen
    score = domain.d * np.log(nearest[chosen]) - model.alpha * log_cost[chosen]
    best: NDArray[np.float64] = X[chosen[np.argmax(score)]]
    return best
