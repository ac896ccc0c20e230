from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from optuna_misowild.gp.kernels import NUS
from optuna_misowild.gp.kernels import location_gradient
from optuna_misowild.gp.kernels import matern
from optuna_misowild.gp.kernels import scaled_squared_distance


NUMERICAL = np.array([False, False, False])
MIXED = np.array([False, True, False])
LENGTH_SCALE = np.array([0.3, 0.7, 1.4])


def correlation(A, B, length_scale, categorical, nu):
    return matern(scaled_squared_distance(A, B, length_scale, categorical), nu)[0]


def test_matern_by_hand():
    r2 = np.array([0.0, 1.0, 4.0])
    t = math.sqrt(3.0)
    expected = [1.0, (1.0 + t) * math.exp(-t), (1.0 + 2.0 * t) * math.exp(-2.0 * t)]
    np.testing.assert_allclose(matern(r2, 1.5)[0], expected, rtol=1e-15)
    t = math.sqrt(5.0)
    expected = [
        1.0,
        (1.0 + t + 5.0 / 3.0) * math.exp(-t),
        (1.0 + 2.0 * t + 20.0 / 3.0) * math.exp(-2.0 * t),
    ]
    np.testing.assert_allclose(matern(r2, 2.5)[0], expected, rtol=1e-15)


@pytest.mark.parametrize("nu", NUS)
def test_matern_agrees_with_scikit_learn(nu):
    rng = np.random.default_rng(0)
    A, B = rng.random((6, 3)), rng.random((4, 3))
    theirs = Matern(LENGTH_SCALE, nu=nu)(A, B)
    ours = correlation(A, B, LENGTH_SCALE, NUMERICAL, nu)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize("nu", NUS)
def test_matern_derivative(nu):
    r2 = np.array([0.01, 0.3, 1.0, 5.0])
    h = 1e-6
    slope = (matern(r2 + h, nu)[0] - matern(r2 - h, nu)[0]) / (2.0 * h)
    np.testing.assert_allclose(matern(r2, nu)[1], slope, rtol=1e-7)


@pytest.mark.parametrize(("nu", "slope"), [(1.5, -1.5), (2.5, -5.0 / 6.0)])
def test_matern_derivative_at_zero(nu, slope):
    assert matern(np.zeros(1), nu)[1] == pytest.approx(slope)


def test_unknown_nu():
    with pytest.raises(ValueError, match="nu must be one of .* got 0.5"):
        matern(np.zeros(1), 0.5)


def test_distances_by_hand():
    A = np.array([[0.0, 0.25, 1.0], [0.5, 0.75, 1.0]])
    B = np.array([[0.5, 0.25, 0.0]])
    r2 = scaled_squared_distance(A, B, np.array([0.5, 2.0, 0.1]), NUMERICAL)
    expected = [[0.25 / 0.25 + 0.0 + 100.0], [0.0 + 0.25 / 4.0 + 100.0]]
    np.testing.assert_allclose(r2, expected)
    # Different categories are 1 apart, however far their codes.
    r2 = scaled_squared_distance(A, B, np.array([0.5, 2.0, 0.1]), MIXED)
    np.testing.assert_allclose(r2, [[0.25 / 0.25 + 0.0 + 100.0], [0.0 + 1.0 / 4.0 + 100.0]])


@pytest.mark.parametrize("categorical", [NUMERICAL, MIXED, ~NUMERICAL])
def test_scaled_distance_is_the_sum_of_the_differences(categorical):
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 4, (7, 3)) / 4.0, rng.integers(0, 4, (5, 3)) / 4.0
    differences = A[:, None] - B
    squares = np.where(categorical, differences != 0.0, differences**2)
    expected = squares @ LENGTH_SCALE**-2.0
    ours = scaled_squared_distance(A, B, LENGTH_SCALE, categorical)
    np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("categorical", [NUMERICAL, MIXED])
def test_location_gradient(nu, categorical):
    rng = np.random.default_rng(0)
    X, centers = rng.random((4, 3)), rng.random((5, 3))
    r2 = scaled_squared_distance(X, centers, LENGTH_SCALE, categorical)
    weights = rng.standard_normal(5)
    dk_dr2 = matern(r2, nu)[1]
    gradient = location_gradient(dk_dr2 * weights, X, centers, LENGTH_SCALE, categorical)
    h = 1e-6
    for i in range(3):
        step = h * np.eye(3)[i]
        above = correlation(X + step, centers, LENGTH_SCALE, categorical, nu)
        below = correlation(X - step, centers, LENGTH_SCALE, categorical, nu)
        slope = (above - below) @ weights / (2.0 * h)
        np.testing.assert_allclose(gradient[:, i], slope, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("nu", NUS)
def test_location_gradient_vanishes_at_the_center(nu):
    x = np.full((1, 3), 0.4)
    r2 = scaled_squared_distance(x, x, LENGTH_SCALE, NUMERICAL)
    dk_dr2 = matern(r2, nu)[1]
    assert not location_gradient(dk_dr2, x, x, LENGTH_SCALE, NUMERICAL).any()
