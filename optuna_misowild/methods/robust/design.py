"""The initial design of the robust method.

Only sources, rows, costs and states of the trials are looked at, never locations: while the
design runs, the search space may not be known yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
    cheap by that is not queried at all.

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
    design = _Design(
        observations, n_rows, max_cost_ratio, cost_share, cheap_factor, n_preferred_rows
    )
    if 0 not in observations.queryable:  # Nothing to be cheap against: every row of all.
        every = [(row, s) for s in design.others for row in design.free(s, n_rows)]
        return [(s, row) for row, s in sorted(every)]
    if design.covers_preferred and not design.is_known:
        return []
    return design.pairs()


@dataclass(frozen=True)
class _Design:
    """What is known of the sources while the design runs, and what follows from it.

    The arguments are those of :func:`remaining_pairs`.
    """

    observations: Observations
    n_rows: int
    max_cost_ratio: float
    cost_share: float
    cheap_factor: int
    n_preferred_rows: int

    @cached_property
    def others(self) -> list[int]:
        """The sources besides the preferred one."""
        return [s for s in self.observations.queryable if s > 0]

    @cached_property
    def n_preferred(self) -> int:
        """How many queries of the preferred source there are."""
        seen = self.observations
        # The others, neither observed nor lost, are of pruned trials, and say nothing.
        counts = seen.pending | seen.has_value | seen.failed
        return int((counts & (seen.source == 0)).sum())

    @property
    def covers_preferred(self) -> bool:
        """Whether the preferred source has as many queries as there are rows."""
        return self.n_preferred >= self.n_rows

    @cached_property
    def costs(self) -> dict[int, float]:
        """The mean cost of each source, infinite where it is unknown."""
        return {s: _mean_cost(self.observations, s) for s in (0, *self.others)}

    @property
    def is_known(self) -> bool:
        """Whether a cost of the preferred source is known."""
        return self.costs[0] < math.inf

    @property
    def is_waiting(self) -> bool:
        """Whether the first cost of the preferred source is being found out."""
        seen = self.observations
        return not self.is_known and bool((seen.pending & (seen.source == 0)).any())

    @cached_property
    def reference(self) -> float:
        """The cost of the preferred source; while it is unknown, of the most expensive one."""
        known = [cost for cost in self.costs.values() if cost < math.inf]
        return self.costs[0] if self.is_known else max(known, default=0.0)

    @cached_property
    def smallest(self) -> list[int]:
        """The two smallest sources, the smallest first; empty if they have no sizes."""
        if not self.observations.sizes:
            return []
        return sorted(self.others, key=self.observations.sizes.__getitem__)[:2]

    @cached_property
    def cheap(self) -> list[int]:
        """The sources that seem cheap, as far as is known."""
        return [s for s in self.others if self._seems_cheap(s)]

    @cached_property
    def cheapest(self) -> int | None:
        """The cheapest source, as far as is known, of the cheap ones if there are any."""
        if self.smallest and not self.is_known:
            return self.smallest[0]
        priced = [s for s in self.cheap or self.others if self.costs[s] < math.inf]
        return min(priced, key=self.costs.__getitem__, default=None)

    @cached_property
    def covering(self) -> list[int]:
        """The other sources with values at as many rows as there are."""
        seen = self.observations
        return [s for s in self.others if len(_in_design(seen, seen.valued(s))) >= self.n_rows]

    def _seems_cheap(self, s: int) -> bool:
        if self.smallest and (self.costs[s] == math.inf or not self.is_known):
            return seems_cheap_by_size(self.observations, s, self.smallest, self.max_cost_ratio)
        if self.is_known:
            return seems_cheap(self.observations, s, self.max_cost_ratio)
        return self.costs[s] <= self.max_cost_ratio * self.reference > 0.0

    def free(self, source: int, n: int) -> list[int]:
        """Return those of the first rows that no trial of a source holds."""
        return free_rows(self.observations, source, range(n))

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs that are still to be queried, in their order."""
        if not self.others:
            return self._of_preferred_alone()
        pairs = self._of_others()
        if self.is_known and not self.cheap and not self.covering:
            return [*pairs, *self._of_preferred_alone()]
        if not self.n_preferred:
            best = _best_rows(self.observations, self.others, self.n_rows)
            return [*pairs, (0, next(iter(best), 0))]
        if pairs:
            return pairs
        n = min(self.n_preferred_rows, self.n_rows) - self.n_preferred
        best = _best_rows(self.observations, self.covering, self.n_rows)
        return [(0, row) for row in free_rows(self.observations, 0, best)[: max(n, 0)]]

    def _of_preferred_alone(self) -> list[tuple[int, int]]:
        n = max(self.n_rows - self.n_preferred, 0)
        return [(0, row) for row in self.free(0, self.n_rows)[:n]]

    def _of_others(self) -> list[tuple[int, int]]:
        seen = self.observations
        counts = np.isfinite(seen.cost) | seen.pending | seen.has_value
        if not self.is_known:
            counts |= seen.failed
        wanted = []
        for s in self.others:
            n = self._n_affordable(s)
            n_queried = int((counts & (seen.source == s)).sum())
            free = self.free(s, max(n, self.n_rows))
            wanted += [(row, s) for row in free[: max(n - n_queried, 0)]]
        return [(s, row) for row, s in sorted(wanted)]

    def _n_affordable(self, s: int) -> int:
        """Return at how many rows another source may be queried."""
        is_priced, is_cheapest = self.costs[s] < math.inf, s == self.cheapest
        if self.smallest and not is_priced and s not in self.smallest:
            if not (self.is_known and s in self.cheap):
                return 0
        if self.is_waiting and (is_cheapest or not is_priced):
            return self.n_rows * (self.cheap_factor if is_cheapest else 1)
        if self.smallest and is_cheapest and not self.is_known:
            ratio = cost_ratio_by_size(self.observations, s, self.smallest)  # at most 1
            return int(min(self.n_preferred_rows / ratio, self.n_rows))
        if not is_priced:
            return 1
        n_least = MIN_READINGS if self.costs[s] < self.costs[0] < math.inf else 1
        if s not in self.cheap or self.covers_preferred or not (is_cheapest or self.is_known):
            return n_least
        n_most = self.cheap_factor * self.n_rows
        if is_cheapest:
            n_least = self.n_rows
        else:  # Together as many as the cheapest.
            n_most //= len(self.cheap) - 1
        share = self.cost_share * self.reference / len(self.cheap)
        affordable = share / self.costs[s] if self.costs[s] > 0.0 else n_most
        return max(int(min(affordable, n_most)), n_least)


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
    return list(dict.fromkeys(best_first(observations, valued[s])[0] for s in known))


def best_first(observations: Observations, index: NDArray[np.int_]) -> list[int]:
    """Return the rows of some trials, the best first, those that violate a constraint last."""
    order = np.lexsort((observations.y[index], ~observations.feasible[index]))
    rows: list[int] = observations.design_row[index[order]].tolist()
    return rows


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
