from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.gaussian_process.kernels import Matern

from optuna_misowild.gp import GaussianProcess
from optuna_misowild.gp import fit_gp
from optuna_misowild.gp import standardise
from optuna_misowild.gp_likelihood import DEFAULTS
from optuna_misowild.gp_likelihood import regularising_prior


pytestmark = pytest.mark.filterwarnings("error")

D = 3
NUMERICAL = np.zeros(D, dtype=bool)
MIXED = np.array([False, True, False])


def model(n=15, *, smoothness=2.5, categorical=NUMERICAL, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, D))
    X[:, categorical] = (np.floor(3.0 * X[:, categorical]) + 0.5) / 3.0
    return GaussianProcess(
        X=X,
        y=5.0 + np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n),
        length_scale=np.array([0.4, 1.1, 2.3]),
        amplitude=1.7,
        noise=noise,
        mean=4.5,
        smoothness=smoothness,
        categorical=categorical,
    )


def points(m=6, seed=1):
    return np.random.default_rng(seed).random((m, D))


def scikit_learn(gp):
    kernel = ConstantKernel(gp.amplitude) * Matern(gp.length_scale, nu=gp.smoothness)
    theirs = GaussianProcessRegressor(kernel, alpha=gp.noise, optimizer=None)
    return theirs.fit(gp.X, gp.y - gp.mean)


@pytest.mark.parametrize("smoothness", [1.5, 2.5])
@pytest.mark.parametrize("noise", [0.02, 1e-6])
def test_posterior_is_that_of_scikit_learn(smoothness, noise):
    gp = model(40, smoothness=smoothness, noise=noise)
    X = points(50)
    mean, deviation = scikit_learn(gp).predict(X, return_std=True)
    ours_mean, ours_variance = gp.predict(X)
    np.testing.assert_allclose(ours_mean, gp.mean + mean, rtol=1e-8)
    np.testing.assert_allclose(ours_variance, deviation**2, rtol=1e-8)
    _, covariance = scikit_learn(gp).predict(X, return_cov=True)
    np.testing.assert_allclose(gp.covariance(X, X), covariance, atol=1e-8)


@pytest.mark.parametrize("smoothness", [1.5, 2.5])
def test_log_marginal_likelihood_is_that_of_scikit_learn(smoothness):
    gp = model(smoothness=smoothness)
    theirs = scikit_learn(gp).log_marginal_likelihood_value_
    assert gp.log_marginal_likelihood() == pytest.approx(theirs, rel=1e-12)


def test_posterior_of_one_value_by_hand():
    one = np.full((1, D), 0.5)
    gp = dataclasses.replace(model(), X=one, y=np.array([7.0]), mean=4.0, amplitude=3.0, noise=1.0)
    mean, variance = gp.predict(one)
    assert mean == pytest.approx(4.0 + 3.0 / 4.0 * 3.0)
    assert variance == pytest.approx(3.0 - 9.0 / 4.0)


@pytest.mark.parametrize("smoothness", [1.5, 2.5])
@pytest.mark.parametrize("categorical", [NUMERICAL, MIXED])
def test_gradient(smoothness, categorical):
    gp = model(smoothness=smoothness, categorical=categorical)
    X = points()
    X[0, 1] = gp.X[0, 1]
    mean, variance, dmean, dvariance = gp.predict_with_gradient(X)
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


def test_covariance_of_different_locations():
    gp = model(categorical=MIXED)
    A, B = points(4), points(3, seed=2)
    joint = gp.covariance(np.concatenate([A, B]), np.concatenate([A, B]))
    np.testing.assert_allclose(gp.covariance(A, B), joint[:4, 4:], atol=1e-14)
    np.testing.assert_allclose(np.diag(joint), gp.predict(np.concatenate([A, B]))[1], rtol=1e-9)


def test_leave_one_out_is_leaving_one_out():
    gp = model(12)
    residual, variance = gp.leave_one_out()
    for i in range(12):
        rest = np.arange(12) != i
        without = dataclasses.replace(gp, X=gp.X[rest], y=gp.y[rest])
        mean, var = without.predict(gp.X[[i]])
        assert residual[i] == pytest.approx(gp.y[i] - mean[0], rel=1e-9)
        assert variance[i] == pytest.approx(var[0] + gp.noise, rel=1e-9)


def test_condition_is_having_had_all_data():
    gp = model(15)
    start = dataclasses.replace(gp, X=gp.X[:10], y=gp.y[:10])
    start.predict(points())  # What is cached must not outlive the new data.
    conditioned = start.condition(gp.X[10:], gp.y[10:])
    np.testing.assert_allclose(conditioned.predict(points()), gp.predict(points()), rtol=1e-12)
    np.testing.assert_array_equal(start.X, gp.X[:10])


