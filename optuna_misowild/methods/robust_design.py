"""The initial design of the robust method, and which sources it keeps.

Only sources, rows, costs and states of the trials are looked at, never locations: while the
design runs, the search space may not be known yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Iterable

    from optuna_misowild.observations import Observations


def remaining_pairs(
    observations: Observations,
    n_rows: int,
    *,
    n_preferred: int,
    max_cost_ratio: float,
    cost_share: float,
    plateau_factor: int,
    tolerance: float,
) -> list[tuple[int, int]]:
    """Return the (source, row) pairs that are still to be queried, in their order.

    The preferred source at the first few rows; each other source at the one of these of median
    cost; those that are cheap there, also at the other rows, as long as each stays within its
    share of the costs. If none is cheap, the preferred source at every row.

    On a plateau, where the lowest value is one of several that are the same, a model knows of no
    direction in which to look, and cheap queries find the way out for little money: so the
    cheapest source goes on with further rows, within its share, until it has left it.

    Evaluations that hold no row (enqueued, added, of an earlier study) count in the place of one,
    and so do failed and pending ones. A source that failed without a cost is tried at another
    row.

    Args:
        observations: The trials so far.
        n_rows: Number of rows.
        n_preferred: Number of rows of the preferred source if there are others to help it.
        max_cost_ratio: See :func:`is_cheap`.
        cost_share: What all other sources together may cost, as a part of what the preferred
            source costs.
        plateau_factor: How many times the number of rows the cheapest source may be queried at
            on a plateau.
        tolerance: Values of a source that differ by no more than this, in standard deviations of
            its values, are the same.
    """
    others = [s for s in observations.queryable if s > 0]
    if 0 not in observations.queryable:  # Nothing to be cheap against: every row of all.
        return [(s, row) for row in range(n_rows) for s in others if _free(observations, s, [row])]
    n_preferred = min(n_preferred, n_rows)
    has_help = any(
        not len(observations.costed(s)) or is_cheap(observations, s, max_cost_ratio)
        for s in others
    )
    n_given = int(((observations.source == 0) & (observations.row < 0)).sum())
    free = _free(observations, 0, range(n_preferred if has_help else n_rows))
    preferred = [(0, row) for row in free[: max(len(free) - n_given, 0)]]

    first = _median_row(observations)
    if first is None:
        return preferred
    cheap = [s for s in others if is_cheap(observations, s, max_cost_ratio)]
    cheapest = min(cheap, key=lambda s: _mean_cost(observations, s), default=None)
    mean_1 = _mean_cost(observations, 0)
    wanted = []
    for s in others:
        goes_on = s == cheapest and _is_on_plateau(observations, s, tolerance)
        n_most = n_rows * plateau_factor if goes_on else n_rows
        order = [first, *(row for row in range(n_most) if row != first)]
        costs = observations.cost[observations.costed(s)]
        n_pending = int((observations.pending & (observations.source == s)).sum())
        if len(costs) == 0:
            n_affordable = 1
        elif s not in cheap:
            continue
        elif costs.mean() == 0.0:
            n_affordable = n_most
        else:
            allowance = cost_share * n_preferred * mean_1 / len(others)
            n_affordable = int(min(allowance / costs.mean(), n_most))
        free = _free(observations, s, order)
        wanted += [
            (order.index(row), s, row)
            for row in free[: max(n_affordable - len(costs) - n_pending, 0)]
        ]
    return preferred + [(s, row) for _, s, row in sorted(wanted)]


def is_cheap(observations: Observations, source: int, max_ratio: float) -> bool:
    """Whether a source is known to cost less than ``max_ratio`` times the preferred one.

    At the first row that has a cost of both; if there is none, in the median.
    """
    costs = compared_costs(observations, source)
    return costs is not None and costs[0] < max_ratio * costs[1]


def compared_costs(observations: Observations, source: int) -> tuple[float, float] | None:
    """Return the costs of a source and of the preferred one that :func:`is_cheap` compares."""
    here, preferred = observations.costed(source), observations.costed(0)
    if not len(here) or not len(preferred):
        return None
    cost, rows = observations.cost, observations.row
    for i in here[rows[here] >= 0]:
        same = preferred[rows[preferred] == rows[i]]
        if len(same):
            return float(cost[i]), float(cost[same[0]])
    return float(np.median(cost[here])), float(np.median(cost[preferred]))


def _is_on_plateau(observations: Observations, source: int, tolerance: float) -> bool:
    """Whether the lowest value of a source in the design is one of several that are the same."""
    valued = observations.valued(source)
    y = observations.y[valued[observations.row[valued] >= 0]]
    if len(y) < 2:
        return False
    return bool(np.count_nonzero(y <= y.min() + tolerance * y.std()) > 1)


def _mean_cost(observations: Observations, source: int) -> float:
    return float(observations.cost[observations.costed(source)].mean())


def _free(observations: Observations, source: int, rows: Iterable[int]) -> list[int]:
    """Return those of the rows that no trial of the source holds."""
    taken = set(observations.row[observations.source == source])
    return [row for row in rows if row not in taken]


def _median_row(observations: Observations) -> int | None:
    """Return the row at which the cost of the preferred source is the median, if it has any.

    Those that are pending count as the dearest: mostly they are. While less than half are known
    it is the dearest so far. Evaluations without a row stand for row 0.
    """
    known = observations.costed(0)
    if not len(known):
        return None
    known = known[np.argsort(observations.cost[known], kind="stable")]
    n_pending = int((observations.pending & (observations.source == 0)).sum())
    middle = min((len(known) + n_pending - 1) // 2, len(known) - 1)
    return max(int(observations.row[known[middle]]), 0)
