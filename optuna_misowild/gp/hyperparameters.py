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

# Bounds of the entries of the hyperparameter vector, and a unit for the steps of a search: about
# the standard deviation that data leave of it. A search by gradients takes all of its directions
# to be alike, but ρ is known far better than τ or the noise.
_ENTRIES = {
    "length_scale": (np.log(LENGTH_SCALE_BOUNDS), 0.2),
    "amplitude": (np.log(AMPLITUDE_BOUNDS), 0.2),
    "noise": (np.log(NOISE_BOUNDS), 1.0),
    "rho": (np.array(RHO_BOUNDS), 0.1),
    "tau": (np.log(TAU_BOUNDS), 1.0),
    "kappa": (np.log(KAPPA_BOUNDS), 0.5),
    "decay": (np.log(DECAY_BOUNDS), 0.3),
}


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """The hyperparameters, in standardised units.

    ρ_1 is 1. Where source 0 has no part of its own, as a single source never has, its entries of
    ``tau`` and ``kappa`` are 0 and 1.

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

    @property
    def has_own_part(self) -> bool:
        """Whether source 0 has a part of its own, δ_1."""
        return bool(self.tau[0] > 0.0)

    @classmethod
    def start(
        cls,
        d: int,
        n_sources: int,
        *,
        length_scale: float = 0.5,
        noise: float = 1e-3,
        own_part: bool = False,
        sizes: tuple[float, ...] = (),
    ) -> Hyperparameters:
        """Return values from which to search; by default what serves without any data.

        With ``own_part``, source 0 has one; with ``sizes``, the discrepancy is shared.
        """
        if sizes:
            theta = np.log([length_scale] * d + [1.0] + [noise] * n_sources + [1.0, 0.3, 0.3, 1.0])
            return cls.from_vector(theta, d, sizes)
        tau, kappa = np.full(n_sources, 0.3), np.ones(n_sources)
        tau[0], kappa[0] = (0.3, 0.3) if own_part else (0.0, 1.0)
        return cls(
            length_scale=np.full(d, length_scale),
            amplitude=1.0,
            noise=np.full(n_sources, noise),
            rho=np.ones(n_sources),
            tau=tau,
            kappa=kappa,
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
        # With a part of source 0's own there are 4S besides the length scales, else 4S − 2.
        n_sources, n_more = divmod(len(theta) - n_scales + 2, 4)
        own_part = n_more == 2
        positive = np.exp(theta)
        end = n_scales + 1 + n_sources
        rho, tau, kappa = np.ones(n_sources), np.zeros(n_sources), np.ones(n_sources)
        if n_sources > 1:
            first = 0 if own_part else 1
            rho[1:] = theta[end : end + n_sources - 1]
            tau[first:], kappa[first:] = positive[end + n_sources - 1 :].reshape(2, -1)
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

        ρ without its entry for source 0, shape (p + 4S,); τ and κ neither, if source 0 has no
        part of its own, shape (p + 4S − 2,). Of a shared discrepancy
        (…, log λ_s², log a, log β², log τ, log κ), shape (p + 1 + S + 4,).

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
        first = 0 if self.has_own_part else 1
        return np.concatenate(
            [
                log_length_scale,
                [np.log(self.amplitude)],
                np.log(self.noise),
                self.rho[1:],
                np.log(self.tau[first:]),
                np.log(self.kappa[first:]),
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


def bounds_and_units(
    n_scales: int, n_sources: int, *, own_part: bool = False, sizes: tuple[float, ...] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the limits of the hyperparameter vector, (p, 2), and units for its steps, (p,)."""
    names = ["length_scale"] * n_scales + ["amplitude"] + ["noise"] * n_sources
    if sizes:
        names += ["decay", "tau", "tau", "kappa"]  # β² is like τ.
    else:
        n_parts = n_sources if own_part else n_sources - 1
        names += ["rho"] * (n_sources - 1) + ["tau"] * n_parts + ["kappa"] * n_parts
    limits, units = zip(*(_ENTRIES[name] for name in names), strict=True)
    return np.array(limits), np.array(units)
