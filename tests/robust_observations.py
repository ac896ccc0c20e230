"""Observations that the tests of the robust method begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.optim.domain import Domain


Array = NDArray[np.float64]

METHOD = RobustMethod()
LINE, SQUARE, FOUR = Domain.continuous(1), Domain.continuous(2), Domain.continuous(4)


def observe(
    X: Any, source: Any, y: Any = None, cost: Any = None, *, row: Any = None, **others: Any
) -> Observations:
    """Observations with a value of 0 and a cost of 1 where nothing else is said."""
    X, n = np.array(X, dtype=float), len(source)
    others.setdefault("n_sources", int(max(source, default=0)) + 1)
    others.setdefault("queryable", tuple(range(others["n_sources"])))
    others.setdefault("pending", np.zeros(n, dtype=bool))
    return Observations(
        X=X,
        source=np.array(source, dtype=int),
        y=np.zeros(n) if y is None else np.array(y, dtype=float),
        cost=np.ones(n) if cost is None else np.array(cost, dtype=float),
        trial=np.arange(n),
        design_row=np.full(n, -1) if row is None else np.array(row, dtype=int),
        **others,
    )


def objective(X: Array) -> Array:
    return np.sum((X - 0.3) ** 2, axis=1) + 0.1 * np.sin(9 * X[:, 0])


def example(seed: int = 0, n: int = 40, d: int = 2, **others: Any) -> Observations:
    """Three sources: the objective, a shifted one of a tenth, and a wrong one, of its cost."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    source = np.arange(n) % 3
    y = objective(X) + np.choose(source, [0, 0.5 + 0.1 * X[:, 1], -3 * objective(1 - X)])
    cost = np.exp(X[:, 0]) * np.array([1, 0.1, 0.1])[source]
    return observe(X, source, y, cost, n_sources=3, spent=cost.sum(), **others)
