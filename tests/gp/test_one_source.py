"""The Gaussian process of one source, conditioned on data."""

from __future__ import annotations

import dataclasses
import pickle

from gp_problems import one_source
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.gaussian_process.kernels import Matern


pytestmark = pytest.mark.filterwarnings("error")

D = 3
NUMERICAL = np.zeros(D, dtype=bool)
MIXED = np.array([False, True, False])


def model(n=15, *, nu=2.5, categorical=NUMERICAL, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    X[:, categorical] = (np.floor(3.0 * X[:, categorical]) + 0.5) / 3.0
    y = 5.0 + np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)
    return one_source(
        X,
        y,
        length_scale=[0.4, 1.1, 2.3],
        amplitude=1.7,
        noise=noise,
        mean=4.5,
        nu=nu,
        categorical=categorical,
    )


def points(m=6, seed=1):
    return np.random.default_rng(seed).random((m, D))


def of_rows(gp, rows):
    return dataclasses.replace(gp, X=gp.X[rows], source=gp.source[rows], y=gp.y[rows])


def scikit_learn(gp):
    kernel = ConstantKernel(gp.amplitude) * Matern(gp.length_scale, nu=gp.nu)
    theirs = GaussianProcessRegressor(kernel, alpha=gp.noise[0], optimizer=None)
    return theirs.fit(gp.X, gp.y - gp.mean)


@pytest.mark.parametrize("nu", [1.5, 2.5])
@pytest.mark.parametrize("noise", [0.02, 1e-6])
def test_posterior_is_that_of_scikit_learn(nu, noise):
    gp = model(40, nu=nu, noise=noise)
    X = points(50)
    mean, deviation = scikit_learn(gp).predict(X, return_std=True)
    ours_mean, ours_variance = gp.predict(X)
    np.testing.assert_allclose(ours_mean, gp.mean + mean, rtol=1e-8)
    np.testing.assert_allclose(ours_variance, deviation**2, rtol=1e-8)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_log_marginal_likelihood_is_that_of_scikit_learn(nu):
    gp = model(nu=nu)
    theirs = scikit_learn(gp).log_marginal_likelihood_value_
    assert gp.log_marginal_likelihood() == pytest.approx(theirs, rel=1e-12)


def test_posterior_of_one_value_by_hand():
    one = np.full((1, D), 0.5)
    gp = one_source(one, np.array([7.0]), length_scale=0.4, amplitude=3.0, noise=1.0, mean=4.0)
    mean, variance = gp.predict(one)
    assert mean == pytest.approx(4.0 + 3.0 / 4.0 * 3.0)
    assert variance == pytest.approx(3.0 - 9.0 / 4.0)


@pytest.mark.parametrize("nu", [1.5, 2.5])
@pytest.mark.parametrize("categorical", [NUMERICAL, MIXED])
def test_gradient(nu, categorical):
    gp = model(nu=nu, categorical=categorical)
    X = points()
    X[0, 1] = gp.X[0, 1]
    p = gp.posterior(X, gradient=True)
    mean, variance, dmean, dvariance = p.mean, p.variance, p.d_mean, p.d_variance
    np.testing.assert_allclose(mean, gp.predict(X)[0], rtol=1e-13)
    np.testing.assert_allclose(variance, gp.predict(X)[1], rtol=1e-13)
    h = 1e-5
    for i in np.flatnonzero(~categorical):
        step = h * np.eye(D)[i]
        above, below = gp.predict(X + step), gp.predict(X - step)
        for gradient, up, down in zip((dmean, dvariance), above, below, strict=True):
            np.testing.assert_allclose(
                gradient[:, i], (up - down) / (2.0 * h), rtol=1e-5, atol=1e-7
            )
    assert not dmean[:, categorical].any()
    assert not dvariance[:, categorical].any()


def test_categories_have_no_order():
    gp = model(categorical=MIXED)
    swapped = gp.X.copy()
    codes = np.array([0.5, 1.5, 2.5]) / 3.0
    swapped[:, 1] = np.select([gp.X[:, 1] == c for c in codes], codes[[2, 0, 1]])
    other = dataclasses.replace(gp, X=swapped)
    x, y = np.array([[0.3, codes[0], 0.6]]), np.array([[0.3, codes[2], 0.6]])
    np.testing.assert_allclose(gp.predict(x), other.predict(y))


def test_predictions_in_blocks():
    gp = model(200)
    X = points(500)
    alone = np.array([gp.predict(x[None]) for x in X])[:, :, 0].T
    np.testing.assert_allclose(gp.predict(X), alone, rtol=1e-11)
    np.testing.assert_allclose(gp.predict_mean(X), alone[0], rtol=1e-11)


def test_variance_without_noise_is_not_negative():
    gp = model(noise=0.0)
    mean, variance = gp.predict(gp.X)
    np.testing.assert_allclose(mean, gp.y, rtol=1e-9)
    assert np.all((variance >= 0.0) & (variance < 1e-12))


def test_leave_one_out_is_leaving_one_out():
    gp = model(12)
    residual, variance = gp.leave_one_out()
    for i in range(12):
        rest = np.arange(12) != i
        without = of_rows(gp, rest)
        mean, var = without.predict(gp.X[[i]])
        assert residual[i] == pytest.approx(gp.y[i] - mean[0], rel=1e-9)
        assert variance[i] == pytest.approx(var[0] + gp.noise[0], rel=1e-9)


def test_condition_is_having_had_all_data():
    gp = model(15)
    start = of_rows(gp, np.arange(10))
    start.predict(points())  # What is cached must not outlive the new data.
    conditioned = start.condition(gp.X[10:], gp.y[10:])
    np.testing.assert_allclose(conditioned.predict(points()), gp.predict(points()), rtol=1e-12)
    np.testing.assert_array_equal(start.X, gp.X[:10])


def test_prior_without_data():
    gp = of_rows(model(), np.empty(0, dtype=int))
    X = points()
    p = gp.posterior(X, gradient=True)
    mean, variance, dmean, dvariance = p.mean, p.variance, p.d_mean, p.d_variance
    np.testing.assert_array_equal(mean, gp.mean)
    np.testing.assert_array_equal(variance, gp.amplitude)
    assert not dmean.any()
    assert not dvariance.any()
    np.testing.assert_array_equal(gp.predict(X), [mean, variance])
    assert gp.log_marginal_likelihood() == 0.0
    assert [len(values) for values in gp.leave_one_out()] == [0, 0]
    filled = gp.condition(model().X, model().y)
    np.testing.assert_allclose(filled.predict(X), model().predict(X))


def test_repeated_locations_without_noise():
    gp = model(5, noise=0.0)
    twice = gp.condition(gp.X, gp.y)
    np.testing.assert_allclose(twice.predict(points()), gp.predict(points()), rtol=1e-5, atol=1e-9)


def test_pickling():
    gp = model()
    gp.predict(points())
    copy = pickle.loads(pickle.dumps(gp))
    np.testing.assert_array_equal(copy.predict(points()), gp.predict(points()))
