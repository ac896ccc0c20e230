"""The prior of the hyperparameters, with its gradient."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.hyperparameters import Hyperparameters


NOISES = ("free", "ordered", "alike")


@dataclass(frozen=True, kw_only=True)
class Prior:
    """The prior of the hyperparameters.

    Its negative logarithm is, up to a constant,

        Σ_i 0.1 (ℓ_i² + ℓ_i⁻²) − log σ² + σ² + Σ_s (b λ_s² − (a − 1) log λ_s²)
        + Σ_{s>1} 2 (ρ_s − 1)² + Σ_s (2 τ_s − 0.1 log τ_s + (log κ_s / 0.7)² / 2)
        + Σ_{s>1} (Δ_s / 2)² / 2 · w

    without τ_1 and κ_1 where f_1 has no part of its own; and in place of the terms of ρ_s, τ_s and
    κ_s, where the discrepancy is shared,

        − 0.1 log τ + 2 τ + (log κ / 0.7)² / 2 − 0.1 log β² + β² / 2 + (log a)² / 2

    Length scales are near that of the cube, the amplitude is Gamma(2, 1), the noise Gamma(a, b).

    Attributes:
        noise_shape: a; 1 is an exponential noise.
        noise_rate: b.
        noises: What the last sum says of the noises of the sources. ``"free"``: it is not there.
            ``"ordered"``: the preferred source is hardly noisier than another one,
            Δ_s = max(0, log λ_1² − log λ_s²) and w = 1/(S − 1). Else those of its few values that
            contradict the others' would pass for noise, where they show a discrepancy.
            ``"alike"``: they are about the same, Δ_s = log λ_1² − log λ_s² and w = 1.

    Raises:
        ValueError: If ``noises`` is something else.
    """

    noise_shape: float = 1.0
    noise_rate: float = 30.0
    noises: str = "free"

    def __post_init__(self) -> None:
        if self.noises not in NOISES:
            raise ValueError(f"`noises` must be one of {NOISES}, but got {self.noises!r}.")

    def negative_log(self, h: Hyperparameters) -> tuple[float, NDArray[np.float64]]:
        """Return the value, and its derivatives by the entries of the hyperparameter vector.

        Args:
            h: As of :meth:`.Hyperparameters.from_vector`.
        """
        l2 = np.square(h.length_scale)
        inverse_l2 = 1.0 / l2
        log_noise = np.log(h.noise)
        value = 0.1 * (l2 + inverse_l2).sum() - math.log(h.amplitude) + h.amplitude
        value += self.noise_rate * h.noise.sum() - (self.noise_shape - 1.0) * log_noise.sum()
        d_noise = self.noise_rate * h.noise - (self.noise_shape - 1.0)
        parts = [0.2 * (l2 - inverse_l2), np.array([h.amplitude - 1.0]), d_noise]
        others = len(h.noise) - 1
        if h.decay is not None:
            beta2, tau0 = h.offset.max(), h.tau.max()
            log_kappa0, log_a = np.log(h.kappa[-1]), math.log(h.decay)
            value += 2.0 * tau0 - 0.1 * np.log(tau0) + 0.5 * beta2 - 0.1 * np.log(beta2)
            value += 0.5 * (log_kappa0 / 0.7) ** 2 + 0.5 * log_a**2
            parts.append(np.array([log_a, 0.5 * beta2 - 0.1, 2.0 * tau0 - 0.1, log_kappa0 / 0.49]))
        if others and self.noises != "free":
            slope = (log_noise[0] - log_noise[1:]) / 4.0
            weight = 1.0
            if self.noises == "ordered":
                slope, weight = np.maximum(slope, 0.0), 1.0 / others
            value += weight * np.sum(2.0 * np.square(slope))
            d_noise += weight * np.concatenate([[slope.sum()], -slope])
        if others and h.decay is None:
            first = 0 if h.has_own_part else 1
            rho, tau, log_kappa = h.rho[1:], h.tau[first:], np.log(h.kappa[first:])
            value += (
                np.sum(2.0 * np.square(rho - 1.0))
                + np.sum(2.0 * tau - 0.1 * np.log(tau))
                + np.sum(0.5 * np.square(log_kappa / 0.7))
            )
            parts += [4.0 * (rho - 1.0), 2.0 * tau - 0.1, log_kappa / 0.49]
        return float(value), np.concatenate(parts)
