"""Workers that choose at the same moment choose different queries.

Each announces its choice, then looks at what the others have announced. Of two that announce the
same, at least one sees the other, since both write before they read. The later trial gives way
to the earlier one, and any trial to one that is through. An earlier trial may still see a later
one that has not seen it: it waits until the other is through or withdraws, which takes as long as
a few calls to the storage.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from optuna_misowild.optim.domain import SAME_OPTIMUM
from optuna_misowild.optim.domain import distances
from optuna_misowild.study.attributes import has_decided


if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_misowild.methods.base import Proposal
    from optuna_misowild.study.snapshot import StudyView


# For how long to wait for another worker, which may have died in between, and how often to look.
_PATIENCE_SECONDS = 2.0
_INTERVAL_SECONDS = 0.02


def must_give_way(
    view: StudyView, slot: tuple[int, int] | None, proposal: Proposal | None
) -> bool:
    """Return whether the trial that asks has to withdraw what it has announced.

    Args:
        view: What the trial knew of the study when it chose.
        slot: The (source, row) of the initial design that it has announced, or None.
        proposal: The query that it has announced, or None while the space is not known.
    """
    assert view.asking is not None
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        trials = view.meanwhile()
        # Before what they have chosen: trials of a storage in memory go on while they are read,
        # and one that withdraws and decides in between is not to count by what it withdrew.
        first = {t.number for t in trials if t.number < view.asking or has_decided(t)}
        same = _same(view, trials, slot, proposal)
        if not same:
            return False
        if same & first:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_INTERVAL_SECONDS)


def _same(
    view: StudyView,
    trials: list[FrozenTrial],
    slot: tuple[int, int] | None,
    proposal: Proposal | None,
) -> set[int]:
    """Return the numbers of the trials that have chosen the same.

    Different rows of the initial design may be the same query, in a space of few points.
    """
    same: set[int] = set()
    if slot is not None:
        others = view.queries(trials, by_slot=True)
        at = (others.source == slot[0]) & (others.design_row == slot[1])
        same.update(others.trial[at].tolist())
    if proposal is not None:
        others = view.queries(trials)
        distance = distances(others.X, proposal.x[None], view.domain.categorical)[:, 0]
        at = (others.source == proposal.source) & (distance < SAME_OPTIMUM)
        same.update(others.trial[at].tolist())
    return same
