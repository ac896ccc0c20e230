"""The candidates of a search fill its space evenly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import qmc

from optuna_misowild.optim.domain import Domain
from optuna_misowild.optim.slice import Slice


N = 1024


def grid(k: int) -> np.ndarray:
    return (np.arange(k) + 0.5) / k


def mixed(d: int) -> Domain:
    """Numbers, a coarse and a fine grid, and categories, in turn."""
    grids = [(None, grid(5), None, grid(300), grid(4), None)[i % 6] for i in range(d)]
    return Domain(tuple(grids), np.arange(d) % 6 == 4)


def candidates(domain: Domain, seed: int, starts: np.ndarray | None = None) -> np.ndarray:
    free = Slice(domain, np.full(domain.d, np.nan))
    return free.candidates(N, starts, np.random.default_rng(seed))


def discrepancy(X: np.ndarray) -> float:
    return float(qmc.discrepancy(X))


def worst_pair(X: np.ndarray) -> float:
    """The largest discrepancy in two of the coordinates, or of a sample of them."""
    pairs = list(combinations(range(X.shape[1]), 2))
    return max(discrepancy(X[:, pair]) for pair in pairs[:: len(pairs) // 12 + 1])


@pytest.mark.parametrize("measure", [discrepancy, worst_pair])
@pytest.mark.parametrize("d", [2, 6, 12, 20])
@pytest.mark.parametrize("space", [Domain.continuous, mixed])
def test_candidates_are_as_even_as_a_sobol_sequence(
    space: Callable[[int], Domain], d: int, measure: Callable[[np.ndarray], float]
) -> None:
    domain = space(d)
    sobol = measure(domain.snap(qmc.Sobol(d, scramble=False).random(N) + 0.5 / N))
    random = measure(domain.snap(np.random.default_rng(0).random((N, d))))
    ours = max(measure(candidates(domain, seed)) for seed in range(3))
    assert ours < 2.0 * sobol
    # The grids alone have a discrepancy.
    assert ours - sobol < 0.01 * (random - sobol)


@pytest.mark.parametrize("n", [1, 2, N])
def test_candidates_are_as_many_as_asked_for(n: int) -> None:
    space = Slice(Domain.continuous(3), np.full(3, np.nan))
    assert space.candidates(n, None, np.random.default_rng(0)).shape == (n, 3)


def test_candidates_depend_on_the_generator_alone() -> None:
    domain, starts = mixed(6), np.full((2, 6), 0.5)
    first = candidates(domain, 3, starts)
    np.testing.assert_array_equal(candidates(domain, 3, starts), first)
    assert (candidates(domain, 4, starts) != first).any(axis=1).mean() > 0.9


def test_near_a_start_a_choice_stays_or_is_any_other() -> None:
    """No choice is near another: a little noise must not lead to the next few of thousands."""
    n_choices = 3000
    domain = Domain((None, grid(n_choices)), np.array([False, True]))
    start = np.array([[0.5, grid(n_choices)[1500]]])
    near = candidates(domain, 0, start)[N + 1 :]
    assert len(near) == N // 4
    away = np.abs(near[:, 1] - start[0, 1])
    assert (away == 0.0).mean() > 0.5
    others = away[away > 0.0]
    assert len(others) >= 5
    assert np.median(others) > 0.1
