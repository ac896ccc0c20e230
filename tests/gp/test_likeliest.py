"""The search for the likeliest hyperparameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.gaussian_process.kernels import Matern
from sklearn.gaussian_process.kernels import WhiteKernel

from optuna_misowild.gp.fit import STARTS
from optuna_misowild.gp.fit import likeliest
from optuna_misowild.gp.hyperparameters import AMPLITUDE_BOUNDS
from optuna_misowild.gp.hyperparameters import LENGTH_SCALE_BOUNDS
from optuna_misowild.gp.hyperparameters import NOISE_BOUNDS
from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.hyperparameters import bounds_and_units
from optuna_misowild.gp.likelihood import Density
from optuna_misowild.gp.prior import Prior


def sample(seed, n, d, nu, noise=1e-3):
    """Standardised values of a function drawn from a Gaussian process."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    K = Matern(np.exp(rng.uniform(-1.5, 1.0, d)), nu=nu)(X)
    y = np.linalg.cholesky(K + noise * np.eye(n)) @ rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def bumpy(seed, n, d, nu):
    """A function that no kernel of ours has drawn."""
    X = np.random.default_rng(seed).random((n, d))
    y = np.sin(6.0 * X[:, 0]) + ((X - 0.3) ** 2 * np.arange(1, d + 1)).sum(axis=1)
    return X, (y - y.mean()) / y.std()


def white(seed, n, d, nu):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return rng.random((n, d)), (y - y.mean()) / y.std()


def density_of(X, z, *, nu=1.5, ard=False, prior=None):
    return Density(
        X,
        np.zeros(len(X), dtype=int),
        z,
        n_sources=1,
        categorical=np.zeros(X.shape[1], dtype=bool),
        nu=nu,
        ard=ard,
        prior=prior,
    )


def start(density, length_scale, amplitude, noise):
    theta = np.log([*np.broadcast_to(length_scale, density.n_scales), amplitude, noise])
    return Hyperparameters.from_vector(theta, density.n_scales)


def searched(density, groups, n_iterations=100):
    """The vector of the likeliest hyperparameters."""
    found = likeliest(density, groups, n_sources=1, n_iterations=n_iterations)
    return found.to_vector(density.n_scales)


def scikit_learn_optimum(X, z, nu, ard):
    length_scale = np.ones(X.shape[1]) if ard else 1.0
    kernel = ConstantKernel(1.0, AMPLITUDE_BOUNDS) * Matern(
        length_scale, LENGTH_SCALE_BOUNDS, nu=nu
    ) + WhiteKernel(1e-2, NOISE_BOUNDS)
    gp = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=8, random_state=0)
    constant = 0.5 * len(z) * np.log(2.0 * np.pi)  # Which our density leaves out.
    return -gp.fit(X, z).log_marginal_likelihood_value_ - constant


# In nats: hyperparameters that differ by less, a factor of 1.01, are equally likely for all
# purposes. Five values of white noise have modes that differ so.
TOLERANCE = 1e-2


def optimum(density):
    groups = [[start(density, ls, 1.0, noise) for ls, noise in group] for group in STARTS]
    return density(searched(density, groups))[0]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("function", [sample, bumpy, white])
@pytest.mark.parametrize(("n", "d"), [(5, 2), (12, 1), (25, 4)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_isotropic_optimum_is_no_worse_than_that_of_scikit_learn(function, n, d, seed):
    X, z = function(seed, n, d, 1.5)
    density = density_of(X, z)
    assert optimum(density) <= scikit_learn_optimum(X, z, 1.5, False) + TOLERANCE


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("function", [sample, bumpy])
@pytest.mark.parametrize("seed", [1, 2, 3, 8])
def test_ard_optimum_is_no_worse_than_that_of_scikit_learn(function, seed):
    X, z = function(seed, 30, 2, 2.5)
    density = density_of(X, z, nu=2.5, ard=True)
    assert optimum(density) <= scikit_learn_optimum(X, z, 2.5, True) + TOLERANCE


@pytest.mark.parametrize("function", [sample, bumpy, white])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_maximum_a_posteriori_is_no_worse_than_from_many_starts(function, seed):
    X, z = function(seed, 20, 3, 2.5)
    density = density_of(X, z, nu=2.5, ard=True, prior=Prior())
    thetas = np.random.default_rng(0).uniform(*bounds_and_units(3, 1)[0].T, (15, 5))
    groups = [[Hyperparameters.from_vector(theta, 3)] for theta in thetas]
    reference = min(density(searched(density, [group]))[0] for group in groups)
    assert optimum(density) <= reference + TOLERANCE


def test_the_search_starts_from_the_best_of_each_group():
    X, z = white(122, 12, 2, 1.5)  # Two modes: the better one without noise, the other noisy.
    density = density_of(X, z)
    noisy, quiet = start(density, 0.2, 1.0, 0.2), start(density, 0.05, 1.2, 1e-6)
    good, _ = density(searched(density, [[quiet]]))
    bad, _ = density(searched(density, [[noisy]]))
    assert good < bad - 0.1
    for groups in ([[noisy, quiet]], [[quiet, noisy]], [[noisy], [quiet]], [[quiet], [noisy]]):
        value, _ = density(searched(density, groups))
        assert value == pytest.approx(good, abs=1e-3)


class Counting:
    """A density that counts how often it is asked."""

    is_likelihood, own_part, sizes = False, False, ()

    def __init__(self, density):
        self.density, self.n_scales, self.count = density, density.n_scales, 0

    def __call__(self, theta):
        self.count += 1
        return self.density(theta)


def test_a_search_that_ends_without_noise_is_the_last():
    X, z = bumpy(0, 20, 2, 1.5)
    density = density_of(X, z)
    begin = start(density, 0.3, 1.0, 0.3)
    twice, alone = Counting(density), Counting(density)
    found = searched(alone, [[begin]])
    assert math.exp(found[-1]) < 1e-5
    searched(twice, [[begin], [begin]])
    assert twice.count == alone.count


def test_the_minimum_is_within_the_bounds():
    X, z = bumpy(0, 30, 2, 2.5)
    density = density_of(X, z, nu=2.5, ard=True)
    ours = np.exp(searched(density, [[start(density, [1e3, 1e-9], 1e9, 1e-30)]]))
    limits = np.array([LENGTH_SCALE_BOUNDS] * 2 + [AMPLITUDE_BOUNDS, NOISE_BOUNDS])
    assert np.all(ours >= limits[:, 0] * (1.0 - 1e-9))
    assert np.all(ours <= limits[:, 1] * (1.0 + 1e-9))


def test_noise_that_the_data_cannot_tell_from_the_function_is_none():
    X = np.array([[0.1], [0.5], [0.9]])
    z = np.array([1.2, -1.4, 0.2])  # Nothing smooth: the best kernel is white itself.
    density = density_of(X, z)
    found = np.exp(searched(density, [[start(density, 0.02, 0.5, 0.5)]]))
    _, amplitude, noise = found
    assert noise == pytest.approx(NOISE_BOUNDS[0])
    assert amplitude == pytest.approx(np.mean(z**2), rel=1e-3)


def test_a_density_that_is_not_finite():
    def density(theta):
        return math.nan, np.zeros_like(theta)

    density.n_scales, density.is_likelihood = 2, False
    density.own_part, density.sizes = False, ()
    begin = Hyperparameters.start(2, 1)
    assert likeliest(density, [[begin]], n_sources=1, n_iterations=9) is None
    assert likeliest(density, [[begin], [begin]], n_sources=1, n_iterations=9) is None
