"""For how long a trial has been running, whatever the time zones of the workers.

Optuna's dates are local times without a zone: off by hours where a worker is in another zone, or
daylight saving begins. So a trial records when it begins, by two clocks: the monotonic one of its
process, which nobody sets, and the time of day in UTC, which others can compare with their own.
"""

from __future__ import annotations

import copy
from datetime import datetime
import secrets
import time
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


BEGUN_KEY = "misowild:begun"
# Only processes that share this number, by a fork, read the same monotonic clock.
_CLOCK = secrets.randbits(48)
_LARGEST = 2.0**53


def now() -> list[float]:
    """Return what a trial records when it begins."""
    return [time.time(), time.monotonic(), _CLOCK]


def begin_of(trial: FrozenTrial) -> tuple[float, float, float] | None:
    """Return what a trial has recorded when it began, or None."""
    value = trial.system_attrs.get(BEGUN_KEY)
    if isinstance(value, (list, tuple)) and len(value) == 3:
        if all(isinstance(v, (int, float)) and abs(v) <= _LARGEST for v in value):
            return value[0], value[1], value[2]
    return None


def seconds_since_begin(trial: FrozenTrial) -> float | None:
    """Return for how many seconds a trial has been running, or None if that is not known.

    Of a trial that no sampler of ours has begun, by Optuna's date.
    """
    begin = begin_of(trial)
    if begin is not None:
        time_of_day, monotonic, clock = begin
        seconds = time.monotonic() - monotonic if clock == _CLOCK else time.time() - time_of_day
    elif trial.datetime_start is not None:
        start = trial.datetime_start
        seconds = (datetime.now(start.tzinfo) - start).total_seconds()
    else:
        return None
    return seconds if seconds >= 0.0 else None  # A clock was set back, or is another's.


def age(trial: FrozenTrial) -> float:
    """Return the same; 0 if it is not known."""
    return seconds_since_begin(trial) or 0.0


def in_local_time(trial: FrozenTrial) -> FrozenTrial:
    """Return a trial whose dates have no time zone, as Optuna's: itself, if so, else a copy.

    Trials that were added may have a zone in theirs, and the two kinds cannot be subtracted.
    """
    dates = trial.datetime_start, trial.datetime_complete
    if all(date is None or date.tzinfo is None for date in dates):
        return trial
    trial = copy.copy(trial)
    trial.datetime_start, trial.datetime_complete = map(_naive_local, dates)
    return trial


def _naive_local(date: datetime | None) -> datetime | None:
    return None if date is None else date.astimezone().replace(tzinfo=None)
