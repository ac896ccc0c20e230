"""The Gaussian process of several sources, conditioned on data."""

from __future__ import annotations

import dataclasses
from typing import Any

from gp_problems import SIZES
from gp_problems import Array
from gp_problems import model_of
from gp_problems import random_problem
import numpy as np
import pytest
from scipy.linalg.lapack import dpotrf
from scipy.linalg.lapack import dtrtri

from optuna_misowild.gp.hyperparameters import Hyperparameters


def matern52(r: Array) -> Array:
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def textbook_covariance(
    X: Array, s: Array, Z: Array, t: Array, h: Hyperparameters, categorical: Array
) -> Array:
    """The covariance of f_s(x) and f_t(z), entry by entry from its definition."""
    K = np.empty((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            difference = np.where(categorical, X[i] != Z[j], X[i] - Z[j])
            r = np.linalg.norm(difference / h.length_scale)
            K[i, j] = h.rho[s[i]] * h.rho[t[j]] * h.amplitude * matern52(r)
            if h.decay is not None:
                e = (np.power(SIZES, -h.decay) - 1) / (min(SIZES) ** -h.decay - 1)
                shared = h.tau[-1] * matern52(r / h.kappa[-1]) + h.offset[-1]
                K[i, j] += e[s[i]] * e[t[j]] * shared
            elif s[i] == t[j]:
                K[i, j] += h.tau[s[i]] * matern52(r / h.kappa[s[i]]) + (s[i] > 0)
    return K


@pytest.mark.parametrize(("n_sources", "sizes"), [(1, ()), (2, ()), (4, ()), (4, SIZES)])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_posterior_is_that_of_the_textbook(
    n: int, n_sources: int, sizes: tuple[float, ...]
) -> None:
    X, source, y, h, categorical = random_problem(n=n, n_sources=n_sources, sizes=sizes)
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

    posterior = model.posterior(Z, range(n_sources))
    np.testing.assert_allclose(posterior.source_mean.ravel(), mean, rtol=1e-10)
    np.testing.assert_allclose(posterior.source_variance.ravel(), np.diag(covariance), rtol=1e-9)
    expected = [covariance[r, r : r + n_sources] for r in rows]
    np.testing.assert_allclose(posterior.covariance, expected, atol=1e-9)
    np.testing.assert_allclose(posterior.mean, mean[rows], rtol=1e-10)
    # f_s − ρ_s f_1
    difference = np.eye(len(mean)) - np.kron(
        np.eye(len(Z)), h.rho[:, None] * (np.arange(n_sources) == 0)
    )
    np.testing.assert_allclose(posterior.discrepancy_mean.ravel(), difference @ mean, atol=1e-9)
    np.testing.assert_allclose(
        posterior.discrepancy_variance.ravel(),
        np.diag(difference @ covariance @ difference.T),
        atol=1e-9,
    )
    first = model.predict(Z)
    np.testing.assert_allclose(first, [posterior.mean, posterior.variance], rtol=1e-12)
    np.testing.assert_allclose(model.predict_mean(Z), posterior.mean, rtol=1e-12)
    np.testing.assert_allclose(
        model.means(Z, range(n_sources))[0], posterior.source_mean, rtol=1e-10
    )


VALUES = (
    "mean",
    "variance",
    "source_mean",
    "source_variance",
    "covariance",
)


@pytest.mark.parametrize("nu", [1.5, 2.5])
@pytest.mark.parametrize("isotropic", [False, True])
@pytest.mark.parametrize("sizes", [(), SIZES])
def test_gradient_of_posterior(nu: float, isotropic: bool, sizes: tuple[float, ...]) -> None:
    X, source, y, h, categorical = random_problem(sizes=sizes)
    if isotropic:
        h = dataclasses.replace(h, length_scale=np.full(3, 0.6))
    model = dataclasses.replace(model_of(X, source, y, h, categorical), nu=nu)
    Z = random_problem(seed=1, n=5)[0]
    g = model.posterior(Z, range(4), gradient=True)
    for name in VALUES:
        value, gradient = getattr(g, name), getattr(g, f"d_{name}")
        np.testing.assert_allclose(value, getattr(model.posterior(Z, range(4)), name), rtol=1e-9)
        assert gradient.shape == (*value.shape, 3)
        assert not gradient[..., 1].any()  # categorical
        for c in (0, 2):
            step = 1e-6 * np.eye(3)[c]
            above, below = model.posterior(Z + step, range(4)), model.posterior(Z - step, range(4))
            slope = (getattr(above, name) - getattr(below, name)) / 2e-6
            np.testing.assert_allclose(gradient[..., c], slope, rtol=1e-5, atol=1e-6)


def test_gradients_that_are_not_asked_for_have_no_columns() -> None:
    model = model_of(*random_problem())
    Z = random_problem(seed=1, n=5)[0]
    posterior = model.posterior(Z, (3, 0))
    for name in VALUES:
        assert getattr(posterior, f"d_{name}").shape == (*getattr(posterior, name).shape, 0)
    assert model.means(Z, (3, 0))[1].shape == (5, 2, 0)


@pytest.mark.parametrize("sizes", [(), SIZES])
def test_gradient_of_the_means_of_the_sources(sizes: tuple[float, ...]) -> None:
    model = model_of(*random_problem(sizes=sizes))
    X = random_problem(seed=1, n=8)[0]
    mean, gradient = model.means(X, range(4), gradient=True)
    np.testing.assert_allclose(mean, model.means(X, range(4))[0], rtol=1e-10)
    assert not gradient[..., 1].any()  # categorical
    for c in (0, 2):
        step = 1e-6 * np.eye(3)[c]
        above, below = model.means(X + step, range(4))[0], model.means(X - step, range(4))[0]
        np.testing.assert_allclose(gradient[..., c], (above - below) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("gradient", [False, True])
def test_several_sources_at_once(gradient: bool) -> None:
    """Each at some locations, in whole columns, once in every row, and the same one twice."""
    model = model_of(*random_problem())
    X = random_problem(seed=1, n=8)[0]
    sources = np.array([[2, 0, 3, 0, 0, 3, 2, 2], [3] * 8, [1, 2] * 4, [2, 1] * 4]).T
    together = model.posterior(X, sources, gradient=gradient)
    means, d_means = model.means(X, sources, gradient=gradient)
    for i in range(len(X)):
        for k, s in enumerate(sources[i]):
            alone = model.posterior(X[[i]], [s], gradient=gradient)
            for field in dataclasses.fields(together):
                got, expected = getattr(together, field.name)[i], getattr(alone, field.name)[0]
                if field.name not in ("mean", "variance", "d_mean", "d_variance"):
                    got, expected = got[k], expected[0]
                np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(means[i, k], alone.source_mean[0, 0], rtol=1e-10)
            np.testing.assert_allclose(d_means[i, k], alone.d_source_mean[0, 0], atol=1e-9)


def test_nowhere() -> None:
    model = model_of(*random_problem())
    for gradient in (False, True):
        posterior = model.posterior(np.empty((0, 3)), range(4), gradient=gradient)
        assert posterior.source_variance.shape == (0, 4)
        assert posterior.d_covariance.shape == (0, 4, 3 * gradient)
        assert model.means(np.empty((0, 3)), range(4), gradient=gradient)[0].shape == (0, 4)


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
    grown = model.condition(X[20:], y[20:], source=source[20:])
    Z = random_problem(seed=1)[0]
    whole = model_of(X, source, y, h, categorical)
    np.testing.assert_allclose(grown.predict(Z), whole.predict(Z), rtol=1e-10)


def test_pending_observations_leave_the_mean_and_reduce_the_variance() -> None:
    model = model_of(*random_problem())
    Z = random_problem(seed=1, n=4)[0]
    grown = model.condition(Z, source=np.arange(4))
    before, after = model.posterior(Z, range(4)), grown.posterior(Z, range(4))
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
    for name, function in (("dpotrf", dpotrf), ("dtrtri", dtrtri)):

        def spy(*args: Any, name: str = name, function: Any = function, **kwargs: Any) -> Any:
            calls.append(name)
            return function(*args, **kwargs)

        monkeypatch.setattr(f"scipy.linalg.lapack.{name}", spy)
    model = model_of(*random_problem())
    Z = random_problem(seed=1)[0]
    for _ in range(3):
        model.means(Z, range(4))
    assert calls == ["dpotrf"]
    for _ in range(3):
        model.posterior(Z, range(4))
        model.posterior(Z, [2], gradient=True)
        model.leave_one_out()
        model.log_marginal_likelihood()
    assert calls == ["dpotrf", "dtrtri"]
