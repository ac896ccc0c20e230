"""When the robust method goes against its acquisition: all of its gates.

The preferred source is due after too many queries elsewhere; where its queries make no progress,
one explores, or goes to where another source is best; and what is recommended in the end is
verified while it can be paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.feasibility import may_be_best
from optuna_misowild.methods.robust.fit import predicted_costs
from optuna_misowild.optim.domain import DUPLICATE
from optuna_misowild.optim.domain import distances


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.base import Proposal
    from optuna_misowild.methods.feasibility import Feasibility
    from optuna_misowild.methods.robust.model import RobustModel
    from optuna_misowild.optim.domain import Domain


@dataclass(frozen=True)
class Policy:
    """The gates and their constants, which :class:`~optuna_misowild.RobustMethod` documents."""

    max_in_a_row: int = 10
    max_debt: float = 0.5
    promise_queries: int = 6
    stagnation_queries: int = 4
    stagnation_tolerance: float = 1e-3
    stagnation_radius: float = 0.1
    n_exploring: int = 256
    min_distance: float = DUPLICATE

    def redirect(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        sources: Sequence[int],
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64] | None:
        """Return where to query the preferred source in place of the acquisition, if anywhere."""
        if 0 not in sources or model.is_seeking:
            return None
        if self.is_stagnating(observations, domain):
            return self.explore(observations, domain, model, rng=rng, fixed=fixed)
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

    def _candidate_rows(
        self, observations: Observations, domain: Domain, feasibility: Feasibility | None
    ) -> NDArray[np.bool_]:
        """Return which rows may be the incumbent, shape (n,)."""
        return may_be_best(observations, feasibility, domain, min_distance=self.min_distance)

    def _radius(self, domain: Domain) -> float:
        """Return the distance up to which two locations are close."""
        return float(self.stagnation_radius * np.sqrt(domain.d))

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
        debt = predicted_costs(observations, model.cost)[elsewhere].sum()
        unit = model.cost.median(model.x_plus[None], 0)[0]
        return bool(debt > self.max_debt * model.alpha * unit)

    def is_stagnating(self, observations: Observations, domain: Domain) -> bool:
        """Whether the latest queries of the preferred source stay around its best one.

        Since a query that explores is far from the best one, or else becomes the best one
        itself, the count starts anew after it.
        """
        return is_stagnant(
            observations,
            domain,
            n=self.stagnation_queries,
            tolerance=self.stagnation_tolerance,
            radius=self._radius(domain),
        )

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
        if fixed is not None and not np.isnan(fixed).all():
            return None
        return unfollowed_promise(
            observations,
            domain,
            sources,
            candidates=self._candidate_rows(
                observations, domain, None if model is None else model.feasibility
            ),
            n=self.promise_queries,
            tolerance=self.stagnation_tolerance,
            radius=0.5 * self._radius(domain),
            min_distance=self.min_distance,
        )

    def explore(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64] | None:
        """Return a location far from those of the preferred source, at a moderate cost.

        Where queries fail or are infeasible, only what probably succeeds is worth exploring; and
        if all of that is close to the best one, there is nothing to explore.
        """
        X = domain.snap(rng.random((self.n_exploring, domain.d)))
        if fixed is not None:
            X = np.where(np.isnan(fixed), X, fixed)
        if model.feasibility is not None:
            away = distances(X, best_location(observations), domain.categorical)[:, 0]
            X = X[(away > self._radius(domain)) & ~model.is_unlikely(X, 0)]
        return remote_place(X, observations, domain, model, min_distance=self.min_distance)

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


def has_progressed(y: NDArray[np.float64], n: int, tolerance: float) -> bool:
    """Whether the last n of the values (more than n) have lowered their minimum.

    By more than ``tolerance`` standard deviations.
    """
    return bool(y[:-n].min() - y.min() > tolerance * y.std())


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


def is_stagnant(
    observations: Observations, domain: Domain, *, n: int, tolerance: float, radius: float
) -> bool:
    """Whether the latest queries of the preferred source were near its best one, for nothing.

    Args:
        observations: The trials so far; those without a value count by where they are, and so do
            infeasible ones. Those that were imported are no latest ones.
        domain: The search space.
        n: Number of queries.
        tolerance: What counts as no progress, see :func:`has_progressed`.
        radius: What counts as near.
    """
    valued = observations.valued(0)
    latest = np.flatnonzero(observations.source == 0)[-n:]
    y = feasible_values(observations, valued)
    if len(valued) <= n or latest[0] < observations.n_imported or has_progressed(y, n, tolerance):
        return False
    distance = distances(observations.X[latest], best_location(observations), domain.categorical)
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
    """Return which of X (m, d) is payable and far from the queries of the preferred source.

    The argmax of d·log(distance to the nearest) − α·log ĉ_1 over those that can be paid;
    None if all of these are old ones.
    """
    first = observations.X[observations.source == 0]
    nearest = distances(X, first, domain.categorical).min(axis=1)
    log_cost = model.cost.gp.predict_mean(X)
    chosen = np.flatnonzero((nearest > min_distance) & (log_cost <= np.log(model.limit.cost)))
    if not len(chosen):
        return None
    score = domain.d * np.log(nearest[chosen]) - model.alpha * log_cost[chosen]
    best: NDArray[np.float64] = X[chosen[np.argmax(score)]]
    return best
