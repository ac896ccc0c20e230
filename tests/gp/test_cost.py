from __future__ import annotations

import dataclasses
import math

from gp_problems import one_source
import numpy as np
import pytest

from optuna_misowild.gp.cost import LogCost
from optuna_misowild.gp.cost import PaperCost
from optuna_misowild.gp.cost import fit_log_cost
from optuna_misowild.gp.cost import fit_paper_cost
from optuna_misowild.gp.cost import typical_cost


pytestmark = pytest.mark.filterwarnings("error")

ONE = np.array([[0.5, 0.5]])


def points(m=6, seed=1):
    return np.random.default_rng(seed).random((m, 2))


def skewed(n=20, seed=0):
    """Costs that span two orders of magnitude."""
    X = points(n, seed)
    return X, np.exp(5.0 * X[:, 0] + X[:, 1] ** 2)


def observed_once(kind, y, **kwargs):
    """A model of one value at ONE, of unit amplitude and noise: mean y/2, variance 1/2 there."""
    parameters = {"length_scale": 1.0, "amplitude": 1.0, "noise": 1.0, "mean": 0.0, "nu": 1.5}
    return kind(one_source(ONE, np.array([y]), **{**parameters, **kwargs}))


def upper(model, X):
    value, gradient = model.upper(X)
    assert gradient.shape == (len(X), 0)  # Not asked for.
    return value


def power(model, X, exponent):
    value, gradient = model.log_expected_power(X, exponent)
    assert gradient.shape == (len(X), 0)
    return value


def finite_differences(function, X):
    h = 1e-5
    steps = h * np.eye(X.shape[1])
    return np.stack([(function(X + s) - function(X - s)) / (2.0 * h) for s in steps], axis=1)


def test_upper_by_hand():
    assert upper(observed_once(PaperCost, 3.0), ONE) == pytest.approx(1.5 + math.sqrt(0.5))
    assert upper(observed_once(PaperCost, -1.0), ONE) == pytest.approx(-0.5 + math.sqrt(0.5))
    assert upper(observed_once(PaperCost, -3.0), ONE) == 0.0


def test_upper_gradient():
    X, cost = skewed()
    model = fit_paper_cost(X, cost)
    value, gradient = model.upper(points(), gradient=True)
    np.testing.assert_allclose(value, upper(model, points()), rtol=1e-12)
    np.testing.assert_allclose(
        gradient, finite_differences(lambda X: upper(model, X), points()), rtol=1e-4
    )


def test_upper_gradient_where_it_is_clamped():
    X = ONE + 0.01
    value, gradient = observed_once(PaperCost, -30.0).upper(X, gradient=True)
    assert not value.any()
    assert not gradient.any()


def test_upper_gradient_where_the_cost_is_certain():
    model = observed_once(PaperCost, 3.0, noise=0.0)
    value, gradient = model.upper(ONE, gradient=True)
    assert value == pytest.approx(3.0)
    assert not gradient.any()


def test_the_paper_models_the_raw_cost():
    X, cost = skewed()
    model = fit_paper_cost(X, cost)
    np.testing.assert_array_equal(model.gp.y, cost)
    assert model.gp.nu == 1.5
    assert len(set(model.gp.length_scale)) == 1


def test_expected_power_by_hand():
    # log c ~ N(1.5, 0.5): log E[c^-α] = -1.5 α + α² / 4.
    model = observed_once(LogCost, 3.0)
    assert power(model, ONE, -1.0) == pytest.approx(-1.25)
    assert power(model, ONE, -0.5) == pytest.approx(-0.6875)
    assert power(model, ONE, 1.0) == pytest.approx(1.75)
    assert power(model, ONE, 0.0) == 0.0
    assert model.median(ONE) == pytest.approx(math.exp(1.5))


def test_expected_power_is_that_of_a_sample():
    X, cost = skewed(6)
    model = fit_log_cost(X, cost)
    mean, variance = model.predict(ONE)
    draws = np.random.default_rng(0).lognormal(mean, np.sqrt(variance), 400_000)
    expected = np.log(np.mean(draws**-0.7))
    assert power(model, ONE, -0.7) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("exponent", [-1.0, -0.3, 0.0, 1.0])
def test_expected_power_gradient(exponent):
    model = fit_log_cost(*skewed(8))
    value, gradient = model.log_expected_power(points(), exponent, gradient=True)
    np.testing.assert_allclose(value, power(model, points(), exponent), rtol=1e-12)
    slope = finite_differences(lambda X: power(model, X, exponent), points())
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-8)


def test_the_log_cost_model_learns_skewed_costs():
    model = fit_log_cost(*skewed(30))
    X, cost = skewed(20, seed=5)
    np.testing.assert_allclose(model.median(X), cost, rtol=0.2)
    assert model.gp.nu == 2.5
    assert model.gp.length_scale[0] != model.gp.length_scale[1]


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e3, 1e200])
def test_the_log_cost_model_does_not_depend_on_the_unit(unit):
    X, cost = skewed()
    reference, scaled = fit_log_cost(X, cost), fit_log_cost(X, unit * cost)
    np.testing.assert_allclose(
        scaled.median(points()) / unit, reference.median(points()), rtol=1e-4
    )


