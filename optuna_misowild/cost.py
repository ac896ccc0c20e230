"""Models of the query cost, each a Gaussian process.

:class:`PaperCost` models the cost of one source itself, as the paper does; it can go below 0, and
is symmetric where costs are skewed. :class:`LogCost` models its logarithm, as CArBO does, and
:class:`JointLogCost` those of all sources at once, as the robust method does.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    from optuna_misowild.joint import JointGaussianProcess


# Costs below this part of the typical one count as that much: a clock that read 0 must not
# become an outlier on the log scale that all others are measured by.
_FLOOR = 1e-4

# Costs that vary by less than 5 % are as good as constant.
MIN_LOG_SCALE = 0.05

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
        return _exp(self.predict_mean(X))

    def mean_and_std(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of c_s at X (m, d), each (m,)."""
        return _lognormal(*self.predict(X))

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


@dataclass(frozen=True)
class JointLogCost:
    """log c_s(x) of all sources in one joint model: what one tells, the others learn.

    The sources of a study tend to be dear in the same places (a subset of the data trains as many
    trees), and the preferred one, whose cost matters most, is queried least. Where they are not,
    the discrepancy of the joint model takes it up.

    Attributes:
        joint: The joint model of the logarithms.
    """

    joint: JointGaussianProcess

    def predict(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of log c_s at X (m, d), each (m,)."""
        posterior = self.joint.predict_sources(X)
        return posterior.source_mean[:, source], posterior.source_variance[:, source]

    def predict_means(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of log c_s at X (m, d) for every source, shape (m, S)."""
        return self.joint.predict_source_means(X)

    def predict_mean_with_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of log c_s at X (m, d) and s (m,), and its gradient (m, d)."""
        return self.joint.predict_source_mean_with_gradient(X, source)

    def median(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return ĉ_s = exp(mean of log c_s) at X (m, d), shape (m,)."""
        return _exp(self.predict_means(X)[:, source])

    def mean_and_std(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of c_s at X (m, d), each (m,)."""
        return _lognormal(*self.predict(X, source))


def _exp(log_cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(log_cost), or the largest number there is."""
    cost: NDArray[np.float64] = np.exp(np.minimum(log_cost, _LARGEST_LOG))
    return cost


def _lognormal(
    mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of a lognormal: exp(m + v/2), times √(exp(v) − 1)."""
    return _exp(mean + 0.5 * variance), _exp(mean + variance) * np.sqrt(-np.expm1(-variance))


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
    warm_start: GaussianProcess | None = None,
    likeliest_mean: bool = False,
) -> PaperCost:
    """Fit C_s as in Section 2: isotropic Matérn 3/2, maximum likelihood.

    Args:
        X: Locations in the unit cube, shape (n, d).
        cost: Known costs, shape (n,).
        default: Of a source without a known cost, both the mean and the standard deviation.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        warm_start: A model whose hyperparameters are the only start.
        likeliest_mean: See :func:`~optuna_misowild.gp.fit_gp`.
    """
    gp = fit_gp(
        X,
        cost,
        smoothness=1.5,
        ard=False,
        categorical=categorical,
        warm_start=warm_start,
        likeliest_mean=likeliest_mean,
    )
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

    Logarithms (see :func:`log_costs`) are standardised by their mean and max(standard deviation,
    0.05).

    Args:
        X: Locations in the unit cube, shape (n, d).
        cost: Known costs, shape (n,).
        default: The cost of a source of which none is known; also the measure of what is tiny
            for one whose known costs are all 0.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        warm_start: A model whose hyperparameters are the only start.
    """
    gp = fit_gp(
        X,
        log_costs(cost, default=default),
        smoothness=2.5,
        ard=True,
        categorical=categorical,
        prior=regularising_prior,
        warm_start=warm_start,
        min_scale=MIN_LOG_SCALE,
    )
    parameters = _fields(gp)
    if len(cost) == 0:
        parameters.update(mean=math.log(default))
    return LogCost(**parameters)


def _fields(gp: GaussianProcess) -> dict[str, Any]:
    return {field.name: getattr(gp, field.name) for field in fields(gp)}
