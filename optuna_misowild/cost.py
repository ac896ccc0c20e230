"""Models of the query cost of one source, each a Gaussian process.

:class:`PaperCost` models the cost itself, as the paper does; it can go below 0, and is symmetric
where costs are skewed. :class:`LogCost` models its logarithm, as the robust method and CArBO do.
"""

from __future__ import annotations

from dataclasses import fields
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.gp import GaussianProcess
from optuna_misowild.gp import fit_gp
from optuna_misowild.gp_likelihood import regularising_prior


if TYPE_CHECKING:
    from numpy.typing import NDArray


# Costs below this part of the typical one count as that much: a clock that read 0 must not
# become an outlier on the log scale that all others are measured by.
_FLOOR = 1e-4

# Costs that vary by less than 5 % are as good as constant.
_MIN_LOG_SCALE = 0.05

_LARGEST_LOG = math.log(np.finfo(np.float64).max)


class PaperCost(GaussianProcess):
    """C_s of the paper: c_s(x) ~ N(p_s(x), q_s²(x)), in the unit of the costs."""

    def upper(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pessimistic cost max(0, p_s + q_s) at X (m, d), shape (m,)."""
        mean, variance = self.predict(X)
        return np.maximum(mean + np.sqrt(variance), 0.0)

    def upper_with_gradient(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return max(0, p_s + q_s), shape (m,), and its gradient, shape (m, d)."""
        mean, variance, gradient, dvariance = self.predict_with_gradient(X)
        deviation = np.sqrt(variance)
        upper = mean + deviation
        certain = deviation == 0.0  # Only the mean can change there.
        gradient += dvariance / np.where(certain, np.inf, 2.0 * deviation)[:, None]
        gradient[upper <= 0.0] = 0.0
        return np.maximum(upper, 0.0), gradient


class LogCost(GaussianProcess):
    """log c_s(x) ~ N(mean, variance), so that c_s(x) is lognormal: positive and skewed."""

    def median(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ĉ_s = exp(mean of log c_s) at X (m, d), shape (m,)."""
        return np.exp(np.minimum(self.predict_mean(X), _LARGEST_LOG))

    def mean_and_std(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of c_s at X (m, d), each (m,).

        exp(m + v/2) and its product with √(exp(v) − 1), or the largest number there is.
        """
        mean, variance = self.predict(X)
        expected: NDArray[np.float64] = np.exp(np.minimum(mean + 0.5 * variance, _LARGEST_LOG))
        deviation: NDArray[np.float64] = np.exp(np.minimum(mean + variance, _LARGEST_LOG))
        return expected, deviation * np.sqrt(-np.expm1(-variance))

    def log_expected_power(self, X: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
        """Return log E[c_s(x)^exponent] at X (m, d), shape (m,).

        Of a lognormal with parameters m and v, E[c^a] = exp(a·m + a²·v/2).
        """
        mean, variance = self.predict(X)
        return exponent * mean + 0.5 * exponent**2 * variance

    def log_expected_power_with_gradient(
        self, X: NDArray[np.float64], exponent: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log E[c_s(x)^exponent], shape (m,), and its gradient, shape (m, d)."""
        mean, variance, dmean, dvariance = self.predict_with_gradient(X)
        value = exponent * mean + 0.5 * exponent**2 * variance
        return value, exponent * dmean + 0.5 * exponent**2 * dvariance


def typical_cost(cost: NDArray[np.float64]) -> float:
    """Return the (geometric) median of the positive costs, or 1 if there is none.

    Args:
        cost: Costs of any sources, shape (n,); NaN where unknown.
    """
    positive = cost[np.isfinite(cost) & (cost > 0.0)]
    return math.exp(np.median(np.log(positive))) if len(positive) else 1.0


def fit_paper_cost(
    X: NDArray[np.float64],
    cost: NDArray[np.float64],
    *,
    default: float = 1.0,
    categorical: NDArray[np.bool_] | None = None,
    warm_start: GaussianProcess | None = None,
) -> PaperCost:
    """Fit C_s as in Section 2: isotropic Matérn 3/2, maximum likelihood.

    Args:
        X: Locations in the unit cube, shape (n, d).
        cost: Known costs, shape (n,).
        default: Of a source without a known cost, both the mean and the standard deviation.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        warm_start: A model whose hyperparameters are the only start.
    """
    gp = fit_gp(X, cost, smoothness=1.5, ard=False, categorical=categorical, warm_start=warm_start)
    parameters = _fields(gp)
    if len(cost) == 0:
        amplitude = max(default**2, float(np.finfo(np.float64).tiny))
        parameters.update(mean=default, amplitude=amplitude)
    return PaperCost(**parameters)


def fit_log_cost(
    X: NDArray[np.float64],
    cost: NDArray[np.float64],
    *,
    default: float = 1.0,
    categorical: NDArray[np.bool_] | None = None,
    warm_start: GaussianProcess | None = None,
) -> LogCost:
    """Fit log c_s: ARD Matérn 5/2, maximum a posteriori.

    Logarithms are standardised by their mean and max(standard deviation, 0.05). Costs of 0, or
    below 1e-4 of the median of the positive ones, count as that much.

    Args:
        X: Locations in the unit cube, shape (n, d).
        cost: Known costs, shape (n,).
        default: The cost of a source of which none is known; also the measure of what is tiny
            for one whose known costs are all 0.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        warm_start: A model whose hyperparameters are the only start.
    """
    typical = typical_cost(cost) if (cost > 0.0).any() else default
    gp = fit_gp(
        X,
        np.log(np.maximum(cost, max(_FLOOR * typical, np.finfo(np.float64).tiny))),
        smoothness=2.5,
        ard=True,
        categorical=categorical,
        prior=regularising_prior,
        warm_start=warm_start,
        min_scale=_MIN_LOG_SCALE,
    )
    parameters = _fields(gp)
    if len(cost) == 0:
        parameters.update(mean=math.log(default))
    return LogCost(**parameters)


def _fields(gp: GaussianProcess) -> dict[str, Any]:
    return {field.name: getattr(gp, field.name) for field in fields(gp)}
