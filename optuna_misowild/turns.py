"""Workers that choose at the same moment choose different queries.

Each announces its choice, then looks at what the others have announced. Of two that announce the
same, at least one sees the other, since both write before they read. The later trial gives way
to the earlier one, and any trial to one that is through. That leaves an earlier trial which sees
a later one that may not have seen it: it waits until the other is through or withdraws, which
takes as long as a few calls to the storage.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.records import has_decided


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from optuna_misowild.observations import Observations
    from optuna_misowild.observations import Proposal
    from optuna_misowild.study_view import StudyView


# Two queries of a source that are closer than this in the unit cube are the same.
_SAME_POINT = 1e-3
# For how long to wait for another worker, which may have died in between, and how often to look.
_PATIENCE_SECONDS = 2.0
_INTERVAL_SECONDS = 0.02


def must_give_way(
    view: StudyView, is_same: Callable[[Observations], NDArray[np.bool_]], *, by_slot: bool
) -> bool:
    """Return whether the trial that asks has to withdraw what it has announced.

    Args:
        view: What the trial knows of the study.
        is_same: Tells which of other queries (n,) are the same as the one announced, (n,).
        by_slot: Whether that is a row of the initial design.
    """
    assert view.asking is not None
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        trials, others = view.meanwhile(by_slot=by_slot)
        same = set(others.trial[is_same(others)].tolist())
        if not same:
            return False
        if any(
            t.number < view.asking or t.state.is_finished() or has_decided(t)
            for t in trials
            if t.number in same
        ):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_INTERVAL_SECONDS)


def same_slot(source: int, row: int) -> Callable[[Observations], NDArray[np.bool_]]:
    """Return a function that tells which queries hold a row of the initial design, (n,)."""
    return lambda others: (others.source == source) & (others.row == row)


def same_place(proposal: Proposal) -> Callable[[Observations], NDArray[np.bool_]]:
    """Return a function that tells which queries are at the place of a proposal, (n,)."""

    def is_same(others: Observations) -> NDArray[np.bool_]:
        distance = np.linalg.norm(others.X - proposal.x, axis=1)
        same: NDArray[np.bool_] = (others.source == proposal.source) & (distance < _SAME_POINT)
        return same

    return is_same
