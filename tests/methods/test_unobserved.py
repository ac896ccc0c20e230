from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.unobserved import _first_new
from optuna_misowild.methods.unobserved import is_observed
from optuna_misowild.methods.unobserved import nearest_unobserved
from optuna_misowild.optim.domain import Domain


THREE = np.array([1 / 6, 1 / 2, 5 / 6])
FREE = np.array([np.nan])


def nearest(
    proposal: Proposal,
    X: list[list[float]],
    sources: list[int],
    grids: tuple[np.ndarray | None, ...],
    fixed: np.ndarray = FREE,
    categorical: tuple[int, ...] = (),
    seed: int = 0,
) -> tuple[int, list[float]]:
    domain = Domain(grids, np.isin(np.arange(len(grids)), categorical))
    found = nearest_unobserved(
        proposal,
        np.array(X).reshape(len(X), len(grids)),
        np.array(sources),
        domain,
        fixed=fixed,
        allowed=(0, 1),
        rng=np.random.default_rng(seed),
    )
    return found.source, found.x.tolist()


def test_what_is_new_stays() -> None:
    proposal = Proposal(1, np.array([0.5]))
    assert nearest(proposal, [[0.5], [1 / 6]], [0, 1], (THREE,)) == (1, [0.5])


def test_the_nearest_that_is_left_on_the_source_then_on_another() -> None:
    proposal = Proposal(0, np.array([1 / 6]))
    X = [[x] for x in THREE]
    assert nearest(proposal, X[:1], [0], (THREE,)) == (0, [1 / 2])
    assert nearest(proposal, X, [0, 0, 0], (THREE,)) == (1, [1 / 6])
    # Nothing is left: it is repeated.
    assert nearest(proposal, [*X, *X], [0, 0, 0, 1, 1, 1], (THREE,)) == (0, [1 / 6])
    assert nearest(proposal, X[:1], [0], (THREE,), fixed=THREE[:1]) == (1, [1 / 6])


@pytest.mark.parametrize("grids", [(None, THREE), (None, None)])
def test_a_continuous_space_always_has_a_new_one_near(
    grids: tuple[np.ndarray | None, ...],
) -> None:
    proposal = Proposal(0, np.array([0.4, 0.5]))
    free = np.full(2, np.nan)
    source, x = nearest(proposal, [[0.4, 0.5]], [0], grids, fixed=free)
    assert source == 0
    assert 0.0 < np.abs(x - proposal.x).sum() < 0.05
    fixed = np.array([0.4, np.nan])
    _, x = nearest(proposal, [[0.4, 0.5]], [0], grids, fixed=fixed)
    assert x[0] == 0.4 and x[1] != 0.5


CHOICES = (np.arange(3000) + 0.5) / 3000


def test_all_other_choices_are_equally_near() -> None:
    asked = [CHOICES[1500]]
    proposal = Proposal(0, np.array(asked))
    found = {
        nearest(proposal, [asked], [0], (CHOICES,), categorical=(0,), seed=seed)[1][0]
        for seed in range(20)
    }
    assert len(found) > 15
    assert np.median(np.abs(np.array(list(found)) - asked[0])) > 0.1


def test_the_next_number_is_nearer_than_another_choice() -> None:
    asked = [0.5, CHOICES[1500]]
    proposal = Proposal(0, np.array(asked))
    fixed = np.full(2, np.nan)
    found = nearest(proposal, [asked], [0], (THREE, CHOICES[1499:1502]), fixed, categorical=(1,))
    assert found in [(0, [THREE[0], CHOICES[1500]]), (0, [THREE[2], CHOICES[1500]])]


def test_thousands_of_choices_are_all_asked() -> None:
    """The last that is left is found, whichever was proposed."""
    last, proposal = CHOICES[7], Proposal(0, CHOICES[[2999]])
    X = [[x] for x in CHOICES if x != last]
    assert nearest(proposal, X, [0] * len(X), (CHOICES,), categorical=(0,)) == (0, [last])


def test_no_pair_of_points_is_compared_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exhausted space of 4,096 points took more than a second."""
    n_calls = 0
    absolute = np.abs

    def counted(*args: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        return absolute(*args)

    monkeypatch.setattr(np, "abs", counted)
    axis = [(i + 0.5) / 16 for i in range(16)]
    X = [list(x) for x in itertools.product(axis, repeat=3)]
    grids = (np.array(axis),) * 3
    proposal = Proposal(0, np.array(X[7]))
    free = np.full(3, np.nan)
    assert nearest(proposal, X, [0] * 4096, grids, fixed=free) == (1, X[7])
    assert nearest(proposal, X + X, [0] * 4096 + [1] * 4096, grids, fixed=free) == (0, X[7])
    # The last one that is left is found.
    assert nearest(proposal, X[:-1], [0] * 4095, grids, fixed=free) == (0, X[-1])
    assert n_calls < 10


@pytest.mark.parametrize("offset", [0.0, 0.9e-9, 1.1e-9])
def test_what_counts_as_the_same_is_the_same_for_one_point_and_for_many(offset: float) -> None:
    x = np.array([1 / 6 + offset])
    one = is_observed(x, 0, THREE[:1, None], np.zeros(1, dtype=int))
    new = _first_new(np.array([x, THREE[1:2]]), THREE[:1, None])
    assert new == (1 if one else 0)


def test_a_space_without_parameters_has_one_point() -> None:
    proposal = Proposal(0, np.empty(0))
    assert nearest(proposal, [[]], [0], (), fixed=np.empty(0)) == (1, [])
    assert nearest(proposal, [[], []], [0, 1], (), fixed=np.empty(0)) == (0, [])
