"""What the Gaussian process returns: the posterior of f_1 and of the discrepancies δ_s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """Posterior of f_1 and of some δ_s at m locations, in the units of y, with gradients.

    Since f_s = ρ_s f_1 + δ_s, this is the posterior of these sources. δ_s includes the constant
    by which the means of the sources differ.

    Gradients have d columns if they were requested, and else none: what is computed from them
    needs no case of its own.

    Attributes:
        mean: E[f_1(x)], shape (m,).
        variance: Var[f_1(x)], shape (m,).
        delta_mean: E[δ_s(x)] of k sources at each location, shape (m, k).
        delta_variance: Var[δ_s(x)], shape (m, k).
        delta_covariance: Cov[f_1(x), δ_s(x)], shape (m, k).
        rho: ρ_s, shape (m, k).
        d_mean: Gradient of ``mean`` in x, shape (m, d) or (m, 0).
        d_variance: Shape (m, d) or (m, 0).
        d_delta_mean: Shape (m, k, d) or (m, k, 0).
        d_delta_variance: Shape (m, k, d) or (m, k, 0).
        d_delta_covariance: Shape (m, k, d) or (m, k, 0).
    """

    mean: Array
    variance: Array
    delta_mean: Array
    delta_variance: Array
    delta_covariance: Array
    rho: Array
    d_mean: Array
    d_variance: Array
    d_delta_mean: Array
    d_delta_variance: Array
    d_delta_covariance: Array

    @property
    def source_mean(self) -> Array:
        """E[f_s(x)], shape (m, k)."""
        return self.rho * self.mean[:, None] + self.delta_mean

    @property
    def source_variance(self) -> Array:
        """Var[f_s(x)], shape (m, k)."""
        rho, of_first = self.rho, self.variance[:, None]
        variance = rho**2 * of_first + 2.0 * rho * self.delta_covariance + self.delta_variance
        return np.maximum(variance, 0.0)

    @property
    def covariance(self) -> Array:
        """Cov[f_1(x), f_s(x)], shape (m, k)."""
        return self.rho * self.variance[:, None] + self.delta_covariance

    @property
    def d_source_mean(self) -> Array:
        """Gradient of ``source_mean``, shape (m, k, d) or (m, k, 0)."""
        return self.rho[..., None] * self.d_mean[:, None] + self.d_delta_mean

    @property
    def d_source_variance(self) -> Array:
        """Gradient of ``source_variance``, shape (m, k, d) or (m, k, 0)."""
        rho, of_first = self.rho[..., None], self.d_variance[:, None]
        return rho**2 * of_first + 2.0 * rho * self.d_delta_covariance + self.d_delta_variance

    @property
    def d_covariance(self) -> Array:
        """Gradient of ``covariance``, shape (m, k, d) or (m, k, 0)."""
        return self.rho[..., None] * self.d_variance[:, None] + self.d_delta_covariance
