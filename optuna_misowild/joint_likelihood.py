"""Hyperparameters of the joint model, their prior, and their posterior density with gradient.

Everything here is in standardised units: values minus the offset of their source, then scaled to
mean 0 and standard deviation 1. The covariance of two observations i, j of sources s, t is

    ρ_s ρ_t σ² k(x_i, x_j; ℓ) + 1[s = t > 1] (τ_s k(x_i, x_j; κ_s ℓ) + 1) + 1[i = j] λ_s²,

with k the Matérn 5/2 kernel and ρ_1 = 1. The constant 1 is the variance of the offset that the
observed mean difference of the sources may be wrong by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.kernel import matern
from optuna_misowild.linalg import half_log_determinant
from optuna_misowild.linalg import lapack


if TYPE_CHECKING:
    from numpy.typing import NDArray


SMOOTHNESS = 2.5

_LENGTH_SCALE_BOUNDS = (1e-2, 1e2)
_AMPLITUDE_BOUNDS = (1e-3, 1e3)
_NOISE_BOUNDS = (1e-6, 1e1)
_RHO_BOUNDS = (-5.0, 5.0)
_TAU_BOUNDS = (1e-6, 1e2)
_KAPPA_BOUNDS = (5e-2, 2e1)


@dataclass(frozen=True)
class JointHyperparameters:
    """The hyperparameters of the joint model, in standardised units.

    The entries for source 0 of ``rho``, ``tau`` and ``kappa`` are 1, 0 and 1: it has no
    discrepancy from itself.

    Attributes:
        length_scale: ℓ, shape (d,).
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
    def default(cls, d: int, n_sources: int, length_scale: float) -> JointHyperparameters:
        """Return the values from which a search for better ones starts."""
        tau = np.full(n_sources, 0.3)
        tau[0] = 0.0
        return cls(
            length_scale=np.full(d, length_scale),
            amplitude=1.0,
            noise=np.full(n_sources, 1e-3),
            rho=np.ones(n_sources),
            tau=tau,
            kappa=np.ones(n_sources),
        )

    @classmethod
    def from_vector(cls, theta: NDArray[np.float64], d: int) -> JointHyperparameters:
        """Undo :meth:`to_vector`."""
        n_sources = (len(theta) - d + 2) // 4
        log_length_scale, rest = theta[:d], theta[d:]
        log_noise, rest2 = rest[1 : n_sources + 1], rest[n_sources + 1 :]
        rho, log_tau, log_kappa = rest2.reshape(3, n_sources - 1)
        return cls(
            length_scale=np.exp(log_length_scale),
            amplitude=float(np.exp(rest[0])),
            noise=np.exp(log_noise),
            rho=np.concatenate([[1.0], rho]),
            tau=np.concatenate([[0.0], np.exp(log_tau)]),
            kappa=np.concatenate([[1.0], np.exp(log_kappa)]),
        )

    def to_vector(self) -> NDArray[np.float64]:
        """Return (log ℓ_1 … log ℓ_d, log σ², log λ_s², ρ_s, log τ_s, log κ_s).

        ρ, τ and κ without their entries for source 0: shape (d + 1 + S + 3(S − 1),).
        """
        return np.concatenate(
            [
                np.log(self.length_scale),
                [np.log(self.amplitude)],
                np.log(self.noise),
                self.rho[1:],
                np.log(self.tau[1:]),
                np.log(self.kappa[1:]),
            ]
        )


def bounds(d: int, n_sources: int) -> NDArray[np.float64]:
    """Return the lower and upper limits of the hyperparameter vector, shape (p, 2)."""
    others = n_sources - 1
    return np.array(
        [np.log(_LENGTH_SCALE_BOUNDS)] * d
        + [np.log(_AMPLITUDE_BOUNDS)]
        + [np.log(_NOISE_BOUNDS)] * n_sources
        + [np.array(_RHO_BOUNDS)] * others
        + [np.log(_TAU_BOUNDS)] * others
        + [np.log(_KAPPA_BOUNDS)] * others
    )


