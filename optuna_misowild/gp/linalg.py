"""Symmetric positive definite matrices through LAPACK, without the overhead of wrappers.

All factors are lower triangular and in Fortran order, with zeros above the diagonal.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from typing import Any

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray


@cache
def lapack() -> Any:
    """Return ``scipy.linalg.lapack``, imported at the first call: that takes its time."""
    from scipy.linalg import lapack

    return lapack


@cache
def blas() -> Any:
    """Return ``scipy.linalg.blas``, imported at the first call."""
    from scipy.linalg import blas

    return blas


_FIRST_JITTER = 1e-12
_LAST_JITTER = 1e-2


def cholesky(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L with L Lᵀ = K + jitter·I, where the jitter is as little as it takes.

    None is tried first; then 1e-12 of the mean of the diagonal, growing tenfold.

    Args:
        K: A symmetric matrix, shape (n, n).

    Returns:
        The lower factor, shape (n, n).

    Raises:
        numpy.linalg.LinAlgError: If 1e-2 of the diagonal's mean does not suffice either.
    """
    L: NDArray[np.float64]
    L, info = lapack().dpotrf(
        K.T, lower=1
    )  # K is symmetric, and its transpose needs no reordering.
    relative = _FIRST_JITTER
    while info != 0:
        if relative > _LAST_JITTER:
            raise np.linalg.LinAlgError("The covariance matrix is not positive definite.")
        jittered = K.copy()
        jittered.flat[:: len(K) + 1] += relative * K.trace() / len(K)
        L, info = lapack().dpotrf(jittered.T, lower=1)
        relative *= 10.0
    return L


def solve(L: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (L Lᵀ)⁻¹ b, of the shape of ``b``: (n,) or (n, m)."""
    if len(b) == 0:
        return b
    x: NDArray[np.float64] = lapack().dpotrs(L, b, lower=1)[0]
    return x


def inverse_factor(L: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return L⁻¹, which is lower triangular too, shape (n, n); it may take the place of L."""
    if len(L) == 0:
        return L
    factor: NDArray[np.float64] = lapack().dtrtri(L, lower=1, overwrite_c=1)[0]
    return factor


def half_log_determinant(L: NDArray[np.float64]) -> float:
    """Return ½ log|L Lᵀ|, the sum of log L_ii."""
    # Of a copy: the loop in which NumPy before 2.0 takes the logarithm of every so many numbers
    # depends on where in memory the result lies, and so does the last digit.
    return float(np.log(L.diagonal().copy()).sum())
