"""Hyperparameters of the Gaussian process, as numbers and as a vector, and their bounds.

What each of them does is said in :mod:`optuna_misowild.gp.likelihood`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


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
DECAY_BOUNDS = (5e-2, 5.0)

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
        tau: τ_s, shape (S,); τ e_s² where the discrepancy is shared.
        kappa: κ_s, shape (S,).
        offset: Variance of the constant part of the discrepancy, shape (S,): 1, or β² e_s².
        decay: a, where the discrepancy is shared; else None.
    """

    length_scale: NDArray[np.float64]
    amplitude: float
    noise: NDArray[np.float64]
    rho: NDArray[np.float64]
    tau: NDArray[np.float64]
    kappa: NDArray[np.float64]
    offset: NDArray[np.float64] = None  # type: ignore[assignment]  # As many as sources.
    decay: float | None = None

    def __post_init__(self) -> None:
        if self.offset is None:
            object.__setattr__(self, "offset", np.minimum(np.arange(len(self.noise)), 1.0))

    @classmethod
    def start(
        cls,
        d: int,
        n_sources: int,
        *,
        length_scale: float = 0.5,
        noise: float = 1e-3,
        sizes: tuple[float, ...] = (),
    ) -> Hyperparameters:
        """Return values from which to search; by default what serves without any data.

        With ``sizes``, those of a shared discrepancy.
        """
        if sizes:
            theta = np.log([length_scale] * d + [1.0] + [noise] * n_sources + [1.0, 0.3, 0.3, 1.0])
            return cls.from_vector(theta, d, sizes)
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
    def from_vector(
        cls, theta: NDArray[np.float64], n_scales: int, sizes: tuple[float, ...] = ()
    ) -> Hyperparameters:
        """Undo :meth:`to_vector`; ``length_scale`` has the shape (n_scales,).

        Args:
            theta: The vector.
            n_scales: p.
            sizes: Of each source, relative to the preferred one, if the discrepancy is shared.
        """
        if sizes:
            positive = np.exp(theta)
            end = n_scales + 1 + len(sizes)
            decay, offset, tau, kappa = positive[end:]
            e, _ = fading(sizes, float(decay))
            ones = np.ones(len(sizes))
            return cls(
                length_scale=positive[:n_scales],
                amplitude=float(positive[n_scales]),
                noise=positive[n_scales + 1 : end],
                rho=ones,
                tau=tau * e * e,
                kappa=np.concatenate([[1.0], kappa * ones[1:]]),
                decay=float(decay),
                offset=offset * e * e,
            )
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

        ρ, τ and κ without their entries for source 0: shape (p + 1 + S + 3(S − 1),). Of a shared
        discrepancy (…, log λ_s², log a, log β², log τ, log κ), shape (p + 1 + S + 4,).

        Args:
            n_scales: p, either d, or 1 for an isotropic model: then the mean of the log ℓ_i.
        """
        log_length_scale = np.log(self.length_scale)
        if n_scales == 1:
            log_length_scale = log_length_scale.mean(keepdims=True)
        if self.decay is not None:
            of_all = [self.decay, self.offset.max(), self.tau.max(), self.kappa[-1]]
            return np.concatenate(
                [log_length_scale, [np.log(self.amplitude)], np.log(self.noise), np.log(of_all)]
            )
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


def fading(
    sizes: tuple[float, ...], decay: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of a shared discrepancy: 0 of the preferred source, 1 of the smallest.

    Args:
        sizes: t_s, shape (S,), relative to the preferred source.
        decay: a.

    Returns:
        e_s and its derivative by a, each shape (S,).
    """
    u = -np.log(sizes)
    most = u.max()
    top, bottom = np.expm1(decay * u), np.expm1(decay * most)
    d_top, d_bottom = u * np.exp(decay * u), most * np.exp(decay * most)
    return top / bottom, (d_top * bottom - top * d_bottom) / bottom**2


def bounds(n_scales: int, n_sources: int, sizes: tuple[float, ...] = ()) -> NDArray[np.float64]:
    """Return the lower and upper limits of the hyperparameter vector, shape (p, 2)."""
    if sizes:
        return np.log(
            [LENGTH_SCALE_BOUNDS] * n_scales
            + [AMPLITUDE_BOUNDS]
            + [NOISE_BOUNDS] * n_sources
            + [DECAY_BOUNDS, TAU_BOUNDS, TAU_BOUNDS, KAPPA_BOUNDS]
        )
    others = n_sources - 1
    return np.array(
        [np.log(LENGTH_SCALE_BOUNDS)] * n_scales
        + [np.log(AMPLITUDE_BOUNDS)]
        + [np.log(NOISE_BOUNDS)] * n_sources
        + [np.array(RHO_BOUNDS)] * others
        + [np.log(TAU_BOUNDS)] * others
        + [np.log(KAPPA_BOUNDS)] * others
    )
