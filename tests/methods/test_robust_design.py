"""The initial design of the robust method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import METHOD
from robust_observations import observe

from optuna_misowild.methods.base import Observations


def pairs(observations: Observations, n_rows: int = 5) -> list[tuple[int, int]]:
    return METHOD.design(observations, n_rows)


def design_of(
    rows: list[tuple[int, int, float]], n_sources: int = 3, **others: Any
) -> Observations:
    """From (source, row, cost); without locations, as the sampler gives them."""
    source, row, cost = zip(*rows, strict=True) if rows else ([], [], [])
    n = len(rows)
    return observe(np.empty((n, 0)), source, cost=cost, row=row, n_sources=n_sources, **others)


def test_single_source_is_queried_at_every_row() -> None:
    assert pairs(design_of([], 1)) == [(0, row) for row in range(5)]
    assert pairs(design_of([(0, 0, 1.0), (0, 1, 9.0)], 1)) == [(0, 2), (0, 3), (0, 4)]
    assert pairs(design_of([], 1), 8) == [(0, row) for row in range(8)]


def test_design_begins_with_the_others_at_the_first_row() -> None:
    assert pairs(design_of([])) == [(1, 0), (2, 0), (0, 0)]
    assert pairs(design_of([(1, 0, 0.4)])) == [(2, 0), (0, 0)]


def test_cheap_source_goes_on_before_the_preferred_one_as_if_that_cost_as_much_as_the_others() -> (
    None
):
    assert pairs(design_of([(1, 0, 0.4), (2, 0, 0.1)])) == [
        *[(2, r) for r in (1, 2, 3, 4)],
        (0, 0),
    ]
    # 0.4 pays for eight queries at 0.05.
    assert pairs(design_of([(1, 0, 0.4), (2, 0, 0.05)])) == [
        *[(2, r) for r in range(1, 8)],
        (0, 0),
    ]
    # At 0.2 it may be no cheaper than a third of the preferred one.
    assert pairs(design_of([(1, 0, 0.4), (2, 0, 0.2)])) == [(0, 0)]


def test_preferred_source_begins_at_the_row_that_is_best_on_the_others() -> None:
    rows = [(1, 0, 0.4), *[(2, row, 0.1) for row in range(5)]]
    assert pairs(design_of(rows, y=[9.0, 3.0, 2.0, 1.0, 4.0, 5.0])) == [(0, 2)]
    # The source with most values decides, among these the most expensive.
    both = [(1, 0, 0.4), (1, 1, 0.4), (2, 0, 0.2), (2, 1, 0.2)]
    assert pairs(design_of(both, y=[3.0, 1.0, 0.0, 9.0])) == [(0, 1)]
    # What is infeasible is no candidate while something else is.
    constraints = np.array([[-1.0], [-1.0], [1.0], [-1.0], [-1.0], [-1.0]])
    constrained = design_of(rows, y=[9.0, 3.0, 1.0, 2.0, 4.0, 5.0])
    assert pairs(replace(constrained, constraints=constraints)) == [(0, 2)]


BEGUN = [(1, 0, 2.0), (2, 0, 1.0), (0, 0, 8.0)]


def test_further_rows_follow_once_the_cost_of_the_preferred_source_is_known() -> None:
    # Both cost no more than a third of 8, and share it: two queries at 2, and four at 1, but at
    # least every row of the cheapest.
    assert pairs(design_of(BEGUN)) == [(1, 1), (2, 1), (2, 2), (2, 3), (2, 4)]
    # Up to twice the rows.
    for cost, n in ((0.5, 8), (0.4, 10), (0.2, 10), (0.0, 10)):
        cheaper = pairs(design_of([(1, 0, 2.0), (2, 0, cost), (0, 0, 8.0)]))
        assert [s for s, _ in cheaper].count(2) == n - 1
    # Neither units nor the order of the trials matter.
    again = design_of([(s, row, 1e3 * cost) for s, row, cost in BEGUN[::-1]])
    assert pairs(again) == pairs(design_of(BEGUN))
    # Nor is the preferred source asked again before they are in.
    assert all(s for s, _ in pairs(design_of(BEGUN)))


def test_the_best_row_of_each_source_with_enough_of_them_is_checked_in_the_end() -> None:
    cheap = [(s, row, 1.0) for s in (1, 2) for row in range(5)]
    y = [5.0, 1.0, 3.0, 4.0, 2.0, 5.0, 6.0, 0.0, 7.0, 8.0]  # best at row 1, and at row 2
    done = design_of([(0, 0, 10.0), *cheap], y=[9.0, *y])
    assert pairs(done) == [(0, 1), (0, 2)]
    # The more expensive source is checked first.
    done.cost[done.source == 2] = 1.01
    assert pairs(done) == [(0, 2), (0, 1)]
    # Three queries of the preferred source are enough, and each row is checked once.
    again = design_of([*[(0, row, 10.0) for row in (0, 1)], *cheap], y=[9.0, 8.0, *y])
    assert pairs(again) == [(0, 2)]
    enough = design_of([*[(0, row, 10.0) for row in (0, 3, 4)], *cheap], y=[9.0, 8.0, 7.0, *y])
    assert pairs(enough) == []
    # The best of two rows is nothing to check.
    two = [(1, 0, 3.0), (1, 1, 3.0), *[(2, row, 1.0) for row in range(10)]]
    few = design_of([(0, 0, 10.0), *two], y=[9.0, 2.0, 1.0, *range(10, 0, -1)])
    assert pairs(few) == [(0, 9)]


@pytest.mark.parametrize(
    ("cost", "wanted"),
    [
        (4.0, [(1, 1)]),  # Not cheap, but one cost decides nothing.
        (7.9, [(1, 1)]),
        (8.1, []),  # It is not even cheaper than the preferred source.
    ],
)
def test_a_source_that_may_be_cheap_has_a_second_reading(
    cost: float, wanted: list[tuple[int, int]]
) -> None:
    done = [(0, 0, 8.0), *[(2, row, 1.6) for row in range(5)]]
    first = design_of([*done, (1, 0, cost)])
    assert pairs(first) == wanted
    # While it is running it is not wanted again.
    waiting = design_of([*done, (1, 0, cost), (1, 1, np.nan)])
    assert pairs(replace(waiting, pending=np.array([False] * 7 + [True]))) == []


@pytest.mark.parametrize(
    ("ratios", "cheap"),
    [([1 / 3], True), ([0.36] * 3, True), ([0.38], False), ([0.6, 0.1], True), ([0.6] * 2, False)],
)
def test_the_preferred_source_is_queried_at_every_row_if_no_other_seems_cheap(
    ratios: list[float], cheap: bool
) -> None:
    first = [5.0, 1.0, 3.0]
    costs = [(1, row, ratio * first[row]) for row, ratio in enumerate(ratios)]
    wanted = pairs(design_of([*[(0, row, first[row]) for row in range(3)], *costs], 2))
    assert [pair for pair in wanted if pair[0] == 0] == ([] if cheap else [(0, 3), (0, 4)])


def test_the_lowest_mean_cost_may_be_that_of_a_source_which_is_not_cheap() -> None:
    # At the same row the second costs half of the preferred one, and at another next to nothing.
    rows = [(0, 0, 1.0), (1, 0, 0.5), (1, 1, 0.01), (2, 0, 0.3)]
    assert pairs(design_of(rows)) == [(2, row) for row in range(1, 5)]


def test_design_with_failed_trials() -> None:
    # Another source that fails at once does not hold up the preferred one, and is tried again.
    assert pairs(design_of([(1, 0, np.nan)], 2, y=[np.nan], failed=np.array([True]))) == [(0, 0)]
    both = [(1, 0, np.nan), (0, 0, 8.0)]
    after = design_of(both, 2, y=[np.nan, 0.0], failed=np.array([True, False]))
    assert pairs(after) == [(1, 1)]
    # It does not go on for ever.
    failing = [(1, row, np.nan) for row in range(5)]
    y = [*[np.nan] * 5, 0.0]
    never = design_of([*failing, (0, 0, 8.0)], 2, y=y, failed=np.arange(6) < 5)
    assert pairs(never) == []
    # Where the preferred source fails it is not tried again at once.
    pair = [(1, 0, 1.0), (0, 0, np.nan)]
    lost = design_of(pair, 2, y=[0.0, np.nan], failed=np.array([False, True]))
    assert pairs(lost) == []


def test_evaluations_without_a_row_count_in_the_place_of_one() -> None:
    given = design_of([(0, -1, 2.0), (0, -1, 3.0), (0, 0, 1.0)], 1)
    assert pairs(given) == [(0, 1), (0, 2)]
    # The cost of the preferred source is known, so the design does not begin with it.
    assert pairs(design_of([(0, -1, 2.0)], 2)) == [(1, 0)]
    added = [(1, -1, 0.1)] * 7
    assert pairs(design_of([(0, 0, 1.0), *added], 2)) == [(1, row) for row in range(3)]
    assert pairs(design_of([(0, 0, 1.0), *added, *added], 2)) == []


def test_little_is_left_to_design_where_the_preferred_source_covers_the_space() -> None:
    old = [(0, -1, np.nan)] * 5
    valued = {"y": np.zeros(5)}
    assert pairs(design_of(old, 2, **valued)) == []  # Their costs are not known.
    costed = [(0, -1, 1.0)] * 5
    assert pairs(design_of(costed, 2)) == [(1, 0)]
    assert pairs(design_of([*costed, (1, 0, 0.1)], 2)) == [(1, 1)]
    assert pairs(design_of([*costed, (1, 0, 0.1), (1, 1, 0.1)], 2)) == []
    assert pairs(design_of([*costed, (1, 0, 1.1)], 2)) == []
    # One row is enough to check if there is but one.
    one = design_of([(0, 0, 9.0), (1, 0, 1.0), (1, 1, 1.0)], 2, y=[0.0, 2.0, 1.0])
    assert METHOD.design(one, 1) == []


def test_other_sources_do_not_wait_for_the_preferred_one() -> None:
    def running(n_sources: int, *others: tuple[int, int, float]) -> list[tuple[int, int]]:
        rows = [(0, 0, np.nan)]
        pending = np.isnan([cost for *_, cost in [*rows, *others]])
        return pairs(design_of([*rows, *others], n_sources, pending=pending))

    assert running(2) == [(1, row) for row in range(5)]
    assert running(5)[:5] == [(1, 0), (2, 0), (3, 0), (4, 0), (1, 1)]
    assert running(2, (1, 0, np.nan)) == [(1, row) for row in range(1, 5)]
    # The cheapest goes on for a while; then there is enough for the models.
    assert running(2, (1, 0, 1.0)) == [(1, row) for row in range(1, 10)]
    all_rows = [(1, row, 1.0) for row in range(10)]
    assert running(2, *all_rows) == []
    assert running(2, *all_rows, (0, 5, np.nan)) == []
    # What others cost is known: they wait.
    known = [(1, 0, 9.0), *((2, row, 1.0) for row in range(3))]
    assert running(3, *known) == [(2, row) for row in range(3, 10)]


def test_read_only_sources_are_not_designed() -> None:
    assert pairs(design_of([(0, 0, 5.0)], queryable=(0, 2))) == [(2, 0)]
    only_others = design_of([], queryable=(1,))
    assert METHOD.design(only_others, 2) == [(1, 0), (1, 1)]


SIZES = (1.0, 0.3, 0.1, 0.03)


def design_by_size(
    rows: list[tuple[int, int, float]], n_rows: int = 8, **others: Any
) -> list[tuple[int, int]]:
    return pairs(design_of(rows, 4, **{"sizes": SIZES, **others}), n_rows)


def test_where_sources_differ_in_size_the_two_smallest_come_first() -> None:
    assert design_by_size([]) == [(2, 0), (3, 0), (3, 1), (3, 2), (0, 0)]
    # Whatever their order, and also if there is one only.
    shuffled = (1.0, 0.03, 0.3, 0.1)
    assert design_by_size([], sizes=shuffled) == [(1, 0), (3, 0), (1, 1), (1, 2), (0, 0)]
    one = design_of([], 2, sizes=(1.0, 0.1))
    assert pairs(one) == [(1, 0), (1, 1), (1, 2), (0, 0)]
    assert pairs(one, 2) == [(1, 0), (1, 1), (0, 0)]


def test_rows_of_the_smallest_cost_no_more_than_those_of_the_preferred_source() -> None:
    def n_rows(cost: float) -> int:
        """Return at how many rows the smallest is queried, if one costs that and the next 1."""
        *more, last = design_by_size([(2, 0, 1.0), (3, 0, cost)])
        assert more == [(3, row) for row in range(1, 1 + len(more))]
        assert last == (0, 0)
        return 1 + len(more)

    assert n_rows(0.3) == 8  # In proportion: a thirty-third of the preferred source. All rows.
    # On a line through 0.9 and 1 at 3 and 10 % of the size, all of it costs 2.29: three queries of
    # it cost as much as 7.6 of the smallest. With 0.95 they cost as much as 5.2.
    assert n_rows(0.9) == 7
    assert n_rows(0.95) == 5
    assert n_rows(1.0) == n_rows(1.5) == 3
    # At the row that both have: what a row costs does not matter.
    later = design_by_size([(2, 0, 1.0), (3, 0, 0.3), (3, 1, 40.0), (3, 2, 40.0)])
    assert later == [*((3, row) for row in range(3, 8)), (0, 0)]


def test_the_preferred_source_begins_at_the_best_row_of_the_smallest() -> None:
    done = [(2, 0, 0.8), (3, 0, 0.8), (3, 1, 0.8), (3, 2, 0.8)]
    assert design_by_size(done, y=[0.0, 3.0, 2.0, 1.0]) == [(0, 2)]


def test_a_slow_first_query_of_a_size_next_to_another_is_no_error() -> None:
    # As a power, the smallest would cost 0.5^11,500 of the preferred source.
    close = [(1, 0, 10.0), (2, 0, 1.0)]
    design = design_of(close, 3, sizes=(1.0, 0.5001, 0.5))
    assert pairs(design, 8) == [*((2, row) for row in range(1, 8)), (0, 0)]
    # Two of the same size ("10%", "10 %") tell nothing of how costs grow.
    same = design_of(close, 3, sizes=(1.0, 0.5, 0.5))
    assert pairs(same, 8) == [(1, 1), (1, 2), (0, 0)]


def test_what_has_been_seen_at_every_row_is_not_paid_for_twice() -> None:
    # It seemed cheap by its size, and is not: it tells all the same where to begin.
    seen = [(1, row, 0.5) for row in range(8)]
    y = [8.0, 7.0, 6.0, 0.0, 4.0, 3.0, 2.0, 1.0]
    design = design_of([*seen, (0, 0, 1.0)], 2, sizes=(1.0, 0.1), y=[*y, 5.0])
    assert pairs(design, 8) == [(0, 3)]
    # Where it has not been seen everywhere, the preferred source is queried at every row.
    some = design_of([*seen[:3], (0, 0, 1.0)], 2, sizes=(1.0, 0.1), y=[*y[:3], 5.0])
    assert pairs(some, 8) == [(0, row) for row in range(1, 8)]


def test_a_size_that_cannot_be_cheap_is_not_asked() -> None:
    smallest = [(3, row, 0.2) for row in range(8)]
    full = (0, 0, 1.0)
    # 0.2 at 3 %, 1 at all: on a line it is 0.42 at 30 %, 0.26 at 10 %.
    assert design_by_size([*smallest, full]) == [(2, 0)]
    asked = design_by_size([*smallest, full, (2, 0, 0.35)])
    assert asked == [(2, 1)]
    # With the square of the size it is a quarter at half.
    halves: dict[str, Any] = {"sizes": (1.0, 0.5, 0.1, 0.03)}
    square = [(3, row, 0.0009) for row in range(8)]
    assert (1, 0) in design_by_size([*square, full], **halves)
    proportional = [(3, row, 0.03) for row in range(8)]
    assert (1, 0) not in design_by_size([*proportional, full], **halves)
    # In proportion all are cheap.
    proportional = design_by_size([*((3, row, 0.03) for row in range(8)), full, (2, 0, 0.1)])
    assert (1, 0) in proportional
    # It is judged anew with every cost.
    dearer = design_by_size([*smallest, full, *((0, row, 6.0) for row in range(8, 15))])
    assert (1, 0) not in dearer
    paired = design_by_size([*smallest, *((0, row, 6.0) for row in range(8))])
    assert (1, 0) in paired


def test_a_smallest_source_that_tells_no_cost_is_tried_again() -> None:
    failed = design_of([(3, 0, np.nan), (2, 0, 0.5), (0, 0, 1.0)], 4, sizes=SIZES)
    failed = replace(failed, y=np.array([np.nan, 0.0, 0.0]), failed=np.array([True, False, False]))
    assert (3, 1) in pairs(failed, 8)
    assert (1, 0) not in pairs(failed, 8)
