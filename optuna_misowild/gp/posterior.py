"""What the Gaussian process returns: the posterior of the sources, f_1 first."""

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
    """Posterior of f_1 and of some f_s at m locations, in the units of y, with gradients.

    Gradients have d columns if they were requested, and else none: what is computed from them
    needs no case of its own.

    Attributes:
        mean: E[f_1(x)], shape (m,).
        variance: Var[f_1(x)], shape (m,).
        source_mean: E[f_s(x)] of k sources at each location, shape (m, k). It includes the
            constant by which the means of the sources differ.
        source_variance: Var[f_s(x)], shape (m, k).
        covariance: Cov[f_1(x), f_s(x)], shape (m, k).
        rho: ρ_s, shape (m, k).
        d_mean: Gradient of ``mean`` in x, shape (m, d) or (m, 0).
        d_variance: Shape (m, d) or (m, 0).
        d_source_mean: Shape (m, k, d) or (m, k, 0).
        d_source_variance: Shape (m, k, d) or (m, k, 0).
        d_covariance: Shape (m, k, d) or (m, k, 0).
    """

    mean: Array
    variance: Array
    source_mean: Array
    source_variance: Array
    covariance: Array
    rho: Array
    d_mean: Array
    d_variance: Array
    d_source_mean: Array
    d_source_variance: Array
    d_covariance: Array

    @property
    def discrepancy_mean(self) -> Array:
        """E[f_s(x) − ρ_s f_1(x)], shape (m, k)."""
        return self.source_mean - self.rho * self.mean[:, None]

    @property
    def discrepancy_variance(self) -> Array:
        """Var[f_s(x) − ρ_s f_1(x)], shape (m, k)."""
        rho, of_first = self.rho, self.variance[:, None]
        variance = self.source_variance - 2.0 * rho * self.covariance + rho**2 * of_first
        return np.maximum(variance, 0.0)
