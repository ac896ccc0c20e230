"""How probable it is that a query neither fails nor violates a constraint of the user.

Failures are learnt by the Gaussian process of all sources on labels, 1 for success and −1 for
failure, and each constraint g_k ≤ 0 by one on its values. Log probabilities join the acquisition
(Gardner et al. 2014, "Bayesian optimization with inequality constraints"),

    log P(s, x) = min{log P_s(x), log P_1(x)} + Σ_k log Φ(−μ_k(x)/√(v_k(x) + λ_k²)),

P_s(x) = Φ(μ_s/√(v_s + λ_s² + 0.1)) being that source s succeeds. Constraints matter on the
preferred source, whose optimum has to be feasible: μ_k and v_k are of its g_k, of which the
others tell. A failure matters on the source that is queried, and on the preferred one, as nothing
is to be learnt of where it would fail. The two are hardly independent, so it is the less probable
of them rather than their product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.in_order import Quantity
from optuna_misowild.gp.in_order import fit_in_order
from optuna_misowild.gp.likelihood import Prior
from optuna_misowild.optim.acquisition import Differentiated
from optuna_misowild.optim.acquisition import chain
from optuna_misowild.optim.domain import distances


if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.optim.domain import Domain

    Array: TypeAlias = NDArray[np.float64]


# Failures are either systematic or random, which the noise tells: it may be as large as the
# labels' variance. Success is what is expected unless there is evidence of failure.
_SUCCESS = Quantity(FitSettings(mean=1.0, prior=Prior(noise_shape=1.5, noise_rate=3.0)), many=128)
# By which labels of ±1 are less certain than normal variables of their variance are: with it,
# probabilities are calibrated best, and in the midst of failures they go down to 1e-3.
_LABEL_VARIANCE = 0.1
_CONSTRAINT = Quantity(FitSettings(prior=Prior(ordered_noise=True)), many=128)

# What is less probable than 1/2 is left to others, where there are any.
LOG_HALF = float(np.log(0.5))

# How far from 0 the value of a constraint may be, in units of their median distance from it.
_WIDTH = 20.0


@dataclass(frozen=True)
class Feasibility:
    """What is learnt of failures and constraints.

    Attributes:
        success: The model of the labels of all sources; None if nothing has failed.
        constraints: The models of the constraints that have a value.
    """

    success: MultiSourceGP | None
    constraints: tuple[MultiSourceGP, ...]

    def log_probability(
        self, X: Array, source: NDArray[np.int_], *, gradient: bool = False
    ) -> tuple[Array, Array]:
        """Return log P(s, x), and its gradient.

        Args:
            X: Locations, shape (m, d).
            source: k sources at each of them, shape (m, k).
            gradient: Whether the gradient is wanted.

        Returns:
            Two arrays of shape (m, k) and (m, k, d), or (m, k, 0) without gradients.
        """
        value = np.zeros(source.shape)
        slope = np.zeros((*source.shape, X.shape[1] if gradient else 0))
        if self.success is not None:
            gp = self.success
            p = gp.posterior(X, source, gradient=gradient)
            noise = gp.noise + _LABEL_VARIANCE
            own = log_normal_cdf(p.source_mean, p.source_variance + noise[source])
            first = log_normal_cdf(p.mean, p.variance + noise[0])
            d_own = chain(own.partials, p.d_source_mean, p.d_source_variance)
            d_first = chain(first.partials, p.d_mean, p.d_variance)
            is_own = own.value < first.value[:, None]
            value += np.where(is_own, own.value, first.value[:, None])
            slope += np.where(is_own[..., None], d_own, d_first[:, None])
        for gp in self.constraints:
            p = gp.posterior(X, gradient=gradient)
            held = log_normal_cdf(-p.mean, p.variance + gp.noise[0])
            value += held.value[:, None]
            slope += chain(held.partials, -p.d_mean, p.d_variance)[:, None]
        return value, slope


def log_probability(feasibility: Feasibility | None, X: Array, source: int) -> Array:
    """Return log P(s, x) at X (m, d), shape (m,); 0 where there is nothing to learn it from."""
    if feasibility is None:
        return np.zeros(len(X))
    return feasibility.log_probability(X, np.full((len(X), 1), source))[0][:, 0]


def fit_feasibility(
    observations: Observations,
    domain: Domain,
    *,
    n_initial: int = 5,
    restart_every: int = 8,
) -> Feasibility | None:
    """Fit the models to the observations; None if nothing has failed and nothing is forbidden.

    Trials without a value that have not failed, pruned or running ones, tell nothing of failures.
    A constraint may be unknown for some trials, or on some sources.

    Args:
        observations: The trials so far.
        domain: The search space.
        n_initial: See :func:`~optuna_misowild.gp.in_order.fit_in_order`.
        restart_every: The same.
    """
    known = np.isfinite(observations.constraints)
    if not observations.failed.any() and not known.any():
        return None

    def fitted(rows: NDArray[np.bool_], y: Array, quantity: Quantity) -> MultiSourceGP:
        return fit_in_order(
            observations.X[rows],
            observations.source[rows],
            y,
            n_sources=observations.n_sources,
            n_initial=n_initial,
            restart_every=restart_every,
            categorical=domain.categorical,
            quantity=quantity,
        )

    success = None
    if observations.failed.any():
        rows = observations.failed | observations.has_value
        success = fitted(rows, np.where(observations.failed[rows], -1.0, 1.0), _SUCCESS)
    constraints = [
        fitted(rows, scaled_constraint(g[rows]), _CONSTRAINT)
        for g, rows in zip(observations.constraints.T, known.T, strict=True)
        if rows.any()
    ]
    return Feasibility(success, tuple(constraints))


def may_be_best(
    observations: Observations,
    feasibility: Feasibility | None,
    domain: Domain,
    *,
    min_distance: float,
) -> NDArray[np.bool_]:
    """Which rows may be the incumbent, shape (n,): those with a value that are feasible.

    On the preferred source, as observed. Elsewhere, as the models expect of the preferred source
    there, unless it has been there in vain.

    Args:
        observations: The trials so far.
        feasibility: What is learnt of them, if there is anything.
        domain: The search space.
        min_distance: Distance in the unit cube below which two locations are the same.
    """
    result = observations.has_value
    if feasibility is None:
        return result
    X, first = observations.X, observations.source == 0
    in_vain = X[first & (observations.failed | ~observations.feasible)]
    others = np.flatnonzero(result & ~first)
    near = distances(X[others], in_vain, domain.categorical).min(axis=1, initial=np.inf)
    result[first & ~observations.feasible] = False
    result[others] = (near > min_distance) & (
        log_probability(feasibility, X[others], 0) >= LOG_HALF
    )
    return result


def scaled_constraint(g: Array) -> Array:
    """Return values of a constraint g ≤ 0 from which a model can tell where it holds.

    Values far from 0, where nothing is decided, are moved in. Several that are 0 are an indicator,
    or violations alone: that they hold is all they say. They count as far below 0 as the others
    are away from it, in the median.

    Args:
        g: Finite values, shape (n,).
    """
    size = np.abs(g)
    median = float(np.median(size[size > 0.0])) if size.any() else 1.0
    result: Array = np.clip(g, -_WIDTH * median, _WIDTH * median)
    is_zero = size == 0.0
    if np.count_nonzero(is_zero) > 1:
        result[is_zero] = -median
    return result


def log_normal_cdf(mean: Array, variance: Array) -> Differentiated:
    """Return log Φ(mean/√variance), that a normal variable is above 0.

    Args:
        mean: Its mean.
        variance: Its variance, above 0.
    """
    from scipy.special import log_ndtr  # Late, like all of scipy: importing it takes long.

    deviation = np.sqrt(variance)
    z = mean / deviation
    value = log_ndtr(z)
    # φ/Φ, as the difference of logarithms; far below 0 it is −z, by which they lose digits.
    with np.errstate(over="ignore"):
        ratio = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - value)
    ratio = np.where(z < -1e4, -z, ratio)
    return Differentiated(value, (ratio / deviation, -0.5 * ratio * z / variance))
