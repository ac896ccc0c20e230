from __future__ import annotations

from itertools import pairwise

import numpy as np
from optuna.distributions import IntDistribution

from optuna_misowild.optim.domain import DUPLICATE
from optuna_misowild.optim.domain import SAME_OPTIMUM
from optuna_misowild.optim.domain import SAME_PLACE
from optuna_misowild.optim.domain import distances
from optuna_misowild.study.space import MAX_GRID_SIZE
from optuna_misowild.study.space import domain_of


def test_all_choices_are_at_the_same_distance() -> None:
    choices = (np.arange(5000) + 0.5) / 5000
    X = np.array([[0.1, choices[7]], [0.4, choices[7]], [0.1, choices[8]], [0.1, choices[-1]]])
    found = distances(X[:1], X, np.array([False, True]))
    np.testing.assert_allclose(found, [[0.0, 0.3, 1.0, 1.0]])


def test_without_parameters_all_is_one_place() -> None:
    nothing = np.zeros(0, dtype=bool)
    np.testing.assert_array_equal(distances(np.empty((2, 0)), np.empty((1, 0)), nothing), 0.0)


def test_no_two_values_of_a_grid_are_the_same_place() -> None:
    space = {"n": IntDistribution(1, MAX_GRID_SIZE, log=True)}
    (grid,) = domain_of(space).grids
    assert grid is not None and len(grid) == MAX_GRID_SIZE
    closest = min(b - a for a, b in pairwise(grid.tolist()))
    assert SAME_PLACE < 1e-3 * closest
    assert SAME_PLACE < DUPLICATE < SAME_OPTIMUM
