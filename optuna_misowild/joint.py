"""The joint model: one Gaussian process over all sources, with a modelled discrepancy.

Source s > 1 is a scaled copy of the preferred source plus a discrepancy of its own,

    f_s(x) = ρ_s f_1(x) + δ_s(x),    ρ_1 = 1, δ_1 = 0,

(Kennedy and O'Hagan, 2000, without the hierarchy), so that every observation of every source
informs f_1 as much as it should. The covariance is written out in
:mod:`optuna_misowild.joint_likelihood`.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.joint_likelihood import SMOOTHNESS
from optuna_misowild.joint_likelihood import JointHyperparameters
from optuna_misowild.joint_posterior import SourceGradient
from optuna_misowild.joint_posterior import SourcePosterior
from optuna_misowild.kernel import location_gradient
from optuna_misowild.kernel import matern
from optuna_misowild.kernel import matern_correlation
from optuna_misowild.kernel import scaled_squared_distance
from optuna_misowild.linalg import blas
from optuna_misowild.linalg import cholesky
from optuna_misowild.linalg import inverse_factor


if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class JointGaussianProcess:
    """The joint model, conditioned on data. Constructing it factorises the covariance matrix.

    Attributes:
        X: Locations in the unit cube, shape (n, d); n may be 0.
        source: Source of each location, shape (n,).
        y: Observed values, shape (n,).
        hyperparameters: In standardised units, (y − offset − mean) / scale.
        offsets: o_s, subtracted from the values of source s, shape (S,); o_1 = 0.
        mean: Constant mean of f_1.
        scale: Standard deviation that the values are divided by.
        categorical: Which coordinates are categorical, shape (d,).
    """

    X: NDArray[np.float64]
    source: NDArray[np.int_]
    y: NDArray[np.float64]
    hyperparameters: JointHyperparameters
    offsets: NDArray[np.float64]
    mean: float
    scale: float
    categorical: NDArray[np.bool_]
    # The same data ordered by source: that of source s is the slice _rows[s].
    _X: NDArray[np.float64] = field(init=False, repr=False)
    _source: NDArray[np.int_] = field(init=False, repr=False)
    _rows: tuple[slice, ...] = field(init=False, repr=False)
    _rho_rows: NDArray[np.float64] = field(init=False, repr=False)
    # L⁻¹ and a = K⁻¹ · targets, where L Lᵀ = K is the covariance matrix with noise.
    _inverse_factor: NDArray[np.float64] = field(init=False, repr=False)
    _alpha: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        h = self.hyperparameters
        order = np.argsort(self.source, kind="stable")
        X, source = self.X[order], self.source[order]
        edges = np.searchsorted(source, np.arange(self.n_sources + 1))
        rows = tuple(slice(a, b) for a, b in zip(edges, edges[1:], strict=False))
        rho_rows = h.rho[source]

        r2 = scaled_squared_distance(X, X, h.length_scale, self.categorical)
        K = matern_correlation(r2, SMOOTHNESS)
        K *= h.amplitude * rho_rows[:, None] * rho_rows
        for s in range(1, self.n_sources):
            block = rows[s], rows[s]
            K[block] += self._own_covariance(r2[block], s)
        K[np.diag_indices_from(K)] += h.noise[source]

        targets = (self.y - self.offsets[self.source] - self.mean)[order] / self.scale
        factor = inverse_factor(cholesky(K))
        alpha = factor.T @ (factor @ targets)
        for name, value in (
            ("_X", X),
            ("_source", source),
            ("_rows", rows),
            ("_rho_rows", rho_rows),
            ("_inverse_factor", factor),
            ("_alpha", alpha),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_sources(self) -> int:
        """S."""
        return len(self.offsets)

    @property
    def length_scale(self) -> NDArray[np.float64]:
        """ℓ, shape (d,)."""
        return self.hyperparameters.length_scale

    @property
    def amplitude(self) -> float:
        """σ², in the units of y²."""
        return self.hyperparameters.amplitude * self.scale**2

    @property
    def noise(self) -> NDArray[np.float64]:
        """λ_s², in the units of y², shape (S,)."""
        return self.hyperparameters.noise * self.scale**2

    @property
    def rho(self) -> NDArray[np.float64]:
        """ρ_s, shape (S,)."""
        return self.hyperparameters.rho

    @property
    def tau(self) -> NDArray[np.float64]:
        """τ_s, in the units of y², shape (S,)."""
        return self.hyperparameters.tau * self.scale**2

    @property
    def kappa(self) -> NDArray[np.float64]:
        """κ_s, shape (S,)."""
        return self.hyperparameters.kappa

    def predict(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of f_1 at X (m, d): two arrays of shape (m,)."""
        C, _ = self._shared_covariance(X)
        return self._posterior_of_first(C, self._half_solved(C))

    def predict_mean(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of f_1 at X (m, d), shape (m,)."""
        return self.mean + self.scale * (self._shared_covariance(X)[0] @ self._alpha)

    def predict_sources(self, X: NDArray[np.float64]) -> SourcePosterior:
        """Return the posterior of f_1 and all δ_s at X (m, d).

        One triangular product for f_1, m·n² flops, and one for each source that involves only
        the rows below its own; together about m·2n².
        """
        h = self.hyperparameters
        C, r2 = self._shared_covariance(X)
        U = self._half_solved(C)
        mean, variance = self._posterior_of_first(C, U)
        shape = (len(X), self.n_sources)
        delta_mean, delta_variance, covariance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for s in range(1, self.n_sources):
            rows = self._rows[s]
            B = self._own_covariance(r2[:, rows], s)  # (m, n_s)
            V = B @ self._inverse_factor[rows.start :, rows].T  # (m, n − start)
            delta_mean[:, s] = B @ self._alpha[rows]
            delta_variance[:, s] = h.tau[s] + 1.0 - np.einsum("ij,ij->i", V, V)
            covariance[:, s] = -np.einsum("ij,ij->i", U[:, rows.start :], V)
        return SourcePosterior(
            mean=mean,
            variance=variance,
            delta_mean=self.offsets + (1.0 - h.rho) * self.mean + self.scale * delta_mean,
            delta_variance=self.scale**2 * np.maximum(delta_variance, 0.0),
            delta_covariance=self.scale**2 * covariance,
            rho=h.rho,
        )

    def predict_source_means(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of every f_s at X (m, d), shape (m, S), without any product of m·n²."""
        C, r2 = self._shared_covariance(X)
        means = np.outer(C @ self._alpha, self.rho)
        for s in range(1, self.n_sources):
            rows = self._rows[s]
            means[:, s] += self._own_covariance(r2[:, rows], s) @ self._alpha[rows]
        result: NDArray[np.float64] = self.offsets + self.mean + self.scale * means
        return result

    def predict_source_mean_with_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of f_s at X (m, d) and s (m,), shape (m,), and its gradient, (m, d)."""
        h = self.hyperparameters
        r2 = scaled_squared_distance(X, self._X, h.length_scale, self.categorical)
        k, dk = matern(r2, SMOOTHNESS)
        shared = h.amplitude * h.rho[source, None] * self._rho_rows
        k *= shared
        dk *= shared
        other = np.flatnonzero(source > 0)
        B, dB = self._discrepancy_covariance(r2[other], source[other])
        k[other] += B
        dk[other] += dB
        mean = self.offsets[source] + self.mean + self.scale * (k @ self._alpha)
        return mean, self.scale * self._location_gradient(dk * self._alpha, X)

    def predict_with_gradient(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of f_1 at X (m, d), each (m,), and their gradients (m, d)."""
        g = self.predict_sources_with_gradient(X, np.zeros(len(X), dtype=int))
        return g.mean, g.variance, g.d_mean, g.d_variance

    def predict_sources_with_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> SourceGradient:
        """Return the posterior of f_1 and f_s with gradients in x.

        Args:
            X: Locations, shape (m, d).
            source: s at each of them, shape (m,).
        """
        h, q = self.hyperparameters, self.scale**2
        m, other = len(X), np.flatnonzero(source > 0)  # Those with a discrepancy.
        r2 = scaled_squared_distance(X, self._X, h.length_scale, self.categorical)
        k, dk = matern(r2, SMOOTHNESS)
        C = h.amplitude * self._rho_rows * k
        dC = h.amplitude * self._rho_rows * dk  # by r²; by x in _location_gradient
        B, dB = self._discrepancy_covariance(r2[other], source[other])
        # Those of f_1 and of δ_s at once, since what takes time is reading the matrix.
        UV = self._half_solved(np.concatenate([C, B]))
        full = blas().dtrmm(1.0, self._inverse_factor, UV.T, lower=1, trans_a=1).T
        U, V, W, WB = UV[:m], UV[m:], full[:m], full[m:]  # W = C K⁻¹, WB = B K⁻¹

        mean, variance = self._posterior_of_first(C, U)
        d_mean = self.scale * self._location_gradient(dC * self._alpha, X)
        d_variance = -2.0 * q * self._location_gradient(dC * W, X)
        source_variance, covariance = variance.copy(), variance.copy()
        d_source_variance, d_covariance = d_variance.copy(), d_variance.copy()
        if len(other):
            rho, X = h.rho[source[other]], X[other]
            prior = h.tau[source[other]] + 1.0
            delta_variance = q * (prior - np.einsum("ij,ij->i", V, V))
            delta_covariance = -q * np.einsum("ij,ij->i", U[other], V)
            covariance[other] = rho * variance[other] + delta_covariance
            source_variance[other] = np.maximum(
                rho**2 * variance[other] + 2.0 * rho * delta_covariance + delta_variance, 0.0
            )
            rho = rho[:, None]
            d_delta_variance = -2.0 * q * self._location_gradient(dB * WB, X)
            d_delta_covariance = -q * self._location_gradient(dC[other] * WB + dB * W[other], X)
            d_covariance[other] = rho * d_variance[other] + d_delta_covariance
            d_source_variance[other] = (
                rho**2 * d_variance[other] + 2.0 * rho * d_delta_covariance + d_delta_variance
            )
        return SourceGradient(
            mean=mean,
            variance=variance,
            source_variance=source_variance,
            covariance=covariance,
            d_mean=d_mean,
            d_variance=d_variance,
            d_source_variance=d_source_variance,
            d_covariance=d_covariance,
        )

    def leave_one_out(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return residual and predictive variance of each value of source 0, left out by itself.

        r_i = a_i / Q_ii and v_i = 1 / Q_ii with Q = K⁻¹ (Rasmussen and Williams, 2006,
        eq. 5.12); the variance includes the noise.

        Returns:
            Two arrays of shape (n_1,), in the order of the data and the units of y.
        """
        rows = self._rows[0]
        diagonal = np.sum(np.square(self._inverse_factor[:, rows]), axis=0)
        return self.scale * self._alpha[rows] / diagonal, self.scale**2 / diagonal

    def condition(
        self,
        X: NDArray[np.float64],
        source: NDArray[np.int_],
        y: NDArray[np.float64] | None = None,
    ) -> JointGaussianProcess:
        """Return a model with more data and the same hyperparameters.

        Args:
            X: New locations, shape (m, d).
            source: Their sources, shape (m,).
            y: Their values, shape (m,); by default what the model expects there.
        """
        if len(X) == 0:
            return self
        if y is None:
            y = self.predict_sources(X).source_mean[np.arange(len(X)), source]
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            source=np.concatenate([self.source, source]),
            y=np.concatenate([self.y, y]),
        )

    def _shared_covariance(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Cov[f_1(x), y] in standardised units and r², both of shape (m, n)."""
        h = self.hyperparameters
        r2 = scaled_squared_distance(X, self._X, h.length_scale, self.categorical)
        C = matern_correlation(r2, SMOOTHNESS)
        C *= h.amplitude * self._rho_rows
        return C, r2

    def _own_covariance(self, r2: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return Cov[δ_s(x), δ_s(x')] for r² of any shape."""
        h = self.hyperparameters
        B = matern_correlation(r2 / h.kappa[source] ** 2, SMOOTHNESS)
        B *= h.tau[source]
        B += 1.0
        return B

    def _discrepancy_covariance(
        self, r2: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Cov[δ_s(x), y] for r² (m, n) and s (m,), and its derivative by r²."""
        h = self.hyperparameters
        own = source[:, None] == self._source
        tau, kappa2 = h.tau[source, None], np.square(h.kappa[source, None])
        k, dk = matern(r2 / kappa2, SMOOTHNESS)
        return own * (tau * k + 1.0), own * (tau / kappa2 * dk)

    def _half_solved(self, C: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return C L⁻ᵀ for C (m, n)."""
        half: NDArray[np.float64] = blas().dtrmm(1.0, self._inverse_factor, C.T, lower=1).T
        return half

    def _posterior_of_first(
        self, C: NDArray[np.float64], U: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of f_1 from C = Cov[f_1(x), y] and U = C L⁻ᵀ."""
        variance = self.hyperparameters.amplitude - np.einsum("ij,ij->i", U, U)
        return (
            self.mean + self.scale * (C @ self._alpha),
            self.scale**2 * np.maximum(variance, 0.0),
        )

    def _location_gradient(
        self, weights: NDArray[np.float64], X: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return location_gradient(weights, X, self._X, self.length_scale, self.categorical)
