"""The joint model, conditioned on data, and the density of its hyperparameters."""

from __future__ import annotations

import dataclasses

from joint_problems import Array
from joint_problems import model_of
from joint_problems import random_problem
import numpy as np
import pytest
from scipy.linalg.lapack import dtrtri
from scipy.optimize import approx_fprime

from optuna_misowild.joint_likelihood import JointHyperparameters
from optuna_misowild.joint_likelihood import JointPosteriorDensity
from optuna_misowild.joint_likelihood import negative_log_prior


def matern52(r: Array) -> Array:
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def textbook_covariance(
    X: Array, s: Array, Z: Array, t: Array, h: JointHyperparameters, categorical: Array
) -> Array:
    """The covariance of f_s(x) and f_t(z), entry by entry from its definition."""
    K = np.empty((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            difference = np.where(categorical, X[i] != Z[j], X[i] - Z[j])
            r = np.linalg.norm(difference / h.length_scale)
            K[i, j] = h.rho[s[i]] * h.rho[t[j]] * h.amplitude * matern52(r)
            if s[i] == t[j] > 0:
                K[i, j] += h.tau[s[i]] * matern52(r / h.kappa[s[i]]) + 1
    return K


@pytest.mark.parametrize("n_sources", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_posterior_is_that_of_the_textbook(n: int, n_sources: int) -> None:
    X, source, y, h, categorical = random_problem(n=n, n_sources=n_sources)
    model = model_of(X, source, y, h, categorical)
    Z = random_problem(seed=1, n=6)[0]

    K = textbook_covariance(X, source, X, source, h, categorical) + np.diag(h.noise[source])
    targets = (y - model.offsets[source] - 38) / 5
    everywhere = np.repeat(Z, n_sources, axis=0)
    all_sources = np.tile(np.arange(n_sources), len(Z))
    C = textbook_covariance(everywhere, all_sources, X, source, h, categorical)
    prior = textbook_covariance(everywhere, all_sources, everywhere, all_sources, h, categorical)
    mean = model.offsets[all_sources] + 38 + 5 * C @ np.linalg.solve(K, targets)
    covariance = 25 * (prior - C @ np.linalg.solve(K, C.T))
    rows = np.arange(len(Z)) * n_sources

    posterior = model.predict_sources(Z)
    np.testing.assert_allclose(posterior.source_mean.ravel(), mean, rtol=1e-10)
    np.testing.assert_allclose(posterior.source_variance.ravel(), np.diag(covariance), rtol=1e-9)
    expected = [covariance[r, r : r + n_sources] for r in rows]
    np.testing.assert_allclose(posterior.covariance, expected, atol=1e-9)
    np.testing.assert_allclose(posterior.mean, mean[rows], rtol=1e-10)
    first = model.predict(Z)
    np.testing.assert_allclose(first, [posterior.mean, posterior.variance], rtol=1e-12)
    np.testing.assert_allclose(model.predict_mean(Z), posterior.mean, rtol=1e-12)
    np.testing.assert_allclose(model.predict_source_means(Z), posterior.source_mean, rtol=1e-10)


@pytest.mark.parametrize("source", range(4))
def test_gradient_of_posterior(source: int) -> None:
    model = model_of(*random_problem())
    X = random_problem(seed=1, n=5)[0]

    def quantities(x: Array) -> Array:
        p = model.predict_sources(x[None])
        at = 0, source
        return np.array([p.mean[0], p.variance[0], p.source_variance[at], p.covariance[at]])

    g = model.predict_sources_with_gradient(X, np.full(len(X), source))
    of_first = model.predict_with_gradient(X)
    for got, expected in zip(of_first, (g.mean, g.variance, g.d_mean, g.d_variance), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    values = np.stack([g.mean, g.variance, g.source_variance, g.covariance], axis=1)
    gradients = np.stack([g.d_mean, g.d_variance, g.d_source_variance, g.d_covariance], axis=1)
    for i, x in enumerate(X):
        np.testing.assert_allclose(values[i], quantities(x), rtol=1e-9)
        numerical = np.zeros((4, 3))
        for c in (0, 2):  # coordinate 1 is categorical
            step = 1e-6 * np.eye(3)[c]
            numerical[:, c] = (quantities(x + step) - quantities(x - step)) / 2e-6
        np.testing.assert_allclose(gradients[i], numerical, rtol=1e-5, atol=1e-6)


def test_gradient_of_the_means_of_the_sources() -> None:
    model = model_of(*random_problem())
    X = random_problem(seed=1, n=8)[0]
    source = np.array([2, 0, 3, 1, 0, 3, 2, 2])
    at = np.arange(8), source
    mean, gradient = model.predict_source_mean_with_gradient(X, source)
    np.testing.assert_allclose(mean, model.predict_source_means(X)[at], rtol=1e-10)
    assert not gradient[:, 1].any()  # categorical
    for c in (0, 2):
        step = 1e-6 * np.eye(3)[c]
        above, below = model.predict_source_means(X + step), model.predict_source_means(X - step)
        np.testing.assert_allclose(gradient[:, c], (above - below)[at] / 2e-6, rtol=1e-5)


def test_gradients_of_several_sources_at_once() -> None:
    model = model_of(*random_problem())
    X = random_problem(seed=1, n=8)[0]
    source = np.array([2, 0, 3, 1, 0, 3, 2, 2])
    together = model.predict_sources_with_gradient(X, source)
    for i in range(len(X)):
        alone = model.predict_sources_with_gradient(X[[i]], source[[i]])
        for field in dataclasses.fields(together):
            got, expected = getattr(together, field.name)[i], getattr(alone, field.name)[0]
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_sources", "n"), [(1, 12), (2, 1), (4, 30), (6, 12)])
def test_posterior_density_of_hyperparameters(n_sources: int, n: int) -> None:
    X, source, y, h, categorical = random_problem(n=n, n_sources=n_sources)
    targets = (y - 38) / 5
    density = JointPosteriorDensity(X, source, targets, n_sources, categorical)
    theta = h.to_vector()

    K = textbook_covariance(X, source, X, source, h, categorical) + np.diag(h.noise[source])
    likelihood = -0.5 * (targets @ np.linalg.solve(K, targets) + np.linalg.slogdet(K)[1])
    value, gradient = density(theta)
    assert value == pytest.approx(negative_log_prior(theta, X.shape[1])[0] - likelihood)
    numerical = approx_fprime(theta, lambda v: density(v)[0], 1e-7)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("noise", "excess"),
    [(0.01, 0.0), (0.2, np.log(2.0) ** 2 / 16), (0.4, (np.log(4.0) ** 2 + np.log(2.0) ** 2) / 16)],
)
def test_prior_is_that_of_the_method(noise: float, excess: float) -> None:
    """By the last sum, the preferred source is hardly noisier than another."""
    h = JointHyperparameters(
        length_scale=np.array([0.5, 2.0]),
        amplitude=3.0,
        noise=np.array([noise, 0.1, 0.2]),
        rho=np.array([1.0, 0.5, 1.0]),
        tau=np.array([0.0, 0.2, 1.0]),
        kappa=np.array([1.0, np.exp(0.7), 1.0]),
    )
    expected = 0.1 * 2 * (4 + 0.25) - np.log(3) + 3 + 30 * (noise + 0.3) + excess
    expected += 2 * 0.25 - 0.1 * np.log(0.2) + 0.4 + 2.0 + 0.5
    assert negative_log_prior(h.to_vector(), 2)[0] == pytest.approx(expected)
    numerical = approx_fprime(h.to_vector(), lambda v: negative_log_prior(v, 2)[0], 1e-7)
    gradient = negative_log_prior(h.to_vector(), 2)[1]
    np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4)
    of_costs = negative_log_prior(h.to_vector(), 2, ordered_noise=False)[0]
    assert of_costs == pytest.approx(expected - excess)


def test_leave_one_out_is_leaving_out() -> None:
    X, source, y, h, categorical = random_problem()
    residual, variance = model_of(X, source, y, h, categorical).leave_one_out()
    first = np.flatnonzero(source == 0)
    assert len(residual) == len(first)
    for k, row in enumerate(first):
        rest = np.arange(len(X)) != row
        mean, v = model_of(X[rest], source[rest], y[rest], h, categorical).predict(X[[row]])
        assert residual[k] == pytest.approx(y[row] - mean[0])
        assert variance[k] == pytest.approx(v[0] + 25 * h.noise[0])


def test_condition_on_values_is_construction_with_all_of_them() -> None:
    X, source, y, h, categorical = random_problem()
    model = model_of(X[:20], source[:20], y[:20], h, categorical)
    grown = model.condition(X[20:], source[20:], y[20:])
    Z = random_problem(seed=1)[0]
    whole = model_of(X, source, y, h, categorical)
    np.testing.assert_allclose(grown.predict(Z), whole.predict(Z), rtol=1e-10)


def test_pending_observations_leave_the_mean_and_reduce_the_variance() -> None:
    model = model_of(*random_problem())
    Z = random_problem(seed=1, n=4)[0]
    grown = model.condition(Z, np.array([0, 1, 2, 3]))
    before, after = model.predict_sources(Z), grown.predict_sources(Z)
    np.testing.assert_allclose(after.source_mean, before.source_mean, rtol=1e-10)
    assert np.all(np.diag(after.source_variance) < 0.9 * np.diag(before.source_variance))


def test_hyperparameters_are_readable_in_units_of_y() -> None:
    X, source, y, h, categorical = random_problem()
    model = model_of(X, source, y, h, categorical)
    assert model.amplitude == h.amplitude * 25
    np.testing.assert_allclose(model.noise, h.noise * 25)
    np.testing.assert_allclose(model.tau, h.tau * 25)
    for name in ("length_scale", "rho", "kappa"):
        np.testing.assert_array_equal(getattr(model, name), getattr(h, name))


def test_factor_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(
        "scipy.linalg.lapack.dtrtri", lambda *a, **k: (calls.append(1), dtrtri(*a, **k))[1]
    )
    model = model_of(*random_problem())
    Z = random_problem(seed=1)[0]
    for _ in range(3):
        model.predict_sources(Z)
        model.predict_sources_with_gradient(Z, np.full(len(Z), 2))
        model.leave_one_out()
    assert len(calls) == 1
