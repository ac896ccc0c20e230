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
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.gp.fit import shared_offsets
from optuna_misowild.gp.likelihood import Prior
from optuna_misowild.gp.memo import remember


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations


# The defaults of `RobustMethod.n_offsets` and `RobustMethod.restart_every`.
N_OFFSETS = 5
RESTART_EVERY = 8
# At least 1/16 of the data is new at each restart.
_NEW = 16
# L-BFGS-B iterations of a search, from each start; more of them where hyperparameters then stay.
_N_ITERATIONS = 25
_N_SETTLING = 35


@dataclass(frozen=True)
class Quantity:
    """What differs between the joint models of the objective and of the log costs.

    Attributes:
        settings: What kind of model it is.
        many: Number of observations from which on hyperparameters stay from one restart of their
            search to the next.
    """

    settings: FitSettings
    many: int


OBJECTIVE = Quantity(FitSettings(prior=Prior(ordered_noise=True)), many=128)
LOG_COST = Quantity(LOG, many=48)


def fit_in_order(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    *,
    n_sources: int,
    n_initial: int,
    restart_every: int,
    categorical: NDArray[np.bool_],
    quantity: Quantity = OBJECTIVE,
) -> MultiSourceGP:
    """Fit a joint model as a function of the observations alone.

    The search for hyperparameters starts from what the defaults lead to for the first
    k·restart_every observations, k as large as possible: so it costs little while
    these are remembered, it is the same in every process, and a bad mode is left again.
    Of many observations the last few change little: the search ends there, the model is
    conditioned on them, and restarts become rare.

    Args:
        X: Locations, shape (n, d), in the order of the trials.
        source: Shape (n,).
        y: Shape (n,).
        n_sources: S.
        n_initial: Number of locations from which offsets between the sources are taken.
        restart_every: Number of observations from one restart to the next.
        categorical: Shape (d,).
        quantity: What ``y`` is.
    """

    def part(n: int) -> tuple[NDArray[np.float64], NDArray[np.int_], NDArray[np.float64]]:
        return X[:n], source[:n], y[:n]

    n = len(X)
    every = restart_every * max(1, n // (_NEW * restart_every))
    n_checkpoint = n - n % every or n
    is_settled = n_checkpoint >= quantity.many
    # A copy, so that the (n, n) matrices that it will make are not remembered.
    start = replace(
        _fit_from_defaults(
            *part(n_checkpoint),
            n_sources,
            n_initial,
            categorical,
            quantity,
            _N_SETTLING if is_settled else _N_ITERATIONS,
        )
    )
    if n_checkpoint == n:
        return start
    # A source that is new has its offset to be found.
    if is_settled and np.isin(source[n_checkpoint:], source[:n_checkpoint]).all():
        latest = slice(n_checkpoint, None)
        return start.condition(X[latest], y[latest], source=source[latest])
    return fit_gp(
        X,
        y,
        source=source,
        offsets=shared_offsets(X, source, y, n_sources=n_sources, limit=n_initial),
        categorical=categorical,
        settings=quantity.settings,
        warm_start=start.hyperparameters,
        n_iterations=_N_ITERATIONS,
    )


@remember(maxsize=8)
def _fit_from_defaults(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    categorical: NDArray[np.bool_],
    quantity: Quantity,
    n_iterations: int,
) -> MultiSourceGP:
    return fit_gp(
        X,
        y,
        source=source,
        offsets=shared_offsets(X, source, y, n_sources=n_sources, limit=n_initial),
        categorical=categorical,
        settings=quantity.settings,
        n_iterations=n_iterations,
    )


def fit_costs(
    observations: Observations,
    *,
    categorical: NDArray[np.bool_],
    n_initial: int = N_OFFSETS,
    restart_every: int = RESTART_EVERY,
) -> LogCost:
    """Fit the joint model of the log costs; see :func:`fit_in_order`."""
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


def fit_single(
    X: NDArray[np.float64], y: NDArray[np.float64], categorical: NDArray[np.bool_]
) -> MultiSourceGP:
    """Fit GP_1: the same kind of model as the joint one, of source 0 alone."""
    return replace(_fit_single(X, y, categorical))


@remember(maxsize=4)
def _fit_single(
    X: NDArray[np.float64], y: NDArray[np.float64], categorical: NDArray[np.bool_]
) -> MultiSourceGP:
    return fit_gp(X, y, categorical=categorical, settings=OBJECTIVE.settings)


def predicted_costs(observations: Observations, cost: LogCost) -> NDArray[np.float64]:
    """Return the cost of each row, predicted where it is not known, shape (n,)."""
    result: NDArray[np.float64] = observations.cost.copy()
    for s in range(observations.n_sources):
        rows = np.flatnonzero((observations.source == s) & ~np.isfinite(result))
        if len(rows):
            result[rows] = cost.median(observations.X[rows], s)
    return result


def cheapest_cost(observations: Observations, cost: LogCost) -> float:
    """Return the lowest predicted cost of any queryable source where one has been queried."""
    if not len(observations):
        return 0.0
    log_cost, _ = cost.gp.means(observations.X, observations.queryable)
    return float(np.exp(log_cost.min()))


def pending_cost(observations: Observations, cost: LogCost) -> float:
    """Return what the queries that are running will have cost together, by prediction."""
    return float(predicted_costs(observations, cost)[observations.pending].sum())


def log_odds(joint: MultiSourceGP, single: MultiSourceGP) -> float:
    """Return log π/(1 − π): how much better the joint model predicts source 0 than GP_1 does.

    Σ_i (l_i of the joint model − l_i of GP_1), l_i = log N(r_i; 0, v_i) with the leave-one-out
    residual and variance at the i-th value of source 0.
    """

    def score(residual: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
        return -0.5 * float(np.sum(residual**2 / variance + np.log(variance)))

    return score(*joint.leave_one_out()) - score(*single.leave_one_out())
