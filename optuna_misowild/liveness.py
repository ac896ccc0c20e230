"""Which running trials have a worker, and which have lost theirs.

A worker that is killed leaves a trial that runs for ever. If the storage has heartbeats, they
tell. Elsewhere its age does: a trial is taken for lost when it has been running for more than ten
times as long as any completed trial of its source, and for more than a minute. So it is, with
heartbeats as well, where the worker has not even begun to suggest: it may have been killed before
its first heartbeat, and Optuna never fails such a trial. Should a lost trial complete all the
same, it counts like any other.
"""

from __future__ import annotations

from datetime import datetime
import math
from typing import TYPE_CHECKING

from optuna.trial import TrialState

from optuna_misowild.records import has_begun
from optuna_misowild.records import heartbeat_interval
from optuna_misowild.records import is_silent
from optuna_misowild.records import stale_trial_ids
from optuna_misowild.records import was_killed


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial


_FACTOR = 10.0
_LEAST_SECONDS = 60.0
_MIN_COMPLETED = 5  # Fewer durations do not tell how long a source may take.


def lost_trials(
    study: Study, trials: Sequence[FrozenTrial], source_of: Callable[[FrozenTrial], int | None]
) -> frozenset[int]:
    """Return the numbers of the trials whose worker is gone.

    Args:
        study: The study.
        trials: Its trials.
        source_of: Gives the source index of a trial, as far as it is known.
    """
    lost = {trial.number for trial in trials if was_killed(trial)}
    interval = heartbeat_interval(study)
    # The costly questions are asked only if there may be a reason to.
    suspicious = [
        trial
        for trial in trials
        if trial.state == TrialState.RUNNING
        and _age(trial) > (_LEAST_SECONDS if interval is None else interval)
    ]
    by_age = [trial for trial in suspicious if interval is None or not has_begun(trial)]
    if by_age:
        limits = _age_limits(trials, source_of)
        for trial in by_age:
            source = None if is_silent(trial) else source_of(trial)
            if _age(trial) > limits.get(source, math.inf):
                lost.add(trial.number)
    if suspicious and interval is not None:
        stale = stale_trial_ids(study)
        lost.update(trial.number for trial in suspicious if trial._trial_id in stale)
    return frozenset(lost)


def _age(trial: FrozenTrial) -> float:
    """Return for how many seconds a trial has been running."""
    if trial.datetime_start is None:
        return 0.0
    return (datetime.now() - trial.datetime_start).total_seconds()


def _age_limits(
    trials: Sequence[FrozenTrial], source_of: Callable[[FrozenTrial], int | None]
) -> dict[int | None, float]:
    """Return for each source the age in seconds beyond which a running trial is lost.

    For None, that of a trial whose source is not known.
    """
    durations: dict[int | None, list[float]] = {}
    for trial in trials:
        if trial.state == TrialState.COMPLETE and trial.duration is not None:
            seconds = trial.duration.total_seconds()
            if seconds > 0.0:  # Else it was added, not run.
                for source in {source_of(trial), None}:
                    durations.setdefault(source, []).append(seconds)
    return {
        source: max(_FACTOR * max(seconds), _LEAST_SECONDS)
        for source, seconds in durations.items()
        if len(seconds) >= _MIN_COMPLETED
    }
