"""Hyperparameters of the Gaussian process, their prior, and their density with its gradient.

Everything here is in standardised units: values minus the offset of their source, then scaled to
mean 0 and standard deviation 1. The covariance of two observations i, j of sources s, t is

    ρ_s ρ_t σ² k(x_i, x_j; ℓ) + 1[s = t > 1] (τ_s k(x_i, x_j; κ_s ℓ) + 1) + 1[i = j] λ_s²,

with k a Matérn kernel and ρ_1 = 1. The constant 1 is the variance of the offset that the
observed mean difference of the sources may be wrong by. Of one source,

    σ² k(x_i, x_j; ℓ) + 1[i = j] λ²

remains.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.kernels import matern
from optuna_misowild.gp.linalg import half_log_determinant
from optuna_misowild.gp.linalg import lapack


if TYPE_CHECKING:
    from numpy.typing import NDArray


# From a hundredth of the cube's side to where the kernel is a line between any two points: the
# amplitude of a straight line grows with ℓ, up to its own limit. The noise has a floor that keeps
# the matrix well conditioned. Its ceiling is above 1, the variance of all values together: those
# of one source of several may vary more.
LENGTH_SCALE_BOUNDS = (1e-2, 30.0)
AMPLITUDE_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-6, 1e1)
RHO_BOUNDS = (-5.0, 5.0)
TAU_BOUNDS = (1e-6, 1e2)
KAPPA_BOUNDS = (5e-2, 2e1)

# ρ, τ and κ of source 0.
_OF_FIRST = np.ones(1), np.zeros(1), np.ones(1)


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """The hyperparameters, in standardised units.

    The entries for source 0 of ``rho``, ``tau`` and ``kappa`` are 1, 0 and 1: it has no
    discrepancy from itself.

    Attributes:
        length_scale: ℓ, shape (d,); all alike in an isotropic model.
        amplitude: σ².
        noise: λ_s², shape (S,).
        rho: ρ_s, shape (S,).
        tau: τ_s, shape (S,).
        kappa: κ_s, shape (S,).
    """

    length_scale: NDArray[np.float64]
    amplitude: float
    noise: NDArray[np.float64]
    rho: NDArray[np.float64]
    tau: NDArray[np.float64]
    kappa: NDArray[np.float64]

    @classmethod
    def start(
        cls, d: int, n_sources: int, *, length_scale: float = 0.5, noise: float = 1e-3
    ) -> Hyperparameters:
        """Return values from which to search; by default what serves without any data."""
        tau = np.full(n_sources, 0.3)
        tau[0] = 0.0
        return cls(
            length_scale=np.full(d, length_scale),
            amplitude=1.0,
            noise=np.full(n_sources, noise),
            rho=np.ones(n_sources),
            tau=tau,
            kappa=np.ones(n_sources),
        )

    @classmethod
    def from_vector(cls, theta: NDArray[np.float64], n_scales: int) -> Hyperparameters:
        """Undo :meth:`to_vector`; ``length_scale`` has the shape (n_scales,)."""
        n_sources = (len(theta) - n_scales + 2) // 4
        positive = np.exp(theta)
        end = n_scales + 1 + n_sources
        rho, tau, kappa = _OF_FIRST
        if n_sources > 1:
            rho = np.concatenate([rho, theta[end : end + n_sources - 1]])
            others = positive[end + n_sources - 1 :].reshape(2, n_sources - 1)
            tau, kappa = np.concatenate([tau, others[0]]), np.concatenate([kappa, others[1]])
        return cls(
            length_scale=positive[:n_scales],
            amplitude=float(positive[n_scales]),
            noise=positive[n_scales + 1 : end],
            rho=rho,
            tau=tau,
            kappa=kappa,
        )

    def to_vector(self, n_scales: int) -> NDArray[np.float64]:
        """Return (log ℓ_1 … log ℓ_p, log σ², log λ_s², ρ_s, log τ_s, log κ_s).

        ρ, τ and κ without their entries for source 0: shape (p + 1 + S + 3(S − 1),).

        Args:
            n_scales: p, either d, or 1 for an isotropic model: then the mean of the log ℓ_i.
        """
        log_length_scale = np.log(self.length_scale)
        if n_scales == 1:
            log_length_scale = log_length_scale.mean(keepdims=True)
        return np.concatenate(
            [
                log_length_scale,
                [np.log(self.amplitude)],
                np.log(self.noise),
                self.rho[1:],
                np.log(self.tau[1:]),
                np.log(self.kappa[1:]),
            ]
        )


def bounds(n_scales: int, n_sources: int) -> NDArray[np.float64]:
    """Return the lower and upper limits of the hyperparameter vector, shape (p, 2)."""
    others = n_sources - 1
    return np.array(
        [np.log(LENGTH_SCALE_BOUNDS)] * n_scales
        + [np.log(AMPLITUDE_BOUNDS)]
        + [np.log(NOISE_BOUNDS)] * n_sources
        + [np.array(RHO_BOUNDS)] * others
        + [np.log(TAU_BOUNDS)] * others
        + [np.log(KAPPA_BOUNDS)] * others
    )


@dataclass(frozen=True, kw_only=True)
class Prior:
    """The prior of the hyperparameters.

    Its negative logarithm is, up to a constant,

        Σ_i 0.1 (ℓ_i² + ℓ_i⁻²) − log σ² + σ² + Σ_s (b λ_s² − (a − 1) log λ_s²)
        + Σ_{s>1} (2 (ρ_s − 1)² − 0.1 log τ_s + 2 τ_s + (log κ_s / 0.7)² / 2)
        + Σ_{s>1} (max(0, log λ_1² − log λ_s²) / 2)² / 2 / (S − 1)

    Length scales are near that of the cube, the amplitude is Gamma(2, 1), the noise Gamma(a, b).

    Attributes:
        noise_shape: a; 1 is an exponential noise.
        noise_rate: b.
        ordered_noise: Whether the last sum is there. By it, the preferred source is hardly
            noisier than another one: of its few values, those that contradict the others' would
            else pass for noise, where they tell a discrepancy.
    """

    noise_shape: float = 1.0
    noise_rate: float = 30.0
    ordered_noise: bool = False

    def negative_log(self, h: Hyperparameters) -> tuple[float, NDArray[np.float64]]:
        """Return the value, and its derivatives by the entries of the hyperparameter vector.

        Args:
            h: As of :meth:`Hyperparameters.from_vector`.
        """
        l2 = np.square(h.length_scale)
        inverse_l2 = 1.0 / l2
        log_noise = np.log(h.noise)
        value = 0.1 * (l2 + inverse_l2).sum() - math.log(h.amplitude) + h.amplitude
        value += self.noise_rate * h.noise.sum() - (self.noise_shape - 1.0) * log_noise.sum()
        d_noise = self.noise_rate * h.noise - (self.noise_shape - 1.0)
        parts = [0.2 * (l2 - inverse_l2), np.array([h.amplitude - 1.0]), d_noise]
        others = len(h.noise) - 1
        if others:
            rho, tau, log_kappa = h.rho[1:], h.tau[1:], np.log(h.kappa[1:])
            value += (
                np.sum(2.0 * np.square(rho - 1.0))
                + np.sum(2.0 * tau - 0.1 * np.log(tau))
                + np.sum(0.5 * np.square(log_kappa / 0.7))
            )
            if self.ordered_noise:
                excess = np.maximum(log_noise[0] - log_noise[1:], 0.0) / 4.0
                value += np.sum(2.0 * np.square(excess)) / others
                d_noise += np.concatenate([[excess.sum()], -excess]) / others
            parts += [4.0 * (rho - 1.0), 2.0 * tau - 0.1, log_kappa / 0.49]
        return float(value), np.concatenate(parts)


class Density:
    """Negative log likelihood plus negative log prior of a hyperparameter vector, for fixed data.

    Up to a constant: the n/2 · log 2π of the likelihood is left out.

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
        """
        n = len(X)
        self._nu = nu
        self._prior = prior
        self._source = source
        self._n_sources = n_sources
        self._targets = targets
        self._free_mean = free_mean
        self._offset_variance = np.concatenate([[0.0], np.ones(n_sources - 1)])

        i, j = np.tril_indices(n, -1)
        s, t = np.minimum(source[i], source[j]), np.maximum(source[i], source[j])
        if n_sources > 1:
            # Blocks across sources come first, then those within source 0, 1, ...
            order = np.lexsort((t, s, s == t))
            i, j, s, t = i[order], j[order], s[order], t[order]
        starts = np.flatnonzero(np.diff(s * n_sources + t, prepend=-1))
        self._block_starts = starts
        self._block_sizes = np.diff(starts, append=len(i))
        self._block_sources = s[starts], t[starts]
        # Those with a discrepancy are the last ones.
        self._within = slice(np.count_nonzero((s != t) | (s == 0)), None)
        self._within_source = s[self._within]

        differences = (X[i] - X[j]).T
        d2 = np.square(differences)
        d2[categorical] = differences[categorical] != 0.0
        # (p, n(n − 1)/2): a row for each length scale.
        self._d2 = d2 if ard else d2.sum(axis=0, keepdims=True)
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
        h = Hyperparameters.from_vector(theta, self.n_scales)
        if self._prior is None:
            value, gradient = 0.0, np.zeros_like(theta)
        else:
            value, gradient = self._prior.negative_log(h)
        inverse_l2 = 1.0 / np.square(h.length_scale)
        r2 = inverse_l2 @ self._d2
        k, dk = matern(r2, self._nu)
        k *= h.amplitude
        dk *= h.amplitude
        prior_variance = h.rho**2 * h.amplitude + h.tau + self._offset_variance + h.noise
        if self._n_sources == 1:
            pairs = k
        else:
            s, t = self._block_sources
            rho_rho = np.repeat(h.rho[s] * h.rho[t], self._block_sizes)
            pairs = rho_rho * k
            within, u = self._within, self._within_source
            kappa2 = np.square(h.kappa)[u]
            k_delta, dk_delta = matern(r2[within] / kappa2, self._nu)
            k_delta *= h.tau[u]
            pairs[within] += k_delta + 1.0

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
            parts += [d_rho[1:], d_tau[1:], d_kappa[1:]]
        d_length_scale = -2.0 * inverse_l2 * (self._d2 @ dk)
        gradient += np.concatenate([d_length_scale, [d_amplitude], *parts])
        return value, gradient

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
