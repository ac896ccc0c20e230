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
    """Then short ones again, for about what a full one costs."""
    assert METHOD.design(seen([]), 5)[:5] == [(3, row) for row in range(5)]
    further = [(3, row) for row in range(5, 20)]
    assert METHOD.design(seen([]), 5)[5:] == further
    assert METHOD.design(seen(SHORT[:2]), 5)[:4] == [(3, 2), (3, 3), (3, 4), (0, 1)]
    assert METHOD.design(seen(SHORT), 5) == [(0, 3), *further]
    done = [*SHORT, (0, 3, 0.1)]
    assert METHOD.design(seen(done), 5) == further[:-1]
    assert METHOD.design(seen([*done, *((3, row, 1.0) for row in range(5, 19))]), 5) == []


def test_rungs_that_are_not_much_shorter_have_fewer_rows() -> None:
    observations = seen([], lengths=(1.0, 0.3, 0.1), n_sources=3)
    assert METHOD.design(observations, 5)[-1] == (2, 9)
    assert METHOD.design(seen([], lengths=(1.0, 0.5), n_sources=2), 5)[-1] == (1, 4)


def test_a_full_training_that_failed_is_tried_elsewhere() -> None:
    failed = seen([*SHORT, (0, 3, np.nan)], failed=np.array([False] * 5 + [True]))
    assert METHOD.design(failed, 5)[0] == (0, 1)


def test_while_the_full_training_runs_others_do_short_ones() -> None:
    rows = [*SHORT, (0, 3, np.nan), *((3, row, 1.0) for row in range(5, 19))]
    running = np.array([source == 0 for source, *_ in rows])
    assert METHOD.design(seen(rows, pending=running), 5)[:2] == [(3, 19), (3, 20)]
    # Those that run hold their rows, and the best so far need not wait for them.
    pending = replace(seen(SHORT), y=np.array([np.nan, 2.0, 4.0, np.nan, 3.0]))
    pending = replace(pending, pending=np.isnan(pending.y))
    assert METHOD.design(pending, 5)[0] == (0, 1)


def test_what_is_known_counts() -> None:
    assert METHOD.design(seen([(0, -1, 1.0)] * 20), 5) == []
    assert METHOD.design(seen([(0, -1, 1.0)] * 17), 5) == [(3, 0), (3, 1), (3, 2)]
    # What may not be queried is no part of it, and without shorter ones it is as ever.
    assert METHOD.design(seen([], queryable=(0, 2)), 5)[0] == (2, 0)
    assert METHOD.design(seen([], queryable=(0,)), 5) == [(0, row) for row in range(5)]
