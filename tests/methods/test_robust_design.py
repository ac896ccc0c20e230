"""The initial design of the robust method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import METHOD
from robust_observations import observe

from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.robust import RobustMethod


def pairs(observations: Observations, n_preferred: int = 5) -> list[tuple[int, int]]:
    return RobustMethod(n_preferred_rows=n_preferred).design(observations, 5)


def design_of(
    rows: list[tuple[int, int, float]], n_sources: int = 3, **others: Any
) -> Observations:
    """From (source, row, cost); without locations, as the sampler gives them."""
    source, row, cost = zip(*rows, strict=True) if rows else ([], [], [])
    n = len(rows)
    return observe(np.empty((n, 0)), source, cost=cost, row=row, n_sources=n_sources, **others)


PREFERRED = [(0, 0, 5.0), (0, 1, 1.0), (0, 2, 3.0), (0, 3, 2.0), (0, 4, 4.0)]


def test_design_begins_with_the_preferred_source() -> None:
    assert pairs(design_of([])) == [(0, row) for row in range(5)]
    assert pairs(design_of(PREFERRED[:2]))[:3] == [(0, 2), (0, 3), (0, 4)]


def test_preferred_source_is_queried_at_few_rows_if_another_is_kept() -> None:
    assert METHOD.design(design_of([]), 5) == [(0, 0), (0, 1), (0, 2)]
    assert pairs(design_of(PREFERRED[:3]), 3) == [(1, 2), (2, 2)]
    # Share: 0.25 · 9 / 2 = 1.125 pays for two queries at 0.5, so for one more.
    one_kept = design_of([*PREFERRED[:3], (1, 2, 0.5), (2, 2, 9.0)])
    assert pairs(one_kept, 3) == [(1, 0)]
    # The other rows of the preferred source follow once no other is left.
    undecided = design_of([*PREFERRED[:3], (1, 2, 9.0)])
    assert pairs(undecided, 3) == [(2, 2)]
    none_kept = design_of([*PREFERRED[:3], (1, 2, 9.0), (2, 2, 9.0)])
    assert pairs(none_kept, 3) == [(0, 3), (0, 4)]
    # A study with one source has no other to begin with.
    assert pairs(design_of([], 1), 3) == [(0, row) for row in range(5)]


def test_design_probes_the_others_where_the_cost_is_the_median() -> None:
    assert pairs(design_of(PREFERRED)) == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("cost", "wanted"),
    [
        (0.99, [(1, 0)]),  # The share, 0.25 · 9 / 2, pays for one at 0.99. One decides nothing.
        (2.9, [(1, 0)]),
        (3.1, []),  # It is not even cheaper than the preferred source.
    ],
)
def test_a_source_that_may_be_cheap_has_a_second_reading(
    cost: float, wanted: list[tuple[int, int]]
) -> None:
    first = design_of([*PREFERRED[:3], (1, 2, cost), (2, 2, 0.9), (2, 0, 0.9)])
    assert pairs(first, 3) == wanted
    # Neither units nor the order of the trials matter.
    rows = [(2, 0, 0.9), (1, 2, cost), (2, 2, 0.9), *PREFERRED[:3]]
    assert pairs(design_of([(s, row, 1e3 * z) for s, row, z in rows]), 3) == wanted
    # While it is running it is not wanted again.
    waiting = design_of([*rows, (1, 0, np.nan)])
    assert pairs(replace(waiting, pending=np.array([False] * 6 + [True])), 3) == []


@pytest.mark.parametrize(
    ("ratios", "cheap"),
    [([1 / 3], True), ([0.36] * 3, True), ([0.38], False), ([0.6, 0.1], True), ([0.6] * 2, False)],
)
def test_the_preferred_source_is_queried_at_every_row_if_no_other_seems_cheap(
    ratios: list[float], cheap: bool
) -> None:
    costs = [(1, row, ratio * PREFERRED[row][2]) for row, ratio in enumerate(ratios)]
    wanted = pairs(design_of([*PREFERRED[:3], *costs], 2), 3)
    assert [pair for pair in wanted if pair[0] == 0] == ([] if cheap else [(0, 3), (0, 4)])


def test_cheap_source_is_queried_at_other_rows_while_its_share_lasts() -> None:
    # 1.875 pays for three queries at 0.6, so for two more.
    after = design_of([*PREFERRED, (1, 2, 0.6), (2, 2, 9.0)])
    assert pairs(after) == [(1, 0), (1, 1)]
    # A dear one: the mean is 0.8 now, and 3 · 0.8 is too much.
    assert pairs(replace_last(after, (1, 0, 1.0))) == []
    both = design_of([*PREFERRED, (1, 2, 0.6), (2, 2, 0.6)])
    assert pairs(both) == [(1, 0), (2, 0), (1, 1), (2, 1)]


def replace_last(observations: Observations, new: tuple[int, int, float]) -> Observations:
    old = list(zip(observations.source, observations.design_row, observations.cost, strict=True))
    return design_of([*old, new], observations.n_sources)


def test_design_with_pending_and_failed_trials() -> None:
    pending = np.array([False] * 4 + [True])
    running = design_of([*PREFERRED[:4], (0, 4, np.nan)], pending=pending)
    # Row 4 may be the dearest, so that the median is known: row 2 of costs 1, 2, 3, 5, ∞.
    assert pairs(running) == [(1, 2), (2, 2)]
    begun = design_of(
        [(0, 3, 1.0), *[(0, row, np.nan) for row in (0, 1, 2, 4)]], pending=np.arange(5) > 0
    )
    assert pairs(begun) == [(1, 3), (2, 3)]
    waiting = design_of([*PREFERRED, (1, 2, np.nan)], 2, pending=np.array([False] * 5 + [True]))
    assert pairs(waiting) == []
    failed = design_of([*PREFERRED, (1, 2, np.nan)], 2)
    assert pairs(failed) == [(1, 0)]


def test_evaluations_without_a_row_count_in_the_place_of_one() -> None:
    given = design_of([(0, -1, 2.0), (0, -1, 3.0), (0, 0, 1.0), (1, -1, 0.1)], 2)
    assert [row for source, row in pairs(given) if source == 0] == [1, 2]


def test_added_trials_of_a_cheap_source_do_not_take_its_rows() -> None:
    added = [(1, -1, 0.1)] * 7
    assert pairs(design_of([*PREFERRED[:3], *added], 2), 3) == [(1, r) for r in (2, 0, 1, 3, 4)]
    # What they cost is known: three queries at 0.7 are within 0.25 · 9, at 0.8 two are.
    for cost, n in ((0.7, 3), (0.8, 2)):
        assert len(pairs(design_of([*PREFERRED[:3], (1, -1, cost)], 2), 3)) == n
    # Those that are queried after the design do not bring back what it could not afford.
    done = [*PREFERRED[:3], (1, 2, 1.0), (1, 0, 1.0)]
    assert pairs(design_of([*done, (0, -1, 90.0), (1, -1, 0.1)], 2), 3) == []


def test_other_sources_do_not_wait_for_the_preferred_one() -> None:
    def running(n_sources: int, *others: tuple[int, int, float]) -> list[tuple[int, int]]:
        rows = [(0, row, np.nan) for row in range(3)]
        pending = np.isnan([cost for *_, cost in [*rows, *others]])
        return pairs(design_of([*rows, *others], n_sources, pending=pending), 3)

    assert running(2) == [(1, row) for row in range(5)]
    assert running(5)[:5] == [(1, 0), (2, 0), (3, 0), (4, 0), (1, 1)]
    assert running(2, (1, 0, np.nan)) == [(1, row) for row in range(1, 5)]
    # The cheapest goes on, and further once the preferred one has been asked again.
    assert running(2, (1, 0, 1.0)) == [(1, row) for row in range(1, 15)]
    all_rows = [(1, row, 1.0) for row in range(15)]
    assert running(2, *all_rows) == []
    assert running(2, *all_rows, (0, 5, np.nan)) == [(1, row) for row in range(15, 30)]
    # As soon as it has a cost, the shares are known.
    rows = [(0, 0, 9.0), (0, 1, np.nan), (0, 2, np.nan), (1, 0, np.nan)]
    begun = design_of(rows, 2, pending=np.array([False, True, True, True]))
    assert pairs(begun, 3) == []
    # Nothing is pending: it has failed.
    assert pairs(design_of(rows[1:3], 2), 3) == [(0, 0)]


def on_rows(n: int, y: list[float]) -> Observations:
    """Source 0 at five rows, source 1 at n of them at a cost of 0.1, with y in the end."""
    rows = [2, 0, 1, *range(3, 30)][:n]
    return design_of(
        [*PREFERRED, *[(1, row, 0.1) for row in rows], (2, 2, 9.0)],
        y=[5.0, 4, 3, 2, 1, *[1.0] * (n - len(y)), *y, 0.0],
    )


def test_the_cheapest_source_goes_on_until_it_has_left_a_plateau() -> None:
    # On five rows it had its lowest value once: the design is complete.
    assert pairs(on_rows(5, [0.5, 0.7])) == []
    assert pairs(on_rows(5, [0.5, 0.5])) == [(1, row) for row in range(5, 15)]
    # Nearly the same is the same, in units of its own.
    assert pairs(on_rows(5, [0.5, 0.5 + 1e-6])) != []
    # Then it finds something lower, or has been at three times the rows.
    assert pairs(on_rows(9, [0.5, 0.5, 0.2])) == []
    assert pairs(on_rows(9, [0.5, 0.5, 0.5]))[0] == (1, 9)
    assert pairs(on_rows(15, [0.5, 0.5])) == []
    # It stays within its share, 0.25 · 15 / 2: at a cost of 0.3 that pays for six queries.
    dearer = on_rows(5, [0.5, 0.5])
    dearer.cost[dearer.source == 1] = 0.3
    assert pairs(dearer) == [(1, 5)]
    # The other kept source is on a plateau too, but dearer: it stays within the first rows.
    both = design_of(
        [*PREFERRED, *[(1, row, 0.1) for row in range(5)], (2, 2, 0.2), (2, 0, 0.2)],
        y=[5.0, 4, 3, 2, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5],
    )
    assert {s for s, row in pairs(both) if row >= 5} == {1}


def test_only_the_design_tells_of_a_plateau() -> None:
    # Later queries come back to the lowest value because the method searches there.
    after = on_rows(8, [1.0, 0.9, 0.8, 0.7, 0.5, 0.5, 0.5, 0.5])
    assert pairs(after) != []
    after.design_row[(after.source == 1) & (after.design_row > 4)] = -1
    assert pairs(after) == []


def test_read_only_sources_are_not_designed() -> None:
    assert pairs(design_of(PREFERRED, queryable=(0, 2))) == [(2, 2)]
    only_others = design_of([], queryable=(1,))
    assert METHOD.design(only_others, 2) == [(1, 0), (1, 1)]
