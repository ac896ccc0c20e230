"""The initial design of the robust method.

Only sources, rows, costs and states of the trials are looked at, never locations: while the
design runs, the search space may not be known yet.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.robust.cost_ratio import MIN_READINGS
from optuna_misowild.methods.robust.cost_ratio import cost_ratio_by_size
from optuna_misowild.methods.robust.cost_ratio import seems_cheap
from optuna_misowild.methods.robust.cost_ratio import seems_cheap_by_size


if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations


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

    The design begins with the other sources, each at the first row, and the cheapest at every row
    if it seems cheap compared with the most expensive. Then comes the preferred source, at the row
    that is best on the others. As its cost is known now, further rows of the others follow: at
    least two of each that is cheaper, as one cost decides nothing, every row of the cheapest if
    it seems cheap, and more of those that do, as long as all of them together stay within their
    share of what a query of the preferred source costs. In the end the preferred source is
    queried at the best row of each source with as many values as there are rows. If no source
    seems cheap, and none has so many, it is queried at every row.

    Where the sources differ in size, only the two smallest come before the preferred one: as their
    costs grow, so those of the larger ones will. The smallest is queried at as many rows as cost
    no more than those that the preferred source is queried at later. A larger one that is not
    cheap by that is not asked at all.

    While no cost of the preferred source is known, but queries of it are pending, other workers
    query the cheapest source at more rows, and at every row those whose costs are unknown too.

    Evaluations that hold no row (enqueued, added, of an earlier study) count in the place of one,
    and so do pending ones, and failed ones of the preferred source. If the preferred source
    has as many as there are rows, each other source has two at most, and none while no cost is
    known. A source that failed without a cost is tried at another row once the cost of the
    preferred one is known.

    Args:
        observations: The trials so far.
        n_rows: Number of rows of the preferred source if no other helps it.
        max_cost_ratio: The cost of a cheap source relative to that of the preferred one, see
            :func:`~optuna_misowild.methods.robust.cost_ratio.seems_cheap`.
        cost_share: What the cheap sources together may cost, in queries of the preferred source.
        cheap_factor: How many times the number of rows the cheapest source is queried at most, and
            so all other cheap ones together.
        n_preferred_rows: At how many rows the preferred source is queried if another helps it.
    """
    others = [s for s in observations.queryable if s > 0]
    if 0 not in observations.queryable:  # Nothing to be cheap against: every row of all.
        return [
            (s, row) for row in range(n_rows) for s in others if free_rows(observations, s, [row])
        ]
    # Evaluations that say nothing, being neither observed nor lost, are those of pruned trials.
    told = observations.pending | observations.has_value | observations.failed
    n_preferred = int((told & (observations.source == 0)).sum())
    covers = n_preferred >= n_rows
    means = {s: _mean_cost(observations, s) for s in (0, *others)}
    known = [mean for mean in means.values() if mean < math.inf]
    is_known = means[0] < math.inf
    if covers and not is_known:
        return []
    reference = means[0] if is_known else max(known, default=0.0)
    begin = _first_by_size(observations, others)

    def is_cheap(s: int) -> bool:
        """Return whether a source is cheap, as far as is known."""
        if begin and (means[s] == math.inf or not is_known):
            return seems_cheap_by_size(observations, s, begin, max_cost_ratio)
        if is_known:
            return seems_cheap(observations, s, max_cost_ratio)
        return means[s] <= max_cost_ratio * reference > 0.0

    cheap = [s for s in others if is_cheap(s)]
    priced = [s for s in cheap or others if means[s] < math.inf]
    cheapest = min(priced, key=means.__getitem__, default=None)
    if begin and not is_known:
        cheapest = begin[0]
    is_waiting = not is_known and (observations.pending & (observations.source == 0)).any()

    def n_affordable(s: int) -> int:
        """Return at how many rows a source may be queried."""
        if begin and means[s] == math.inf and s not in begin and not (is_known and s in cheap):
            return 0
        if is_waiting and (s == cheapest or means[s] == math.inf):
            return n_rows * (cheap_factor if s == cheapest else 1)
        if begin and s == cheapest and not is_known:
            ratio = cost_ratio_by_size(observations, s, begin)  # at most 1
            return int(min(n_preferred_rows / ratio, n_rows))
        if means[s] == math.inf:
            return 1
        n_least = MIN_READINGS if means[s] < means[0] < math.inf else 1
        if s not in cheap or covers or (s != cheapest and not is_known):
            return n_least
        n_most = cheap_factor * n_rows
        if s == cheapest:
            n_least = n_rows
        else:  # Together as many as the cheapest.
            n_most //= len(cheap) - 1
        affordable = cost_share * reference / len(cheap) / means[s] if means[s] > 0.0 else n_most
        return max(int(min(affordable, n_most)), n_least)

    wanted = []
    for s in others:
        n = n_affordable(s)
        counts = np.isfinite(observations.cost) | observations.pending | observations.has_value
        if not is_known:
            counts |= observations.failed
        n_asked = int((counts & (observations.source == s)).sum())
        free = free_rows(observations, s, range(max(n, n_rows)))
        wanted += [(row, s) for row in free[: max(n - n_asked, 0)]]
    pairs = [(s, row) for row, s in sorted(wanted)]
    covering = [
        s for s in others if len(_in_design(observations, observations.valued(s))) >= n_rows
    ]
    if is_known and not cheap and not covering or not others:
        free = free_rows(observations, 0, range(n_rows))
        return [*pairs, *((0, row) for row in free[: max(n_rows - n_preferred, 0)])]
    if not n_preferred:
        return [*pairs, (0, next(iter(_best_rows(observations, others, n_rows)), 0))]
    if pairs:
        return pairs
    best = free_rows(observations, 0, _best_rows(observations, covering, n_rows))
    return [(0, row) for row in best[: max(min(n_preferred_rows, n_rows) - n_preferred, 0)]]


def _first_by_size(observations: Observations, others: list[int]) -> list[int]:
    """Return the two smallest of some sources, the smallest first; empty if none has a size."""
    if not observations.sizes:
        return []
    return sorted(others, key=observations.sizes.__getitem__)[:2]


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


def free_rows(observations: Observations, source: int | None, rows: Iterable[int]) -> list[int]:
    """Return those of the rows that no trial of the source holds, or None of any."""
    own = slice(None) if source is None else observations.source == source
    taken = set(observations.design_row[own])
    return [row for row in rows if row not in taken]


def _in_rows(observations: Observations, index: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return those of some trials that hold a row, or all of them if none does."""
    in_rows = _in_design(observations, index)
    return in_rows if len(in_rows) else index
