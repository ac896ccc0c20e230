"""What a query is expected to gain, less its price."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
import pytest
from robust_observations import METHOD
from robust_observations import SQUARE
from robust_observations import Array
from robust_observations import observe

from optuna_misowild.methods.robust.gain import net_gain
from optuna_misowild.methods.robust.model import RobustModel
from optuna_misowild.optim.acquisition import log_ei


GRID = np.random.default_rng(1).random((64, 2))


@pytest.fixture(scope="module")
def model() -> RobustModel:
    """Two sources that agree but for a little, the second at a tenth of the cost."""
    X = np.random.default_rng(0).random((16, 2))
    source = np.array([0] * 4 + [1] * 12)
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2
    fitted = METHOD.fit(observe(X, source, y, np.where(source == 0, 2.0, 0.2)), SQUARE)
    assert fitted.single is None
    return fitted


def test_a_query_of_the_preferred_source_is_worth_its_expected_improvement(
    model: RobustModel,
) -> None:
    p = model.joint.posterior(GRID, [0])
    ei = np.exp(log_ei(p.mean, p.variance, model.best).value)
    assert_allclose(net_gain(model, GRID, 0, price=0.0), ei)
    cost = model.cost.median(GRID, 0)
    assert_allclose(net_gain(model, GRID, 0, price=0.3), ei - 0.3 * cost)


def with_look(model: RobustModel, told: float) -> RobustModel:
    """The model, but a look at the second source tells the part w of the variance of f_1."""

    def posterior(X: Array, sources: list[int]) -> SimpleNamespace:
        p = model.joint.posterior(X, sources)
        variance = p.variance + 0.01
        return SimpleNamespace(
            mean=p.mean,
            variance=variance,
            covariance=variance[:, None] * np.sqrt(told),
            source_variance=variance[:, None],
        )

    def predict(X: Array) -> tuple[Array, Array]:
        p = posterior(X, [0])
        return p.mean, p.variance

    joint: Any = SimpleNamespace(posterior=posterior, predict=predict, noise=np.zeros(2))
    return replace(model, joint=joint)


def test_a_perfect_look_is_an_option_on_the_improvement(model: RobustModel) -> None:
    # Where the look tells all, E[max(0, max(0, y⁺ − f) − λ·c_1)] is an expected improvement too,
    # over y⁺ − λ·c_1.
    price = 0.05
    clear = with_look(model, 1.0)
    p = clear.joint.posterior(GRID, [1])
    of_first, of_look = (price * model.cost.median(GRID, s) for s in (0, 1))
    option = np.exp(log_ei(p.mean, p.variance, model.best - of_first).value)
    gain = net_gain(clear, GRID, 1, price=price)
    assert_allclose(gain, option - of_look, atol=0.05 * np.sqrt(p.variance.max()))
    # It saves the preferred source's cost where that would find nothing.
    assert np.any(gain > np.maximum(net_gain(clear, GRID, 0, price=price), 0.0) + 1e-3)
    # A look that tells less is worth less, and in the end no more than a blind query after it.
    less = net_gain(with_look(model, 0.5), GRID, 1, price=price)
    assert np.all(less <= gain + 1e-3)
    nothing = net_gain(with_look(model, 0.0), GRID, 1, price=price)
    blind = np.maximum(net_gain(clear, GRID, 0, price=price), 0.0)
    assert_allclose(nothing, blind - of_look, atol=1e-6)


def test_models_that_disagree_are_weighed(model: RobustModel) -> None:
    X = np.random.default_rng(2).random((5, 2))
    single = METHOD.fit(observe(X, [0] * 5, X[:, 0]), SQUARE).joint
    joint = net_gain(model, GRID, 0, price=0.0)
    alone = net_gain(replace(model, single=single, log_odds=-50.0), GRID, 0, price=0.0)
    assert np.abs(joint - alone).max() > 1e-3
    both = net_gain(replace(model, single=single, log_odds=0.0), GRID, 0, price=0.0)
    assert_allclose(both, (joint + alone) / 2)
