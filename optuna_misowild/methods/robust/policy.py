"""When the robust method goes against its acquisition: all of its gates.

The preferred source is due after too many queries elsewhere; where its queries make no progress,
the region around its best one is closed, or one goes to where another source is best; and what is
recommended in the end is verified while it can be paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.outliers import clip_outliers
from optuna_misowild.methods.robust.fit import Fitting
from optuna_misowild.methods.robust.fit import query_costs
from optuna_misowild.methods.robust.region import Region
from optuna_misowild.optim.domain import distances


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.base import Proposal
    from optuna_misowild.methods.robust.model import RobustModel
    from optuna_misowild.optim.domain import Domain


@dataclass(frozen=True)
class Policy(Fitting):
    """The gates and their constants, which :class:`~optuna_misowild.RobustMethod` documents."""

    max_in_a_row: int = 10
    max_debt: float = 0.5
    promise_queries: int = 6
    promise_radius: float = 0.05
    stagnation_queries: int = 4
    stagnation_tolerance: float = 1e-3
    stagnation_radius: float = 0.1
    polishing_share: float = 0.2

    def redirect(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        sources: Sequence[int],
        *,
        fixed: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64] | None:
        """Return where to query the preferred source in place of the acquisition, if anywhere."""
        if 0 not in sources or not is_free(fixed):
            return None
        if model.is_seeking:
            return self.where_others_succeed(observations, model)
        x = self.promise(observations, domain, sources, fixed=fixed, model=model)
        if x is None or model.exceeds_budget(x[None], 0)[0]:
            return None
        return x

    def _candidates(
        self, observations: Observations, sources: Sequence[int] | None
    ) -> tuple[int, ...]:
        """Return the sources to choose from: those allowed, without the ones that are not kept."""
        allowed = tuple(observations.queryable if sources is None else sources)
        if 0 not in allowed:
            return allowed
        return (0, *(s for s in allowed if s > 0 and len(observations.costed(s))))

    def where_others_succeed(
        self, observations: Observations, model: RobustModel
    ) -> NDArray[np.float64] | None:
        """Return where to query the preferred source, while all of its queries have failed.

        The most probable location at which another source has a value, each but once.
        """
        first = observations.source == 0
        if observations.has_value[first].any():
            return None
        places = model.ranked[~model.exceeds_budget(model.ranked, 0)]
        been = distances(places, observations.X[first], model.joint.categorical)
        untried = places[been.min(axis=1, initial=np.inf) > self.min_distance]
        return untried[0] if len(untried) else None

    def is_due(self, observations: Observations, model: RobustModel) -> bool:
        """Whether the preferred source is to be queried: after too many queries elsewhere.

        Too many, or too expensive. The initial design does not count, nor do imported trials, nor
        what came at no cost.
        """
        first = np.flatnonzero(observations.source == 0)
        after = max(first.max(initial=-1) + 1, observations.n_imported)
        elsewhere = np.arange(after, len(observations))
        elsewhere = elsewhere[
            (observations.design_row[elsewhere] < 0) & ~observations.free[elsewhere]
        ]
        if len(elsewhere) >= self.max_in_a_row:
            return True
        debt = query_costs(observations, model.cost)[elsewhere].sum()
        unit = model.cost.median(model.x_plus[None], 0)[0]
        return bool(debt > self.max_debt * model.alpha * unit)

    def closed_region(self, observations: Observations, model: RobustModel) -> Region | None:
        """Return the region around the best query of the preferred source, if it is closed.

        That is, if the search has stagnated: since the latest progress, several queries of the
        preferred source close to the best one have brought none, and queries that close have had
        their share of the money. Of the rest of a closed region they have none.
        """
        valued = observations.valued(0)
        if len(valued) <= self.stagnation_queries:
            return None
        best = best_location(observations)
        y = clip_outliers(feasible_values(observations, valued), np.zeros(len(valued), dtype=int))
        progress = valued[latest_progress(y, self.stagnation_tolerance)]
        since = np.arange(max(progress + 1, observations.n_imported), len(observations))
        since = since[~observations.free[since]]
        X, categorical = observations.X[since], model.joint.categorical
        radius = self.stagnation_radius * np.sqrt(X.shape[1])
        is_close = distances(X, best, categorical)[:, 0] <= radius
        if (is_close & (observations.source[since] == 0)).sum() < self.stagnation_queries:
            return None
        costs = query_costs(observations, model.cost)[since]
        share = 0.0 if model.closed else self.polishing_share
        if costs[is_close].sum() <= share * costs.sum():
            return None
        return Region(best[0], model.length_scale, categorical)

    def promise(
        self,
        observations: Observations,
        domain: Domain,
        sources: Sequence[int],
        *,
        fixed: NDArray[np.float64] | None = None,
        model: RobustModel | None = None,
    ) -> NDArray[np.float64] | None:
        """Return the best location of another source, if the preferred one makes no progress."""
        if not is_free(fixed):
            return None
        return unfollowed_promise(
            observations,
            domain,
            sources,
            candidates=self.candidate_rows(
                observations, domain, None if model is None else model.feasibility
            ),
            n=self.promise_queries,
            tolerance=self.stagnation_tolerance,
            radius=float(self.promise_radius * np.sqrt(domain.d)),
            min_distance=self.min_distance,
        )

    def can_verify(
        self,
        observations: Observations,
        model: RobustModel,
        *,
        fixed: NDArray[np.float64] | None = None,
    ) -> bool:
        """Whether x⁺ has not been evaluated on the preferred source, may be, and can be paid.

        While none is known that is feasible, there is no x⁺ to verify.
        """
        if model.is_seeking:
            return False
        first = observations.X[observations.source == 0]
        nearest = distances(model.x_plus[None], first, model.joint.categorical)
        is_done = (nearest <= self.min_distance).any()
        may_be = fixed is None or np.all(np.isnan(fixed) | (fixed == model.x_plus))
        return bool(may_be and not is_done and not model.exceeds_budget(model.x_plus[None], 0)[0])

    def must_verify(
        self,
        observations: Observations,
        model: RobustModel,
        proposal: Proposal,
        *,
        fixed: NDArray[np.float64] | None = None,
    ) -> bool:
        """Whether x⁺ is to be evaluated on the preferred source now, since later is too late.

        That is, if it has not been, and if after the proposed query the budget would not last
        for it.
        """
        if observations.budget is None or not self.can_verify(observations, model, fixed=fixed):
            return False
        mean, variance = model.cost.predict(model.x_plus[None], 0)
        upper = np.exp(mean[0] + np.sqrt(variance[0]))
        return bool(
            model.limit.cost < upper + model.cost.median(proposal.x[None], proposal.source)[0]
        )


def is_free(fixed: NDArray[np.float64] | None) -> bool:
    """Whether no coordinate is fixed, which are NaN where they are free."""
    return fixed is None or bool(np.isnan(fixed).all())


def latest_progress(y: NDArray[np.float64], tolerance: float) -> int:
    """Return which of the values was the first within the tolerance of the lowest.

    In ``tolerance`` standard deviations.
    """
    return int(np.argmax(y <= y.min() + tolerance * y.std()))


def has_progressed(y: NDArray[np.float64], n: int, tolerance: float) -> bool:
    """Whether the last n of the values (more than n) have lowered their minimum.

    By more than ``tolerance`` standard deviations.
    """
    return latest_progress(y, tolerance) >= len(y) - n


def feasible_values(observations: Observations, rows: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the values of some rows, none lower than a feasible one unless it is feasible."""
    y, feasible = observations.y[rows], observations.feasible[rows]
    return np.where(feasible, y, np.maximum(y, y[feasible].max(initial=y.min(initial=0.0))))


def best_location(observations: Observations) -> NDArray[np.float64]:
    """Return the location of the best value of the preferred source, shape (1, d)."""
    valued = observations.valued(0)
    best: NDArray[np.float64] = observations.X[
        valued[[np.argmin(feasible_values(observations, valued))]]
    ]
    return best


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
