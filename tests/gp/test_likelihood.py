"""The density of the hyperparameters, with and without a prior."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from gp_problems import SIZES
from gp_problems import Array
from gp_problems import random_problem
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from test_multi_source import textbook_covariance

from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.likelihood import Density
from optuna_misowild.gp.prior import Prior


def density_of(
    X: Array, source: Array, targets: Array, h: Hyperparameters, categorical: Array, **kwargs: Any
) -> Density:
    arguments: dict[str, Any] = {"nu": 2.5, "ard": True, "prior": Prior(noises="ordered")}
    arguments["own_part"] = h.has_own_part
    return Density(
        X,
        source,
        targets,
        n_sources=len(h.rho),
        categorical=categorical,
        **{**arguments, **kwargs},
    )


@pytest.mark.parametrize(
    ("n_sources", "n", "sizes"),
    [(1, 12, ()), (2, 1, ()), (4, 30, ()), (6, 12, ()), (4, 1, SIZES), (4, 30, SIZES)],
)
@pytest.mark.parametrize("own_part", [False, True])
def test_posterior_density_of_hyperparameters(
    n_sources: int, n: int, sizes: tuple[float, ...], own_part: bool
) -> None:
    X, source, y, h, categorical = random_problem(
        n=n, n_sources=n_sources, own_part=own_part, sizes=sizes
    )
    targets = (y - 38) / 5
    density = density_of(X, source, targets, h, categorical, sizes=sizes)
    theta = h.to_vector(3)

    K = textbook_covariance(X, source, X, source, h, categorical) + np.diag(h.noise[source])
    likelihood = -0.5 * (targets @ np.linalg.solve(K, targets) + np.linalg.slogdet(K)[1])
    value, gradient = density(theta)
    prior, _ = Prior(noises="ordered").negative_log(h)
    assert value == pytest.approx(prior - likelihood)
    numerical = approx_fprime(theta, lambda v: density(v)[0], 1e-7)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("noise", "excess"),
    [(0.01, 0.0), (0.2, np.log(2.0) ** 2 / 16), (0.4, (np.log(4.0) ** 2 + np.log(2.0) ** 2) / 16)],
)
@pytest.mark.parametrize("own_part", [False, True])
def test_prior_is_that_of_the_method(noise: float, excess: float, own_part: bool) -> None:
    """By the last sum, the preferred source is hardly noisier than another."""
    tau, kappa = (0.4, np.exp(-1.4)) if own_part else (0.0, 1.0)
    h = Hyperparameters(
        length_scale=np.array([0.5, 2.0]),
        amplitude=3.0,
        noise=np.array([noise, 0.1, 0.2]),
        rho=np.array([1.0, 0.5, 1.0]),
        tau=np.array([tau, 0.2, 1.0]),
        kappa=np.array([kappa, np.exp(0.7), 1.0]),
    )
    expected = 0.1 * 2 * (4 + 0.25) - np.log(3) + 3 + 30 * (noise + 0.3) + excess
    expected += 2 * 0.25 - 0.1 * np.log(0.2) + 0.4 + 2.0 + 0.5
    if own_part:
        expected += -0.1 * np.log(0.4) + 0.8 + 2.0
    check_prior(Prior(noises="ordered"), h, expected)
    check_prior(Prior(), h, expected - excess)
    both = (np.log(noise / 0.1) ** 2 + np.log(noise / 0.2) ** 2) / 8
    check_prior(Prior(noises="alike"), h, expected - excess + both)
    # A noise that is Gamma(1.1, 20).
    of_noise = -0.1 * np.log([noise, 0.1, 0.2]).sum() - 10 * (noise + 0.3)
    check_prior(Prior(noise_shape=1.1, noise_rate=20.0), h, expected - excess + of_noise)


def test_what_noises_are_is_one_of_three_words() -> None:
    with pytest.raises(ValueError, match="`noises` must be one of .*'alike'.* but got 'equal'"):
        Prior(noises="equal")


def test_prior_of_a_shared_discrepancy() -> None:
    h = random_problem(sizes=SIZES)[3]
    # a = 0.7, β² = 0.4, τ = 0.6, κ = 0.8
    expected = 0.5 * np.log(0.7) ** 2 + 0.5 * 0.4 - 0.1 * np.log(0.4)
    expected += 2 * 0.6 - 0.1 * np.log(0.6) + 0.5 * (np.log(0.8) / 0.7) ** 2
    of_others = Prior().negative_log(dataclasses.replace(h, decay=None))[0]
    of_each = np.sum(2 * h.tau[1:] - 0.1 * np.log(h.tau[1:]) + 0.5 * (np.log(0.8) / 0.7) ** 2)
    assert Prior().negative_log(h)[0] == pytest.approx(of_others - of_each + expected)


def check_prior(prior: Prior, h: Hyperparameters, expected: float) -> None:
    def value(theta: Array) -> float:
        return prior.negative_log(Hyperparameters.from_vector(theta, 2))[0]

    assert prior.negative_log(h)[0] == pytest.approx(expected)
    numerical = approx_fprime(h.to_vector(2), value, 1e-7)
    np.testing.assert_allclose(prior.negative_log(h)[1], numerical, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("prior", [None, Prior()])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("nu", [1.5, 2.5])
@pytest.mark.parametrize("mixed", [[False] * 3, [False, True, False], [True] * 3])
@pytest.mark.parametrize("n_sources", [1, 3])
@pytest.mark.parametrize("free_mean", [False, True])
def test_gradient(
    prior: Prior | None, ard: bool, nu: float, mixed: list[bool], n_sources: int, free_mean: bool
) -> None:
    X, source, y, h, _ = random_problem(n=12, n_sources=n_sources)
    categorical = np.array(mixed)
    X[:, categorical] = (np.floor(3.0 * X[:, categorical]) + 0.5) / 3.0
    settings = {"prior": prior, "ard": ard, "nu": nu, "free_mean": free_mean}
    density = density_of(X, source, (y - 38) / 5, h, categorical, **settings)
    point = h.to_vector(3 if ard else 1)
    _, gradient = density(point)
    step = 1e-5
    for i, e in enumerate(step * np.eye(len(point))):
        slope = (density(point + e)[0] - density(point - e)[0]) / (2.0 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_the_mean_that_is_free_is_the_likeliest() -> None:
    X, source, y, h, categorical = random_problem()
    theta, z = h.to_vector(3), (y - 38) / 5
    free, _ = density_of(X, source, z, h, categorical, free_mean=True)(theta)
    K = textbook_covariance(X, source, X, source, h, categorical) + np.diag(h.noise[source])
    likeliest = np.linalg.solve(K, z).sum() / np.linalg.inv(K).sum()
    for shift in (-0.1, 0.0, 0.1):
        at, _ = density_of(X, source, z - likeliest - shift, h, categorical)(theta)
        assert at == pytest.approx(free + 0.5 * shift**2 * np.linalg.inv(K).sum())


def test_prior_of_one_source_by_hand() -> None:
    # 0.1 (4 + 1/4) + 0.1 (1 + 1) − log 3 + 3 + 0.3
    theta = np.log([2.0, 1.0, 3.0, 0.01])
    value, gradient = Prior().negative_log(Hyperparameters.from_vector(theta, 2))
    assert value == pytest.approx(0.425 + 0.2 - math.log(3.0) + 3.0 + 0.3)
    # 0.2 (4 − 1/4), 0.2 (1 − 1), 3 − 1, 0.3
    np.testing.assert_allclose(gradient, [0.75, 0.0, 2.0, 0.3], atol=1e-15)


@pytest.mark.parametrize(("n_sources", "sizes"), [(1, ()), (4, ()), (4, SIZES)])
def test_hyperparameters_and_their_vector(n_sources: int, sizes: tuple[float, ...]) -> None:
    h = random_problem(n_sources=n_sources, sizes=sizes)[3]
    back = Hyperparameters.from_vector(h.to_vector(3), 3, sizes)
    for field in dataclasses.fields(h):
        if field.name != "decay" or sizes:
            np.testing.assert_allclose(getattr(back, field.name), getattr(h, field.name))
    one = Hyperparameters.from_vector(h.to_vector(1), 1, sizes)
    assert one.length_scale == pytest.approx(np.exp(np.log(h.length_scale).mean()))
    np.testing.assert_allclose(one.noise, h.noise)
