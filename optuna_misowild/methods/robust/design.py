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
    max_cost_ratio: float,
    cost_share: float,
    cheap_factor: int,
    n_preferred_rows: int,
) -> list[tuple[int, int]]:
    """Return the (source, row) pairs that are still to be queried, in their order.

    The design begins with the cheap sources: each other source at the first row; those that seem
    cheap also at further ones, as long as all of them together stay within their share of what a
    query of the preferred source costs, of which the most expensive cost so far is the least. Then
    the preferred source at the row that is best on them; and as its cost is known now, further
    rows of the others: at least two of each that is cheaper, as one cost decides nothing. What
    follows is the model's to choose. If no source seems cheap, the preferred one at every row.

    While no cost of the preferred source is known, but queries of it are pending, workers have
    nothing better to do: each other source at every row, the cheapest at more of them.

    Evaluations of the preferred source that hold no row (enqueued, added, of an earlier study)
    count in the place of one, and so do failed and pending ones. Those of another source do not,
    as they are not where the preferred one is queried, unless there are so many that they cover
    the space. A source that failed without a cost is tried at another row once the preferred one
    is known.

    Args:
        observations: The trials so far.
        n_rows: Number of rows of the preferred source if no other helps it.
        max_cost_ratio: The cost of a cheap source relative to that of the preferred one, see
            :func:`~optuna_misowild.methods.robust.cost_ratio.seems_cheap`.
        cost_share: What the cheap sources together may cost, in queries of the preferred source.
        cheap_factor: How many times the number of rows a cheap source is queried at most.
    """
    others = [s for s in observations.queryable if s > 0]
    if 0 not in observations.queryable:  # Nothing to be cheap against: every row of all.
        return [(s, row) for row in range(n_rows) for s in others if _free(observations, s, [row])]
    means = {s: _mean_cost(observations, s) for s in (0, *others)}
    known = [mean for mean in means.values() if mean < math.inf]
    is_known = means[0] < math.inf
    reference = means[0] if is_known else max(known, default=0.0)
    cheap = [
        s
        for s in others
        if (
            seems_cheap(observations, s, max_cost_ratio)
            if is_known
            else means[s] <= max_cost_ratio * reference
        )
    ]
    cheapest = min((s for s in others if means[s] < math.inf), key=means.__getitem__, default=None)
    n_preferred = int((observations.source == 0).sum())
    is_waiting = not is_known and (observations.pending & (observations.source == 0)).any()

    def n_affordable(s: int) -> int:
        """Return at how many rows a source may be queried."""
        n_most = n_rows * (cheap_factor if s in cheap or s == cheapest else 1)
        if is_waiting:  # So much again for each further query of the preferred one.
            return n_most * n_preferred
        if means[s] == math.inf:
            return 1
        if means[s] == 0.0:
            return n_most
        allowance = cost_share * reference / len(cheap) if s in cheap else 0.0
        n_least = MIN_READINGS if means[s] < means[0] < math.inf else 1
        if is_known and s in cheap and s == cheapest:
            n_least = n_rows
        return max(int(min(allowance / means[s], n_most)), n_least)

    wanted = []
    for s in others:
        n = n_affordable(s)
        has_row = (observations.source == s) & (observations.design_row >= 0)
        counts = np.isfinite(observations.cost) | observations.pending
        if not is_known:
            counts |= observations.failed
        n_asked = int((has_row & counts).sum())
        n_added = int((observations.source[~has_row & observations.has_value] == s).sum())
        if n_added >= _COVERING * n_rows:
            n_asked += n_added
        free = _free(observations, s, range(max(n, n_rows)))
        wanted += [(row, s) for row in free[: max(n - n_asked, 0)]]
    pairs = [(s, row) for row, s in sorted(wanted)]
    here = observations.source == 0
    n_given = int(
        (here & (observations.pending | observations.has_value | observations.failed)).sum()
    )
    if not others or (is_known and not cheap):
        return [
            *((0, row) for row in _free(observations, 0, range(n_rows))[: n_rows - n_given]),
            *pairs,
        ]
    if not n_given:
        return [*pairs, (0, next(iter(_best_rows(observations, others, n_rows)), 0))]
    if pairs:
        return pairs
    covering = [
        s for s in cheap if len(_in_design(observations, observations.valued(s))) >= n_rows
    ]
    best = _free(observations, 0, _best_rows(observations, covering, n_rows))
    return [(0, row) for row in best[: max(n_preferred_rows - n_given, 0)]]


def _best_rows(observations: Observations, sources: list[int], n_rows: int) -> list[int]:
    """Return the rows that are best on some sources.

    A source with more values comes first, up to a number of rows, and among these a more expensive
    one, as it is rather right.
    """
    valued = {s: _in_design(observations, observations.valued(s)) for s in sources}
    known = sorted(
        (s for s in sources if len(valued[s])),
        key=lambda s: (min(len(valued[s]), n_rows), _mean_cost(observations, s)),
        reverse=True,
    )
    rows = []
    for s in known:
        y, feasible = observations.y[valued[s]], observations.feasible[valued[s]]
        rows.append(int(observations.design_row[valued[s]][np.lexsort((y, ~feasible))[0]]))
    return list(dict.fromkeys(rows))


def _in_design(observations: Observations, index: NDArray[np.int_]) -> NDArray[np.int_]:
    return index[observations.design_row[index] >= 0]


def _mean_cost(observations: Observations, source: int) -> float:
    """Return the mean cost of a source at the rows, else of its others, else infinity."""
    known = _in_rows(observations, observations.costed(source))
    return float(observations.cost[known].mean()) if len(known) else math.inf


def _free(observations: Observations, source: int, rows: Iterable[int]) -> list[int]:
    """Return those of the rows that no trial of the source holds."""
    taken = set(observations.design_row[observations.source == source])
    return [row for row in rows if row not in taken]


def _in_rows(observations: Observations, index: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return those of some trials that hold a row, or all of them if none does."""
    in_rows = index[observations.design_row[index] >= 0]
    return in_rows if len(in_rows) else index
