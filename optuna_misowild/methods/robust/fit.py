"""How the models of the robust method are fitted to the observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.cost import LOG
from optuna_misowild.gp.cost import LogCost
from optuna_misowild.gp.cost import log_costs
from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.gp.in_order import N_OFFSETS
from optuna_misowild.gp.in_order import RESTART_EVERY
from optuna_misowild.gp.in_order import Quantity
from optuna_misowild.gp.in_order import fit_in_order
from optuna_misowild.gp.memo import remember


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations


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
