"""Which running trials have a worker, and which are stale: theirs is gone.

The trial of a worker that is killed runs for ever. If the storage has heartbeats, they show it.
Elsewhere its age does: a trial counts as stale when it has been running for more than ten times as
long as any completed trial of its source, and for more than a minute; the fewer of these there
are, the longer it takes. So it is, with heartbeats as well, where the worker has not even begun to
suggest: it may have been killed before its first heartbeat, and Optuna never fails such a trial.
Should a stale trial complete all the same, it counts like any other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from optuna.trial import TrialState

from optuna_misowild.study.attributes import has_begun
from optuna_misowild.study.attributes import has_no_query
from optuna_misowild.study.attributes import was_killed
from optuna_misowild.study.clock import age
from optuna_misowild.study.optuna_private import heartbeat_interval
from optuna_misowild.study.optuna_private import without_heartbeat


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial


_FACTOR = 10.0
_LEAST_SECONDS = 60.0
# So many durations show how long a source may take. With fewer, n, the limit is (5/n)² times as
# long, and other sources count too: a live trial must not count as stale, but a dead one holds
# back money and a row of the initial design.
_MANY = 5


def stale_trials(
    study: Study, trials: Sequence[FrozenTrial], source_of: Callable[[FrozenTrial], int | None]
) -> frozenset[int]:
    """Return the numbers of the trials whose worker is gone.

    Args:
        study: The study.
        trials: Its trials.
        source_of: Gives the source index of a trial, as far as it is known.
    """
    stale = {trial.number for trial in trials if was_killed(trial)}
    interval = heartbeat_interval(study)
    # What is expensive to find out is looked up only if there may be a reason to.
    suspicious = [
        trial
        for trial in trials
        if trial.state == TrialState.RUNNING
        and age(trial) > (_LEAST_SECONDS if interval is None else interval)
    ]
    by_age = [trial for trial in suspicious if interval is None or not has_begun(trial)]
    if by_age:
        limits = _age_limits(trials, source_of)
        for trial in by_age:
            source = None if has_no_query(trial) else source_of(trial)
            if age(trial) > limits.get(source, math.inf):
                stale.add(trial.number)
    if suspicious and interval is not None:
        stale |= without_heartbeat(study, suspicious)
    return frozenset(stale)


def _age_limits(
    trials: Sequence[FrozenTrial], source_of: Callable[[FrozenTrial], int | None]
) -> dict[int | None, float]:
    """Return for each source the age in seconds beyond which a running trial is stale.

    For None, that of a trial whose source is not known.
    """
    durations: dict[int | None, list[float]] = {}
    for trial in trials:
        if trial.state == TrialState.COMPLETE and trial.duration is not None:
            seconds = trial.duration.total_seconds()
            if seconds > 0.0:  # Else it was added, not run.
                for source in {source_of(trial), None}:
                    durations.setdefault(source, []).append(seconds)
    limits = {}
    for source, own in durations.items():
        few = _MANY / min(len(own), _MANY)
        longest = max(own if few == 1.0 else durations[None])
        limits[source] = few**2 * max(_FACTOR * longest, _LEAST_SECONDS)
    return limits
