"""The Gaussian process: one model of one source or of several, with a modelled discrepancy.

Each source is a scaled copy of what they have in common plus a part of its own,

    f_s(x) = ρ_s g(x) + δ_s(x),    ρ_1 = 1

(Kennedy and O'Hagan, 2000, without the hierarchy), so that every observation of every source
informs f_1 as much as it should. The preferred source may have such a part too: what it shows on
a small scale, an approximation may smooth away. Sources that differ in a size only may share one
discrepancy from it. Of one source it is the usual Gaussian process, eq:gpfit of the paper. The
covariance is written out in :mod:`optuna_misowild.gp.likelihood`.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.kernels import location_gradient
from optuna_misowild.gp.kernels import matern
from optuna_misowild.gp.kernels import matern_correlation
from optuna_misowild.gp.kernels import scaled_squared_distance
from optuna_misowild.gp.linalg import blas
from optuna_misowild.gp.linalg import cholesky
from optuna_misowild.gp.linalg import half_log_determinant
from optuna_misowild.gp.linalg import inverse_factor
from optuna_misowild.gp.linalg import solve
from optuna_misowild.gp.posterior import Posterior


if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from numpy.typing import ArrayLike
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    # A source or several, rows and columns where they are in an array (m, k), and rows of data.
    Indices: TypeAlias = NDArray[np.int_]
    Place: TypeAlias = tuple[int | Indices, slice | Indices, int | Indices, slice]
    # The same, and Cov[δ_s(x), y] with its derivative by r².
    Part: TypeAlias = tuple[int | Indices, slice | Indices, int | Indices, slice, Array, Array]


@dataclass(frozen=True, kw_only=True, eq=False)
class MultiSourceGP:
    """The model, conditioned on data; without data it is the prior.

    Attributes:
        X: Locations in the unit cube, shape (n, d); n may be 0.
        source: Source of each location, shape (n,).
        y: Observed values, shape (n,).
        hyperparameters: In standardised units, (y − offset − mean) / scale.
        offsets: o_s, subtracted from the values of source s, shape (S,); o_1 = 0.
        mean: Constant mean of f_1.
        scale: Standard deviation that the values are divided by.
        nu: ν of the Matérn kernel, 1.5 or 2.5.
        categorical: Which coordinates are categorical, shape (d,).
    """

    X: Array
    source: NDArray[np.int_]
    y: Array
    hyperparameters: Hyperparameters
    offsets: Array
    mean: float
    scale: float
    nu: float
    categorical: NDArray[np.bool_]

    @property
    def n_sources(self) -> int:
        """S."""
        return len(self.offsets)

    @property
    def length_scale(self) -> Array:
        """ℓ, shape (d,)."""
        return self.hyperparameters.length_scale

    @property
    def amplitude(self) -> float:
        """σ², the variance of g in the units of y²."""
        return self.hyperparameters.amplitude * self.scale**2

    @property
    def prior_variance(self) -> float:
        """Var[f_1(x)] = σ² + τ_1 without any data, in the units of y²."""
        h = self.hyperparameters
        return float((h.amplitude + h.tau[0]) * self.scale**2)

    @property
    def noise(self) -> Array:
        """λ_s², in the units of y², shape (S,)."""
        return self.hyperparameters.noise * self.scale**2

    @property
    def rho(self) -> Array:
        """ρ_s, shape (S,)."""
        return self.hyperparameters.rho

    @property
    def tau(self) -> Array:
        """τ_s, in the units of y², shape (S,)."""
        return self.hyperparameters.tau * self.scale**2

    @property
    def kappa(self) -> Array:
        """κ_s, shape (S,)."""
        return self.hyperparameters.kappa

    # The data, ordered by source; the covariance matrix K of them, and what follows from it.

    @cached_property
    def _order(self) -> NDArray[np.int_]:
        return np.argsort(self.source, kind="stable")

    @cached_property
    def _X(self) -> Array:
        return self.X[self._order]

    @cached_property
    def _source(self) -> NDArray[np.int_]:
        return self.source[self._order]

    @cached_property
    def _rows(self) -> tuple[slice, ...]:
        """The slices of the ordered data that are of each source."""
        edges = np.searchsorted(self._source, np.arange(self.n_sources + 1))
        return tuple(slice(a, b) for a, b in zip(edges, edges[1:], strict=False))

    @cached_property
    def _rho_rows(self) -> Array:
        return self.rho[self._source]

    @cached_property
    def _targets(self) -> Array:
        """The standardised values, shape (n,)."""
        return ((self.y - self.offsets[self.source] - self.mean) / self.scale)[self._order]

    @cached_property
    def _factor(self) -> Array:
        """L, where L Lᵀ = K, the covariance matrix with noise, shape (n, n)."""
        h = self.hyperparameters
        r2 = self._squared_distance(self._X)
        K = self._shared_covariance(r2)[0]
        K *= self._rho_rows[:, None]
        for s in range(self._first_part, self.n_sources):
            rows = self._own_rows(s)
            block = self._rows[s], rows
            K[block] += self._own_covariance(r2[block], s, rows)[0]
        K.flat[:: len(K) + 1] += h.noise[self._source]
        return cholesky(K)

    @cached_property
    def _weights(self) -> Array:
        """K⁻¹ · targets, shape (n,)."""
        return solve(self._factor, self._targets)

    @cached_property
    def _inverse_factor(self) -> Array:
        """L⁻¹, shape (n, n)."""
        return inverse_factor(self._factor.copy(order="F"))

    # What it predicts.

    def posterior(self, X: Array, sources: ArrayLike = (), *, gradient: bool = False) -> Posterior:
        """Return the posterior of f_1 and of some sources at X.

        One triangular product for f_1, m·n² flops, and one for each part δ_s that involves only
        the rows below its own; together about m·2n². With gradients, another one of all of
        these, n² for each row.

        Args:
            X: Locations, shape (m, d).
            sources: k sources, shape (k,), or k at each location, shape (m, k); by default none
                but f_1.
            gradient: Whether gradients are wanted.
        """
        h, q = self.hyperparameters, self.scale**2
        sources = self._sources_at(X, sources)
        rho = h.rho[sources]
        r2 = self._squared_distance(X)
        G, dG = self._shared_covariance(r2, gradient)
        C, dC = self._covariance_of_first(r2, G, dG, gradient)
        parts = [
            (s, i, j, rows, *self._own_covariance(r2[i, rows], s, rows, gradient))
            for s, i, j, rows in self._places(sources, gradient)
        ]
        if gradient:
            # All at once, since what takes time is reading the matrix.
            covariances = [rho[i, j, None] * G[i] + B for _, i, j, _, B, _ in parts]
            U, *halves = self._times_inverse_factor([C, *covariances], transposed=True)
            W, *solved = self._times_inverse_factor([U, *halves], transposed=False)
        else:
            (U,) = self._times_inverse_factor([C], transposed=True)
            halves = self._halves_of_others(U, C, G, parts)

        def of_first(value: Array) -> Array:
            return value[:, None].repeat(sources.shape[1], axis=1)

        mean, of_shared = C @ self._weights, G @ self._weights
        variance = h.amplitude + h.tau[0] - np.einsum("ij,ij->i", U, U)
        source_mean, source_variance, covariance = map(of_first, (mean, variance, variance))
        for (s, i, j, rows, B, _), V in zip(parts, halves, strict=True):
            source_mean[i, j] = rho[i, j] * of_shared[i] + B @ self._weights[rows]
            of_prior = h.rho[s] ** 2 * h.amplitude + h.tau[s] + h.offset[s]
            source_variance[i, j] = of_prior - np.einsum("ij,ij->i", V, V)
            covariance[i, j] = h.rho[s] * h.amplitude - np.einsum("ij,ij->i", U[i], V)

        d_mean, d_variance = np.empty((2, len(X), X.shape[1] if gradient else 0))
        if gradient:
            slopes = self._slope(np.stack([dC * self._weights, dC * W]), X)
            d_mean, d_variance = slopes[0], -2.0 * slopes[1]
        d_source_mean, d_source_variance, d_covariance = map(
            of_first, (d_mean, d_variance, d_variance)
        )
        if gradient:
            for (_, i, j, _, _, dB), WV in zip(parts, solved, strict=True):
                dA = rho[i, j, None] * dG[i] + dB
                products = dA * self._weights, dA * WV, dC[i] * WV + dA * W[i]
                slopes = self._slope(np.stack(products), X[i])
                d_source_mean[i, j] = slopes[0]
                d_source_variance[i, j] = -2.0 * slopes[1]
                d_covariance[i, j] = -slopes[2]
        return Posterior(
            mean=self.mean + self.scale * mean,
            variance=q * np.maximum(variance, 0.0),
            source_mean=self.offsets[sources] + self.mean + self.scale * source_mean,
            source_variance=q * np.maximum(source_variance, 0.0),
            covariance=q * covariance,
            rho=rho,
            d_mean=self.scale * d_mean,
            d_variance=q * d_variance,
            d_source_mean=self.scale * d_source_mean,
            d_source_variance=q * d_source_variance,
            d_covariance=q * d_covariance,
        )

    def means(
        self, X: Array, sources: ArrayLike = (0,), *, gradient: bool = False
    ) -> tuple[Array, Array]:
        """Return the means of some f_s alone, without any product of m·n², and their gradients.

        Args:
            X: Locations, shape (m, d).
            sources: See :meth:`posterior`; by default f_1.
            gradient: Whether the gradients are wanted.

        Returns:
            Two arrays of shape (m, k) and (m, k, d), or (m, k, 0) without gradients.
        """
        sources = self._sources_at(X, sources)
        r2 = self._squared_distance(X)
        G, dG = self._shared_covariance(r2, gradient)
        rho = self.rho[sources]
        mean = rho * (G @ self._weights)[:, None]
        d_mean = np.zeros((*sources.shape, X.shape[1] if gradient else 0))
        if gradient:
            d_mean += rho[..., None] * self._slope(dG * self._weights, X)[:, None]
        for s, i, j, rows in self._places(sources, gradient, first=self._first_part):
            B, dB = self._own_covariance(r2[i, rows], s, rows, gradient)
            mean[i, j] += B @ self._weights[rows]
            if gradient:
                d_mean[i, j] += self._slope(dB * self._weights, X[i])
        return self.offsets[sources] + self.mean + self.scale * mean, self.scale * d_mean

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of f_1 at X (m, d), each (m,), without observation noise."""
        posterior = self.posterior(X)
        return posterior.mean, posterior.variance

    def predict_mean(self, X: Array) -> Array:
        """Return the mean of f_1 alone at X (m, d), shape (m,); far cheaper than the variance."""
        return self.means(X)[0][:, 0]

    def log_marginal_likelihood(self) -> float:
        """Return log p(y | X); Rasmussen and Williams (2006), eq. 2.30."""
        misfit = self._targets @ self._weights
        log_determinant = 2.0 * half_log_determinant(self._factor)
        log_scale = len(self.X) * (math.log(2.0 * math.pi) + 2.0 * math.log(self.scale))
        return float(-0.5 * (misfit + log_determinant + log_scale))

    def likeliest_mean(self) -> float:
        """Return the mean by generalised least squares, with the offsets as they are.

        The mean by which the data are likeliest at these hyperparameters: m + s·1ᵀK⁻¹z / 1ᵀK⁻¹1
        with the present mean m, the scale s and the standardised values z.
        """
        of_ones = solve(self._factor, np.ones_like(self._targets))
        return self.mean + self.scale * float(self._weights.sum() / of_ones.sum())

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return residual and predictive variance of each value of source 0, given all others.

        r_i = a_i / Q_ii and v_i = 1 / Q_ii with Q = K⁻¹ and a = Q · targets (Rasmussen and
        Williams, 2006, eq. 5.12), at the same hyperparameters; the variance includes the noise.

        Returns:
            Two arrays of shape (n_1,), in the order of the data and the units of y.
        """
        rows = self._rows[0]
        diagonal = np.sum(np.square(self._inverse_factor[:, rows]), axis=0)
        return self.scale * self._weights[rows] / diagonal, self.scale**2 / diagonal

    def with_data(self, X: Array, y: Array, source: NDArray[np.int_]) -> MultiSourceGP:
        """Return the model with other data and the same hyperparameters, see :meth:`condition`."""
        return replace(self, X=X, source=source, y=y)

    def condition(
        self, X: Array, y: Array | None = None, *, source: NDArray[np.int_] | None = None
    ) -> MultiSourceGP:
        """Return the model with more data and the same hyperparameters.

        Args:
            X: More locations, shape (m, d).
            y: Their values, shape (m,); by default what the model expects there.
            source: Their sources, shape (m,); by default all 0.
        """
        if len(X) == 0:
            return self
        source = np.zeros(len(X), dtype=int) if source is None else source
        y = self.means(X, source[:, None])[0][:, 0] if y is None else y
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            source=np.concatenate([self.source, source]),
            y=np.concatenate([self.y, y]),
        )

    # The parts of it.

    def _sources_at(self, X: Array, sources: ArrayLike) -> NDArray[np.int_]:
        """Return k sources at each row of X, shape (m, k)."""
        at: NDArray[np.int_] = np.asarray(sources, dtype=int)
        return at[None].repeat(len(X), axis=0) if at.ndim == 1 else at

    @property
    def _first_part(self) -> int:
        """The first source that has a part of its own."""
        return 0 if self.hyperparameters.has_own_part else 1

    def _places(
        self, sources: NDArray[np.int_], together: bool, *, first: int = 1
    ) -> Iterator[Place]:
        """Yield the sources from ``first`` on, and where they are among ``sources`` (m, k).

        With them comes what their δ_s is correlated with: one by one, so that products stay small;
        or all of them together, where there are few and calls are what takes time.
        """
        if together:
            i, j = np.nonzero(sources >= first)
            if len(i):
                yield sources[i, j], i, j, slice(0, len(self._X))
            return
        for s in range(first, self.n_sources):
            i, j = np.nonzero(sources == s)
            if len(i) == len(sources) > 0 and (j == j[0]).all():
                # A whole column, which needs no copy.
                yield s, slice(None), int(j[0]), self._own_rows(s)
            elif len(i):
                yield s, i, j, self._own_rows(s)

    def _own_rows(self, source: int) -> slice:
        """The slice of the ordered data that δ_s is correlated with."""
        if self.hyperparameters.decay is None:
            return self._rows[source]
        return slice(self._rows[0].stop, len(self._X))

    def _squared_distance(self, X: Array) -> Array:
        return scaled_squared_distance(X, self._X, self.length_scale, self.categorical)

    def _shared_covariance(self, r2: Array, gradient: bool = False) -> tuple[Array, Array]:
        """Return Cov[g(x), y] in standardised units for r² (m, n), and its derivative by r²."""
        C, dC = self._correlation(r2, gradient)
        factor = self.hyperparameters.amplitude * self._rho_rows
        C *= factor
        return C, dC * factor if gradient else dC

    def _covariance_of_first(
        self, r2: Array, G: Array, dG: Array, gradient: bool
    ) -> tuple[Array, Array]:
        """Return Cov[f_1(x), y] and its derivative by r², from those of g."""
        if not self.hyperparameters.has_own_part:
            return G, dG
        rows = self._rows[0]
        B, dB = self._own_covariance(r2[:, rows], 0, rows, gradient)
        C, dC = G.copy(), dG.copy()
        C[:, rows] += B
        if gradient:
            dC[:, rows] += dB
        return C, dC

    def _halves_of_others(self, U: Array, C: Array, G: Array, parts: list[Part]) -> list[Array]:
        """Return Cov[f_s(x), y] L⁻ᵀ of the other sources, given U = C L⁻ᵀ of f_1.

        B L⁻ᵀ is 0 before the rows that B is of, which makes it cheaper than a product of its own.
        """
        rows, inverse = self._rows[0], self._inverse_factor
        of_shared = U
        if self.hyperparameters.has_own_part and parts:
            of_shared = U - (C - G)[:, rows] @ inverse[:, rows].T
        halves = []
        for s, i, _, rows, B, _ in parts:
            V = self.rho[s] * of_shared[i]
            V[:, rows.start :] += B @ inverse[rows.start :, rows].T
            halves.append(V)
        return halves

    def _own_covariance(
        self, r2: Array, source: int | NDArray[np.int_], rows: slice, gradient: bool = False
    ) -> tuple[Array, Array]:
        """Return Cov[δ_s(x), y] and its derivative by r².

        Args:
            r2: r² to some of the data, shape (m, k).
            source: s; or those of each x, shape (m,).
            rows: Which of the data.
            gradient: Whether the derivative is wanted.
        """
        h = self.hyperparameters
        s, t = np.atleast_1d(source)[:, None], self._source[None, rows]
        kappa2 = np.square(h.kappa[s])
        B, dB = self._correlation(r2 / kappa2, gradient)
        if h.decay is None:
            own = s == t
            tau, offset = h.tau[s] * own, h.offset[s] * own
        else:
            tau, offset = np.sqrt(h.tau[s] * h.tau[t]), np.sqrt(h.offset[s] * h.offset[t])
        B *= tau
        B += offset
        if gradient:
            dB *= tau / kappa2
        return B, dB

    def _correlation(self, r2: Array, gradient: bool) -> tuple[Array, Array]:
        """Return k(r²), and dk/dr² if it is wanted, else an empty array."""
        return matern(r2, self.nu) if gradient else (matern_correlation(r2, self.nu), _NONE)

    def _times_inverse_factor(self, parts: list[Array], *, transposed: bool) -> list[Array]:
        """Return B L⁻ᵀ if ``transposed``, else B L⁻¹, for each of some B (m, n)."""
        stacked = np.concatenate(parts) if len(parts) > 1 else parts[0]
        trans = int(not transposed)  # Of the transposed matrices, which need no reordering.
        product = blas().dtrmm(1.0, self._inverse_factor, stacked.T, lower=1, trans_a=trans).T
        ends = np.cumsum([0] + [len(part) for part in parts])
        return [product[a:b] for a, b in zip(ends, ends[1:], strict=False)]

    def _slope(self, weights: Array, X: Array) -> Array:
        """Return Σ_j weights_ij ∂r²(x_i, x_j)/∂x_i over the data x_j, (…, m, d)."""
        return location_gradient(weights, X, self._X, self.length_scale, self.categorical)


_NONE = np.empty(0)
