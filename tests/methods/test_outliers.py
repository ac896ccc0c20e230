from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_misowild import MisoWildSampler
from optuna_misowild.methods.outliers import clip_outliers


ONE = np.zeros(6, dtype=int)


def test_by_hand() -> None:
    # Median 2.5, lowest 0: the limit is 2.5 + 20·2.5.
    y = np.array([0.0, 1.0, 2.0, 3.0, 52.0, 1e30])
    np.testing.assert_allclose(clip_outliers(y, ONE), [0.0, 1.0, 2.0, 3.0, 52.0, 52.5])
    assert y[-1] == 1e30


@pytest.mark.parametrize("scale, shift", [(1e3, 1e4), (1e-6, -7.0)])
def test_units_do_not_matter(scale: float, shift: float) -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 1e4])
    np.testing.assert_allclose(
        clip_outliers(scale * y + shift, ONE), scale * clip_outliers(y, ONE) + shift
    )


def test_a_source_in_another_unit_is_no_measure_for_the_others() -> None:
    y = np.array([0.0, 1.0, 2.0, 1e9, 0.0, 1e9, 2e9, 3e9])
    source = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    clipped = clip_outliers(y, source)
    np.testing.assert_allclose(clipped[:4], [0.0, 1.0, 2.0, 21 * 100 * 1.5])
    np.testing.assert_array_equal(clipped[4:], y[4:])
    np.testing.assert_array_equal(clip_outliers(y[1:4], source[1:4]), y[1:4])


def test_a_source_that_was_asked_at_good_places_is_measured_as_the_others_are() -> None:
    good = np.array([0.01, 0.02, 0.03, 0.04, 0.9])
    spread = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.2, 0.6])
    y = np.concatenate([good, spread, 5.0 + spread])
    source = np.repeat([0, 1, 2], [5, 8, 8])
    np.testing.assert_array_equal(clip_outliers(y, source), y)
    # By itself:
    np.testing.assert_allclose(clip_outliers(good, source[:5])[-1], 0.01 + 21 * 0.02)
    # The scale of all: the median of 21 distances to the lowest value of their source.
    y[4] = 1e30
    np.testing.assert_allclose(clip_outliers(y, source)[4], 0.01 + 21 * 0.4)


def test_values_that_crowd_around_the_optimum_do_not_narrow_the_scale() -> None:
    y = np.concatenate([np.linspace(1.0, 10.0, 10), np.full(90, 0.5), [100.0]])
    np.testing.assert_array_equal(clip_outliers(y, np.zeros(101, dtype=int)), y)


@pytest.mark.parametrize("y", [[], [1.0] * 6, [1e308, -1e308, 1e308, 0.0, 1.0, 2.0]])
@pytest.mark.filterwarnings("error")
def test_odd_values(y: list[float]) -> None:
    values = np.array(y, dtype=float)
    clipped = clip_outliers(values, np.zeros(len(y), dtype=int))
    assert np.isfinite(clipped).all()
    assert (clipped <= values).all()


def test_a_fifth_of_the_space_that_diverges_does_not_hide_the_optimum() -> None:
    def objective(trial: optuna.Trial) -> float:
        x, z = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("z", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0)
        return 1e30 if x > 0.8 else (x - 0.3) ** 2 + (z - 0.6) ** 2

    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=25)
    assert study.best_value < 5e-3
