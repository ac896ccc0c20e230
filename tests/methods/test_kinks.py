"""The maximum of the paper's acquisition, on its kinks or beside them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
import pytest

from examples.benchmarks.formulas import BRANIN
from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.kinks import best_on_kinks
from optuna_misowild.methods.paper import PaperMethod
from optuna_misowild.methods.paper import _Acquisition
from optuna_misowild.optim.domain import Domain


SOURCES = (0, 1, 2)
NOWHERE = np.empty((0, 2))


def observe(X: NDArray[np.float64], source: NDArray[np.int_]) -> Observations:
    """What the three sources of Branin's function tell at X (n, 2) of the unit square."""
    n = len(X)
    Z = np.stack([p.scale(X[:, i]) for i, p in enumerate(BRANIN.parameters)], axis=1)
    y, cost = zip(*(BRANIN.evaluate(s, z) for s, z in zip(source, Z, strict=True)), strict=True)
    return Observations(
        X=X,
        source=source,
        y=np.array(y, dtype=float),
        cost=np.array(cost, dtype=float),
        pending=np.zeros(n, dtype=bool),
        trial=np.arange(n),
        design_row=np.full(n, -1),
        n_sources=3,
        queryable=SOURCES,
    )


def initial(seed: int, n: int = 5) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    rng = np.random.default_rng(seed)
    columns = [[(rng.permutation(n) + rng.random(n)) / n for _ in range(2)] for _ in SOURCES]
    return np.concatenate([np.stack(c, axis=1) for c in columns]), np.repeat(SOURCES, n)


def dense_maximum(acquisition: _Acquisition, n: int = 200) -> float:
    """The largest value on a grid, and wherever the means cross between two of its points."""
    axis = np.linspace(0.0, 1.0, n)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    best = float(acquisition.values(grid.reshape(-1, 2)).max())
    for s in acquisition.sources:

        def difference(X: NDArray[np.float64], s: int = s) -> NDArray[np.float64]:
            model = acquisition.model
            return model.augmented.predict_mean(X) - model.objective[s].predict_mean(X)

        sign = np.sign(difference(grid.reshape(-1, 2))).reshape(n, n)
        for low, high, crosses in (
            (grid[1:], grid[:-1], sign[1:] != sign[:-1]),
            (grid[:, 1:], grid[:, :-1], sign[:, 1:] != sign[:, :-1]),
        ):
            a, b = low[crosses], high[crosses]
            if not len(a):
                continue
            of_a = np.sign(difference(a))
            for _ in range(40):
                middle = 0.5 * (a + b)
                is_a = (np.sign(difference(middle)) == of_a)[:, None]
                a, b = np.where(is_a, middle, a), np.where(is_a, b, middle)
            best = max(best, float(acquisition.values(a).max()))
    return best


def test_the_maximum_is_found_in_nearly_every_step() -> None:
    X, source = initial(0)
    method, domain = PaperMethod(), Domain.continuous(2)
    shares = []
    for step in range(24):
        seen = observe(X, source)
        model = method.fit(seen, domain)
        acquisition = _Acquisition(model, SOURCES)
        found = method.maximum(seen, domain, model, SOURCES, rng=np.random.default_rng(step))
        shares.append(found.value / max(dense_maximum(acquisition), found.value))
        X, source = np.concatenate([X, found.x[None]]), np.append(source, found.source)
    assert np.mean(np.array(shares) >= 0.99) >= 0.95


def test_locations_are_on_the_kinks_of_every_source() -> None:
    seen = observe(*initial(1))
    acquisition = _Acquisition(PaperMethod().fit(seen, Domain.continuous(2)), SOURCES)
    X = best_on_kinks(
        acquisition, Domain.continuous(2), rng=np.random.default_rng(0), starts=NOWHERE
    )
    for s in SOURCES:
        difference, _ = acquisition.difference_with_gradient(X, np.full(len(X), s))
        assert np.count_nonzero(np.abs(difference) < 1e-6 * seen.y.std()) >= 2
    assert ((X >= 0.0) & (X <= 1.0)).all()


def test_gradient_of_the_difference() -> None:
    acquisition = _Acquisition(
        PaperMethod().fit(observe(*initial(0)), Domain.continuous(2)), SOURCES
    )
    X, source = np.random.default_rng(0).random((12, 2)), np.tile(SOURCES, 4)
    difference, gradient = acquisition.difference_with_gradient(X, source)
    eta = np.stack([acquisition.model.discrepancy(X, s) for s in SOURCES], axis=1)
    np.testing.assert_allclose(abs(difference), eta[np.arange(12), source])
    for i in range(2):
        step = 1e-6 * np.eye(2)[i]
        high, _ = acquisition.difference_with_gradient(X + step, source)
        low, _ = acquisition.difference_with_gradient(X - step, source)
        np.testing.assert_allclose(gradient[:, i], (high - low) / 2e-6, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_values, n_found", [(10, 0), (5000, 4)])
def test_fixed_and_discrete_coordinates(n_values: int, n_found: int) -> None:
    # Small spaces are enumerated; a fine grid counts as continuous; what is fixed stays.
    domain = Domain((np.linspace(0.0, 1.0, n_values), None), np.zeros(2, dtype=bool))
    acquisition = _Acquisition(PaperMethod().fit(observe(*initial(0)), domain), SOURCES)
    fixed = np.array([np.nan, 0.3])
    X = best_on_kinks(
        acquisition, domain, rng=np.random.default_rng(0), starts=NOWHERE, fixed=fixed
    )
    assert len(X) >= n_found
    assert (len(X) == 0) == (n_found == 0)
    assert (X[:, 1] == 0.3).all()
