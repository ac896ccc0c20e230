"""Functions that problems of several modules share."""

from __future__ import annotations

import numpy as np

from examples.benchmarks.problem import Array


def ramp(x: Array, *, scale: float = 1.0, rate: tuple[float, ...]) -> Array:
    """A cost that grows exponentially towards a corner: scale · exp(Σ rate_i · x_i)."""
    return scale * np.exp(x @ np.array(rate))


def waves(
    x: Array, *, scale: float = 1.0, a: float, b: float, period: Array, phase: Array
) -> Array:
    """A cost with hills: ln c = ln scale + a · mean_i cos(b · (2π / period_i) · (x_i + phase_i)).

    Astudillo, Jiang, Balandat, Bakshy, Frazier (2021), Multi-step budgeted Bayesian optimization
    with unknown evaluation costs; they draw a from U(0.75, 1.5), b from U(1, 3) and the phase
    from U(0, 2π).
    """
    return scale * np.exp(a * np.cos(b * 2.0 * np.pi / period * (x + phase)).mean(axis=-1))


def branin(x: Array, *, fidelity: float = 1.0) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    b = 5.1 / (4.0 * np.pi**2) - 0.1 * (1.0 - fidelity)
    wave = 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x1) + 10.0
    return (x2 - b * x1**2 + 5.0 / np.pi * x1 - 6.0) ** 2 + wave
