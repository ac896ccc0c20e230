"""Fitting the Gaussian process of one source to data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_one_source import MIXED
from test_one_source import D
from test_one_source import model
from test_one_source import points

from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.gp.fit import standardise
from optuna_misowild.gp.fit import subset
from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.likelihood import Density
from optuna_misowild.gp.prior import Prior


pytestmark = pytest.mark.filterwarnings("error")


def fit(X, y, *, ard=False, prior=None, mean="sample", min_scale=0.0, **kwargs):
    settings = FitSettings(nu=1.5, ard=ard, prior=prior, mean=mean, min_scale=min_scale)
    return fit_gp(X, y, settings=settings, **kwargs)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("scale", [1e-308, 1e-30, 1.0, 1e30, 1e308])
@pytest.mark.parametrize("kind", ["wiggly", "constant", "outlier", "offset"])
@pytest.mark.parametrize("prior", [None, Prior()])
@pytest.mark.parametrize("mean", ["sample", "gls"])
def test_any_values_can_be_fitted(n, scale, kind, prior, mean):
    rng = np.random.default_rng(n)
    X = rng.random((n, D))
    y = {
        "wiggly": rng.uniform(-1.0, 1.0, n),
        "constant": np.full(n, 0.1),
        "outlier": np.where(np.arange(n) == 0, 1.0, 1e-12),
        "offset": 1.0 + 1e-14 * rng.random(n),
    }[kind] * scale
    gp = fit(X, y, ard=prior is not None, prior=prior, mean=mean)
    p = gp.posterior(points(), gradient=True)
    results = [*gp.predict(X), p.d_mean, p.d_variance, *gp.leave_one_out()]
    results += [gp.amplitude, gp.noise, gp.mean]
    assert all(np.all(np.isfinite(values)) for values in results)
    assert np.all(gp.predict(X)[1] >= 0.0)
    assert math.isfinite(gp.log_marginal_likelihood())
    assert gp.length_scale.shape == (D,)


@pytest.mark.parametrize("ard", [False, True])
def test_values_can_be_fitted_where_no_parameter_varies(ard):
    gp = fit(np.empty((4, 0)), np.array([0.0, 1.0, 2.0, 3.0]), ard=ard)
    assert gp.predict(np.empty((2, 0)))[0] == pytest.approx(np.full(2, 1.5))


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
    assert 0.1**2 / 3.0 < gp.noise[0] < 0.1**2 * 3.0


def test_one_length_scale_or_each_its_own():
    X = points(40)
    y = np.sin(8.0 * X[:, 0])
    assert len(set(fit(X, y).length_scale)) == 1
    length_scale = fit(X, y, ard=True, prior=Prior()).length_scale
    assert length_scale[0] < 0.5 * length_scale[1:].min()


def test_a_category_that_matters_is_told_from_one_that_does_not():
    X = points(40)
    X[:, 1:] = (np.floor(3.0 * X[:, 1:]) + 0.5) / 3.0
    y = np.where(X[:, 1] < 0.6, 3.0, 1.0) + 0.1 * X[:, 0]
    categorical = np.array([False, True, True])
    gp = fit(X, y, ard=True, categorical=categorical, prior=Prior())
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
def test_a_failed_fit_falls_back_with_a_warning(monkeypatch):
    def broken(self, theta):
        return math.nan, np.full_like(theta, math.nan)

    monkeypatch.setattr(Density, "__call__", broken)
    gp = model()
    with pytest.warns(RuntimeWarning, match="to 15 values failed.*default hyperparameters"):
        fitted = fit(gp.X, gp.y)
    np.testing.assert_allclose(fitted.length_scale, 0.5)
    assert fitted.amplitude == pytest.approx(np.var(gp.y))
    assert fitted.noise == pytest.approx(1e-3 * np.var(gp.y))
    assert np.all(np.isfinite(fitted.predict(points())))


def test_a_warm_start_is_the_only_start():
    # Values with two modes of the likelihood: the better one without noise, the other one noisy.
    rng = np.random.default_rng(122)
    y, X = 100.0 * rng.normal(size=12), rng.random((12, 2))
    cold = fit(X, y)
    assert cold.noise < 1e-5 * cold.amplitude
    noisy = Hyperparameters.start(2, 1, length_scale=0.2, noise=0.2)
    assert fit(X, y, warm_start=noisy).noise > 0.1 * cold.amplitude
    again = fit(X, y, warm_start=cold.hyperparameters)
    assert again.log_marginal_likelihood() >= cold.log_marginal_likelihood() - 1e-3


@pytest.mark.parametrize("ard", [False, True])
def test_a_warm_start_at_the_optimum_ends_at_once(ard, monkeypatch):
    gp = model()
    cold = fit(gp.X, 1e6 * gp.y, ard=ard, prior=Prior())
    evaluations = []
    density = Density.__call__

    def counting(self, theta):
        evaluations.append(theta)
        return density(self, theta)

    monkeypatch.setattr(Density, "__call__", counting)
    warm = fit(gp.X, 1e6 * gp.y, ard=ard, prior=Prior(), warm_start=cold.hyperparameters)
    assert len(evaluations) < 8
    np.testing.assert_allclose(warm.length_scale, cold.length_scale, rtol=1e-3)


@pytest.mark.parametrize("ard", [False, True])
def test_a_warm_start_from_far_off(ard):
    gp = model()
    far = Hyperparameters.start(D, 1, length_scale=1e9, noise=1e-300)
    fitted = fit(gp.X, gp.y, ard=ard, warm_start=far)
    assert np.all(np.isfinite(fitted.predict(points())))


def test_hyperparameters_of_many_points_come_from_some_of_them(monkeypatch):
    fitted_to = []

    def spy(X, source, targets, **kwargs):
        fitted_to.append((X, targets))
        return Density(X, source, targets, **kwargs)

    monkeypatch.setattr("optuna_misowild.gp.fit.Density", spy)
    gp = model(60)
    some = subset(gp.source, gp.y, 20)
    fitted = fit(gp.X, gp.y, max_points=20)
    np.testing.assert_array_equal(fitted_to[0][0], gp.X[some])
    np.testing.assert_allclose(fitted_to[0][1], (gp.y[some] - gp.y.mean()) / gp.y.std())
    np.testing.assert_array_equal(fitted.X, gp.X)
    np.testing.assert_array_equal(fitted.y, gp.y)
