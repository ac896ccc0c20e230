from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pytest
from scipy.linalg.lapack import dtrtri
from scipy.optimize import approx_fprime

from optuna_misowild import joint_fit
from optuna_misowild.joint import JointGaussianProcess
from optuna_misowild.joint_fit import fit_joint
from optuna_misowild.joint_fit import shared_offsets
from optuna_misowild.joint_fit import subset
from optuna_misowild.joint_likelihood import JointHyperparameters
from optuna_misowild.joint_likelihood import JointPosteriorDensity
from optuna_misowild.joint_likelihood import negative_log_prior


Array = NDArray[np.float64]


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


def random_problem(
    seed: int = 0, n: int = 30, d: int = 3, n_sources: int = 4
) -> tuple[Array, Array, Array, JointHyperparameters, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    categorical = np.zeros(d, dtype=bool)
    if d > 1:
        categorical[1] = True
        X[:, 1] = rng.choice([1 / 6, 1 / 2, 5 / 6], n)
    source = rng.integers(n_sources, size=n)
    y = 40 + 7 * np.sin(5 * X).sum(axis=1) + rng.normal(size=n_sources)[source]
    tau, kappa, rho = rng.uniform(0.2, 1, (3, n_sources))
    tau[0], kappa[0], rho[0] = 0, 1, 1
    h = JointHyperparameters(
        length_scale=rng.uniform(0.3, 0.9, d),
        amplitude=1.4,
        noise=10 ** rng.uniform(-3, -1, n_sources),
        rho=rho,
        tau=tau,
        kappa=kappa,
    )
    return X, source, y, h, categorical


def model_of(
    X: Array, source: Array, y: Array, h: JointHyperparameters, categorical: Array
) -> JointGaussianProcess:
    offsets = 0.5 * np.arange(len(h.rho))
    return JointGaussianProcess(
        X=X,
        source=source,
        y=y,
        hyperparameters=h,
        offsets=offsets,
        mean=38.0,
        scale=5.0,
        categorical=categorical,
    )


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


def test_prior_is_that_of_the_method() -> None:
    h = JointHyperparameters(
        length_scale=np.array([0.5, 2.0]),
        amplitude=3.0,
        noise=np.array([0.01, 0.1]),
        rho=np.array([1.0, 0.5]),
        tau=np.array([0.0, 0.2]),
        kappa=np.array([1.0, np.exp(0.7)]),
    )
    expected = 0.1 * 2 * (4 + 0.25) - np.log(3) + 3 + 30 * 0.11
    expected += 2 * 0.25 - 0.1 * np.log(0.2) + 0.4 + 0.5
    assert negative_log_prior(h.to_vector(), 2)[0] == pytest.approx(expected)


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


def test_fit_is_no_worse_than_its_starts_and_finds_the_discrepancy() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((60, 2))
    source = np.arange(60) % 3
    f = np.sin(4 * X[:, 0]) + X[:, 1] ** 2
    y = np.choose(source, [f, 0.5 * f + 20, f + np.sin(9 * X[:, 1])])
    offsets = shared_offsets(X, source, y, n_sources=3, limit=5)
    model = fit_joint(X, source, y, offsets=offsets)
    targets = (y - model.offsets[source] - model.mean) / model.scale
    density = JointPosteriorDensity(X, source, targets, 3, model.categorical)
    fitted = density(model.hyperparameters.to_vector())[0]
    for length_scale in (0.5, 0.18):
        start = JointHyperparameters.default(2, 3, length_scale)
        assert fitted < density(start.to_vector())[0] - 10
    assert model.mean == pytest.approx(np.mean(y - offsets[source]))
    assert model.scale == pytest.approx(np.std(y - offsets[source]))
    assert model.rho[1] == pytest.approx(0.5, abs=0.1)
    assert model.tau[2] > 10 * model.tau[1]

    Z = rng.random((200, 2))
    mean, _ = model.predict(Z)
    assert np.abs(mean - np.sin(4 * Z[:, 0]) - Z[:, 1] ** 2).max() < 0.15


def test_noise_is_a_matter_of_each_source() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((90, 1))
    source = np.arange(90) % 2
    y = np.sin(6 * X[:, 0]) + np.where(source == 1, 0.3, 0.001) * rng.normal(size=90)
    model = fit_joint(X, source, y, offsets=np.zeros(2))
    assert np.sqrt(model.noise[0]) < 0.03
    assert np.sqrt(model.noise[1]) == pytest.approx(0.3, rel=0.3)


@pytest.mark.parametrize(("factor", "shift"), [(1e3, 1e4), (-1.0, 0.0), (1e-30, 0.0), (1e30, 0.0)])
def test_fit_does_not_depend_on_the_unit_of_y(factor: float, shift: float) -> None:
    X, source, y, _, categorical = random_problem()
    Z = random_problem(seed=1)[0]

    def fit(y: Array) -> JointGaussianProcess:
        offsets = shared_offsets(X, source, y, n_sources=4, limit=5)
        return fit_joint(X, source, y, offsets=offsets, categorical=categorical)

    here, there = fit(y).predict_sources(Z), fit(factor * y + shift).predict_sources(Z)
    np.testing.assert_allclose(
        (there.source_mean - shift) / factor, here.source_mean, rtol=0, atol=1e-3
    )
    np.testing.assert_allclose(
        there.covariance / factor / factor, here.covariance, rtol=1e-2, atol=1e-4
    )


def test_more_data_than_are_fitted_on_are_still_conditioned_on() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    source = np.arange(120) % 3
    y = np.sin(6 * X).sum(axis=1)
    model = fit_joint(X, source, y, offsets=np.zeros(3), max_points=30)
    assert len(model.X) == 120
    mean, variance = model.predict(X)
    np.testing.assert_allclose(mean, y, atol=0.1)
    assert variance.max() < 0.05


@pytest.mark.parametrize(
    ("counts", "expected"), [([40, 200, 60], [40, 46, 13]), ([400, 20], [80, 20]), ([200], [100])]
)
def test_subset_prefers_the_preferred_source(counts: list[int], expected: list[int]) -> None:
    source = np.repeat(np.arange(len(counts)), counts)
    values = np.random.default_rng(0).normal(size=len(source))
    rows = subset(source, values, 100)
    assert len(np.unique(rows)) == len(rows)
    np.testing.assert_array_equal(np.bincount(source[rows]), expected)
    for s in range(len(counts)):
        assert np.flatnonzero(source == s)[np.argmin(values[source == s])] in rows
        assert np.flatnonzero(source == s)[-1] in rows


def test_offsets_come_from_the_initial_locations_that_both_sources_have() -> None:
    X = np.array([[0.1], [0.2], [0.3], [0.1], [0.3], [0.2], [0.9], [0.7]])
    source = np.array([0, 0, 0, 1, 1, 1, 1, 2])
    y = np.array([1.0, 2.0, 3.0, 11.0, 14.0, 100.0, -5.0, 7.0])
    offsets = shared_offsets(X, source, y, n_sources=4, limit=2)
    # Source 1: (10 + 11) / 2; source 2 has no location in common: 7 − median 2; source 3: none.
    np.testing.assert_allclose(offsets, [0, 10.5, 5, 0])


@pytest.mark.parametrize("n_sources", [1, 3, 10])
@pytest.mark.parametrize("y", [[], [3.0], [2.0, 2.0], [0.0, 0.0, 0.0], [1e30] * 4, [1e-30, 2e-30]])
def test_few_or_constant_values(y: list[float], n_sources: int) -> None:
    rng = np.random.default_rng(0)
    n = len(y)
    X, Z = rng.random((n, 20)), rng.random((5, 20))
    source = np.arange(n) % n_sources
    model = fit_joint(X, source, np.array(y), offsets=np.zeros(n_sources))
    posterior = model.predict_sources(Z)
    size = max(map(abs, y), default=1.0) or 1.0
    assert np.all(np.isfinite(posterior.source_mean))
    assert np.all(np.abs(posterior.source_mean) <= 3 * size)
    assert np.all(posterior.source_variance > 0)
    g = model.predict_sources_with_gradient(Z, np.full(len(Z), n_sources - 1))
    assert np.all(np.isfinite(g.d_covariance))
    residual, variance = model.leave_one_out()
    assert len(residual) == np.sum(source == 0)
    assert np.all(np.isfinite(residual)) and np.all(variance > 0)


def test_unobserved_source_is_expected_to_be_like_the_preferred_one() -> None:
    X, _, y, _, categorical = random_problem()
    model = fit_joint(
        X, np.zeros(len(X), dtype=int), y, offsets=np.zeros(2), categorical=categorical
    )
    alone = fit_joint(
        X, np.zeros(len(X), dtype=int), y, offsets=np.zeros(1), categorical=categorical
    )
    Z = random_problem(seed=1)[0]
    posterior = model.predict_sources(Z)
    np.testing.assert_allclose(posterior.source_mean[:, 1], posterior.mean, rtol=0.01)
    assert np.all(posterior.source_variance[:, 1] > model.scale**2)
    # Two searches of different dimension end a little apart.
    np.testing.assert_allclose(posterior.mean, alone.predict(Z)[0], rtol=1e-2)


def test_duplicates_are_no_obstacle() -> None:
    X = np.tile([[0.3, 0.4], [0.5, 0.6]], (10, 1))
    source = np.repeat([0, 1], 10)
    model = fit_joint(X, source, X[:, 0] + 1e-9 * np.arange(20), offsets=np.zeros(2))
    np.testing.assert_allclose(model.predict(X[:2])[0], [0.3, 0.5], atol=1e-2)


def test_warm_start_is_used_and_spares_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    X, source, y, _, categorical = random_problem()
    starts = []
    search = joint_fit._maximum_a_posteriori

    def spy(density, given, *args):  # type: ignore[no-untyped-def]
        starts.append(given)
        return search(density, given, *args)

    monkeypatch.setattr(joint_fit, "_maximum_a_posteriori", spy)
    first = fit_joint(X, source, y, offsets=np.zeros(4), categorical=categorical)
    for from_defaults in (True, False):
        fit_joint(
            X,
            source,
            y,
            offsets=np.zeros(4),
            categorical=categorical,
            warm_start=first.hyperparameters,
            from_defaults=from_defaults,
        )
    assert [len(given) for given in starts] == [2, 3, 1]
    assert starts[2] == [first.hyperparameters]
    assert [given.length_scale[0] for given in starts[0]] == [0.5, 0.18]


def test_best_of_several_starts_is_taken() -> None:
    X, source, y, _, categorical = random_problem(n_sources=2)
    all_is_noise = replace(
        JointHyperparameters.default(3, 2, 0.01), noise=np.full(2, 1.0), amplitude=1e-3
    )

    def fitted_value(**kwargs: Any) -> float:
        model = fit_joint(X, source, y, offsets=np.zeros(2), categorical=categorical, **kwargs)
        targets = (y - model.mean) / model.scale
        density = JointPosteriorDensity(X, source, targets, 2, categorical)
        return density(model.hyperparameters.to_vector())[0]

    stuck = fitted_value(warm_start=all_is_noise, from_defaults=False)
    alone = fitted_value()
    assert alone < stuck - 1
    assert fitted_value(warm_start=all_is_noise) == pytest.approx(alone)


def test_failed_fit_warns_and_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    X, source, y, _, categorical = random_problem()
    monkeypatch.setattr(
        JointPosteriorDensity, "__call__", lambda self, theta: (np.inf, np.zeros_like(theta))
    )
    with pytest.warns(RuntimeWarning, match="could not be fitted"):
        model = fit_joint(X, source, y, offsets=np.zeros(4), categorical=categorical)
    assert np.all(np.isfinite(model.predict(X)[0]))


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