@pytest.mark.parametrize("fit", [fit_paper_cost, fit_log_cost])
def test_categories(fit):
    X, cost = skewed()
    model = fit(X, cost, categorical=np.array([False, True]))
    assert list(model.gp.categorical) == [False, True]


def test_constant_costs_are_certain():
    X = points(5)
    cost = np.full(5, 1000.0)
    np.testing.assert_allclose(upper(fit_paper_cost(X, cost), points()), 1000.0, rtol=0.04)
    log_cost = fit_log_cost(X, cost)
    np.testing.assert_allclose(log_cost.median(points()), 1000.0)
    assert np.all(log_cost.predict(points())[1] < 0.01**2)


def test_costs_that_hardly_vary_are_measured_by_five_per_cent():
    X = points(8)
    cost = 10.0 + 1e-4 * np.random.default_rng(0).random(8)
    assert np.sqrt(fit_log_cost(X, cost).gp.amplitude) < 0.05
    assert np.sqrt(fit_log_cost(X, cost).gp.amplitude) > 1e-4


def test_zero_and_tiny_costs_count_as_a_small_part_of_the_others():
    X = points(9)
    cost = np.array([0.0, 1e-300, 2.0, 2.0, 2.0, 3.0, 1.0, 2.0, 4.0])
    log_cost = fit_log_cost(X, cost)
    np.testing.assert_allclose(np.exp(log_cost.gp.y[:2]), 2e-4)
    np.testing.assert_allclose(np.exp(log_cost.gp.y[2:]), cost[2:])


def test_costs_that_are_all_zero():
    log_cost = fit_log_cost(points(5), np.zeros(5), default=30.0)
    np.testing.assert_allclose(log_cost.median(points()), 3e-3)
    assert np.all(upper(fit_paper_cost(points(5), np.zeros(5)), points()) < 0.04)


@pytest.mark.parametrize("default", [1e-300, 1e100])
def test_a_source_without_a_cost_among_extreme_ones(default):
    model = fit_paper_cost(np.empty((0, 1)), np.empty(0), default=default)
    assert default <= upper(model, np.array([[0.5]]))[0] < np.inf


def test_a_source_without_a_cost():
    nowhere, nothing = np.empty((0, 2)), np.empty(0)
    paper = fit_paper_cost(nowhere, nothing, default=30.0)
    np.testing.assert_allclose(paper.gp.predict(points())[0], 30.0)
    np.testing.assert_allclose(upper(paper, points()), 60.0)
    np.testing.assert_allclose(upper(fit_paper_cost(nowhere, nothing), points()), 2.0)
    log_cost = fit_log_cost(nowhere, nothing, default=30.0)
    np.testing.assert_allclose(log_cost.median(points()), 30.0)
    value, gradient = log_cost.log_expected_power(points(), -1.0, gradient=True)
    np.testing.assert_allclose(value, -math.log(30.0), atol=0.01)
    assert not gradient.any()


@pytest.mark.parametrize("values", [[5e-324], [1e-310], [1.7e308], [1e-300, 1e300], [0.0, 5e-324]])
def test_costs_at_the_ends_of_the_range(values):
    X = points(6)
    cost = np.resize(values, 6)
    paper, log_cost = fit_paper_cost(X, cost), fit_log_cost(X, cost)
    results = [*paper.upper(points(), gradient=True), log_cost.median(points())]
    results += log_cost.log_expected_power(points(), -1.0, gradient=True)
    assert all(np.all(np.isfinite(values)) for values in results)


def test_mean_and_deviation_of_a_lognormal_by_hand():
    mean, std = observed_once(LogCost, 3.0).mean_and_std(ONE)
    assert mean == pytest.approx(math.exp(1.5 + 0.25))
    assert std == pytest.approx(math.exp(1.75) * math.sqrt(math.exp(0.5) - 1.0))
    for number in observed_once(LogCost, 3.0, amplitude=1e6).mean_and_std(np.zeros((1, 2))):
        assert 1e300 < number < np.inf
    assert observed_once(LogCost, 3.0, noise=0.0).mean_and_std(ONE)[1] == 0.0


def test_a_median_beyond_the_range_of_numbers():
    model = LogCost(dataclasses.replace(fit_log_cost(*skewed()).gp, mean=1e4))
    assert np.all(np.isfinite(model.median(np.full((1, 2), 50.0))))


def test_typical_cost():
    assert typical_cost(np.array([8.0, np.nan, 2.0, 0.0, 4.0])) == pytest.approx(4.0)
    assert typical_cost(np.array([1e308, 1.7e308])) == pytest.approx(1.3e308, rel=0.01)
    assert typical_cost(np.array([0.0, np.nan])) == 1.0
    assert typical_cost(np.empty(0)) == 1.0
