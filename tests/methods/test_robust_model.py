"""What the robust method fits, and its acquisition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import SQUARE
from robust_observations import Array
from robust_observations import example
from robust_observations import objective
from robust_observations import observe
from scipy.stats import norm

from optuna_misowild.gp.cost import LogCost
from optuna_misowild.gp.fit import MAX_DATA
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.optim.acquisition import log_ei
from optuna_misowild.optim.domain import Domain


def test_mixture_needs_six_values_of_the_preferred_source() -> None:
    few, enough = example(n=15), example(n=16)
    assert len(few.valued(0)) == 5 and len(enough.valued(0)) == 6
    assert METHOD.fit(few, SQUARE).single is None
    assert METHOD.fit(few, SQUARE).log_odds == np.inf
    assert METHOD.fit(enough, SQUARE).single is not None


@pytest.mark.parametrize("others", ["none", "unasked", "pending"])
def test_without_another_source_both_models_are_one(others: str) -> None:
    """Two searches, each with its own noise, would say that one of them predicts better."""
    for seed in range(24):
        observations = example(seed, n=30)
        first = observations.source == 0
        X, y = observations.X[first], observations.y[first]
        source, pending = np.zeros(len(y), dtype=int), np.zeros(len(y), dtype=bool)
        if others == "pending":
            X, y = np.concatenate([X, X[:2] + 0.01]), np.concatenate([y, [np.nan, np.nan]])
            source, pending = np.append(source, [1, 0]), np.append(pending, [True, True])
        model = METHOD.fit(
            observe(X, source, y, n_sources=1 if others == "none" else 3, pending=pending), SQUARE
        )
        assert model.log_odds == 0.0
        assert model.single is not None
        Z = np.random.default_rng(0).random((5, 2))
        np.testing.assert_allclose(model.single.predict(Z)[0], model.joint.predict(Z)[0])


def test_of_many_values_both_models_know_the_same_ones_of_the_preferred_source() -> None:
    rng = np.random.default_rng(0)
    X, source = rng.random((MAX_DATA + 200, 2)), (np.arange(MAX_DATA + 200) % 3 > 0).astype(int)
    observations = observe(X, source, objective(X))
    model = METHOD.fit(observations, SQUARE)
    known = model.joint.source == 0
    assert MAX_DATA <= len(model.joint.X) < MAX_DATA + 100
    assert model.single is not None
    np.testing.assert_array_equal(model.single.X, model.joint.X[known])
    # x⁺ is the best of all of them.
    assert len(model.ranked) == len(X)
    training = replace(observations, trial=np.arange(len(X)) // 2)
    again = METHOD.updated(model, training, SQUARE, training=100)
    assert len(again.joint.X) <= MAX_DATA + 2
    for row in (200, 201):  # Of the training that asks.
        assert (again.joint.X == X[row]).all(axis=1).any()


def test_joint_model_loses_its_weight_where_it_predicts_badly() -> None:
    good = example(n=60)
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((20, 2)), 2, axis=0)
    source = np.tile([0, 1], 20)
    y = np.where(source == 0, objective(X), 1e-3 * rng.normal(size=40) + 40 * X[:, 0] ** 5)
    good_model = METHOD.fit(good, SQUARE)
    bad_model = METHOD.fit(observe(X, source, y), SQUARE)
    assert bad_model.log_odds < good_model.log_odds

    assert bad_model.single is not None
    scores = [
        norm.logpdf(residual, scale=np.sqrt(variance)).sum()
        for residual, variance in (
            bad_model.joint.leave_one_out(),
            bad_model.single.leave_one_out(),
        )
    ]
    assert bad_model.log_odds == pytest.approx(scores[0] - scores[1])

    # Without any weight it is EI of the model of source 0, and other sources are worthless.
    alone = replace(bad_model, log_odds=-1e6, alpha=0.0)
    Z = rng.random((5, 2))
    acquisition = RobustAcquisition(alone, (0,))
    assert alone.single is not None
    mean, variance = alone.single.predict(Z)
    expected = log_ei(mean, variance + alone.single.noise[0], alone.lowest).value
    np.testing.assert_allclose(acquisition.values(Z)[:, 0], expected)
    assert np.all(alone.acquisition(Z, 1) < -1e5)


def test_acquisition_by_hand() -> None:
    observations = example(n=30, budget=40.0, initial_spent=5.0)
    model = METHOD.fit(observations, SQUARE)
    x = np.array([[0.4, 0.6]])
    posterior = model.joint.posterior(x, range(3))
    assert model.single is not None

    def ei(mean: Array, variance: Array, noise: float, best: float) -> float:
        sd = np.sqrt(variance[0] + noise)
        u = (best - mean[0]) / sd
        return float(sd * (norm.pdf(u) + u * norm.cdf(u)))

    pi = 1 / (1 + np.exp(-model.log_odds))
    alpha = (40 - observations.spent) / 35
    lowest = observations.y[observations.source == 0].min()
    best = min(lowest, model.incumbent)
    noise = model.noise[0]
    assert model.alpha == pytest.approx(alpha)

    def told(s: int) -> float:
        covariance, f_1, f_s = (
            posterior.covariance,
            posterior.variance,
            posterior.source_variance,
        )
        return float(covariance[0, s] ** 2 / (f_1[0] * (f_s[0, s] + model.noise[s])))

    assert told(1) < told(0) < 1.0
    for s in (0, 1):
        utility = pi * ei(posterior.mean, posterior.variance, noise, best)
        utility *= (told(s) / told(0)) ** 2
        if s == 0:
            utility += (1 - pi) * ei(*model.single.predict(x), model.single.noise[0], lowest)
        expected = np.log(utility) - alpha * np.log(model.cost.median(x, s)[0])
        assert model.acquisition(x, s)[0] == pytest.approx(expected)


def test_gradient_of_acquisition() -> None:
    model = METHOD.fit(example(budget=100.0), SQUARE)
    acquisition = RobustAcquisition(model, (0, 1, 2))
    X, source = np.random.default_rng(1).random((15, 2)), np.tile([0, 1, 2], 5)
    at = np.arange(15), source
    value, gradient = acquisition.value_and_gradient(X, source)
    np.testing.assert_allclose(value, acquisition.values(X)[at], rtol=1e-9)
    for i, step in enumerate(1e-6 * np.eye(2)):
        slope = (acquisition.values(X + step)[at] - acquisition.values(X - step)[at]) / 2e-6
        np.testing.assert_allclose(gradient[:, i], slope, rtol=1e-3, atol=1e-4)


def test_incumbent_is_the_lowest_mean_over_the_locations_of_all_sources() -> None:
    observations = example()
    model = METHOD.fit(observations, SQUARE)
    mean = model.joint.predict(observations.X)[0]
    assert model.incumbent == pytest.approx(mean.min())
    np.testing.assert_array_equal(model.x_plus, observations.X[np.argmin(mean)])
    first = observations.source == 0
    assert model.best == model.expected(observations.X[first]).min()
    assert model.best == pytest.approx(observations.y[first].min(), abs=1e-4)


def test_a_value_has_to_beat_the_lowest_value_and_a_training_the_lowest_mean() -> None:
    x = np.linspace(0.0, 1.0, 30)
    y = 4.0 * (x - 0.4) ** 2 + 0.05 * (-1.0) ** np.arange(30)
    y[13] = -0.3
    model = replace(METHOD.fit(observe(x[:, None], [0] * 30, y), LINE), alpha=0.0)
    assert model.best == pytest.approx(0.0, abs=0.06)
    assert model.lowest == -0.3

    # Both models are the same one.
    Z = np.array([[0.1], [0.41], [0.93]])
    mean, variance = model.joint.predict(Z)
    expected = log_ei(mean, variance + model.noise[0], -0.3).value
    np.testing.assert_allclose(model.acquisition(Z, 0), expected)


def test_what_is_predicted_is_in_raw_units() -> None:
    observations = example(n=90)
    model = METHOD.fit(observations, SQUARE)
    Z = np.random.default_rng(1).random((50, 2))
    mean, std = model.predict(Z, 1)
    error = mean - objective(Z) - 0.5 - 0.1 * Z[:, 1]
    assert np.abs(error).max() < 0.1 and np.all(np.abs(error) < 10 * std)
    mean, std = model.predict_cost(Z, 1)
    np.testing.assert_allclose(mean, 0.1 * np.exp(Z[:, 0]), rtol=0.05)
    assert np.all(std < 0.1 * mean)
    posterior = model.joint.posterior(Z, [2])
    np.testing.assert_allclose(
        model.discrepancy(Z, 2)[0], posterior.source_mean[:, 0] - model.rho[2] * posterior.mean
    )


# The costs.


def paid(source: Any, cost: Any, X: Array, **others: Any) -> LogCost:
    observations = observe(X, source, cost=cost, n_sources=3, **others)
    return METHOD.fit(observations, Domain.continuous(X.shape[1])).cost


def test_cheap_sources_tell_where_the_preferred_one_is_dear() -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.random((33, 2)), rng.random((100, 2))
    source = np.repeat([0, 1, 2], [3, 20, 10])
    cost = np.exp(5 * X[:, 0] + np.sin(6 * X[:, 1])) * np.array([10, 1, 0.1])[source]
    expected = np.exp(5 * Z[:, 0] + np.sin(6 * Z[:, 1]))
    joint = paid(source, cost, X)
    for s, factor in enumerate([10, 1, 0.1]):
        np.testing.assert_allclose(joint.median(Z, s), factor * expected, rtol=0.25)
    alone = paid(source[:3], cost[:3], X[:3])
    assert np.median(np.abs(np.log(alone.median(Z, 0) / expected / 10))) > 0.5


def test_a_source_may_be_dear_where_the_others_are_not() -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.random((60, 1)), rng.random((100, 1))
    source = np.arange(60) % 3
    cost = np.exp(np.choose(source, [3 * X[:, 0], -3 * X[:, 0], np.sin(6 * X[:, 0]) - 5]))
    joint = paid(source, cost, X)
    for s, log_cost in enumerate([3 * Z[:, 0], -3 * Z[:, 0], np.sin(6 * Z[:, 0]) - 5]):
        np.testing.assert_allclose(joint.median(Z, s), np.exp(log_cost), rtol=0.15)


def test_costs_of_one_source_that_are_zero_leave_the_others_as_they_are() -> None:
    X = np.random.default_rng(2).random((30, 2))
    source = np.arange(30) % 3
    cost = np.choose(source, [np.exp(2 * X[:, 0]), 0.0, 0.1 * np.exp(2 * X[:, 0])])
    for unit in (1e-200, 1.0, 1e200):
        joint = paid(source, unit * cost, X)
        medians = [joint.median(X, s) / unit for s in range(3)]
        np.testing.assert_allclose(medians[0], np.exp(2 * X[:, 0]), rtol=0.15)
        np.testing.assert_allclose(medians[2], 0.1 * np.exp(2 * X[:, 0]), rtol=0.15)
        assert np.all(medians[1] < 1e-3)


def test_costs_of_a_source_that_was_never_asked_are_those_of_the_preferred_one() -> None:
    X = np.random.default_rng(2).random((12, 2))
    joint = paid(np.zeros(12), np.exp(3 * X[:, 0]), X)
    np.testing.assert_allclose(joint.median(X, 2), joint.median(X, 0), rtol=0.05)
    unknown = paid(np.zeros(12), np.full(12, np.nan), X)
    np.testing.assert_allclose(unknown.median(X, 1), 1.0)


def test_costs_that_hardly_vary_are_measured_by_five_per_cent_together() -> None:
    rng = np.random.default_rng(2)
    X, source = rng.random((30, 2)), np.arange(30) % 3
    joint = paid(source, np.array([10.0, 1.0, 0.1])[source] * (1 + 1e-4 * rng.random(30)), X)
    assert joint.gp.scale == 0.05
    mean, std = joint.mean_and_std(X, 1)
    np.testing.assert_allclose(mean, 1.0, rtol=0.01)
    assert np.all(std < 0.01)
