"""What trials have cost: recorded when they end, and read back.

The user attribute that holds it is the objective's; where that sets none, it is the seconds that
the trial took. The two are never mixed.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING

from optuna.trial import TrialState

from optuna_misowild.study import clock
from optuna_misowild.study import optuna_private
from optuna_misowild.study.attributes import LARGEST_COST
from optuna_misowild.study.attributes import TIMED_KEY
from optuna_misowild.study.attributes import is_imported
from optuna_misowild.study.attributes import is_timed
from optuna_misowild.study.attributes import short
from optuna_misowild.study.attributes import source_index_of
from optuna_misowild.study.attributes import thinking_of
from optuna_misowild.study.attributes import was_killed


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial


COST_ATTR = "cost"  # Unless the user names another.

_COST_ATTR_KEY = "misowild:cost_attr"
_LEAST_COST = 1e-100  # What is less counts as 0.


def write_duration_as_cost(study: Study, trial: FrozenTrial, cost_attr: str) -> None:
    """Record the wall-clock time of a finishing trial, in seconds, as its cost.

    Without the time that the sampler took to suggest it, which is no cost of the source.
    """
    seconds = _seconds_of_objective(trial)
    if seconds is None:
        return
    # Marked, so that seconds are never mixed with costs that an objective gives in its own unit.
    optuna_private.write_system_attr(study, trial, TIMED_KEY, True)
    optuna_private.write_user_attr(study, trial, cost_attr, seconds)


def _seconds_of_objective(trial: FrozenTrial) -> float | None:
    seconds = clock.seconds_since_begin(trial)
    if seconds is None:
        return None
    thinking = thinking_of(trial)
    return seconds - thinking if thinking <= seconds else seconds


def cost_so_far(trial: FrozenTrial, cost_attr: str) -> tuple[float, bool]:
    """Return what a running trial has cost, and whether that is its time, in seconds.

    NaN where the objective has set it to what is no cost.
    """
    if cost_attr in trial.user_attrs:
        is_cost = malformed_cost(trial, cost_attr) is None
        return (float(trial.user_attrs[cost_attr]) if is_cost else math.nan), False
    seconds = _seconds_of_objective(trial)
    return (math.nan if seconds is None else seconds), True


def write_cost_attr(study: Study, trial: FrozenTrial, cost_attr: str) -> None:
    """Record which user attribute holds the cost of a trial, if it has not the usual name."""
    if cost_attr != COST_ATTR:
        optuna_private.write_system_attr(study, trial, _COST_ATTR_KEY, cost_attr)


def recorded_cost_attr(trials: Sequence[FrozenTrial]) -> str:
    """Return the user attribute that holds the costs, by the last trial of a sampler of ours."""
    ours = (trial for trial in reversed(trials) if source_index_of(trial) is not None)
    name = next((trial.system_attrs.get(_COST_ATTR_KEY) for trial in ours), None)
    return name if isinstance(name, str) and name else COST_ATTR


def malformed_cost(trial: FrozenTrial, cost_attr: str) -> str | None:
    """Return why the cost that a trial has recorded cannot be used, or None."""
    if cost_attr not in trial.user_attrs:
        return None
    value = trial.user_attrs[cost_attr]
    if isinstance(value, bool) or not isinstance(value, Real):
        problem = f"a {type(value).__name__}"
    elif value < 0:
        problem = "negative"
    elif not _as_float(value) <= LARGEST_COST:
        problem = "not finite" if not value < math.inf else "too large"
    else:
        return None
    return (
        f"Trial {trial.number} has the user attribute {cost_attr!r} = {short(value)}, which is "
        f"{problem}. Its cost is taken as unknown; it must be a finite number, 0 or more."
    )


def _as_float(value: Real) -> float:
    """Return a number as one of Python's: NumPy's warn where they meet a larger one."""
    try:
        return float(value)
    except OverflowError:  # Of an integer that no float is as large as.
        return math.inf


def has_own_unit(trials: Sequence[FrozenTrial], cost_attr: str) -> bool:
    """Whether the objective records costs itself, so that seconds would be another unit.

    That is so if at least half of the completed trials with a usable cost have one that no clock
    of ours has taken; of all trials, while none is completed. Imported trials do not count.
    """
    usable = [
        trial
        for trial in trials
        if cost_attr in trial.user_attrs
        and malformed_cost(trial, cost_attr) is None
        and not is_imported(trial)
    ]
    usable = [t for t in usable if t.state == TrialState.COMPLETE] or usable
    n_timed = sum(is_timed(trial) for trial in usable)
    return len(usable) > 0 and 2 * n_timed <= len(usable)


def costs_of(trials: Sequence[FrozenTrial], cost_attr: str) -> list[float]:
    """Return what each finished trial has cost; NaN where it is unknown or still running."""
    own_unit = has_own_unit(trials, cost_attr)
    return [cost_of(trial, cost_attr, has_own_unit=own_unit) for trial in trials]


def paid(trials: Sequence[FrozenTrial], cost_attr: str) -> list[float]:
    """Return what each trial has cost this study; NaN also where it was imported."""
    known = zip(trials, costs_of(trials, cost_attr), strict=True)
    return [math.nan if is_imported(trial) else cost for trial, cost in known]


def cost_of(trial: FrozenTrial, cost_attr: str, *, has_own_unit: bool) -> float:
    """Return what a trial has cost; NaN if it is unknown or still running.

    Args:
        trial: The trial.
        cost_attr: The user attribute that holds the cost.
        has_own_unit: Whether seconds are another unit.
    """
    if not trial.state.is_finished():
        return math.nan
    if cost_attr in trial.user_attrs:
        if has_own_unit and is_timed(trial):
            return math.nan
        if malformed_cost(trial, cost_attr) is not None:
            return math.nan
        cost = float(trial.user_attrs[cost_attr])
        return cost if cost >= _LEAST_COST else 0.0
    if has_own_unit or trial.datetime_start is None or trial.datetime_complete is None:
        return math.nan
    if was_killed(trial):  # Nobody knows when: it was noticed later.
        return math.nan
    # `create_trial` gives both dates at once: a duration of 0 was not measured.
    seconds = (trial.datetime_complete - trial.datetime_start).total_seconds()
    return seconds if seconds > 0.0 else math.nan
