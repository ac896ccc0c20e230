"""Gaussian process regression: an immutable model, and the fit of its hyperparameters.

A model carries its data and hyperparameters in raw units. Inside, it works with the correlation
matrix R + (λ²/σ²) I and with (y − mean)/σ, so that nothing overflows or underflows whatever the
unit of y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
import math
from typing import TYPE_CHECKING
import warnings

import numpy as np

from optuna_misowild.kernel import matern
from optuna_misowild.kernel import scaled_squared_distance
from optuna_misowild.kernel import squared_differences
from optuna_misowild.linalg import cholesky
from optuna_misowild.linalg import inverse
from optuna_misowild.linalg import negative_log_likelihood
from optuna_misowild.linalg import solve
from optuna_misowild.linalg import solve_lower


if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """The posterior of f ~ GP(mean, σ² k) given y = f(X) + N(0, λ²); eq:gpfit of the paper.

    Without data it is the prior.

    Attributes:
        X: Locations in the unit cube, shape (n, d).
        y: Observed values, shape (n,).
        length_scale: ℓ, shape (d,); all alike in an isotropic model.
        amplitude: σ², the prior variance of f; positive.
        noise: λ², the variance of the observation noise; not negative.
        mean: The constant prior mean.
        smoothness: Of the Matérn kernel, 1.5 or 2.5.
        categorical: Which coordinates are categorical, shape (d,).
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    length_scale: NDArray[np.float64]
    amplitude: float
    noise: float
    mean: float
    smoothness: float
    categorical: NDArray[np.bool_]

    @cached_property
    def _factor(self) -> NDArray[np.float64]:
        """The Cholesky factor of R + (λ²/σ²) I, shape (n, n)."""
        R, _ = self._correlation(self.X)
        R.flat[:: len(R) + 1] += self.noise / self.amplitude
        return cholesky(R)

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """(R + (λ²/σ²) I)⁻¹ (y − mean)/σ, shape (n,)."""
        return solve(self._factor, (self.y - self.mean) / math.sqrt(self.amplitude))

    def _correlation(
        self, A: NDArray[np.float64], B: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return k(A, B) and dk/dr²; B is the data by default."""
        B = self.X if B is None else B
        r2 = scaled_squared_distance(A, B, self.length_scale, self.categorical)
        return matern(r2, self.smoothness)

    def predict(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the variance of f.

        Args:
            X: Locations, shape (m, d).

        Returns:
            Two arrays of shape (m,); the variance is that of f, without observation noise.
        """
        if len(self.X) == 0:
            return np.full(len(X), self.mean), np.full(len(X), self.amplitude)
        k, _ = self._correlation(X)
        half = solve_lower(self._factor, k.T)
        explained = np.einsum("nm,nm->m", half, half)
        mean = self.mean + math.sqrt(self.amplitude) * (k @ self._weights)
        return mean, self.amplitude * np.maximum(1.0 - explained, 0.0)

    def predict_with_gradient(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the variance of f, and their gradients.

        Args:
            X: Locations, shape (m, d).

        Returns:
            Mean (m,), variance (m,), gradient of the mean (m, d), gradient of the variance
            (m, d). Gradients are 0 along categorical coordinates.
        """
        if len(self.X) == 0:
            mean, variance = self.predict(X)
            return mean, variance, np.zeros(X.shape), np.zeros(X.shape)
        k, dk_dr2 = self._correlation(X)
        half = solve_lower(self._factor, k.T)
        explained = np.einsum("nm,nm->m", half, half)
        mean = self.mean + math.sqrt(self.amplitude) * (k @ self._weights)
        variance = self.amplitude * np.maximum(1.0 - explained, 0.0)

        full = solve_lower(self._factor, half, transposed=True)
        dmean = math.sqrt(self.amplitude) * self._pull_back(dk_dr2 * self._weights, X)
        dvariance = -2.0 * self.amplitude * self._pull_back(dk_dr2 * full.T, X)
        return mean, variance, dmean, dvariance

    def _pull_back(
        self, weight: NDArray[np.float64], X: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return Σ_n weight[m, n] · dr²(x_m, x_n)/dx_m, shape (m, d), without an (m, n, d)."""
        slope: NDArray[np.float64] = X * weight.sum(axis=1)[:, None] - weight @ self.X
        slope *= np.where(self.categorical, 0.0, 2.0 / np.square(self.length_scale))
        return slope

    def covariance(self, A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posterior covariance of f(A) and f(B).

        Args:
            A: Locations, shape (m, d).
            B: Locations, shape (k, d).

        Returns:
            An array of shape (m, k).
        """
        covariance, _ = self._correlation(A, B)
        if len(self.X) > 0:
            half_a = solve_lower(self._factor, self._correlation(A)[0].T)
            half_b = solve_lower(self._factor, self._correlation(B)[0].T)
            covariance -= half_a.T @ half_b
        return self.amplitude * covariance

    def log_marginal_likelihood(self) -> float:
        """Return log p(y | X); Rasmussen and Williams (2006), eq. 2.30."""
        if len(self.X) == 0:
            return 0.0
        n = len(self.X)
        misfit = (self.y - self.mean) / math.sqrt(self.amplitude) @ self._weights
        log_determinant = 2.0 * np.log(self._factor.diagonal()).sum()
        log_scale = n * math.log(2.0 * math.pi * self.amplitude)
        return float(-0.5 * (misfit + log_determinant + log_scale))

    def leave_one_out(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return y_i minus its prediction from the other data, and the variance of that.

        Rasmussen and Williams (2006), eqs. 5.10 to 5.12, at the same hyperparameters. The
        variance is that of the observation, noise included.

        Returns:
            Two arrays of shape (n,).
        """
        if len(self.X) == 0:
            return np.empty(0), np.empty(0)
        precision = inverse(self._factor).diagonal()
        return math.sqrt(self.amplitude) * self._weights / precision, self.amplitude / precision

    def condition(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> GaussianProcess:
        """Return the model with more data and the same hyperparameters.

        Args:
            X: More locations, shape (m, d).
            y: Their values, shape (m,).
        """
        return replace(self, X=np.concatenate([self.X, X]), y=np.concatenate([self.y, y]))


# Everything below is in standardised units: those of (y − mean)/sd.

# log ℓ from a hundredth of the cube's side to where a kernel is a straight line for the data;
# the amplitude follows ℓ upwards; the noise has a floor that keeps the matrix well conditioned,
# and explains all of the data at its ceiling.
LENGTH_SCALE_BOUNDS = (1e-2, 30.0)
AMPLITUDE_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-6, 1.0)

DEFAULT_LENGTH_SCALE = 0.5
DEFAULT_AMPLITUDE = 1.0
DEFAULT_NOISE = 1e-3

# (ℓ, σ², λ²) from which a fit may start; the last one is "all is noise".
_STARTS = (
    (DEFAULT_LENGTH_SCALE, DEFAULT_AMPLITUDE, DEFAULT_NOISE),
    (0.18, 1.0, 1e-3),
    (1.5, 3.0, 1e-3),
    (0.5, 1.0, 1e-1),
    (0.18, 1.0, 1e-5),
    (0.05, 1.0, 1e-3),
    (5.0, 30.0, 1e-4),
    (1.5, 0.5, 5e-1),
)

# Beyond these, squares of y leave the range of floating-point numbers.
_LARGEST = 1e150
_SMALLEST = 1e-150

# Values that differ by less than this, relative to their size, differ by rounding only.
_ROUNDING = 1e-13

Prior = Callable[["NDArray[np.float64]"], "tuple[float, NDArray[np.float64]]"]


def regularising_prior(
    log_parameters: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative log prior of the robust method, and its gradient.

    Σ_i 0.1 (ℓ_i² + ℓ_i⁻²) − log σ² + σ² − 0.1 log λ² + 30 λ², up to a constant: length scales
    near that of the cube, a Gamma(2, 1) amplitude and a Gamma(1.1, 30) noise.

    Args:
        log_parameters: (log ℓ_1, …, log ℓ_p, log σ², log λ²) in standardised units.
    """
    square = np.exp(2.0 * log_parameters[:-2])
    log_amplitude, log_noise = log_parameters[-2:]
    amplitude, noise = math.exp(log_amplitude), math.exp(log_noise)
    value = 0.1 * (square + 1.0 / square).sum()
    value += amplitude - log_amplitude + 30.0 * noise - 0.1 * log_noise
    gradient = np.empty_like(log_parameters)
    gradient[:-2] = 0.2 * (square - 1.0 / square)
    gradient[-2] = amplitude - 1.0
    gradient[-1] = 30.0 * noise - 0.1
    return float(value), gradient


def standardise(
    y: NDArray[np.float64], min_scale: float = 0.0
) -> tuple[NDArray[np.float64], float, float]:
    """Return (y − mean)/scale, the mean and the scale.

    The scale is the standard deviation, but at least ``min_scale``. Of values that are all the
    same (or of a single one) it is the size of the value, since nothing else tells the unit.

    Args:
        y: Finite values, shape (n,); those beyond ±1e150 count as ±1e150.
        min_scale: The least scale.
    """
    y = np.clip(y, -_LARGEST, _LARGEST)
    size = float(np.abs(y).max(initial=0.0))
    if size == 0.0:
        return np.zeros_like(y), 0.0, min_scale or 1.0
    mean = float(y.mean())
    scale = size * float(np.std(y / size))
    if scale <= _ROUNDING * size:
        return np.zeros_like(y), mean, max(min_scale or size, _SMALLEST)
    scale = max(scale, min_scale, _SMALLEST)
    return (y - mean) / scale, mean, scale


class _Objective:
    """The negative log likelihood, plus the negative log prior, of the log parameters."""

    def __init__(
        self,
        X: NDArray[np.float64],
        z: NDArray[np.float64],
        smoothness: float,
        ard: bool,
        categorical: NDArray[np.bool_],
        prior: Prior | None,
    ) -> None:
        differences = squared_differences(X, X, categorical)
        if not ard:
            differences = differences.sum(axis=0, keepdims=True)
        # One row per length scale, so that r² and its gradient are each one product with it.
        self._differences = differences.reshape(len(differences), -1)
        self._z = z
        self._smoothness = smoothness
        self._prior = prior

    def __call__(self, log_parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        n = len(self._z)
        parameters = np.exp(log_parameters)
        amplitude, noise = parameters[-2:]
        inverse_square = 1.0 / np.square(parameters[:-2])
        k, dk_dr2 = matern((inverse_square @ self._differences).reshape(n, n), self._smoothness)
        K = amplitude * k
        K.flat[:: n + 1] += noise
        value, W = negative_log_likelihood(K, self._z)

        gradient = np.empty_like(log_parameters)
        gradient[-1] = noise * W.trace()
        # r² changes by −2 d_i/ℓ_i² with log ℓ_i.
        gradient[:-2] = -2.0 * amplitude * inverse_square
        gradient[:-2] *= self._differences @ (W * dk_dr2).ravel()
        gradient[-2] = amplitude * np.vdot(W, k)
        if self._prior is not None:
            penalty, slope = self._prior(log_parameters)
            value += penalty
            gradient += slope
        return value, gradient


def fit_gp(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    smoothness: float,
    ard: bool,
    categorical: NDArray[np.bool_] | None = None,
    prior: Prior | None = None,
    warm_start: GaussianProcess | None = None,
    n_polished: int = 2,
    min_scale: float = 0.0,
    max_fit_points: int = 300,
) -> GaussianProcess:
    """Fit a Gaussian process with a constant mean, that of the data.

    Values are standardised for the fit. The log parameters of the best of several fixed starts
    are improved by L-BFGS-B with the analytic gradient. Data that all have the same value, or
    fewer than two of them, tell nothing: the default hyperparameters are taken.

    Args:
        X: Locations in the unit cube, shape (n, d); n may be 0.
        y: Finite values, shape (n,).
        smoothness: Of the Matérn kernel, 1.5 or 2.5.
        ard: Whether each coordinate has a length scale of its own.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        prior: Negative log prior of (log ℓ, log σ², log λ²) in standardised units, with its
            gradient; None for maximum likelihood.
        warm_start: A model whose hyperparameters are a further start.
        n_polished: How many of the starts, the best ones, are improved.
        min_scale: The least unit in which values are measured.
        max_fit_points: With more data than that, hyperparameters are fitted to so many of them,
            evenly spread over the rows; the model has them all.

    Returns:
        The model, its hyperparameters in the units of ``y``.
    """
    d = X.shape[1]
    if categorical is None:
        categorical = np.zeros(d, dtype=bool)
    z, mean, scale = standardise(y, min_scale)
    length_scale, amplitude, noise = (
        np.full(d, DEFAULT_LENGTH_SCALE),
        DEFAULT_AMPLITUDE,
        DEFAULT_NOISE,
    )
    if z.any():
        rows = np.arange(len(z))
        if len(z) > max_fit_points:
            rows = np.linspace(0, len(z) - 1, max_fit_points).round().astype(int)
        objective = _Objective(X[rows], z[rows], smoothness, ard, categorical, prior)
        n_scales = d if ard else 1
        starts = [np.log([s[0]] * n_scales + [s[1], s[2]]) for s in _STARTS]
        if warm_start is not None:
            starts.append(_log_parameters(warm_start, scale, n_scales))
        found = _minimize(objective, starts, n_polished)
        if found is None:
            warnings.warn(
                "Fitting a Gaussian process failed; its default hyperparameters are used.",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            parameters = np.exp(found)
            length_scale = np.broadcast_to(parameters[:-2], d).copy()
            amplitude, noise = parameters[-2:]
    return GaussianProcess(
        X=X,
        y=np.clip(y, -_LARGEST, _LARGEST),
        length_scale=length_scale,
        amplitude=float(amplitude) * scale**2,
        noise=float(noise) * scale**2,
        mean=mean,
        smoothness=smoothness,
        categorical=categorical,
    )


def _log_parameters(model: GaussianProcess, scale: float, n_scales: int) -> NDArray[np.float64]:
    """Return the hyperparameters of a model in standardised units."""
    amplitude, noise = model.amplitude / scale / scale, model.noise / scale / scale
    log_length = np.log(model.length_scale)
    if n_scales == 1:
        log_length = log_length.mean(keepdims=True)
    tiny = NOISE_BOUNDS[0]
    return np.concatenate([log_length, np.log([max(amplitude, tiny), max(noise, tiny)])])


def _minimize(
    objective: _Objective, starts: list[NDArray[np.float64]], n_polished: int
) -> NDArray[np.float64] | None:
    """Return the best log parameters found, or None if no start led anywhere."""
    from scipy.optimize import minimize

    n_scales = len(starts[0]) - 2
    bounds = np.log([LENGTH_SCALE_BOUNDS] * n_scales + [AMPLITUDE_BOUNDS, NOISE_BOUNDS])
    scored = []
    for start in starts:
        start = np.clip(start, bounds[:, 0], bounds[:, 1])
        try:
            value, _ = objective(start)
        except np.linalg.LinAlgError:
            continue
        if math.isfinite(value):
            scored.append((value, start))
    scored.sort(key=lambda pair: pair[0])
    best_value, best = math.inf, None
    for _, start in scored[:n_polished]:
        try:
            result = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
        except np.linalg.LinAlgError:
            continue
        if result.fun < best_value and np.isfinite(result.x).all():
            best_value, best = result.fun, result.x
    return best
