"""How the models of the robust method are fitted to the observations."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.cost import LOG
from optuna_misowild.gp.cost import LogCost
from optuna_misowild.gp.cost import log_costs
from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.gp.fit import MAX_DATA
from optuna_misowild.gp.fit import subset
from optuna_misowild.gp.in_order import N_OFFSETS
from optuna_misowild.gp.in_order import RESTART_EVERY
from optuna_misowild.gp.in_order import Quantity
from optuna_misowild.gp.in_order import fit_in_order
from optuna_misowild.gp.memo import remember
from optuna_misowild.methods.feasibility import fit_feasibility
from optuna_misowild.methods.feasibility import may_be_best
from optuna_misowild.methods.outliers import clip_outliers
from optuna_misowild.methods.robust.cost_ratio import log_ratio_limits
from optuna_misowild.methods.robust.model import RobustModel
from optuna_misowild.methods.spending import spending_limit
from optuna_misowild.optim.acquisition import cooling_exponent
from optuna_misowild.optim.domain import DUPLICATE


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.feasibility import Feasibility
    from optuna_misowild.optim.domain import Domain


LOG_COST = Quantity(LOG, many=48)


def fit_costs(
    observations: Observations,
    *,
    categorical: NDArray[np.bool_],
    n_initial: int = N_OFFSETS,
    restart_every: int = RESTART_EVERY,
) -> LogCost:
    """Fit the joint model of the log costs.

    See :func:`~optuna_misowild.gp.in_order.fit_in_order`.
    """
    cost = observations.cost.copy()
    default = typical_cost(cost)
    for s in range(observations.n_sources):
        rows = observations.costed(s)
        cost[rows] = log_costs(cost[rows], default=default)
    rows = np.flatnonzero(np.isfinite(cost))
    return _fit_costs(
        observations.X[rows],
        observations.source[rows],
        cost[rows],
        observations.n_sources,
        n_initial,
        restart_every,
        categorical,
        not observations.sizes,
    )


@remember(maxsize=1)
def _fit_costs(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    log_cost: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    restart_every: int,
    categorical: NDArray[np.bool_],
    own_part: bool,
) -> LogCost:
    # Remembered, since the next suggestion needs what `CostBudgetCallback` has fitted, unless its
    # method has other constants.
    joint = fit_in_order(
        X,
        source,
        log_cost,
        n_sources=n_sources,
        n_initial=n_initial,
        restart_every=restart_every,
        categorical=categorical,
        quantity=LOG_COST,
        own_part=own_part,
    )
    return LogCost(joint)


def query_costs(observations: Observations, cost: LogCost) -> NDArray[np.float64]:
    """Return what each row has cost or will cost its own trial, shape (n,).

    It is predicted where it is not known. What an earlier trial has paid is not paid again.
    """
    result: NDArray[np.float64] = observations.cost.copy()
    for s in range(observations.n_sources):
        rows = np.flatnonzero((observations.source == s) & ~np.isfinite(result))
        if len(rows):
            result[rows] = cost.median(observations.X[rows], s)
    return np.maximum(result - observations.before, 0.0)


def cheapest_cost(observations: Observations, cost: LogCost) -> float:
    """Return the lowest predicted cost of any queryable source where one has been queried."""
    if not len(observations):
        return 0.0
    places = np.unique(observations.X, axis=0)  # A training has a row for each of its rungs.
    log_cost, _ = cost.gp.means(places, observations.queryable)
    return float(np.exp(log_cost.min()))


def pending_cost(observations: Observations, cost: LogCost) -> float:
    """Return what the queries that are running will have cost together, by prediction."""
    return float(query_costs(observations, cost)[observations.pending].sum())


def log_odds(joint: MultiSourceGP, single: MultiSourceGP) -> float:
    """Return log π/(1 − π): how much better the joint model predicts source 0 than GP_1 does.

    Σ_i (l_i of the joint model − l_i of GP_1), l_i = log N(r_i; 0, v_i) with the leave-one-out
    residual and variance at the i-th value of source 0.
    """

    def score(residual: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
        return -0.5 * float(np.sum(residual**2 / variance + np.log(variance)))

    return score(*joint.leave_one_out()) - score(*single.leave_one_out())


def _clipped(observations: Observations) -> NDArray[np.float64]:
    """Return the values with outliers moved in, shape (n,)."""
    valued = observations.has_value
    y: NDArray[np.float64] = observations.y.copy()
    y[valued] = clip_outliers(y[valued], observations.source[valued])
    return y


def _of_first(joint: MultiSourceGP, single: MultiSourceGP) -> MultiSourceGP:
    """Return a model of source 0 with those of its values that the joint model knows."""
    known = joint.source == 0
    return single.with_data(joint.X[known], joint.y[known], joint.source[known])


@dataclass(frozen=True)
class Fitting:
    """The models and their constants, which :class:`~optuna_misowild.RobustMethod` documents."""

    max_cost_ratio: float = 1.0 / 3.0
    n_offsets: int = N_OFFSETS
    n_mixture: int = 6
    restart_every: int = RESTART_EVERY
    min_distance: float = DUPLICATE

    def fit(
        self,
        observations: Observations,
        domain: Domain,
        *,
        cost: LogCost | None = None,
    ) -> RobustModel:
        """Fit the joint model, GP_1, the costs, and what is feasible.

        Args:
            observations: The trials so far.
            domain: The search space.
            cost: The model of the costs, if it is there.
        """
        y = _clipped(observations)
        valued, first = np.flatnonzero(observations.has_value), observations.valued(0)

        def fitted(
            rows: NDArray[np.int_], n_sources: int, sizes: tuple[float, ...] = ()
        ) -> MultiSourceGP:
            return fit_in_order(
                observations.X[rows],
                observations.source[rows],
                y[rows],
                n_sources=n_sources,
                n_initial=self.n_offsets,
                restart_every=self.restart_every,
                categorical=domain.categorical,
                # Where sources differ in a size, it has not been seen to help.
                own_part=not observations.sizes,
                sizes=sizes,
            )

        joint = fitted(valued, observations.n_sources, observations.sizes)
        single, odds = None, np.inf
        if len(first) >= self.n_mixture and observations.feasible[first].any():
            single = joint if len(first) == len(valued) else _of_first(joint, fitted(first, 1))
            odds = log_odds(joint, single)
        return self._models(
            observations,
            domain,
            joint=joint,
            single=single,
            log_odds=odds,
            cost=self.fit_costs(observations, domain) if cost is None else cost,
            feasibility=fit_feasibility(
                observations,
                domain,
                n_initial=self.n_offsets,
                restart_every=self.restart_every,
            ),
        )

    def updated(
        self,
        model: RobustModel,
        observations: Observations,
        domain: Domain,
        *,
        training: int,
    ) -> RobustModel:
        """Return models of earlier observations, given the new values; their hyperparameters stay.

        Args:
            model: The models.
            observations: The trials so far.
            domain: The search space.
            training: A trial whose values the models have to know.
        """
        X, source, y = observations.X, observations.source, _clipped(observations)
        valued = np.flatnonzero(observations.has_value)
        own = valued[observations.trial[valued] == training]
        rows = np.union1d(valued[subset(source[valued], y[valued], MAX_DATA)], own)
        joint = model.joint.with_data(X[rows], y[rows], source[rows])
        return self._models(
            observations,
            domain,
            joint=joint,
            single=None if model.single is None else _of_first(joint, model.single),
            log_odds=model.log_odds,
            cost=model.cost,
            feasibility=model.feasibility,
        )

    def fit_costs(self, observations: Observations, domain: Domain) -> LogCost:
        """Fit the joint model of the log costs."""
        return fit_costs(
            observations,
            n_initial=self.n_offsets,
            restart_every=self.restart_every,
            categorical=domain.categorical,
        )

    def candidate_rows(
        self, observations: Observations, domain: Domain, feasibility: Feasibility | None
    ) -> NDArray[np.bool_]:
        """Return which rows may be the incumbent, shape (n,)."""
        return may_be_best(observations, feasibility, domain, min_distance=self.min_distance)

    def _models(
        self,
        observations: Observations,
        domain: Domain,
        *,
        joint: MultiSourceGP,
        single: MultiSourceGP | None,
        log_odds: float,
        cost: LogCost,
        feasibility: Feasibility | None,
    ) -> RobustModel:
        """Return the models with what follows from them: x⁺, what can be paid, where α stands."""
        X, source = observations.X, observations.source
        valued, first = np.flatnonzero(observations.has_value), observations.valued(0)
        # A training has a row for each of its rungs.
        places, place = np.unique(X[valued], axis=0, return_inverse=True)
        mean = joint.predict_mean(places)[place.reshape(-1)]
        candidates = self.candidate_rows(observations, domain, feasibility)[valued]
        is_seeking = feasibility is not None and not candidates.any()
        worth = mean
        if feasibility is not None and is_seeking:
            at_first = np.zeros((len(valued), 1), dtype=int)
            worth = -feasibility.penalty(X[valued], at_first, gradient=False).value[:, 0]
        ranked = valued[np.lexsort((worth, ~candidates))]

        unvalued = np.flatnonzero(observations.unrepeated & ~observations.failed)
        joint = joint.condition(X[unvalued], source=source[unvalued])
        if single is not None:
            single = single.condition(X[unvalued[source[unvalued] == 0]])
        verified = first[observations.feasible[first]]
        pending = pending_cost(observations, cost)
        model = RobustModel(
            joint=joint,
            single=single,
            log_odds=log_odds,
            cost=cost,
            incumbent=float(mean[candidates].min()) if candidates.any() else joint.mean,
            x_plus=X[ranked[0]] if len(mean) else np.full(domain.d, 0.5),
            ranked=X[ranked],
            best=np.inf,
            lowest=float(observations.y[verified].min(initial=np.inf)),
            alpha=cooling_exponent(
                observations.spent + pending, observations.initial_spent, observations.budget
            ),
            log_ratio_limit=log_ratio_limits(observations, cost.gp.noise, self.max_cost_ratio),
            limit=spending_limit(
                observations,
                pending,
                preferred=cost.median(X[first], 0),
                cheapest=cheapest_cost(observations, cost),
            ),
            feasibility=feasibility,
            is_seeking=is_seeking,
        )
        return replace(model, best=float(model.expected(X[verified]).min(initial=np.inf)))
