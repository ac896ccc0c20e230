"""The one Gaussian process equals the two that it takes the place of, at the same parameters."""

from __future__ import annotations

from itertools import product
from typing import Any

from joint_problems import Array
from joint_problems import model_of
from joint_problems import random_problem
import numpy as np
import pytest

from optuna_misowild.gp import GaussianProcess
from optuna_misowild.gp_likelihood import Objective
from optuna_misowild.gp_likelihood import regularising_prior
from optuna_misowild.joint_likelihood import JointHyperparameters
from optuna_misowild.joint_likelihood import JointPosteriorDensity
from optuna_misowild.likelihood import Density
from optuna_misowild.likelihood import Hyperparameters
from optuna_misowild.likelihood import Prior
from optuna_misowild.multi_source import MultiSourceGP


KINDS = list(product((1.5, 2.5), (False, True), (False, True)))  # ν, ARD, categorical.


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def points() -> Array:
    Z = np.random.default_rng(1).random((7, 3))
    Z[0, 1] = 1 / 2
    return Z


def hyperparameters(h: JointHyperparameters) -> Hyperparameters:
    return Hyperparameters(**vars(h))


def single_pair(nu: float, ard: bool, mixed: bool) -> tuple[GaussianProcess, MultiSourceGP]:
    X, source, y, h, categorical = random_problem(n_sources=1)
    categorical &= mixed
    length_scale = h.length_scale if ard else np.full(3, 0.6)
    old = GaussianProcess(
        X=X,
        y=y,
        length_scale=length_scale,
        amplitude=h.amplitude * 25,
        noise=float(h.noise[0]) * 25,
        mean=38.0,
        smoothness=nu,
        categorical=categorical,
    )
    new = MultiSourceGP(
        X=X,
        source=source,
        y=y,
        hyperparameters=hyperparameters(
            JointHyperparameters(**{**vars(h), "length_scale": length_scale})
        ),
        offsets=np.zeros(1),
        mean=38.0,
        scale=5.0,
        nu=nu,
        categorical=categorical,
    )
    return old, new


@pytest.mark.parametrize(("nu", "ard", "mixed"), KINDS)
def test_of_one_source(nu: float, ard: bool, mixed: bool) -> None:
    old, new = single_pair(nu, ard, mixed)
    Z = points()
    more = old.predict(Z)[0] + 1.0
    for ours, theirs in (
        (new, old),
        (new.condition(Z), old.condition(Z)),
        (new.condition(Z, more), old.condition(Z, more)),
    ):
        close(ours.predict(Z), theirs.predict(Z))
        close(ours.predict_mean(Z), theirs.predict_mean(Z))
        close(ours.covariance(Z, X := ours.X[:4]), theirs.covariance(Z, X))
        p = ours.posterior(Z, gradient=True)
        for a, b in zip(
            (p.mean, p.variance, p.d_mean, p.d_variance),
            theirs.predict_with_gradient(Z),
            strict=True,
        ):
            close(a, b)
        mean, gradient = ours.means(Z, gradient=True)
        close(mean[:, 0], theirs.predict_mean_with_gradient(Z)[0])
        close(gradient[:, 0], theirs.predict_mean_with_gradient(Z)[1])
        close(ours.log_marginal_likelihood(), theirs.log_marginal_likelihood())
        for a, b in zip(ours.leave_one_out(), theirs.leave_one_out(), strict=True):
            close(a, b)


@pytest.mark.parametrize(("nu", "ard", "mixed"), KINDS)
@pytest.mark.parametrize("prior", [None, Prior()])
def test_density_of_one_source(nu: float, ard: bool, mixed: bool, prior: Prior | None) -> None:
    _, new = single_pair(nu, ard, mixed)
    z = new._targets
    of_old = regularising_prior if prior else None
    old = Objective(new.X, z, nu, ard, new.categorical, of_old)
    density = Density(
        new.X,
        new.source,
        z,
        n_sources=1,
        categorical=new.categorical,
        nu=nu,
        ard=ard,
        prior=prior,
    )
    theta = new.hyperparameters.to_vector(3 if ard else 1)
    (ours, d_ours), (theirs, d_theirs) = density(theta), old(theta)
    close(ours + 0.5 * len(z) * np.log(2 * np.pi), theirs)
    close(d_ours, d_theirs)


@pytest.mark.parametrize("n_sources", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 1, 30])
@pytest.mark.parametrize("mixed", [False, True])
def test_of_several_sources(n_sources: int, n: int, mixed: bool) -> None:
    X, source, y, h, categorical = random_problem(n=n, n_sources=n_sources)
    categorical &= mixed
    old = model_of(X, source, y, h, categorical)
    new = MultiSourceGP(
        **{
            name: getattr(old, name)
            for name in ("X", "source", "y", "offsets", "mean", "scale", "categorical")
        },
        hyperparameters=hyperparameters(h),
        nu=2.5,
    )
    Z, s = points(), np.random.default_rng(2).integers(n_sources, size=7)
    for ours, theirs in ((new, old), (new.condition(Z, source=s), old.condition(Z, s))):
        p, q = ours.posterior(Z, range(n_sources)), theirs.predict_sources(Z)
        for name in ("mean", "variance", "delta_mean", "delta_variance", "delta_covariance"):
            close(getattr(p, name), getattr(q, name))
        for name in ("source_mean", "source_variance", "covariance"):
            close(getattr(p, name), getattr(q, name))
        p, g = (
            ours.posterior(Z, s[:, None], gradient=True),
            theirs.predict_sources_with_gradient(Z, s),
        )
        for name in ("mean", "variance", "d_mean", "d_variance"):
            close(getattr(p, name), getattr(g, name))
        for name in ("source_variance", "covariance", "d_source_variance", "d_covariance"):
            close(getattr(p, name)[:, 0], getattr(g, name))
        close(ours.means(Z, range(n_sources))[0], theirs.predict_source_means(Z))
        mean, gradient = ours.means(Z, s[:, None], gradient=True)
        close(mean[:, 0], theirs.predict_source_mean_with_gradient(Z, s)[0])
        close(gradient[:, 0], theirs.predict_source_mean_with_gradient(Z, s)[1])
        for a, b in zip(ours.leave_one_out(), theirs.leave_one_out(), strict=True):
            close(a, b)


@pytest.mark.parametrize(("n_sources", "n"), [(1, 12), (2, 1), (4, 30), (6, 12)])
@pytest.mark.parametrize("ordered", [False, True])
def test_density_of_several_sources(n_sources: int, n: int, ordered: bool) -> None:
    X, source, y, h, categorical = random_problem(n=n, n_sources=n_sources)
    z = (y - 38) / 5
    old = JointPosteriorDensity(X, source, z, n_sources, categorical, ordered_noise=ordered)
    density = Density(
        X,
        source,
        z,
        n_sources=n_sources,
        categorical=categorical,
        nu=2.5,
        ard=True,
        prior=Prior(ordered_noise=ordered),
    )
    theta = h.to_vector()
    np.testing.assert_array_equal(hyperparameters(h).to_vector(3), theta)
    (ours, d_ours), (theirs, d_theirs) = density(theta), old(theta)
    close(ours, theirs)
    close(d_ours, d_theirs)
