"""What the joint model returns: the posterior of f_1 and of the discrepancies δ_s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SourcePosterior:
    """Posterior of f_1 and of the discrepancies δ_s at m locations, in the units of y.

    Since f_s = ρ_s f_1 + δ_s, this is the posterior of every source. δ_s includes the constant
    by which the means of the sources differ.

    Attributes:
        mean: E[f_1(x)], shape (m,).
        variance: Var[f_1(x)], shape (m,).
        delta_mean: E[δ_s(x)], shape (m, S).
        delta_variance: Var[δ_s(x)], shape (m, S).
        delta_covariance: Cov[f_1(x), δ_s(x)], shape (m, S).
        rho: ρ_s, shape (S,).
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    delta_mean: NDArray[np.float64]
    delta_variance: NDArray[np.float64]
    delta_covariance: NDArray[np.float64]
    rho: NDArray[np.float64]

    @property
    def source_mean(self) -> NDArray[np.float64]:
        """E[f_s(x)], shape (m, S)."""
        return self.rho * self.mean[:, None] + self.delta_mean

    @property
    def source_variance(self) -> NDArray[np.float64]:
        """Var[f_s(x)], shape (m, S)."""
        variance = (
            self.rho**2 * self.variance[:, None]
            + 2.0 * self.rho * self.delta_covariance
            + self.delta_variance
        )
        return np.maximum(variance, 0.0)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Cov[f_1(x), f_s(x)], shape (m, S)."""
        return self.rho * self.variance[:, None] + self.delta_covariance


@dataclass(frozen=True)
class SourceGradient:
    """Posterior of f_1 and one f_s at m locations with gradients, in the units of y.

    Attributes:
        mean: E[f_1(x)], shape (m,).
        variance: Var[f_1(x)], shape (m,).
        source_variance: Var[f_s(x)], shape (m,).
        covariance: Cov[f_1(x), f_s(x)], shape (m,).
        d_mean: Gradient of ``mean``, shape (m, d); likewise the following.
        d_variance: Shape (m, d).
        d_source_variance: Shape (m, d).
        d_covariance: Shape (m, d).
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    source_variance: NDArray[np.float64]
    covariance: NDArray[np.float64]
    d_mean: NDArray[np.float64]
    d_variance: NDArray[np.float64]
    d_source_variance: NDArray[np.float64]
    d_covariance: NDArray[np.float64]
