"""Hartmann's functions with a fidelity, as mf-prior-bench defines them.

The benchmark (Mallik et al., 2023, PriorBand; https://github.com/automl/mf-prior-bench, module
``mfpbench.synthetic.hartmann``) lowers the weights of the four bumps by bias · (1 − u) and adds
|N(0, 1)| · noise · (1 − u), where u = ln z / ln 100 for the fidelity z in 1 … 100. An evaluation
costs 0.05 + 0.95 · (z / 100)², the cost of Kandasamy et al. (2017), Multi-fidelity Bayesian
optimisation with continuous approximations, for Hartmann's functions. The noise belongs to the
location and the fidelity: asked again, they give the same value.
"""

from __future__ import annotations

import zlib

import numpy as np

from examples.benchmarks.problem import Array


HIGHEST = 100
WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
# Bias and noise: those of the benchmark without a suffix, and of its suffix "bad".
PRESETS = {"": (0.5, 0.1), "bad": (3.5, 4.0)}

# Dixon, Szegö (1978). By dimension: precision and location of the bumps, and the minimum.
PRECISION = {
    3: np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]]),
    6: np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    ),
}
CENTRES = {
    3: np.array(
        [
            [0.3689, 0.1170, 0.2673],
            [0.4699, 0.4387, 0.7470],
            [0.1091, 0.8732, 0.5547],
            [0.0381, 0.5743, 0.8828],
        ]
    ),
    6: np.array(
        [
            [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
            [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
            [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
            [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
        ]
    ),
}
MINIMA = {3: -3.8627821, 6: -3.3223680}


def value(x: Array, *, z: float, preset: str = "") -> Array:
    """Return the value at x (..., 3) or (..., 6) and the fidelity z."""
    bias, noise = PRESETS[preset]
    lacking = 1.0 - np.log(z) / np.log(HIGHEST)
    d = x.shape[-1]
    exponents = np.sum(PRECISION[d] * (x[..., None, :] - CENTRES[d]) ** 2, axis=-1)
    smooth = -np.exp(-exponents) @ (WEIGHTS - bias * lacking)
    if lacking <= 0.0:
        return smooth
    return smooth + noise * lacking * np.abs(_normal(x, z))


def cost(x: Array, *, z: float) -> Array:
    """Return what an evaluation at x (..., d) and the fidelity z costs."""
    return np.full(x.shape[:-1], 0.05 + 0.95 * (z / HIGHEST) ** 2)


def _normal(x: Array, z: float) -> Array:
    """Return standard normal numbers that belong to x (..., d) and z, shape (...)."""
    rows = np.ascontiguousarray(x, dtype=float).reshape(-1, x.shape[-1])
    seeds = [zlib.crc32(row.tobytes() + np.float64(z).tobytes()) for row in rows]
    draws = np.array([np.random.default_rng(seed).standard_normal() for seed in seeds])
    return draws.reshape(x.shape[:-1])
