"""When the hyperparameters of the robust method are searched for, and what else is refitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import METHOD
from robust_observations import SQUARE
from robust_observations import Array
from robust_observations import example
from robust_observations import objective
from robust_observations import observe

from optuna_misowild.gp import in_order
from optuna_misowild.methods.robust import RobustMethod


Fits = list[tuple[int, bool]]


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Fits:
    """The fits as they are made: number of observations, and whether from the defaults."""
    seen: Fits = []
    original = in_order.fit_gp

    def spy(X: Array, *args: Any, **kwargs: Any) -> Any:
        if len(kwargs["offsets"]) > 1:  # Not GP_1.
            seen.append((len(X), kwargs.get("warm_start") is None))
        return original(X, *args, **kwargs)

    monkeypatch.setattr(in_order, "fit_gp", spy)
    return seen


def test_bad_mode_is_left_at_the_next_restart(fits: Fits) -> None:
    for n in (16, 17, 23, 24):
        METHOD.fit(example(seed=5, n=n), SQUARE)
    # Of the objective, and of the costs.
    assert fits[::2] == fits[1::2] == [(16, True), (17, False), (23, False), (24, True)]


@pytest.mark.parametrize(("many", "n_fits"), [(48, 1), (128, 2)])
def test_hyperparameters_of_many_values_stay_until_the_next_restart(
    fits: Fits, many: int, n_fits: int
) -> None:
    """Those of the costs from 48 on, those of the objective from 128 on."""
    numbers = (many - 1, many, many + 1, many + 7, many + 8)
    before, settled, next_one, later, restarted = (
        METHOD.fit(example(seed=6, n=n), SQUARE) for n in numbers
    )
    models = (lambda m: m.cost.gp, lambda m: m.joint)[:n_fits]
    for model in models:
        kept = model(settled).hyperparameters
        assert model(next_one).hyperparameters is model(later).hyperparameters is kept
        assert model(before).hyperparameters is not kept
        assert model(restarted).hyperparameters is not kept
    refits = [fit for fit in fits if fit[0] in (many + 1, many + 7)]
    assert refits == [(many + 1, False), (many + 7, False)][: 2 * (2 - n_fits)]
    # But what has been observed since then is in both models.
    latest = example(seed=6, n=many + 7)
    for joint, y in ((later.joint, latest.y), (later.cost.gp, np.log(latest.cost))):
        np.testing.assert_array_equal(joint.X, latest.X)
        np.testing.assert_array_equal(joint.source, latest.source)
        np.testing.assert_allclose(joint.y, y)


def test_restarts_are_rare_where_there_are_many_values(fits: Fits) -> None:
    method = RobustMethod(restart_every=2)
    for n in (63, 64, 67, 68):
        method.fit(example(seed=7, n=n), SQUARE)
    assert [fit for fit in fits if fit[1]] == [(n, True) for n in (62, 64, 68) for _ in range(2)]


def test_source_that_is_new_does_not_wait_for_a_restart(fits: Fits) -> None:
    rng = np.random.default_rng(0)
    X, source = rng.random((52, 2)), np.arange(52) % 2
    source[50:] = 2
    y, cost = objective(X) + np.array([0.0, 1.0, 100.0])[source], np.array([1, 0.5, 1e-3])[source]
    model = METHOD.fit(observe(X, source, y, cost), SQUARE)
    assert fits[2:] == [(48, True), (52, False)]  # Of the costs.
    Z = rng.random((5, 2))
    np.testing.assert_allclose(model.predict(Z, 2)[0], objective(Z) + 100.0, atol=1.0)
    np.testing.assert_allclose(model.cost.median(Z, 2), 1e-3, rtol=0.5)


@pytest.mark.parametrize("n", [16, 17])  # From the defaults, and from there on.
def test_the_preferred_source_has_a_part_of_its_own_unless_sources_differ_in_a_size(
    n: int,
) -> None:
    observations = example(seed=9, n=n)
    for sizes in ((), (1.0, 0.5, 0.1)):
        model = METHOD.fit(replace(observations, sizes=sizes), SQUARE)
        for gp in (model.joint, model.cost.gp):
            assert gp.hyperparameters.has_own_part == (not sizes)


def test_noise_is_ordered_in_the_model_of_the_objective_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noises = []
    original = in_order.fit_gp

    def spy(*args: Any, **kwargs: Any) -> Any:
        if len(kwargs["offsets"]) > 1:  # Not GP_1.
            noises.append(kwargs["settings"].prior.noises)
        return original(*args, **kwargs)

    monkeypatch.setattr(in_order, "fit_gp", spy)
    for n in (16, 17):  # From the defaults, and from there on.
        METHOD.fit(example(seed=8, n=n), SQUARE)
    assert noises == ["ordered", "free"] * 2  # Of the objective, and of the costs.