def test_prior_without_data():
    gp = dataclasses.replace(model(), X=np.empty((0, D)), y=np.empty(0))
    X = points()
    mean, variance, dmean, dvariance = gp.predict_with_gradient(X)
    np.testing.assert_array_equal(mean, gp.mean)
    np.testing.assert_array_equal(variance, gp.amplitude)
    assert not dmean.any()
    assert not dvariance.any()
    np.testing.assert_array_equal(gp.predict(X), [mean, variance])
    np.testing.assert_allclose(np.diag(gp.covariance(X, X)), gp.amplitude)
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


def fit(X, y, **kwargs):
    return fit_gp(X, y, **{"smoothness": 1.5, "ard": False, **kwargs})


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("scale", [1e-308, 1e-30, 1.0, 1e30, 1e308])
@pytest.mark.parametrize("kind", ["wiggly", "constant", "outlier", "offset"])
@pytest.mark.parametrize("prior", [None, regularising_prior])
def test_any_values_can_be_fitted(n, scale, kind, prior):
    rng = np.random.default_rng(n)
    X = rng.random((n, D))
    y = {
        "wiggly": rng.uniform(-1.0, 1.0, n),
        "constant": np.full(n, 0.1),
        "outlier": np.where(np.arange(n) == 0, 1.0, 1e-12),
        "offset": 1.0 + 1e-14 * rng.random(n),
    }[kind] * scale
    gp = fit(X, y, ard=prior is not None, prior=prior)
    results = [*gp.predict(X), *gp.predict_with_gradient(points()), *gp.leave_one_out()]
    results += [gp.covariance(X, points()), gp.amplitude, gp.noise, gp.mean]
    assert all(np.all(np.isfinite(values)) for values in results)
    assert np.all(gp.predict(X)[1] >= 0.0)
    assert math.isfinite(gp.log_marginal_likelihood())
    assert gp.length_scale.shape == (D,)


@pytest.mark.parametrize("factor", [1e-140, 1e-30, 1e30, 1e140])
def test_a_fit_does_not_depend_on_the_unit(factor):
    gp = model(20)
    reference, scaled = fit(gp.X, gp.y), fit(gp.X, factor * gp.y)
    np.testing.assert_allclose(scaled.length_scale, reference.length_scale, rtol=1e-3)
    (mean, variance), (other_mean, other_variance) = (
        reference.predict(points()),
        scaled.predict(points()),
    )
    np.testing.assert_allclose(other_mean / factor, mean, rtol=1e-4)
    np.testing.assert_allclose(other_variance / factor / factor, variance, rtol=1e-2)


def test_a_fit_keeps_its_own_mean():
    gp = model(20)
    shifted = fit(gp.X, gp.y + 958.7)
    assert shifted.mean == pytest.approx(np.mean(gp.y) + 958.7)
    np.testing.assert_allclose(
        shifted.predict(points())[0], 958.7 + fit(gp.X, gp.y).predict(points())[0], rtol=1e-4
    )


def test_values_beyond_the_range_of_squares_count_as_its_ends():
    X = points(4)
    y = np.array([1e308, -1e308, 0.0, 1e200])
    np.testing.assert_array_equal(fit(X, y).y, [1e150, -1e150, 0.0, 1e150])


@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("categorical", [None, MIXED])
def test_repeated_locations_can_be_fitted(ard, categorical):
    X = np.repeat(points(4), 3, axis=0)
    y = np.repeat([1.0, 2.0, 4.0, 3.0], 3) + np.tile([-0.1, 0.0, 0.1], 4)
    gp = fit(X, y, ard=ard, categorical=categorical)
    np.testing.assert_allclose(gp.predict(X[::3])[0], [1.0, 2.0, 4.0, 3.0], atol=0.1)
    assert 0.1**2 / 3.0 < gp.noise < 0.1**2 * 3.0


def test_one_length_scale_or_each_its_own():
    X = points(40)
    y = np.sin(8.0 * X[:, 0])
    assert len(set(fit(X, y).length_scale)) == 1
    length_scale = fit(X, y, ard=True, prior=regularising_prior).length_scale
    assert length_scale[0] < 0.5 * length_scale[1:].min()


def test_a_category_that_matters_is_told_from_one_that_does_not():
    X = points(40)
    X[:, 1:] = (np.floor(3.0 * X[:, 1:]) + 0.5) / 3.0
    y = np.where(X[:, 1] < 0.6, 3.0, 1.0) + 0.1 * X[:, 0]
    categorical = np.array([False, True, True])
    gp = fit(X, y, ard=True, categorical=categorical, prior=regularising_prior)
    assert gp.length_scale[1] < gp.length_scale[2]
    np.testing.assert_allclose(gp.predict(X)[0], y, atol=0.05)


