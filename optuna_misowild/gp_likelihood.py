"""Hyperparameters of a Gaussian process: likelihood, prior, gradients, and the best of them.

Everything here is in standardised units: values minus their mean, over their standard deviation.
The log parameters are (log ℓ_1, …, log ℓ_p, log σ², log λ²), where p is d, or 1 if the kernel is
isotropic.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.kernel import matern
from optuna_misowild.kernel import squared_differences
from optuna_misowild.linalg import cholesky
from optuna_misowild.linalg import negative_log_likelihood
from optuna_misowild.linalg import solve


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


# From a hundredth of the cube's side to where the kernel is a line between any two points; the
# amplitude of a straight line grows with ℓ; the noise has a floor that keeps the matrix well
# conditioned, and explains all of the data at its ceiling.
LENGTH_SCALE_BOUNDS = (1e-2, 30.0)
AMPLITUDE_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-6, 1.0)

# (ℓ, σ², λ²) where there are too few data to fit them, or the fit failed; and where all values
# are the same: the likelihood would take σ² to 0 and ℓ to infinity, and leave nothing to explore.
DEFAULTS = (0.5, 1.0, 1e-3)
FLAT = (0.5, AMPLITUDE_BOUNDS[0], NOISE_BOUNDS[0])

# (ℓ, σ², λ²) from which a search may start, in groups: mostly noise, and mostly function. Either
# can explain wiggly data, each being a mode of the likelihood, and a search seldom leads from one
# to the other.
STARTS = (
    ((0.1, 1.0, 0.5), (0.25, 1.0, 0.1), (0.5, 1.0, 0.5)),
    ((0.03, 1.0, 1e-4), (0.1, 1.0, 1e-4), (0.3, 1.0, 1e-4), (1.0, 1.0, 1e-4)),
)

# Hyperparameters whose log likelihoods differ by less than this are equally likely.
_INDIFFERENCE = 1e-5

# A search ends where no derivative is larger than this. It costs at most 1e-3 of log likelihood,
# and saves a seventh of the evaluations of the default.
_GRADIENT_TOLERANCE = 3e-4

Prior = Callable[["NDArray[np.float64]"], "tuple[float, NDArray[np.float64]]"]


def log_parameters(start: tuple[float, float, float], n_scales: int) -> NDArray[np.float64]:
    """Return the log parameters, shape (n_scales + 2,), for (ℓ, σ², λ²)."""
    length_scale, amplitude, noise = start
    return np.log([length_scale] * n_scales + [amplitude, noise])


def regularising_prior(
    log_parameters: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative log prior of the robust method, and its gradient.

    Σ_i 0.1 (ℓ_i² + ℓ_i⁻²) − log σ² + σ² + 30 λ², up to a constant: length scales near that of
    the cube, a Gamma(2, 1) amplitude and an exponential noise of mean 1/30.

    Args:
        log_parameters: Shape (p + 2,).
    """
    log_amplitude, log_noise = log_parameters[-2:]
    amplitude, noise = math.exp(log_amplitude), math.exp(log_noise)
    square = np.exp(2.0 * log_parameters[:-2])
    value = 0.1 * (square + 1.0 / square).sum()
    value += amplitude - log_amplitude + 30.0 * noise
    gradient = np.empty_like(log_parameters)
    gradient[:-2] = 0.2 * (square - 1.0 / square)
    gradient[-2:] = amplitude - 1.0, 30.0 * noise
    return float(value), gradient


def gls_mean(K: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return 1ᵀK⁻¹y / 1ᵀK⁻¹1, the constant mean under which y is likeliest.

    Generalised least squares; Rasmussen and Williams (2006), eq. 2.41 with a constant basis.

    Args:
        K: Covariance matrix of the observations, noise included, shape (n, n), n ≥ 1.
        y: Shape (n,).
    """
    weights = solve(cholesky(K), np.ones(len(y)))
    return float(weights @ y / weights.sum())


class Objective:
    """The negative log likelihood, plus the negative log prior, of the log parameters.

    With ``profile_mean`` it is that under the likeliest mean, :func:`gls_mean`; else under 0.
    """

    def __init__(
        self,
        X: NDArray[np.float64],
        z: NDArray[np.float64],
        smoothness: float,
        ard: bool,
        categorical: NDArray[np.bool_],
        prior: Prior | None,
        profile_mean: bool = False,
    ) -> None:
        differences = squared_differences(X, X, categorical)
        if not ard:
            differences = differences.sum(axis=0, keepdims=True)
        # One row per length scale: r² and its gradient are each a product with this matrix.
        self._differences = differences.reshape(len(differences), len(z) ** 2)
        self._z = z
        self._smoothness = smoothness
        self._prior = prior
        self._profile_mean = profile_mean

    def __call__(self, log_parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        n = len(self._z)
        parameters = np.exp(log_parameters)
        amplitude, noise = parameters[-2:]
        inverse_square = 1.0 / np.square(parameters[:-2])
        k, dk_dr2 = matern((inverse_square @ self._differences).reshape(n, n), self._smoothness)
        K = amplitude * k
        K.flat[:: n + 1] += noise
        # The likeliest mean moves with the parameters, but to the first order without effect.
        z = self._z - gls_mean(K, self._z) if self._profile_mean else self._z
        value, W = negative_log_likelihood(K, z)

        # With log ℓ_i, r² changes by −2 d_i/ℓ_i².
        gradient = np.empty_like(log_parameters)
        gradient[:-2] = self._differences @ (W * dk_dr2).ravel()
        gradient[:-2] *= -2.0 * amplitude * inverse_square
        gradient[-2:] = amplitude * np.vdot(W, k), noise * W.trace()
        if self._prior is not None:
            penalty, slope = self._prior(log_parameters)
            value += penalty
            gradient += slope
        return value, gradient


def minimize_objective(
    objective: Objective, groups: Sequence[Sequence[NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """Return the best log parameters within the bounds, by L-BFGS-B.

    Args:
        objective: What to minimise.
        groups: Log parameters to start from, noisy ones first. A search starts from the best one
            of each group, until one ends at the least noise: others hardly ever do better then.

    Raises:
        numpy.linalg.LinAlgError: If no search ends where the objective is finite.
    """
    from scipy.optimize import minimize

    n_scales = len(groups[0][0]) - 2
    bounds = np.log([LENGTH_SCALE_BOUNDS] * n_scales + [AMPLITUDE_BOUNDS, NOISE_BOUNDS])
    best_value, best = math.inf, None
    for group in groups:
        starts = [np.clip(start, bounds[:, 0], bounds[:, 1]) for start in group]
        start = min(starts, key=lambda start: objective(start)[0])
        result = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"gtol": _GRADIENT_TOLERANCE},
        )
        if result.fun < best_value:
            best_value, best = result.fun, result.x
            if math.exp(best[-1]) < 10.0 * NOISE_BOUNDS[0]:
                break
    if best is None:
        raise np.linalg.LinAlgError("the likelihood is not finite")

    # A kernel so short that the locations are independent is white, as the noise is: the data
    # then do not tell one from the other, and the least noise is preferred.
    noiseless: NDArray[np.float64] = best.copy()
    noiseless[-2] = np.logaddexp(best[-2], best[-1])
    noiseless[-1] = bounds[-1, 0]
    if objective(noiseless)[0] <= best_value + _INDIFFERENCE:
        best = noiseless
    return best
