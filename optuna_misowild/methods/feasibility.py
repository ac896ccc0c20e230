"""How probable it is that a query neither fails nor violates a constraint of the user.

Failures are learnt by the Gaussian process of all sources on labels, 1 for success and −1 for
failure, and each constraint g_k ≤ 0 by one on its values. Log probabilities join the acquisition
(Gardner et al. 2014, "Bayesian optimization with inequality constraints"),

    log P(s, x) = min{log P_s(x), log P_1(x)} + Σ_k log Φ(−μ_k(x)/√(v_k(x) + λ_k²)),

P_s(x) = Φ(μ_s/√(v_s + λ_s² + 0.1)) being that source s succeeds. Constraints matter on the
preferred source, whose optimum has to be feasible: μ_k and v_k are of its g_k, which those of the
others inform. A failure matters on the source that is queried, and on the preferred one, as
nothing is to be learnt of where it would fail. The two are hardly independent, so the less
probable of them counts rather than their product.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.fit import MAX_DATA
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.hyperparameters import NOISE_BOUNDS
from optuna_misowild.gp.in_order import N_OFFSETS
from optuna_misowild.gp.in_order import RESTART_EVERY
from optuna_misowild.gp.in_order import Quantity
from optuna_misowild.gp.in_order import fit_in_order
from optuna_misowild.gp.prior import Prior
from optuna_misowild.optim.acquisition import Differentiated
from optuna_misowild.optim.acquisition import Field
from optuna_misowild.optim.acquisition import apply
from optuna_misowild.optim.domain import distances


if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.optim.domain import Domain

    Array: TypeAlias = NDArray[np.float64]


# Failures are either systematic or random. The noise shows which: it may be as large as the
# labels' variance. Random ones come to all sources alike: else those of a source that has failed
# in one region only, and succeeded nowhere near, would pass for random. Success is what is
# expected unless there is evidence of failure.
_SUCCESS = Quantity(
    FitSettings(
        mean=1.0,
        prior=Prior(noise_shape=1.5, noise_rate=3.0, noises="alike"),
        max_data=MAX_DATA,
    ),
    many=128,
)
# By which labels of ±1 are less certain than normal variables of their variance are: with it,
# probabilities are calibrated best, and in the midst of failures they go down to 1e-3.
_LABEL_VARIANCE = 0.1
_CONSTRAINT = Quantity(FitSettings(prior=Prior(noises="ordered"), max_data=MAX_DATA), many=128)

# The floor of a fitted noise is no noise: with it, places at the wrong side of an edge would pass
# for feasible ones to the end, and the optimum is mostly at an edge. Noise above it is either
# noise, or what the model cannot explain. What remains of the floor is for rounding errors.
_FLOOR = 0.99 * NOISE_BOUNDS[0]

# What is less probable than 1/2 is not chosen where there is anything else.
LOG_HALF = float(np.log(0.5))

# The part of all trials that may fail before the search grows cautious, up to this limit. What
# succeeds less probably than 1/2, relative to what is attainable, is not chosen where there is
# anything else; with caution, already what does so less probably than 1/√2.
_ACCEPTED = 0.1
_MOST_CAUTION = 16.0
_STEEPNESS = 100.0
_STEEP_CAUTION = 2.0

# What is closer than this to a failed query of its source, in units of √d, is the same again. By
# so much is the logarithm of its acquisition lower: it is chosen only if there is nothing else.
_SAME = 1e-3
_NOT_AGAIN = 1e3

# How far from 0 the value of a constraint may be, in units of their median distance from it.
_WIDTH = 20.0


@dataclass(frozen=True)
class Feasibility:
    """What is learnt of failures and constraints.

    Attributes:
        success: The model of the labels of all sources; None if nothing has failed.
        constraints: The models of the constraints that have a value.
        caution: c ≥ 1, see :meth:`penalty`.
        log_attainable: log P_1 where it is highest of the locations that have been queried.
    """

    success: MultiSourceGP | None
    constraints: tuple[MultiSourceGP, ...]
    caution: float = 1.0
    log_attainable: float = 0.0

    def log_success(self, X: Array, sources: NDArray[np.int_], *, gradient: bool) -> Field:
        """Return min{log P_s, log P_1} at X (m, d), for k sources each (m, k): shape (m, k)."""
        if self.success is None:
            return _nothing(X, sources, gradient)
        noise = self.success.noise + _LABEL_VARIANCE
        p = self.success.posterior(X, sources, gradient=gradient)
        own = apply(
            log_normal_cdf,
            Field(p.source_mean, p.d_source_mean),
            Field(p.source_variance + noise[sources], p.d_source_variance),
        )
        first = apply(
            log_normal_cdf,
            Field(p.mean[:, None], p.d_mean[:, None]),
            Field(p.variance[:, None] + noise[0], p.d_variance[:, None]),
        )
        is_own = own.value < first.value
        return Field(
            np.where(is_own, own.value, first.value),
            np.where(is_own[..., None], own.gradient, first.gradient),
        )

    def log_feasible(self, X: Array, sources: NDArray[np.int_], *, gradient: bool) -> Field:
        """Return Σ_k log Φ(−μ_k/√(v_k + λ_k²)), in the same shape: alike on all sources."""
        result = _nothing(X, sources, gradient)
        for gp in self.constraints:
            p = gp.posterior(X, gradient=gradient)
            noise = gp.noise[0] - _FLOOR * gp.scale**2
            result += apply(
                log_normal_cdf,
                Field(-p.mean[:, None], -p.d_mean[:, None]),
                Field(p.variance[:, None] + noise, p.d_variance[:, None]),
            )
        return result

    def penalty(self, X: Array, sources: NDArray[np.int_], *, gradient: bool) -> Field:
        """Return what joins the acquisition: log P(s, x), with caution as to failures.

        A failure adds nothing to the models of the objective, and at the edge of where queries
        fail every other one would. So log Q = log P_s − max log P_1, over the locations that have
        been queried, is multiplied by the caution c; and it falls 100 times as steeply where
        min{c, 2} log Q < log ½: such places are chosen only while there are no others. Random
        failures come everywhere, which no caution changes: they lower P, but not Q. The place of a
        failure itself is as good as excluded on its source.

        Args:
            X: Locations, shape (m, d).
            sources: Sources at each of them, shape (m, k).
            gradient: Whether the gradient is wanted.
        """
        success = self.log_success(X, sources, gradient=gradient)
        log_q, steep = success.value - self.log_attainable, min(self.caution, _STEEP_CAUTION)
        excess = np.minimum(steep * log_q - LOG_HALF, 0.0)
        slope = self.caution + (_STEEPNESS - 1.0) * steep * (excess < 0.0)
        success = Field(
            self.caution * log_q
            + (_STEEPNESS - 1.0) * excess
            - _NOT_AGAIN * self._is_same(X, sources),
            slope[..., None] * success.gradient,
        )
        return success + self.log_feasible(X, sources, gradient=gradient)

    def _is_same(self, X: Array, sources: NDArray[np.int_]) -> NDArray[np.bool_]:
        """Whether it is where a query of its source has failed, at X (m, d): shape (m, k)."""
        result = np.zeros(sources.shape, dtype=bool)
        if self.success is not None:
            has_failed = self.success.y < 0.0
            for s in np.unique(self.success.source[has_failed]):
                there = self.success.X[has_failed & (self.success.source == s)]
                nearest = distances(X, there, self.success.categorical).min(axis=1)
                result |= (sources == s) & (nearest <= _SAME * np.sqrt(X.shape[1]))[:, None]
        return result


def _nothing(X: Array, sources: NDArray[np.int_], gradient: bool) -> Field:
    return Field(
        np.zeros(sources.shape), np.zeros((*sources.shape, X.shape[1] if gradient else 0))
    )


def log_probability(feasibility: Feasibility | None, X: Array, source: int) -> Array:
    """Return log P(s, x) at X (m, d), shape (m,); 0 where there is nothing to learn it from."""
    if feasibility is None:
        return np.zeros(len(X))
    sources = np.full((len(X), 1), source)
    success = feasibility.log_success(X, sources, gradient=False)
    return (success + feasibility.log_feasible(X, sources, gradient=False)).value[:, 0]


def fit_feasibility(
    observations: Observations,
    domain: Domain,
    *,
    n_initial: int = N_OFFSETS,
    restart_every: int = RESTART_EVERY,
) -> Feasibility | None:
    """Fit the models to the observations; None if nothing has failed and nothing is forbidden.

    Trials without a value that have not failed, pruned or running ones, do not count here.
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
            own_part=not observations.sizes,
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
    result = Feasibility(success, tuple(constraints), _caution(observations))
    if success is not None:
        at_first = np.zeros((len(success.X), 1), dtype=int)
        known = result.log_success(success.X, at_first, gradient=False).value
        result = replace(result, log_attainable=float(known.max()))
    return result


def _caution(observations: Observations) -> float:
    """Return c: doubled by each failure beyond a tenth of the trials, within its limits."""
    n_excess = np.count_nonzero(observations.failed) - _ACCEPTED * len(observations)
    return float(np.clip(2.0**n_excess, 1.0, _MOST_CAUTION))


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
    """Return values of a constraint g ≤ 0 from which a model can learn where it holds.

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
