"""How the models of the robust method are fitted to the observations."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.cost import MIN_LOG_SCALE
from optuna_misowild.cost import JointLogCost
from optuna_misowild.cost import log_costs
from optuna_misowild.cost import typical_cost
from optuna_misowild.gp import fit_gp
from optuna_misowild.gp_likelihood import regularising_prior
from optuna_misowild.joint import JointGaussianProcess
from optuna_misowild.joint_fit import N_ITERATIONS
from optuna_misowild.joint_fit import fit_joint
from optuna_misowild.joint_fit import shared_offsets
from optuna_misowild.joint_likelihood import SMOOTHNESS
from optuna_misowild.memo import remember


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp import GaussianProcess
    from optuna_misowild.observations import Observations


# Restarts become so rare that one in so many observations is new at each.
_NEW = 16


@dataclass(frozen=True)
class Quantity:
    """What differs between the joint models of the objective and of the log costs.

    Attributes:
        min_scale: The least standard deviation that values are standardised by.
        ordered_noise: Whether the preferred source is taken to be hardly noisier than another.
        many: Number of observations from which on hyperparameters stay from one restart of their
            search to the next.
    """

    min_scale: float
    ordered_noise: bool
    many: int


OBJECTIVE = Quantity(min_scale=0.0, ordered_noise=True, many=128)
LOG_COST = Quantity(min_scale=MIN_LOG_SCALE, ordered_noise=False, many=48)


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
) -> JointGaussianProcess:
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
    start = _fit_from_defaults(
        *part(n_checkpoint),
        n_sources,
        n_initial,
        categorical,
        quantity,
        2 * N_ITERATIONS if is_settled else N_ITERATIONS,
    )
    if n_checkpoint == n:
        return start
    # A source that is new has its offset to be found.
    if is_settled and np.isin(source[n_checkpoint:], source[:n_checkpoint]).all():
        latest = slice(n_checkpoint, None)
        return start.condition(X[latest], source[latest], y[latest])
    return fit_joint(
        X,
        source,
        y,
        offsets=shared_offsets(X, source, y, n_sources=n_sources, limit=n_initial),
        categorical=categorical,
        warm_start=start.hyperparameters,
        from_defaults=False,
        min_scale=quantity.min_scale,
        ordered_noise=quantity.ordered_noise,
    )


@remember(maxsize=2)
def _fit_from_defaults(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    categorical: NDArray[np.bool_],
    quantity: Quantity,
    n_iterations: int,
) -> JointGaussianProcess:
    """Fit a joint model from the default hyperparameters.

    The latest of the objective and that of the costs are kept whole, an (n, n) matrix each. Of
    earlier ones and of other studies, what the search has found is kept.
    """
    found = _found_from_defaults(
        X, source, y, n_sources, n_initial, categorical, quantity, n_iterations
    )
    return JointGaussianProcess(X=X, source=source, y=y, categorical=categorical, **found)


@remember(maxsize=8)
def _found_from_defaults(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    categorical: NDArray[np.bool_],
    quantity: Quantity,
    n_iterations: int,
) -> dict[str, Any]:
    fitted = fit_joint(
        X,
        source,
        y,
        offsets=shared_offsets(X, source, y, n_sources=n_sources, limit=n_initial),
        categorical=categorical,
        min_scale=quantity.min_scale,
        ordered_noise=quantity.ordered_noise,
        n_iterations=n_iterations,
    )
    return {
        "hyperparameters": fitted.hyperparameters,
        "offsets": fitted.offsets,
        "mean": fitted.mean,
        "scale": fitted.scale,
    }


def fit_costs(
    observations: Observations,
    *,
    n_initial: int,
    restart_every: int,
    categorical: NDArray[np.bool_],
) -> JointLogCost:
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


@remember(maxsize=4)
def _fit_costs(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    log_cost: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    restart_every: int,
    categorical: NDArray[np.bool_],
) -> JointLogCost:
    # Remembered, since the next suggestion needs what `CostBudgetCallback` has fitted.
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
    return JointLogCost(joint)


def fit_single(
    X: NDArray[np.float64], y: NDArray[np.float64], categorical: NDArray[np.bool_]
) -> GaussianProcess:
    """Fit GP_1: the same kind of model as the joint one, of source 0 alone."""
    # A copy, so that the (n, n) matrix that it will make is not remembered.
    return replace(_fit_single(X, y, categorical))


@remember(maxsize=4)
def _fit_single(
    X: NDArray[np.float64], y: NDArray[np.float64], categorical: NDArray[np.bool_]
) -> GaussianProcess:
    return fit_gp(
        X, y, smoothness=SMOOTHNESS, ard=True, categorical=categorical, prior=regularising_prior
    )


def predicted_costs(observations: Observations, cost: JointLogCost) -> NDArray[np.float64]:
    """Return the cost of each row, predicted where it is not known, shape (n,)."""
    result: NDArray[np.float64] = observations.cost.copy()
    for s in range(observations.n_sources):
        rows = np.flatnonzero((observations.source == s) & ~np.isfinite(result))
        if len(rows):
            result[rows] = cost.median(observations.X[rows], s)
    return result


def pending_cost(observations: Observations, cost: JointLogCost) -> float:
    """Return what the queries that are running will have cost together, by prediction."""
    return float(predicted_costs(observations, cost)[observations.pending].sum())


def log_odds(joint: JointGaussianProcess, single: GaussianProcess) -> float:
    """Return log π/(1 − π): how much better the joint model predicts source 0 than GP_1 does.

    Σ_i (l_i of the joint model − l_i of GP_1), l_i = log N(r_i; 0, v_i) with the leave-one-out
    residual and variance at the i-th value of source 0.
    """

    def score(residual: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
        return -0.5 * float(np.sum(residual**2 / variance + np.log(variance)))

    return score(*joint.leave_one_out()) - score(*single.leave_one_out())
