"""Gaussian process regression: an immutable model, and the fit of its hyperparameters.

A model carries its data and hyperparameters in raw units. Inside, it works with the correlation
matrix R + (λ²/σ²) I and with (y − mean)/σ, so that nothing overflows or underflows whatever the
unit of y.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
import math
from typing import TYPE_CHECKING
import warnings

import numpy as np

from optuna_misowild.gp_likelihood import DEFAULTS
from optuna_misowild.gp_likelihood import FLAT
from optuna_misowild.gp_likelihood import STARTS
from optuna_misowild.gp_likelihood import Objective
from optuna_misowild.gp_likelihood import gls_mean
from optuna_misowild.gp_likelihood import log_parameters
from optuna_misowild.gp_likelihood import minimize_objective
from optuna_misowild.kernel import location_gradient
from optuna_misowild.kernel import matern
from optuna_misowild.kernel import scaled_squared_distance
from optuna_misowild.linalg import cholesky
from optuna_misowild.linalg import half_log_determinant
from optuna_misowild.linalg import inverse
from optuna_misowild.linalg import solve
from optuna_misowild.linalg import solve_lower


if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from optuna_misowild.gp_likelihood import Prior


# Beyond these, squares of y leave the range of floating-point numbers.
_LARGEST = 1e150
_SMALLEST = 1e-150

# Values that differ by less than this, relative to their size, differ by rounding only.
_ROUNDING = 1e-13

# Elements of k(X, X') that are computed at once.
_BLOCK_SIZE = 2**15


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
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for rows in self._blocks(len(X)):
            k, _ = self._correlation(X[rows])
            mean[rows] = self._mean(k)
            variance[rows] = self._variance(solve_lower(self._factor, k.T))
        return mean, variance

    def predict_mean(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of f alone, shape (m,); far cheaper than with its variance."""
        mean = np.empty(len(X))
        for rows in self._blocks(len(X)):
            mean[rows] = self._mean(self._correlation(X[rows])[0])
        return mean

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
        k, dk = self._correlation(X)
        half = solve_lower(self._factor, k.T)
        full = solve_lower(self._factor, half, transposed=True)
        dvariance = -2.0 * self.amplitude * self._location_gradient(dk * full.T, X)
        return self._mean(k), self._variance(half), self._mean_gradient(dk, X), dvariance

    def predict_mean_with_gradient(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of f alone, shape (m,), and its gradient, shape (m, d)."""
        k, dk = self._correlation(X)
        return self._mean(k), self._mean_gradient(dk, X)

    def _blocks(self, m: int) -> Iterator[slice]:
        """Split m rows such that k(rows, X) stays in the cache, which halves the time."""
        step = max(1, _BLOCK_SIZE // max(1, len(self.X)))
        for start in range(0, m, step):
            yield slice(start, start + step)

    def _mean(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = self.mean + math.sqrt(self.amplitude) * (k @ self._weights)
        return mean

    def _mean_gradient(
        self, dk: NDArray[np.float64], X: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return math.sqrt(self.amplitude) * self._location_gradient(dk * self._weights, X)

    def _location_gradient(
        self, weights: NDArray[np.float64], X: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return location_gradient(weights, X, self.X, self.length_scale, self.categorical)

    def _variance(self, half: NDArray[np.float64]) -> NDArray[np.float64]:
        explained: NDArray[np.float64] = np.einsum("nm,nm->m", half, half)
        return self.amplitude * np.maximum(1.0 - explained, 0.0)

    def covariance(self, A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posterior covariance of f(A) and f(B).

        Args:
            A: Locations, shape (m, d).
            B: Locations, shape (k, d).

        Returns:
            An array of shape (m, k).
        """
        prior, _ = self._correlation(A, B)
        half_a = solve_lower(self._factor, self._correlation(A)[0].T)
        half_b = solve_lower(self._factor, self._correlation(B)[0].T)
        posterior: NDArray[np.float64] = prior - half_a.T @ half_b
        return self.amplitude * posterior

    def log_marginal_likelihood(self) -> float:
        """Return log p(y | X); Rasmussen and Williams (2006), eq. 2.30."""
        misfit = (self.y - self.mean) / math.sqrt(self.amplitude) @ self._weights
        log_determinant = 2.0 * half_log_determinant(self._factor)
        log_scale = len(self.X) * math.log(2.0 * math.pi * self.amplitude)
        return float(-0.5 * (misfit + log_determinant + log_scale))

    def leave_one_out(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return y_i minus its prediction from the other data, and the variance of that.

        Rasmussen and Williams (2006), eqs. 5.10 to 5.12, at the same hyperparameters. The
        variance is that of the observation, noise included.

        Returns:
            Two arrays of shape (n,).
        """
        precision = inverse(self._factor).diagonal()
        residual = math.sqrt(self.amplitude) * self._weights / precision
        return residual, self.amplitude / precision

    def condition(
        self, X: NDArray[np.float64], y: NDArray[np.float64] | None = None
    ) -> GaussianProcess:
        """Return the model with more data and the same hyperparameters.

        Args:
            X: More locations, shape (m, d).
            y: Their values, shape (m,); by default what the model expects there.
        """
        if len(X) == 0:
            return self
        y = self.predict_mean(X) if y is None else y
        return replace(self, X=np.concatenate([self.X, X]), y=np.concatenate([self.y, y]))


def standardise(
    y: NDArray[np.float64], min_scale: float = 0.0
) -> tuple[NDArray[np.float64], float, float]:
    """Return (y − mean)/scale, the mean and the scale.

    The scale is the standard deviation, but at least ``min_scale``. Values that are all the same
    do not tell a scale: it is then ``min_scale``, or else the size of the value.

    Args:
        y: Finite values, shape (n,); those beyond ±1e150 count as ±1e150.
        min_scale: The least scale.
    """
    if len(y) == 0:
        return y, 0.0, min_scale or 1.0
    y = np.clip(y, -_LARGEST, _LARGEST)
    size = float(np.abs(y).max()) or 1.0
    mean = float(y.mean())
    deviation = float(y.std())
    if deviation <= _ROUNDING * size:
        return np.zeros_like(y), mean, max(min_scale or size, _SMALLEST)
    scale = max(deviation, min_scale, _SMALLEST)
    return (y - mean) / scale, mean, scale


def fit_gp(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    smoothness: float,
    ard: bool,
    categorical: NDArray[np.bool_] | None = None,
    prior: Prior | None = None,
    warm_start: GaussianProcess | None = None,
    min_scale: float = 0.0,
    max_fit_points: int = 300,
    likeliest_mean: bool = False,
) -> GaussianProcess:
    """Fit a Gaussian process with a constant mean, by default that of the data.

    Values are standardised for the fit, which searches by L-BFGS-B with the analytic gradient,
    from the best of several fixed starts. Nothing is fitted to fewer than two values, nor to
    values that are all the same: fixed hyperparameters serve there.

    Args:
        X: Locations in the unit cube, shape (n, d); n may be 0.
        y: Finite values, shape (n,).
        smoothness: Of the Matérn kernel, 1.5 or 2.5.
        ard: Whether each coordinate has a length scale of its own.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        prior: Negative log prior of (log ℓ, log σ², log λ²) in standardised units, with its
            gradient; None for maximum likelihood.
        warm_start: A model whose hyperparameters are the only start, which is several times
            faster.
        min_scale: The least unit in which values are measured.
        max_fit_points: With more data than that, hyperparameters are fitted to so many of them,
            evenly spread over the rows; the model has them all.
        likeliest_mean: Whether the mean is the likeliest one, by generalised least squares
            (:func:`~optuna_misowild.gp_likelihood.gls_mean`), at the fitted hyperparameters and
            at all that the search tries.

    Returns:
        The model, its hyperparameters in the units of ``y``.
    """
    d = X.shape[1]
    if categorical is None:
        categorical = np.zeros(d, dtype=bool)
    z, mean, scale = standardise(y, min_scale)
    n_scales = d if ard else 1
    found = log_parameters(DEFAULTS, n_scales)
    if z.any():
        rows = np.arange(len(z))
        if len(z) > max_fit_points:
            rows = np.linspace(0, len(z) - 1, max_fit_points).round().astype(int)
        objective = Objective(
            X[rows], z[rows], smoothness, ard, categorical, prior, likeliest_mean
        )
        if warm_start is None:
            groups = [[log_parameters(start, n_scales) for start in group] for group in STARTS]
        else:
            groups = [[_log_parameters_of(warm_start, scale, ard)]]
        try:
            found = minimize_objective(objective, groups)
        except np.linalg.LinAlgError as error:
            warnings.warn(
                f"Fitting a Gaussian process to {len(y)} values failed ({error}); "
                "its default hyperparameters are used.",
                RuntimeWarning,
                stacklevel=2,
            )
    elif len(z) > 1:
        found = log_parameters(FLAT, n_scales)
    parameters = np.exp(found)
    if likeliest_mean and z.any():
        length_scale = np.broadcast_to(parameters[:-2], d)
        r2 = scaled_squared_distance(X, X, length_scale, categorical)
        K = parameters[-2] * matern(r2, smoothness)[0] + parameters[-1] * np.eye(len(z))
        mean += scale * gls_mean(K, z)
    return GaussianProcess(
        X=X,
        y=np.clip(y, -_LARGEST, _LARGEST),
        length_scale=np.broadcast_to(parameters[:-2], d),
        amplitude=float(parameters[-2]) * scale**2,
        noise=float(parameters[-1]) * scale**2,
        mean=mean,
        smoothness=smoothness,
        categorical=categorical,
    )


def _log_parameters_of(model: GaussianProcess, scale: float, ard: bool) -> NDArray[np.float64]:
    """Return the log hyperparameters of a model in standardised units."""
    log_length_scale = np.log(model.length_scale)
    if not ard:
        log_length_scale = log_length_scale.mean(keepdims=True)
    variances = np.maximum([model.amplitude, model.noise], np.finfo(float).tiny)
    return np.concatenate([log_length_scale, np.log(variances) - 2.0 * math.log(scale)])
