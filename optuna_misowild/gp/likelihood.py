"""The density of the hyperparameters of the Gaussian process, with its gradient.

Everything here is in standardised units: values minus the offset of their source, then scaled to
mean 0 and standard deviation 1. The covariance of two observations i, j of sources s, t is

    ρ_s ρ_t σ² k(x_i, x_j; ℓ) + 1[s = t] (τ_s k(x_i, x_j; κ_s ℓ) + 1[s > 1]) + 1[i = j] λ_s²,

with k a Matérn kernel and ρ_1 = 1. The constant 1 is the variance of the offset that the
observed mean difference of the sources may be wrong by. Source 0 may have no part of its own: then
τ_1 = 0. Of one source,

    σ² k(x_i, x_j; ℓ) + 1[i = j] λ²

remains. Sources that differ in a size t only (rows of the data, epochs, cells of a grid; 1 for the
preferred one) may share one discrepancy, which fades with the size:

    σ² k(x_i, x_j; ℓ) + e_s e_t (τ k(x_i, x_j; κ ℓ) + β²) + 1[i = j] λ_s²,
    e_s = (t_s⁻ᵃ − 1)/(t⁻ᵃ − 1), t the smallest size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.hyperparameters import fading
from optuna_misowild.gp.kernels import matern
from optuna_misowild.gp.linalg import half_log_determinant
from optuna_misowild.gp.linalg import lapack


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.prior import Prior


class Density:
    """Negative log likelihood plus negative log prior of a hyperparameter vector, for fixed data.

    Up to a constant: the n/2 · log 2π of the likelihood is omitted.

    Only the pairs i > j are stored and computed, block by block of sources, so that what depends
    on the sources is the same along a contiguous slice.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        source: NDArray[np.int_],
        targets: NDArray[np.float64],
        *,
        n_sources: int,
        categorical: NDArray[np.bool_],
        nu: float,
        ard: bool,
        prior: Prior | None,
        free_mean: bool = False,
        own_part: bool = False,
        sizes: tuple[float, ...] = (),
    ) -> None:
        """Prepare what does not depend on the hyperparameters.

        Args:
            X: Locations, shape (n, d), n > 0.
            source: Shape (n,).
            targets: Standardised values, shape (n,).
            n_sources: S.
            categorical: Shape (d,).
            nu: ν of the Matérn kernel, 1.5 or 2.5.
            ard: Whether each coordinate has a length scale of its own.
            prior: The prior; None for the likelihood alone.
            free_mean: Whether the mean is the likeliest one, by generalised least squares,
                instead of 0.
            own_part: Whether source 0 has a part of its own, δ_1.
            sizes: Of each source, relative to the preferred one, shape (S,), if they share one
                discrepancy.
        """
        n = len(X)
        self._nu = nu
        self._prior = prior
        self._source = source
        self._n_sources = n_sources
        self._targets = targets
        self._free_mean = free_mean
        self.own_part = own_part
        self.sizes = sizes

        i, j = np.tril_indices(n, -1)
        s, t = np.minimum(source[i], source[j]), np.maximum(source[i], source[j])
        if n_sources > 1:
            # Blocks across sources come first, then those within source 0, 1, ...
            order = np.lexsort((t, s, self._share_part(s, t)))
            i, j, s, t = i[order], j[order], s[order], t[order]
        starts = np.flatnonzero(np.diff(s * n_sources + t, prepend=-1))
        self._block_starts = starts
        self._block_sizes = np.diff(starts, append=len(i))
        self._block_sources = s[starts], t[starts]
        # Those with a part of their own are the last ones.
        self._within = slice(np.count_nonzero(~self._share_part(s, t)), None)
        self._within_source = s[self._within]

        differences = (X[i] - X[j]).T
        d2 = np.square(differences)
        d2[categorical] = differences[categorical] != 0.0
        # (p, n(n − 1)/2): a row for each length scale.
        self._d2 = d2 if ard or not len(d2) else d2.sum(axis=0, keepdims=True)
        # A matrix in Fortran order, of which LAPACK reads and writes the lower triangle only.
        self._matrix = np.zeros((n, n), order="F")
        self._flat = self._matrix.T.reshape(-1)
        self._i, self._j, self._pair_index = i, j, j * n + i
        self._diagonal_index = np.arange(n) * (n + 1)

    @property
    def n_scales(self) -> int:
        """p, the number of length scales."""
        return len(self._d2)

    @property
    def is_likelihood(self) -> bool:
        """Whether there is no prior."""
        return self._prior is None

    def __call__(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the value at ``theta`` and its gradient; (inf, 0) where it is not finite.

        The derivative of the negative log likelihood is ½ tr((K⁻¹ − a aᵀ) ∂K/∂θ), a = K⁻¹y
        (Rasmussen and Williams, 2006, eq. 5.9). n³ flops, of which the inverse takes 2/3.
        """
        h = Hyperparameters.from_vector(theta, self.n_scales, self.sizes)
        if self._prior is None:
            value, gradient = 0.0, np.zeros_like(theta)
        else:
            value, gradient = self._prior.negative_log(h)
        inverse_l2 = 1.0 / np.square(h.length_scale)
        r2 = inverse_l2 @ self._d2
        k, dk = matern(r2, self._nu)
        k *= h.amplitude
        dk *= h.amplitude
        prior_variance = h.rho**2 * h.amplitude + h.tau + h.offset + h.noise
        if self._n_sources == 1:
            pairs = k
        elif self.sizes:
            assert h.decay is not None
            within = self._within
            e, d_e = fading(self.sizes, h.decay)
            s, t = self._block_sources
            ee = np.repeat(e[s] * e[t], self._block_sizes)[within]
            tau0, beta2, kappa20 = h.tau.max(), h.offset.max(), h.kappa[-1] ** 2
            k_delta, dk_delta = matern(r2[within] / kappa20, self._nu)
            pairs = k.copy()
            pairs[within] += ee * (tau0 * k_delta + beta2)
        else:
            s, t = self._block_sources
            rho_rho = np.repeat(h.rho[s] * h.rho[t], self._block_sizes)
            pairs = rho_rho * k
            within, u = self._within, self._within_source
            kappa2 = np.square(h.kappa)[u]
            k_delta, dk_delta = matern(r2[within] / kappa2, self._nu)
            k_delta *= h.tau[u]
            pairs[within] += k_delta + h.offset[u]

        self._flat[self._pair_index] = pairs
        self._flat[self._diagonal_index] = prior_variance[self._source]
        factor, info = lapack().dpotrf(self._matrix, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return np.inf, np.zeros_like(theta)
        a = self._solve(factor)
        value += 0.5 * float(self._targets @ a) + half_log_determinant(factor)
        _, info = lapack().dpotri(factor, lower=1, overwrite_c=1)
        if info != 0 or not np.isfinite(value):
            return np.inf, np.zeros_like(theta)

        # Each pair stands for two entries of the symmetric matrix, which cancels the ½.
        pair_weight = self._flat[self._pair_index] - a[self._i] * a[self._j]
        diagonal_weight = 0.5 * np.bincount(
            self._source,
            self._flat[self._diagonal_index] - a * a,
            minlength=self._n_sources,
        )
        dk *= pair_weight
        parts = [h.noise * diagonal_weight]
        if self._n_sources == 1:
            d_amplitude = pair_weight @ k + h.amplitude * diagonal_weight[0]
        elif self.sizes:
            assert h.decay is not None
            d_amplitude = pair_weight @ k + h.amplitude * diagonal_weight.sum()
            weight = np.zeros_like(pair_weight)
            weight[within] = pair_weight[within]
            sums = np.zeros((2, self._n_sources, self._n_sources))
            starts = self._block_starts
            sums[1][s, t] = np.add.reduceat(weight, starts)
            weight[within] *= k_delta
            sums[0][s, t] = np.add.reduceat(weight, starts)
            sums += sums.transpose(0, 2, 1)
            for one in sums:
                one[np.diag_indices_from(one)] += 2.0 * diagonal_weight
            by_tau, by_beta = 0.5 * (e @ sums @ e)
            by_decay = h.decay * (d_e @ (tau0 * sums[0] + beta2 * sums[1]) @ e)
            weight = pair_weight[within] * ee * dk_delta * (tau0 / kappa20)
            by_kappa = -2.0 * (weight @ r2[within])
            dk[within] += weight
            parts.append(np.array([by_decay, beta2 * by_beta, tau0 * by_tau, by_kappa]))
        else:
            by_sources = np.zeros((self._n_sources, self._n_sources))
            by_sources[s, t] = np.add.reduceat(pair_weight * k, self._block_starts)
            by_sources += by_sources.T
            by_sources[np.diag_indices_from(by_sources)] += 2.0 * h.amplitude * diagonal_weight
            d_rho = by_sources @ h.rho
            d_amplitude = 0.5 * (h.rho @ d_rho)
            weight = pair_weight[within]
            d_tau = np.bincount(u, weight * k_delta, self._n_sources) + h.tau * diagonal_weight
            weight = weight * dk_delta * h.tau[u] / kappa2
            d_kappa = -2.0 * np.bincount(u, weight * r2[within], self._n_sources)
            dk *= rho_rho
            dk[within] += weight
            first = 0 if self.own_part else 1
            parts += [d_rho[1:], d_tau[first:], d_kappa[first:]]
        d_length_scale = -2.0 * inverse_l2 * (self._d2 @ dk)
        gradient += np.concatenate([d_length_scale, [d_amplitude], *parts])
        return value, gradient

    def _share_part(self, s: NDArray[np.int_], t: NDArray[np.int_]) -> NDArray[np.bool_]:
        """Whether the δ of sources s ≤ t are correlated."""
        is_other: NDArray[np.bool_] = s > 0
        return is_other if self.sizes else (s == t) & (is_other | self.own_part)

    def _solve(self, factor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K⁻¹(y − m), m being 0 or the likeliest mean 1ᵀK⁻¹y / 1ᵀK⁻¹1.

        The gradient by other parameters has no term of m: the derivative by m is 0 there.
        """
        if not self._free_mean:
            a: NDArray[np.float64] = lapack().dpotrs(factor, self._targets, lower=1)[0]
            return a
        both = np.stack([self._targets, np.ones_like(self._targets)], axis=1)
        of_targets, of_ones = lapack().dpotrs(factor, both, lower=1)[0].T
        residual: NDArray[np.float64] = of_targets - of_targets.sum() / of_ones.sum() * of_ones
        return residual
