from __future__ import annotations

import numpy as np
import pytest

from optuna_misowild.gp.linalg import cholesky
from optuna_misowild.gp.linalg import half_log_determinant
from optuna_misowild.gp.linalg import inverse_factor
from optuna_misowild.gp.linalg import solve


def positive_definite(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


def test_cholesky_adds_nothing_to_a_definite_matrix():
    K = positive_definite(6)
    L = cholesky(K.copy())
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, K, rtol=1e-14)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_cholesky_adds_as_little_as_it_takes(size):
    K = np.full((3, 3), size)
    L = cholesky(K)
    jitter = np.diag(L @ L.T - K) / size
    assert np.all(jitter <= 1.5e-12)
    assert np.all(np.diag(L) > 0.0)
    K[0, 1] = K[1, 0] = (1.0 + 3e-6) * size  # The least eigenvalue is about -2e-6.
    L = cholesky(K)
    np.testing.assert_allclose(np.diag(L @ L.T - K) / size, 1e-5, rtol=0.1)


def test_cholesky_leaves_its_argument_alone():
    K = np.ones((3, 3))
    cholesky(K)
    np.testing.assert_array_equal(K, 1.0)


def test_cholesky_of_an_indefinite_matrix():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_solutions_and_inverse():
    K = positive_definite(6)
    b = np.random.default_rng(1).normal(size=(6, 2))
    L = cholesky(K)
    np.testing.assert_allclose(K @ solve(L, b), b, atol=1e-12)
    np.testing.assert_allclose(K @ solve(L, b[:, 0]), b[:, 0], atol=1e-12)
    np.testing.assert_allclose(inverse_factor(L.copy("F")) @ L, np.eye(6), atol=1e-12)


def test_determinant(monkeypatch):
    K = positive_definite(6)
    logarithm, contiguous = np.log, []
    monkeypatch.setattr(np, "log", lambda x: (contiguous.append(x.strides), logarithm(x))[1])
    assert 2.0 * half_log_determinant(cholesky(K)) == pytest.approx(np.linalg.slogdet(K)[1])
    # Of the diagonal as it lies in the matrix, NumPy 1 takes it in one of two ways, which may
    # differ in the last digit: it depends on whether the result lies close behind the matrix.
    assert contiguous == [(8,)]


def test_nothing_to_solve(capfd):
    L = cholesky(np.empty((0, 0)))
    assert solve(L, np.empty(0)).shape == (0,)
    assert inverse_factor(L).shape == (0, 0)
    assert capfd.readouterr() == ("", "")  # LAPACK itself complains of empty matrices.