def negative_log_prior(
    theta: NDArray[np.float64], d: int, *, ordered_noise: bool = True
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative logarithm of the prior, up to a constant, and its gradient.

        Σ_i 0.1 (ℓ_i² + ℓ_i⁻²) − log σ² + σ² + Σ_s 30 λ_s²
        + Σ_{s>1} (2 (ρ_s − 1)² − 0.1 log τ_s + 2 τ_s + (log κ_s / 0.7)² / 2)
        + Σ_{s>1} (max(0, log λ_1² − log λ_s²) / 2)² / 2 / (S − 1)

    By the last sum, the preferred source is hardly noisier than another one: of its few values,
    those that contradict the others' would else pass for noise, where they tell a discrepancy.

    Args:
        theta: Hyperparameter vector, see :meth:`JointHyperparameters.to_vector`.
        d: Number of coordinates.
        ordered_noise: Whether the last sum is there.

    Returns:
        The value, and its derivatives by the entries of ``theta``.
    """
    h = JointHyperparameters.from_vector(theta, d)
    l2 = np.square(h.length_scale)
    rho, tau, log_kappa = h.rho[1:], h.tau[1:], np.log(h.kappa[1:])
    others = max(len(rho), 1)
    excess = np.maximum(np.log(h.noise[0]) - np.log(h.noise[1:]), 0.0) / 4.0 * ordered_noise
    value = (
        0.1 * np.sum(l2 + 1.0 / l2)
        - np.log(h.amplitude)
        + h.amplitude
        + np.sum(30.0 * h.noise)
        + np.sum(2.0 * np.square(rho - 1.0))
        + np.sum(2.0 * tau - 0.1 * np.log(tau))
        + np.sum(0.5 * np.square(log_kappa / 0.7))
        + np.sum(2.0 * np.square(excess)) / others
    )
    gradient = np.concatenate(
        [
            0.2 * (l2 - 1.0 / l2),
            [h.amplitude - 1.0],
            30.0 * h.noise + np.concatenate([[excess.sum()], -excess]) / others,
            4.0 * (rho - 1.0),
            2.0 * tau - 0.1,
            log_kappa / 0.49,
        ]
    )
    return float(value), gradient


class JointPosteriorDensity:
    """Negative log likelihood plus negative log prior of a hyperparameter vector, for fixed data.

    Only the pairs i > j are stored and computed, block by block of sources, so that what depends
    on the sources is the same along a contiguous slice.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        source: NDArray[np.int_],
        targets: NDArray[np.float64],
        n_sources: int,
        categorical: NDArray[np.bool_],
        *,
        ordered_noise: bool = True,
    ) -> None:
        """Prepare what does not depend on the hyperparameters.

        Args:
            X: Locations, shape (n, d), n > 0.
            source: Shape (n,).
            targets: Standardised values, shape (n,).
            n_sources: S.
            categorical: Shape (d,).
            ordered_noise: See :func:`negative_log_prior`.
        """
        n, self._d = X.shape
        self._ordered_noise = ordered_noise
        self._targets = targets
        self._source = source
        self._n_sources = n_sources

        i, j = np.tril_indices(n, -1)
        s, t = np.minimum(source[i], source[j]), np.maximum(source[i], source[j])
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
        self._d2 = np.square(differences)  # (d, n(n − 1)/2)
        self._d2[categorical] = differences[categorical] != 0.0
        # A matrix in Fortran order, of which LAPACK reads and writes the lower triangle only.
        self._matrix = np.zeros((n, n), order="F")
        self._flat = self._matrix.T.reshape(-1)
        self._i, self._j, self._pair_index = i, j, j * n + i
        self._diagonal_index = np.arange(n) * (n + 1)

    def __call__(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the value at ``theta`` and its gradient; (inf, 0) where it is not finite.

        The derivative of the negative log likelihood is ½ tr((K⁻¹ − a aᵀ) ∂K/∂θ), a = K⁻¹y
        (Rasmussen and Williams, 2006, eq. 5.9). n³ flops, of which the inverse takes 2/3.
        """
        h = JointHyperparameters.from_vector(theta, self._d)
        value, gradient = negative_log_prior(theta, self._d, ordered_noise=self._ordered_noise)
        s, t = self._block_sources

        inverse_l2 = 1.0 / np.square(h.length_scale)
        r2 = inverse_l2 @ self._d2
        k, dk = matern(r2, SMOOTHNESS)
        shared = h.amplitude * k
        rho_rho = np.repeat(h.rho[s] * h.rho[t], self._block_sizes)
        pairs = rho_rho * shared
        within, u = self._within, self._within_source
        kappa2 = np.square(h.kappa)[u]
        k_delta, dk_delta = matern(r2[within] / kappa2, SMOOTHNESS)
        k_delta *= h.tau[u]
        pairs[within] += k_delta + 1.0
        prior_variance = h.rho**2 * h.amplitude + h.tau + 1.0 + h.noise
        prior_variance[0] -= 1.0

        self._flat[self._pair_index] = pairs
        self._flat[self._diagonal_index] = prior_variance[self._source]
        factor, info = lapack().dpotrf(self._matrix, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return np.inf, np.zeros_like(theta)
        a, _ = lapack().dpotrs(factor, self._targets, lower=1)
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
        by_sources = np.zeros((self._n_sources, self._n_sources))
        by_sources[s, t] = np.add.reduceat(pair_weight * shared, self._block_starts)
        by_sources += by_sources.T
        by_sources[np.diag_indices_from(by_sources)] += 2.0 * h.amplitude * diagonal_weight
        d_rho = by_sources @ h.rho

        by_r2 = pair_weight * rho_rho * h.amplitude * dk
        weight = pair_weight[within]
        d_tau = np.bincount(u, weight * k_delta, self._n_sources) + h.tau * diagonal_weight
        weight = weight * dk_delta * h.tau[u] / kappa2
        d_kappa = -2.0 * np.bincount(u, weight * r2[within], self._n_sources)
        by_r2[within] += weight
        gradient += np.concatenate(
            [
                -2.0 * inverse_l2 * (self._d2 @ by_r2),
                [0.5 * (h.rho @ d_rho)],
                h.noise * diagonal_weight,
                d_rho[1:],
                d_tau[1:],
                d_kappa[1:],
            ]
        )
        return value, gradient
