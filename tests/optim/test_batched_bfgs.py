from __future__ import annotations

import numpy as np
import pytest

from optuna_misowild.optim.batched_bfgs import ascend


Pair = tuple[np.ndarray, np.ndarray]


class Hill:
    """−(x − top)ᵀ A (x − top), its axes being of different steepness and not those of the cube."""

    def __init__(self, top: list[float], unit: float = 1.0) -> None:
        self.top = np.array(top)
        rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((len(top),) * 2))[0]
        self.A = unit * rotation @ np.diag(10.0 ** np.linspace(0, 1.5, len(top))) @ rotation.T
        self.calls = 0

    def __call__(self, X: np.ndarray) -> Pair:
        assert np.all((X >= 0.0) & (X <= 1.0))
        self.calls += 1
        slope = -2.0 * (X - self.top) @ self.A
        return 0.5 * np.sum(slope * (X - self.top), axis=1), slope


STARTS = np.random.default_rng(1).random((6, 3))


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_climbs_a_narrow_hill(unit: float) -> None:
    hill = Hill([0.3, 0.8, 0.5], unit)
    X, value = ascend(hill, STARTS, n_evaluations=15, first_step=0.1)
    assert hill.calls == 15
    np.testing.assert_allclose(X, np.tile(hill.top, (6, 1)), atol=1e-3)
    np.testing.assert_array_equal(value, hill(X)[0])


def test_each_climb_is_what_it_would_be_alone() -> None:
    hill = Hill([0.3, 0.8, 0.5])
    together = ascend(hill, STARTS, n_evaluations=5, first_step=0.1)[0]
    for start, x in zip(STARTS, together, strict=True):
        alone = ascend(hill, start[None], n_evaluations=5, first_step=0.1)[0]
        np.testing.assert_allclose(x, alone[0], rtol=1e-9)


def test_the_top_outside_the_cube_is_sought_at_its_border() -> None:
    hill = Hill([1.4, 0.5, -0.3])
    X, value = ascend(hill, STARTS, n_evaluations=40, first_step=0.1)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 3), axis=-1).reshape(-1, 3)
    assert np.all(value >= hill(grid)[0].max() - 1e-6)


def test_first_step() -> None:
    seen = []

    def slope(X: np.ndarray) -> Pair:
        seen.append(X)
        return X @ [1.0, 1e3], np.tile([1.0, 1e3], (len(X), 1))

    ascend(slope, np.full((1, 2), 0.5), n_evaluations=2, first_step=0.1)
    np.testing.assert_allclose(seen[1], [[0.5001, 0.6]])


@pytest.mark.parametrize("excluded", [-np.inf, np.nan])
def test_what_is_excluded_is_not_entered(excluded: float) -> None:
    hill = Hill([0.9, 0.5, 0.5])

    def gated(X: np.ndarray) -> Pair:
        value, slope = hill(X)
        outside = X[:, 0] > 0.7
        return np.where(outside, excluded, value), np.where(outside[:, None], np.nan, slope)

    starts = 0.6 * STARTS
    X, value = ascend(gated, starts, n_evaluations=20, first_step=0.1)
    assert np.all(X[:, 0] <= 0.7) and np.all(value > hill(starts)[0])


def test_never_lower_than_where_it_started() -> None:
    rng = np.random.default_rng(0)

    def rough(X: np.ndarray) -> Pair:  # a gradient that tells nothing
        return np.cos(1e3 * X).sum(axis=1), rng.standard_normal(X.shape)

    X, value = ascend(rough, STARTS, n_evaluations=12, first_step=0.1)
    assert np.all(value >= rough(STARTS)[0])
    np.testing.assert_array_equal(value, rough(X)[0])


def test_flat_and_without_coordinates() -> None:
    def flat(X: np.ndarray) -> Pair:
        return np.zeros(len(X)), np.zeros_like(X)

    X, value = ascend(flat, STARTS, n_evaluations=4, first_step=0.1)
    np.testing.assert_array_equal(X, STARTS)
    np.testing.assert_array_equal(value, 0.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-170, 1e-310])
def test_slopes_whose_squares_vanish_are_no_obstacle(unit: float) -> None:
    X, value = ascend(Hill([0.3, 0.8, 0.5], unit), STARTS, n_evaluations=15, first_step=0.1)
    assert np.isfinite(X).all() and np.isfinite(value).all()