def test_standardise():
    z, mean, scale = standardise(np.array([1.0, 3.0]))
    np.testing.assert_array_equal(z, [-1.0, 1.0])
    assert (mean, scale) == (2.0, 1.0)
    assert standardise(np.array([1.0, 3.0]), 4.0)[2] == 4.0
    assert standardise(np.empty(0))[1:] == (0.0, 1.0)
    assert standardise(np.zeros(3))[1:] == (0.0, 1.0)
    assert standardise(np.full(3, -7.0))[1:] == (-7.0, 7.0)
    assert standardise(np.full(3, -7.0), 0.05)[1:] == (-7.0, 0.05)
    z, _, scale = standardise(1.0 + 1e-15 * np.arange(3))  # Rounding is no variation.
    assert scale == pytest.approx(1.0)
    assert not z.any()


@pytest.mark.parametrize("n", [2, 8])
def test_constant_values_are_nearly_certain(n):
    mean, variance = fit(points(n), np.full(n, 0.5)).predict(points(9, seed=3))
    np.testing.assert_allclose(mean, 0.5)
    assert np.all(np.sqrt(variance) < 0.5 * 0.04)


def test_a_single_value_is_uncertain_by_its_own_size():
    gp = fit(points(1), np.array([-3.0]))
    assert (gp.mean, math.sqrt(gp.amplitude)) == (-3.0, pytest.approx(3.0))


@pytest.mark.filterwarnings("default")
def test_a_failed_fit_falls_back_with_a_warning():
    def broken(log_parameters):
        return math.nan, np.full_like(log_parameters, math.nan)

    gp = model()
    with pytest.warns(RuntimeWarning, match="to 15 values failed .*default hyperparameters"):
        fitted = fit(gp.X, gp.y, prior=broken)
    length_scale, amplitude, noise = DEFAULTS
    np.testing.assert_allclose(fitted.length_scale, length_scale)
    assert fitted.amplitude == pytest.approx(amplitude * np.var(gp.y))
    assert fitted.noise == pytest.approx(noise * np.var(gp.y))
    assert np.all(np.isfinite(fitted.predict(points())))


def test_a_warm_start_is_the_only_start():
    # Values with two modes of the likelihood: the better one without noise, the other one noisy.
    rng = np.random.default_rng(122)
    y, X = 100.0 * rng.normal(size=12), rng.random((12, 2))
    cold = fit(X, y)
    assert cold.noise < 1e-5 * cold.amplitude
    noisy = dataclasses.replace(
        cold, length_scale=np.full(2, 0.2), amplitude=y.var(), noise=0.2 * y.var()
    )
    assert fit(X, y, warm_start=noisy).noise > 0.1 * cold.amplitude
    again = fit(X, y, warm_start=cold)
    assert again.log_marginal_likelihood() >= cold.log_marginal_likelihood() - 1e-3


@pytest.mark.parametrize("ard", [False, True])
def test_a_warm_start_at_the_optimum_ends_at_once(ard):
    evaluations = []

    def counting(log_parameters):
        evaluations.append(log_parameters)
        return regularising_prior(log_parameters)

    gp = model()
    cold = fit(gp.X, 1e6 * gp.y, ard=ard, prior=regularising_prior)
    warm = fit(gp.X, 1e6 * gp.y, ard=ard, prior=counting, warm_start=cold)
    assert len(evaluations) < 8
    np.testing.assert_allclose(warm.length_scale, cold.length_scale, rtol=1e-3)


@pytest.mark.parametrize("ard", [False, True])
def test_a_warm_start_from_far_off(ard):
    gp = model()
    far = dataclasses.replace(gp, length_scale=np.full(D, 1e9), amplitude=1e-300, noise=0.0)
    fitted = fit(gp.X, gp.y, ard=ard, warm_start=far)
    assert np.all(np.isfinite(fitted.predict(points())))


def test_hyperparameters_of_many_points_come_from_some_of_them():
    gp = model(60)
    some = np.linspace(0, 59, 20).round().astype(int)
    y = gp.y - gp.y.mean()
    # With the same mean and scale, the subset alone gives the same hyperparameters.
    y[some] = (y[some] - y[some].mean()) / y[some].std()
    rest = np.setdiff1d(np.arange(60), some)
    y[rest] = (y[rest] - y[rest].mean()) / y[rest].std()
    fitted = fit(gp.X, y, max_fit_points=20)
    alone = fit(gp.X[some], y[some])
    np.testing.assert_allclose(fitted.length_scale, alone.length_scale, rtol=1e-6)
    np.testing.assert_array_equal(fitted.X, gp.X)
    np.testing.assert_array_equal(fitted.y, y)
