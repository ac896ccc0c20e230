"""What the robust method asks where its acquisition is largest at an old query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import observe

from optuna_misowild.methods.base import Observations
from optuna_misowild.optim.maximize import Maximum


def better_and_dearer(n: int, left: float) -> Observations:
    """Of two sources in turn, from 0 to 0.7, at 1 to 8.2 and at a tenth of that."""
    X = np.linspace(0.0, 0.7, n)[:, None]
    source = np.arange(n) % 2
    cost = np.exp(3.0 * X[:, 0]) * np.where(source, 0.1, 1.0)
    spent = float(cost.sum())
    return observe(X, source, np.cos(3.0 * X[:, 0]), cost, spent=spent, budget=spent + left)


@pytest.fixture
def _old_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(acquisition: Any, *args: Any, **kwargs: Any) -> Maximum:
        affordable = acquisition.model.limit.cost > 2.0
        return Maximum(0, np.zeros(1), 1.0 if affordable else -np.inf)

    monkeypatch.setattr("optuna_misowild.methods.robust.method.maximize", found)


@pytest.mark.usefixtures("_old_maximum")
@pytest.mark.parametrize("n", [16, 17])  # x⁺, 0.7, is of the other source, or of this one.
def test_it_is_no_place_that_cannot_be_paid(n: int) -> None:
    rng = np.random.default_rng(0)
    rich = METHOD.propose(better_and_dearer(n, left=100.0), LINE, rng=rng, sources=[0])
    assert rich.x[0] == pytest.approx(0.7 if n == 16 else 1.0)
    poor = METHOD.propose(better_and_dearer(n, left=6.0), LINE, rng=rng, sources=[0])
    assert 0.0 < poor.x[0] and np.exp(3.0 * poor.x[0]) < 6.6


@pytest.mark.usefixtures("_old_maximum")
def test_where_nothing_can_be_paid_it_is_x_plus() -> None:
    proposal = METHOD.propose(
        better_and_dearer(16, left=1.05), LINE, rng=np.random.default_rng(0), sources=[0]
    )
    assert (proposal.source, proposal.x[0]) == (0, 0.7)
