"""The initial design where the sources are rungs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from robust_observations import METHOD
from robust_observations import observe

from optuna_misowild.methods.base import Observations


LENGTHS = (1.0, 0.33, 0.12, 0.04)


def seen(rows: list[tuple[int, int, float]], **others: Any) -> Observations:
    """From (source, row, value)."""
    source, row, y = zip(*rows, strict=True) if rows else ([], [], [])
    known = {"n_sources": 4, "lengths": LENGTHS, **others}
    return observe(np.empty((len(rows), 0)), source, y, row=row, **known)


SHORT = [(3, 0, 5.0), (3, 1, 2.0), (3, 2, 4.0), (3, 3, 1.0), (3, 4, 3.0)]


def test_short_trainings_come_first_then_the_best_of_them_to_the_end() -> None:
    assert METHOD.design(seen([]), 5) == [(3, row) for row in range(5)]
    assert METHOD.design(seen(SHORT[:2]), 5) == [(3, 2), (3, 3), (3, 4), (0, 1)]
    assert METHOD.design(seen(SHORT), 5) == [(0, 3)]
    assert METHOD.design(seen([*SHORT, (0, 3, 0.1)]), 5) == []


def test_the_full_training_is_none_that_violates_a_constraint() -> None:
    constraints = np.array([[-1.0], [1.0], [-1.0], [1.0], [-1.0]])
    assert METHOD.design(seen(SHORT, constraints=constraints), 5) == [(0, 4)]
    assert METHOD.design(seen(SHORT, constraints=np.ones((5, 1))), 5) == [(0, 3)]


def test_a_training_counts_once_whatever_rungs_it_has_passed() -> None:
    full = [(source, -1, 1.0) for source in (3, 2, 1, 0)]
    passed = replace(seen(full), trial=np.zeros(4, dtype=int))
    assert METHOD.design(passed, 5) == [(3, row) for row in range(4)]


def test_a_full_training_that_failed_is_tried_elsewhere() -> None:
    failed = seen([*SHORT, (0, 3, np.nan)], failed=np.array([False] * 5 + [True]))
    assert METHOD.design(failed, 5)[0] == (0, 1)


def test_while_the_full_training_runs_others_do_short_ones() -> None:
    running = np.array([False] * 5 + [True])
    rows = [(3, row) for row in range(5, 9)]
    assert METHOD.design(seen([*SHORT, (0, 3, np.nan)], pending=running), 5) == rows
    # Those that run hold their rows, and the best so far need not wait for them.
    pending = replace(seen(SHORT), y=np.array([np.nan, 2.0, 4.0, np.nan, 3.0]))
    pending = replace(pending, pending=np.isnan(pending.y))
    assert METHOD.design(pending, 5)[0] == (0, 1)


def test_what_is_known_counts() -> None:
    assert METHOD.design(seen([(0, -1, 1.0)] * 5), 5) == []
    assert METHOD.design(seen([(0, -1, 1.0)] * 2), 5) == [(3, 0), (3, 1), (3, 2)]
    # What may not be queried is no part of it, and without shorter ones it is as ever.
    assert METHOD.design(seen([], queryable=(0, 2)), 5)[0] == (2, 0)
    assert METHOD.design(seen([], queryable=(0,)), 5) == [(0, row) for row in range(5)]
