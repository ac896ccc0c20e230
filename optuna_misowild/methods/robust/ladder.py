"""The initial design where the sources are rungs: short trainings first.

A training passes all rungs up to its own. So short ones cover the space, at the shortest rung; and
the full training goes to where they are best so far, soon, so that something is verified early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.robust.design import best_first
from optuna_misowild.methods.robust.design import free_rows


if TYPE_CHECKING:
    from optuna_misowild.methods.base import Observations


def ladder_pairs(observations: Observations, n_rows: int) -> list[tuple[int, int]]:
    """Return the (source, row) pairs that are still to be queried, in their order.

    The shortest rung at the rows, then the preferred one at the row that is best on the rung with
    the most values. Other queries count in the place of a short one, and other full trainings in
    that of the full one.

    While the full training is pending, others have nothing better to do than more short ones.

    Args:
        observations: The trials so far.
        n_rows: Number of rows.
    """
    lengths = observations.lengths
    shortest = min(observations.queryable, key=lambda s: lengths[s])
    full = observations.source == 0
    is_verified = bool((full & observations.has_value).any())
    is_verifying = bool((full & observations.pending).any())
    n_short = 2 * n_rows if is_verifying and not is_verified else n_rows
    in_design = observations.design_row >= 0
    counts = observations.has_value | observations.pending | in_design
    n_trainings = len(np.unique(observations.trial[counts]))
    # Whatever a training has reported: where reports are rare, it may not be the shortest rung.
    free = free_rows(observations, None, range(n_short))
    pairs = [(shortest, row) for row in free[: max(n_short - n_trainings, 0)]]
    if shortest == 0 or is_verified or is_verifying:
        return pairs
    valued = observations.has_value & in_design
    of_rung = [np.flatnonzero(valued & (observations.source == s)) for s in observations.queryable]
    been = set(observations.design_row[full].tolist())
    best = [row for row in best_first(observations, max(of_rung, key=len)) if row not in been]
    return [*pairs, *((0, row) for row in best[:1])]
