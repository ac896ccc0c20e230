"""Fitting the Gaussian process of several sources to data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gp_problems import Array
from gp_problems import random_problem
import numpy as np
import pytest

from optuna_misowild.gp import fit
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.gp.fit import shared_offsets
from optuna_misowild.gp.fit import subset
from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.likelihood import Density
from optuna_misowild.gp.multi_source import MultiSourceGP
from optuna_misowild.gp.prior import Prior


def density_of(model: MultiSourceGP) -> Density:
    """What the hyperparameters of a model were fitted by."""
    targets = (model.y - model.offsets[model.source] - model.mean) / model.scale
    return Density(
        model.X,
        model.source,
        targets,
        n_sources=model.n_sources,
        categorical=model.categorical,
        nu=2.5,
        ard=True,
        prior=Prior(),
        own_part=model.hyperparameters.has_own_part,
    )


def test_fit_is_no_worse_than_its_starts_and_finds_the_discrepancy() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((60, 2))
    source = np.arange(60) % 3
    f = np.sin(4 * X[:, 0]) + X[:, 1] ** 2
    y = np.choose(source, [f, 0.5 * f + 20, f + np.sin(9 * X[:, 1])])
    offsets = shared_offsets(X, source, y, n_sources=3, limit=5)
    model = fit_gp(X, y, source=source, offsets=offsets)
    density = density_of(model)
    fitted = density(model.hyperparameters.to_vector(2))[0]
    for length_scale in (0.5, 0.18):
        start = Hyperparameters.start(2, 3, length_scale=length_scale)
        assert fitted < density(start.to_vector(2))[0] - 10
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
    model = fit_gp(X, y, source=source, offsets=np.zeros(2))
    assert np.sqrt(model.noise[0]) < 0.03
    assert np.sqrt(model.noise[1]) == pytest.approx(0.3, rel=0.3)


@pytest.mark.parametrize(("factor", "shift"), [(1e3, 1e4), (-1.0, 0.0), (1e-30, 0.0), (1e30, 0.0)])
def test_fit_does_not_depend_on_the_unit_of_y(factor: float, shift: float) -> None:
    X, source, y, _, categorical = random_problem()
    Z = random_problem(seed=1)[0]

    def fit(y: Array) -> MultiSourceGP:
        offsets = shared_offsets(X, source, y, n_sources=4, limit=5)
        return fit_gp(
            X, y, source=source, offsets=offsets, categorical=categorical, n_iterations=25
        )

    here, there = fit(y).posterior(Z, range(4)), fit(factor * y + shift).posterior(Z, range(4))
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
    model = fit_gp(X, y, source=source, offsets=np.zeros(3), max_points=30)
    assert len(model.X) == 120
    mean, variance = model.predict(X)
    np.testing.assert_allclose(mean, y, atol=0.1)
    assert variance.max() < 0.05


def test_a_model_is_conditioned_on_no_more_data_than_its_settings_allow() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    source = np.arange(120) % 3
    y = np.sin(6 * X).sum(axis=1)
    settings = FitSettings(max_data=60)
    model = fit_gp(X, y, source=source, offsets=np.zeros(3), settings=settings)
    rows = subset(source, y, 60)
    np.testing.assert_array_equal(model.X, X[rows])
    np.testing.assert_array_equal(model.y, y[rows])
    np.testing.assert_array_equal(model.source, source[rows])
    # Where it is best, as all values tell.
    low = np.argsort(y)[:10]
    np.testing.assert_allclose(model.predict_mean(X[low]), y[low], atol=0.05)


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


def test_values_that_hardly_vary_are_measured_by_the_least_scale() -> None:
    X, source, y, _, categorical = random_problem()
    y = 3.0 + 1e-4 * y / y.std()
    model = fit_gp(
        X,
        y,
        source=source,
        offsets=np.zeros(4),
        categorical=categorical,
        settings=FitSettings(min_scale=0.05),
    )
    assert model.scale == 0.05
    assert np.sqrt(model.amplitude) < 0.01


@pytest.mark.parametrize("n_sources", [1, 3, 10])
@pytest.mark.parametrize("y", [[], [3.0], [2.0, 2.0], [0.0, 0.0, 0.0], [1e30] * 4, [1e-30, 2e-30]])
def test_few_or_constant_values(y: list[float], n_sources: int) -> None:
    rng = np.random.default_rng(0)
    n = len(y)
    X, Z = rng.random((n, 20)), rng.random((5, 20))
    source = np.arange(n) % n_sources
    model = fit_gp(X, np.array(y), source=source, offsets=np.zeros(n_sources))
    posterior = model.posterior(Z, range(n_sources))
    size = max(map(abs, y), default=1.0) or 1.0
    assert np.all(np.isfinite(posterior.source_mean))
    assert np.all(np.abs(posterior.source_mean) <= 3 * size)
    assert np.all(posterior.source_variance > 0)
    g = model.posterior(Z, [n_sources - 1], gradient=True)
    assert np.all(np.isfinite(g.d_covariance))
    residual, variance = model.leave_one_out()
    assert len(residual) == np.sum(source == 0)
    assert np.all(np.isfinite(residual)) and np.all(variance > 0)


def test_unobserved_source_is_expected_to_be_like_the_preferred_one() -> None:
    X, _, y, _, categorical = random_problem()
    model = fit_gp(
        X, y, source=np.zeros(len(X), dtype=int), offsets=np.zeros(2), categorical=categorical
    )
    alone = fit_gp(
        X, y, source=np.zeros(len(X), dtype=int), offsets=np.zeros(1), categorical=categorical
    )
    Z = random_problem(seed=1)[0]
    posterior = model.posterior(Z, range(2))
    np.testing.assert_allclose(posterior.source_mean[:, 1], posterior.mean, rtol=0.01)
    assert np.all(posterior.source_variance[:, 1] > model.scale**2)
    # Two searches of different dimension end a little apart.
    np.testing.assert_allclose(posterior.mean, alone.predict(Z)[0], rtol=1e-2)


def test_duplicates_are_no_obstacle() -> None:
    X = np.tile([[0.3, 0.4], [0.5, 0.6]], (10, 1))
    source = np.repeat([0, 1], 10)
    model = fit_gp(X, X[:, 0] + 1e-9 * np.arange(20), source=source, offsets=np.zeros(2))
    np.testing.assert_allclose(model.predict(X[:2])[0], [0.3, 0.5], atol=1e-2)


def test_warm_start_is_the_only_start(monkeypatch: pytest.MonkeyPatch) -> None:
    X, source, y, _, categorical = random_problem()
    starts = []
    search = fit.likeliest

    def spy(density: Density, groups: Any, **kwargs: Any) -> Any:
        starts.append(groups)
        return search(density, groups, **kwargs)

    monkeypatch.setattr(fit, "likeliest", spy)
    first = fit_gp(X, y, source=source, offsets=np.zeros(4), categorical=categorical)
    fit_gp(
        X,
        y,
        source=source,
        offsets=np.zeros(4),
        categorical=categorical,
        warm_start=first.hyperparameters,
    )
    assert [[len(group) for group in groups] for groups in starts] == [[3, 4], [1]]
    assert starts[1] == [[first.hyperparameters]]
    assert [start.length_scale[0] for start in starts[0][0]] == [0.1, 0.25, 0.5]
    assert all((start.noise == 1e-4).all() for start in starts[0][1])


def test_a_bad_start_is_no_obstacle_but_the_only_one() -> None:
    X, source, y, _, categorical = random_problem(n_sources=2)
    all_is_noise = replace(
        Hyperparameters.start(3, 2, length_scale=0.01), noise=np.full(2, 1.0), amplitude=1e-3
    )

    def fitted_value(**kwargs: Any) -> float:
        model = fit_gp(
            X,
            y,
            source=source,
            offsets=np.zeros(2),
            categorical=categorical,
            **kwargs,
            n_iterations=25,
        )
        return density_of(model)(model.hyperparameters.to_vector(3))[0]

    stuck = fitted_value(warm_start=all_is_noise)
    assert fitted_value() < stuck - 1


def test_failed_fit_warns_and_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    X, source, y, _, categorical = random_problem()
    monkeypatch.setattr(Density, "__call__", lambda self, theta: (np.inf, np.zeros_like(theta)))
    with pytest.warns(RuntimeWarning, match="to 30 values failed.*default hyperparameters"):
        model = fit_gp(X, y, source=source, offsets=np.zeros(4), categorical=categorical)
    assert np.all(np.isfinite(model.predict(X)[0]))


@pytest.mark.parametrize("n_sources", [1, 3])
def test_mean_by_generalised_least_squares(n_sources: int) -> None:
    X, source, y, _, categorical = random_problem(n_sources=n_sources)

    def fitted(mean: str) -> MultiSourceGP:
        offsets = shared_offsets(X, source, y, n_sources=n_sources, limit=5)
        settings = FitSettings(mean=mean)
        return fit_gp(
            X, y, source=source, offsets=offsets, categorical=categorical, settings=settings
        )

    model = fitted("gls")
    assert model.mean != fitted("sample").mean
    assert model.log_marginal_likelihood() > fitted("sample").log_marginal_likelihood()
    for shift in (-0.1, 0.1):
        other = replace(model, mean=model.mean + shift * model.scale)
        assert other.log_marginal_likelihood() < model.log_marginal_likelihood()
    with pytest.raises(ValueError, match="`mean` must be one of .* but got 'median'"):
        FitSettings(mean="median")


def two_sources(ripple: float) -> tuple[Array, Array, Array]:
    """A smooth source at 40 locations, and at 30 others the same with ripples."""
    rng = np.random.default_rng(5)
    X = rng.random((70, 2))
    source = np.repeat([1, 0], [40, 30])
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    y[40:] += ripple * np.sin(25 * X[40:, 0])
    # Some of them close to others, where ripples show.
    X[55:] = X[40:55] + 0.02
    y[55:] = np.sin(3 * X[55:, 0]) + X[55:, 1] ** 2 + ripple * np.sin(25 * X[55:, 0])
    return X, source, y


def test_what_another_source_smooths_away_is_no_noise() -> None:
    X, source, y = two_sources(ripple=0.2)
    model = fit_gp(X, y, source=source, offsets=np.zeros(2), own_part=True)
    assert model.kappa[0] < 0.5
    # Of sin² the mean is a half.
    assert model.tau[0] > 10 * model.noise[0]
    Z = X[40:] + 0.01
    ripples = 0.2 * np.sin(25 * Z[:, 0])
    smooth = np.sin(3 * Z[:, 0]) + Z[:, 1] ** 2
    assert np.abs(model.predict_mean(Z) - smooth - ripples).mean() < 0.3 * np.abs(ripples).mean()
    # And of the other source, nothing but what is smooth.
    assert np.abs(model.means(Z, [1])[0][:, 0] - smooth).max() < 0.02


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_few_steps_lead_to_the_likeliest_hyperparameters(seed: int) -> None:
    X, source, y, _, categorical = random_problem(n=60, n_sources=4, own_part=True, seed=seed)

    def attained(n_iterations: int) -> float:
        model = fit_gp(
            X,
            y,
            source=source,
            offsets=np.zeros(4),
            categorical=categorical,
            n_iterations=n_iterations,
            own_part=True,
        )
        return density_of(model)(model.hyperparameters.to_vector(3))[0]

    # In units that are all alike, 25 steps end 5 to 9 above.
    assert attained(25) < attained(400) + 1.0


def test_sources_that_agree_have_nothing_of_their_own() -> None:
    X, source, y = two_sources(ripple=0.0)
    model = fit_gp(X, y, source=source, offsets=np.zeros(2), own_part=True)
    assert model.tau.max() < 1e-3 * model.amplitude
    assert model.rho[1] == pytest.approx(1.0, abs=0.01)
