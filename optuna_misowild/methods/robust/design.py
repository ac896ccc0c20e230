"""The initial design of the robust method.

Only sources, rows, costs and states of the trials are looked at, never locations: while the
design runs, the search space may not be known yet.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.robust.cost_ratio import MIN_READINGS
from optuna_misowild.methods.robust.cost_ratio import seems_cheap


if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations


# So many times the rows of the design cover the space as well as these, wherever they are.
_COVERING = 2


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
    cost, and at a second one if it is cheaper there at all: one cost decides nothing. Those that
    seem cheap, also at the other rows, as long as each stays within its share of the costs. If
    none seems cheap, the preferred source at every row.

    While no cost of the preferred source is known, but queries of it are pending, the shares are
    not known either, and workers have nothing better to do: each other source at every row.

    On a plateau, where the lowest value is one of several that are the same, a model knows of no
    direction in which to look, and cheap queries find the way out for little money: so the
    cheapest source goes on with further rows, within its share, until it has left it. So it does
    while no cost of the preferred source is known.

    Evaluations of the preferred source that hold no row (enqueued, added, of an earlier study)
    count in the place of one, and so do failed and pending ones. Those of another source do not,
    as they are not where the preferred one is queried, unless there are so many that they cover
    the space. A source that failed without a cost is tried at another row.

    Args:
        observations: The trials so far.
        n_rows: Number of rows.
        n_preferred: Number of rows of the preferred source if there are others to help it.
        max_cost_ratio: The cost of a cheap source relative to that of the preferred one, see
            :func:`~optuna_misowild.methods.robust.cost_ratio.seems_cheap`.
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
    cheap = [s for s in others if seems_cheap(observations, s, max_cost_ratio)]
    rows = range(n_preferred if cheap else n_rows)
    is_given = (observations.source == 0) & ~np.isin(observations.design_row, rows)
    free = _free(observations, 0, rows)
    preferred = [(0, row) for row in free[: max(len(free) - int(is_given.sum()), 0)]]

    first = _first_row(observations)
    if first is None:
        return preferred
    means = {s: _mean_cost(observations, s) for s in (0, *others)}
    cheapest = min((s for s in cheap if means[s] < np.inf), key=lambda s: means[s], default=None)
    is_known = means[0] < np.inf
    wanted = []
    for s in others:
        goes_on = s == cheapest and (not is_known or _is_on_plateau(observations, s, tolerance))
        n_most = n_rows * plateau_factor if goes_on else n_rows
        if goes_on and not is_known:  # So much again for each further query of the preferred one.
            n_most *= 1 + max(int((observations.source == 0).sum()) - n_preferred, 0)
        order = [first, *(row for row in range(n_most) if row != first)]
        has_row = (observations.source == s) & (observations.design_row >= 0)
        has_cost = np.isfinite(observations.cost)
        if not is_known or means[s] == 0.0:
            n_affordable = n_most
        elif means[s] == np.inf:
            n_affordable = 1
        else:
            allowance = cost_share * n_preferred * means[0] / len(others) if s in cheap else 0.0
            n_least = MIN_READINGS if means[s] < means[0] else 1
            n_affordable = max(int(min(allowance / means[s], n_most)), n_least)
        free = _free(observations, s, order)
        n_asked = int((has_row & (has_cost | observations.pending)).sum())
        n_added = int((observations.source[~has_row & observations.has_value] == s).sum())
        if n_added >= _COVERING * n_rows:
            n_asked += n_added
        wanted += [(order.index(row), s, row) for row in free[: max(n_affordable - n_asked, 0)]]
    return preferred + [(s, row) for _, s, row in sorted(wanted)]


def _is_on_plateau(observations: Observations, source: int, tolerance: float) -> bool:
    """Whether the lowest value of a source in the design is one of several that are the same."""
    valued = observations.valued(source)
    y = observations.y[valued[observations.design_row[valued] >= 0]]
    if len(y) < 2:
        return False
    return bool(np.count_nonzero(y <= y.min() + tolerance * y.std()) > 1)


def _mean_cost(observations: Observations, source: int) -> float:
    """Return the mean cost of a source at the rows, else of its others, else infinity."""
    known = _in_rows(observations, observations.costed(source))
    return float(observations.cost[known].mean()) if len(known) else math.inf


def _free(observations: Observations, source: int, rows: Iterable[int]) -> list[int]:
    """Return those of the rows that no trial of the source holds."""
    taken = set(observations.design_row[observations.source == source])
    return [row for row in rows if row not in taken]


def _first_row(observations: Observations) -> int | None:
    """Return the row at which the others are queried first, if there is one.

    The one at which the cost of the preferred source is the median. Those that are pending count
    as the most expensive: mostly they are. While less than half are known it is the most
    expensive so far; while none is known, the first that is pending. Evaluations without a row
    stand for row 0.
    """
    pending = np.flatnonzero(observations.pending & (observations.source == 0))
    known = _in_rows(observations, observations.costed(0))
    if not len(known):
        return max(int(observations.design_row[pending].min()), 0) if len(pending) else None
    known = known[np.argsort(observations.cost[known], kind="stable")]
    middle = min((len(known) + len(pending) - 1) // 2, len(known) - 1)
    return max(int(observations.design_row[known[middle]]), 0)


def _in_rows(observations: Observations, index: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return those of some trials that hold a row, or all of them if none does."""
    in_rows = index[observations.design_row[index] >= 0]
    return in_rows if len(in_rows) else index
