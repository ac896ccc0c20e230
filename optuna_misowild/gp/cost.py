"""Models of the query cost: a Gaussian process of the costs, or of their logarithms.

:class:`PaperCost` models the cost of one source itself, as the paper does; it can go below 0, and
is symmetric where costs are skewed. :class:`LogCost` models its logarithm, of one source as CArBO
does, or of all of them at once as the robust method does.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.fit import MAX_DATA
from optuna_misowild.gp.fit import SMALLEST
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP


# Costs below this part of the typical one count as that much: a clock that read 0 must not
# become an outlier on the log scale that all others are measured by.
_FLOOR = 1e-4

# Costs that vary by less than 5 % are as good as constant.
MIN_LOG_SCALE = 0.05

RAW = FitSettings(nu=1.5, ard=False, prior=None)
LOG = FitSettings(min_scale=MIN_LOG_SCALE, max_data=MAX_DATA)

_LARGEST_LOG = math.log(np.finfo(np.float64).max)


@dataclass(frozen=True)
class PaperCost:
    """C_s of the paper: c_s(x) ~ N(p_s(x), q_s²(x)), in the unit of the costs.

    Attributes:
        gp: The model of the costs.
    """

    gp: MultiSourceGP

    def upper(
        self, X: NDArray[np.float64], *, gradient: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the pessimistic cost max(0, p_s + q_s) at X (m, d), and its gradient.

        Returns:
            Two arrays of shape (m,) and (m, d), or (m, 0) without gradients.
        """
        p = self.gp.posterior(X, gradient=gradient)
        deviation = np.sqrt(p.variance)
        upper = p.mean + deviation
        # Where the cost is certain, only the mean can change.
        slope = 0.5 / np.where(deviation == 0.0, np.inf, deviation)
        d_upper = p.d_mean + slope[:, None] * p.d_variance
        d_upper[upper <= 0.0] = 0.0
        return np.maximum(upper, 0.0), d_upper


@dataclass(frozen=True)
class LogCost:
    """log c_s(x) ~ N(mean, variance), so that c_s(x) is lognormal: positive and skewed.

    In a model of several sources, the costs of each inform the others: the sources of a study tend
    to be expensive in the same places (a subset of the data trains as many trees), and the
    preferred one, whose cost matters most, is queried least. Where they are not, the discrepancy
    of the model takes it up.

    Attributes:
        gp: The model of the logarithms.
    """

    gp: MultiSourceGP

    def predict(
        self, X: NDArray[np.float64], source: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of log c_s at X (m, d), each (m,)."""
        posterior = self.gp.posterior(X, [source])
        return posterior.source_mean[:, 0], posterior.source_variance[:, 0]

    def median(self, X: NDArray[np.float64], source: int = 0) -> NDArray[np.float64]:
        """Return ĉ_s = exp(mean of log c_s) at X (m, d), shape (m,)."""
        return _exp(self.gp.means(X, [source])[0][:, 0])

    def mean_and_std(
        self, X: NDArray[np.float64], source: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of c_s at X (m, d), each (m,).

        Of a lognormal: exp(m + v/2), and that times √(exp(v) − 1).
        """
        mean, variance = self.predict(X, source)
        std = _exp(mean + variance) * np.sqrt(-np.expm1(-variance))
        return _exp(mean + 0.5 * variance), std

    def log_expected_power(
        self, X: NDArray[np.float64], exponent: float, *, gradient: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log E[c_1(x)^exponent] at X (m, d), and its gradient.

        Of a lognormal with parameters m and v, E[c^a] = exp(a·m + a²·v/2).

        Returns:
            Two arrays of shape (m,) and (m, d), or (m, 0) without gradients.
        """
        p, half_square = self.gp.posterior(X, gradient=gradient), 0.5 * exponent**2
        value = exponent * p.mean + half_square * p.variance
        return value, exponent * p.d_mean + half_square * p.d_variance


def _exp(log_cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(log_cost), or the largest number there is."""
    cost: NDArray[np.float64] = np.exp(np.minimum(log_cost, _LARGEST_LOG))
    return cost


def log_costs(cost: NDArray[np.float64], *, default: float = 1.0) -> NDArray[np.float64]:
    """Return the logarithms of the costs of one source, shape (n,).

    Costs of 0, or below 1e-4 of the median of the positive ones, count as that much.

    Args:
        cost: Known costs, shape (n,).
        default: The measure of what is tiny if all of them are 0.
    """
    typical = typical_cost(cost) if (cost > 0.0).any() else default
    result: NDArray[np.float64] = np.log(
        np.maximum(cost, max(_FLOOR * typical, np.finfo(np.float64).tiny))
    )
    return result


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
    settings: FitSettings = RAW,
) -> PaperCost:
    """Fit C_s as in Section 2: isotropic Matérn 3/2, maximum likelihood.

    Args:
        X: Locations in the unit cube, shape (n, d).
        cost: Known costs, shape (n,).
        default: Of a source without a known cost, both the mean and the standard deviation.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        settings: What kind of model it is.
    """
    gp = fit_gp(X, cost, categorical=categorical, settings=settings)
    if len(cost) == 0:
        gp = replace(gp, mean=default, scale=max(default, SMALLEST))
    return PaperCost(gp)


def fit_log_cost(
    X: NDArray[np.float64],
    cost: NDArray[np.float64],
    *,
    default: float = 1.0,
    categorical: NDArray[np.bool_] | None = None,
) -> LogCost:
    """Fit log c_s of one source: ARD Matérn 5/2, maximum a posteriori.

    Logarithms (see :func:`log_costs`) are standardised by their mean and max(standard deviation,
    0.05).

    Args:
        X: Locations in the unit cube, shape (n, d).
        cost: Known costs, shape (n,).
        default: The cost of a source of which none is known; also the measure of what is tiny
            for one whose known costs are all 0.
        categorical: Which coordinates are categorical, shape (d,); by default none.
    """
    logarithms = log_costs(cost, default=default)
    gp = fit_gp(X, logarithms, categorical=categorical, settings=LOG)
    return LogCost(gp if len(cost) else replace(gp, mean=math.log(default)))
