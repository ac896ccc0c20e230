"""The initial design where the sources are rungs: short trainings first.

A training passes all rungs up to its own. So short ones cover the space, at the shortest rung, for
about what one full training costs; and the full training goes to where they are best so far, soon,
so that something is verified early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.robust.design import free_rows


if TYPE_CHECKING:
    from optuna_misowild.methods.base import Observations


# So many times the rows of the design at most are short trainings.
_MOST = 4


def ladder_pairs(observations: Observations, n_rows: int) -> list[tuple[int, int]]:
    """Return the (source, row) pairs that are still to be queried, in their order.

    The shortest rung at the first rows, then the preferred one at the row of the lowest value, on
    the rung that most have told, then the shortest at as many rows as one full training pays for,
    by their lengths. Other queries count in the place of a short one, and other full trainings in
    that of the full one.

    While the full training is pending, others have nothing better to do than more short ones.

    Args:
        observations: The trials so far.
        n_rows: Number of rows.
    """
    lengths = observations.lengths
    shortest = min(observations.queryable, key=lambda s: lengths[s])
    full = observations.source == 0
    n_short = int(np.clip(1.0 / lengths[shortest], n_rows, _MOST * n_rows))
    is_verified = bool((full & observations.has_value).any())
    is_verifying = bool((full & observations.pending).any())
    if is_verifying and not is_verified:
        n_short *= 2
    in_design = observations.design_row >= 0
    counts = observations.has_value | observations.pending | in_design
    # Whatever a training has told: where reports are rare, it may not be the shortest rung.
    free = free_rows(observations, None, range(n_short))
    pairs = [(shortest, row) for row in free[: max(n_short - int(counts.sum()), 0)]]
    if shortest == 0 or is_verified or is_verifying:
        return pairs
    first = [pair for pair in pairs if pair[1] < n_rows]
    told = observations.has_value & in_design
    of_rung = {
        s: np.flatnonzero(told & (observations.source == s)) for s in observations.queryable
    }
    told_most = max(of_rung.values(), key=len)
    been = set(observations.design_row[full].tolist())
    best_first = observations.design_row[told_most[np.argsort(observations.y[told_most])]]
    verify = [(0, int(row)) for row in best_first if row not in been][:1]
    return [*first, *verify, *pairs[len(first) :]]
