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
from optuna_misowild.kernel import matern
from optuna_misowild.kernel import scaled_squared_distance
from optuna_misowild.linalg import blas
from optuna_misowild.linalg import cholesky
from optuna_misowild.linalg import lapack


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
        K = matern(r2, SMOOTHNESS)[0]
        K *= h.amplitude * rho_rows[:, None] * rho_rows
        for s in range(1, self.n_sources):
            block = rows[s], rows[s]
            K[block] += h.tau[s] * matern(r2[block] / h.kappa[s] ** 2, SMOOTHNESS)[0] + 1.0
        K[np.diag_indices_from(K)] += h.noise[source]

        targets = (self.y - self.offsets[self.source] - self.mean)[order] / self.scale
        inverse_factor, _ = lapack().dtrtri(cholesky(K), lower=1, overwrite_c=1)
        alpha = inverse_factor.T @ (inverse_factor @ targets)
        for name, value in (
            ("_X", X),
            ("_rows", rows),
            ("_rho_rows", rho_rows),
            ("_inverse_factor", inverse_factor),
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
        mean, variance, _ = self._posterior_of_first(C)
        return mean, variance

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
        mean, variance, U = self._posterior_of_first(C)
        shape = (len(X), self.n_sources)
        delta_mean, delta_variance, covariance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for s in range(1, self.n_sources):
            rows = self._rows[s]
            B = h.tau[s] * matern(r2[:, rows] / h.kappa[s] ** 2, SMOOTHNESS)[0] + 1.0  # (m, n_s)
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

    def predict_with_gradient(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of f_1 at X (m, d), each (m,), and their gradients (m, d)."""
        g = self.predict_source_with_gradient(X, 0)
        return g.mean, g.variance, g.d_mean, g.d_variance

    def predict_source_with_gradient(self, X: NDArray[np.float64], source: int) -> SourceGradient:
        """Return the posterior of f_1 and f_s, s = ``source``, at X (m, d) with gradients in x."""
        h, q = self.hyperparameters, self.scale**2
        r2 = scaled_squared_distance(X, self._X, h.length_scale, self.categorical)
        k, dk = matern(r2, SMOOTHNESS)
        C = h.amplitude * self._rho_rows * k
        dC = h.amplitude * self._rho_rows * dk  # by r²; by x in _location_gradient
        mean, variance, U = self._posterior_of_first(C)
        W = U @ self._inverse_factor  # C K⁻¹, (m, n)
        d_mean = self.scale * self._location_gradient(dC * self._alpha, X)
        d_variance = -2.0 * q * self._location_gradient(dC * W, X)
        if source == 0:
            return SourceGradient(
                mean, variance, variance, variance, d_mean, d_variance, d_variance, d_variance
            )

        rho, tau, kappa2 = h.rho[source], h.tau[source], h.kappa[source] ** 2
        rows = self._rows[source]
        k, dk = matern(r2[:, rows] / kappa2, SMOOTHNESS)
        B, dB = tau * k + 1.0, tau / kappa2 * dk  # Cov[δ_s(x), y], (m, n_s)
        V = B @ self._inverse_factor[rows.start :, rows].T
        WB = V @ self._inverse_factor[rows.start :]  # B K⁻¹, (m, n)
        delta_variance = q * (tau + 1.0 - np.einsum("ij,ij->i", V, V))
        delta_covariance = -q * np.einsum("ij,ij->i", U[:, rows.start :], V)
        d_delta_variance = -2.0 * q * self._location_gradient(dB * WB[:, rows], X, rows)
        d_delta_covariance = -q * (
            self._location_gradient(dC * WB, X) + self._location_gradient(dB * W[:, rows], X, rows)
        )
        return SourceGradient(
            mean=mean,
            variance=variance,
            source_variance=np.maximum(
                rho**2 * variance + 2.0 * rho * delta_covariance + delta_variance, 0.0
            ),
            covariance=rho * variance + delta_covariance,
            d_mean=d_mean,
            d_variance=d_variance,
            d_source_variance=rho**2 * d_variance
            + 2.0 * rho * d_delta_covariance
            + d_delta_variance,
            d_covariance=rho * d_variance + d_delta_covariance,
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
        return h.amplitude * self._rho_rows * matern(r2, SMOOTHNESS)[0], r2

    def _posterior_of_first(
        self, C: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of f_1 from C = Cov[f_1(x), y], and C L⁻ᵀ (m, n)."""
        U = blas().dtrmm(1.0, self._inverse_factor, C.T, lower=1).T
        variance = self.hyperparameters.amplitude - np.einsum("ij,ij->i", U, U)
        return (
            self.mean + self.scale * (C @ self._alpha),
            self.scale**2 * np.maximum(variance, 0.0),
            U,
        )

    def _location_gradient(
        self,
        weights: NDArray[np.float64],
        X: NDArray[np.float64],
        rows: slice = slice(None),  # noqa: B008
    ) -> NDArray[np.float64]:
        """Return Σ_j weights_ij ∂r²(x_i, x_j)/∂x_i over the given rows of the data, (m, d)."""
        per_unit = np.where(self.categorical, 0.0, 2.0 / np.square(self.length_scale))
        result: NDArray[np.float64] = per_unit * (
            X * np.sum(weights, axis=1)[:, None] - weights @ self._X[rows]
        )
        return result
