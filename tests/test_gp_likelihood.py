from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.gaussian_process.kernels import Matern
from sklearn.gaussian_process.kernels import WhiteKernel

from optuna_misowild.gp_likelihood import AMPLITUDE_BOUNDS
from optuna_misowild.gp_likelihood import LENGTH_SCALE_BOUNDS
from optuna_misowild.gp_likelihood import NOISE_BOUNDS
from optuna_misowild.gp_likelihood import STARTS
from optuna_misowild.gp_likelihood import Objective
from optuna_misowild.gp_likelihood import log_parameters
from optuna_misowild.gp_likelihood import minimize_objective
from optuna_misowild.gp_likelihood import regularising_prior


def sample(seed, n, d, smoothness, noise=1e-3):
    """Standardised values of a function drawn from a Gaussian process."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    K = Matern(np.exp(rng.uniform(-1.5, 1.0, d)), nu=smoothness)(X)
    y = np.linalg.cholesky(K + noise * np.eye(n)) @ rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def bumpy(seed, n, d, smoothness):
    """A function that no kernel of ours has drawn."""
    X = np.random.default_rng(seed).random((n, d))
    y = np.sin(6.0 * X[:, 0]) + ((X - 0.3) ** 2 * np.arange(1, d + 1)).sum(axis=1)
    return X, (y - y.mean()) / y.std()


def white(seed, n, d, smoothness):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return rng.random((n, d)), (y - y.mean()) / y.std()


@pytest.mark.parametrize("prior", [None, regularising_prior])
@pytest.mark.parametrize("ard", [False, True])
@pytest.mark.parametrize("smoothness", [1.5, 2.5])
@pytest.mark.parametrize("categorical", [[False] * 3, [False, True, False], [True] * 3])
def test_gradient(prior, ard, smoothness, categorical):
    X, z = sample(0, 12, 3, smoothness)
    categorical = np.array(categorical)
    X[:, categorical] = (np.floor(3.0 * X[:, categorical]) + 0.5) / 3.0
    objective = Objective(X, z, smoothness, ard, categorical, prior)
    point = np.log([0.4, 0.8, 1.3][: 3 if ard else 1] + [1.7, 0.05])
    _, gradient = objective(point)
    h = 1e-5
    for i, step in enumerate(h * np.eye(len(point))):
        slope = (objective(point + step)[0] - objective(point - step)[0]) / (2.0 * h)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_gradient_under_the_likeliest_mean():
    X, z = sample(0, 12, 2, 1.5)
    objective = Objective(X, z + 3.0, 1.5, False, np.zeros(2, dtype=bool), None, True)
    point = np.log([0.4, 1.7, 0.05])
    value, gradient = objective(point)
    h = 1e-5
    for i, step in enumerate(h * np.eye(3)):
        slope = (objective(point + step)[0] - objective(point - step)[0]) / (2.0 * h)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    # No other mean is likelier.
    under = [
        Objective(X, z + 3.0 - m, 1.5, False, np.zeros(2, dtype=bool), None)(point)[0]
        for m in np.linspace(1.0, 5.0, 401)
    ]
    assert value <= min(under)
    assert value == pytest.approx(min(under), abs=1e-3)


def test_regularising_prior_by_hand():
    # 0.1 (4 + 1/4) + 0.1 (1 + 1) − log 3 + 3 + 0.3
    value, gradient = regularising_prior(np.log([2.0, 1.0, 3.0, 0.01]))
    assert value == pytest.approx(0.425 + 0.2 - math.log(3.0) + 3.0 + 0.3)
    # 0.2 (4 − 1/4), 0.2 (1 − 1), 3 − 1, 0.3
    np.testing.assert_allclose(gradient, [0.75, 0.0, 2.0, 0.3], atol=1e-15)


def scikit_learn_optimum(X, z, smoothness, ard):
    length_scale = np.ones(X.shape[1]) if ard else 1.0
    kernel = ConstantKernel(1.0, AMPLITUDE_BOUNDS) * Matern(
        length_scale, LENGTH_SCALE_BOUNDS, nu=smoothness
    ) + WhiteKernel(1e-2, NOISE_BOUNDS)
    gp = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=8, random_state=0)
    return -gp.fit(X, z).log_marginal_likelihood_value_


# In nats: hyperparameters that differ by less are equally likely for all purposes.
TOLERANCE = 1e-3


def optimum(objective, n_scales):
    groups = [[log_parameters(start, n_scales) for start in group] for group in STARTS]
    return objective(minimize_objective(objective, groups))[0]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("function", [sample, bumpy, white])
@pytest.mark.parametrize(("n", "d"), [(5, 2), (12, 1), (25, 4)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_isotropic_optimum_is_no_worse_than_that_of_scikit_learn(function, n, d, seed):
    X, z = function(seed, n, d, 1.5)
    objective = Objective(X, z, 1.5, False, np.zeros(d, dtype=bool), None)
    assert optimum(objective, 1) <= scikit_learn_optimum(X, z, 1.5, False) + TOLERANCE


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("function", [sample, bumpy])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ard_optimum_is_no_worse_than_that_of_scikit_learn(function, seed):
    X, z = function(seed, 30, 2, 2.5)
    objective = Objective(X, z, 2.5, True, np.zeros(2, dtype=bool), None)
    assert optimum(objective, 2) <= scikit_learn_optimum(X, z, 2.5, True) + TOLERANCE


@pytest.mark.parametrize("function", [sample, bumpy, white])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_maximum_a_posteriori_is_no_worse_than_from_many_starts(function, seed):
    X, z = function(seed, 20, 3, 2.5)
    objective = Objective(X, z, 2.5, True, np.zeros(3, dtype=bool), regularising_prior)
    bounds = np.log([LENGTH_SCALE_BOUNDS] * 3 + [AMPLITUDE_BOUNDS, NOISE_BOUNDS])
    starts = list(np.random.default_rng(0).uniform(*bounds.T, (15, 5)))
    reference, _ = objective(minimize_objective(objective, [[start] for start in starts]))
    assert optimum(objective, 3) <= reference + TOLERANCE


def test_the_search_starts_from_the_best_of_each_group():
    X, z = white(122, 12, 2, 1.5)  # Two modes: the better one without noise, the other noisy.
    objective = Objective(X, z, 1.5, False, np.zeros(2, dtype=bool), None)
    noisy, quiet = np.log([0.2, 1.0, 0.2]), np.log([0.05, 1.2, 1e-6])
    good, _ = objective(minimize_objective(objective, [[quiet]]))
    bad, _ = objective(minimize_objective(objective, [[noisy]]))
    assert good < bad - 0.1
    for groups in ([[noisy, quiet]], [[quiet, noisy]], [[noisy], [quiet]], [[quiet], [noisy]]):
        value, _ = objective(minimize_objective(objective, groups))
        assert value == pytest.approx(good, abs=1e-3)


def test_a_search_that_ends_without_noise_is_the_last():
    evaluations = []

    def counting(log_parameters):
        evaluations.append(log_parameters)
        return 0.0, np.zeros_like(log_parameters)

    X, z = bumpy(0, 20, 2, 1.5)
    objective = Objective(X, z, 1.5, False, np.zeros(2, dtype=bool), counting)
    start = np.log([0.3, 1.0, 0.3])
    minimize_objective(objective, [[start]])
    alone = len(evaluations)
    minimize_objective(objective, [[start], [start]])
    assert len(evaluations) == 2 * alone


def test_the_minimum_is_within_the_bounds():
    X, z = bumpy(0, 30, 2, 2.5)
    objective = Objective(X, z, 2.5, True, np.zeros(2, dtype=bool), None)
    ours = np.exp(minimize_objective(objective, [[np.log([1e3, 1e-9, 1e9, 1e-30])]]))
    bounds = np.array([LENGTH_SCALE_BOUNDS] * 2 + [AMPLITUDE_BOUNDS, NOISE_BOUNDS])
    assert np.all(ours >= bounds[:, 0] * (1.0 - 1e-9))
    assert np.all(ours <= bounds[:, 1] * (1.0 + 1e-9))


def test_noise_that_the_data_cannot_tell_from_the_function_is_none():
    X = np.array([[0.1], [0.5], [0.9]])
    z = np.array([1.2, -1.4, 0.2])  # Nothing smooth: the best kernel is white itself.
    objective = Objective(X, z, 1.5, False, np.zeros(1, dtype=bool), None)
    start = np.log([0.02, 0.5, 0.5])
    _, amplitude, noise = np.exp(minimize_objective(objective, [[start]]))
    assert noise == pytest.approx(NOISE_BOUNDS[0])
    assert amplitude == pytest.approx(np.mean(z**2), rel=1e-3)


def test_a_likelihood_that_is_not_finite():
    def prior(log_parameters):
        return math.nan, np.zeros_like(log_parameters)

    X, z = bumpy(0, 8, 2, 2.5)
    objective = Objective(X, z, 2.5, True, np.zeros(2, dtype=bool), prior)
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        minimize_objective(objective, [[np.zeros(4)]])
