"""Dates of trials as local times without a time zone, as Optuna itself sets them.

Trials that were added may have a zone in theirs, and the two kinds cannot be subtracted.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from datetime import datetime

    from optuna.trial import FrozenTrial


def naive_local(date: datetime) -> datetime:
    """Return a date as local time without a time zone."""
    return date if date.tzinfo is None else date.astimezone().replace(tzinfo=None)


def in_local_time(trial: FrozenTrial) -> FrozenTrial:
    """Return a trial whose dates have no time zone: itself, if they have none, else a copy."""
    start, end = trial.datetime_start, trial.datetime_complete
    if (start is None or start.tzinfo is None) and (end is None or end.tzinfo is None):
        return trial
    trial = copy.copy(trial)
    trial.datetime_start = None if start is None else naive_local(start)
    trial.datetime_complete = None if end is None else naive_local(end)
    return trial
