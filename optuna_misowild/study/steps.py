"""Reported steps as sources: what a training that reports its values tells of each rung.

A rung is a step of ``trial.report`` that is a source. A training that was meant for one rung is an
observation of all rungs that it has passed, whatever became of it. What each trial tells is a list
of readings, one for each rung; where there are no rungs, it is one reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
import math
from numbers import Integral
from typing import TYPE_CHECKING
from typing import Any

from optuna.trial import TrialState

from optuna_misowild.methods import arguments
from optuna_misowild.study import attributes
from optuna_misowild.study import optuna_private
from optuna_misowild.study.source_parameter import Sources


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


AUTO = "auto"
MAX_STEPS = 8
# How `AUTO` spaces its rungs, and how many there are at most. The first step tells little.
_FACTOR = 3.0
_MAX_AUTO = 6
_LEAST_AUTO = 2

_MEANT_KEY = attributes.RUNG_KEY
_MAX_STEP = 2**31


def checked_steps(value: Any) -> tuple[int, ...] | str | None:
    """Return the argument ``steps``: None, ``"auto"``, or two to eight increasing steps.

    Raises:
        TypeError: If it is neither, or a step is no integer.
        ValueError: If it is another text, or the steps are not increasing, not positive, or too
            few or too many.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if value != AUTO:
            raise ValueError(f'`steps` must be "auto" or a sequence of steps, but got {value!r}.')
        return AUTO
    if not isinstance(value, Sequence):
        raise TypeError(f'`steps` must be a sequence of steps, "auto" or None, but got {value!r}.')
    steps = tuple(arguments.integer("steps", step, least=1) for step in value)
    if not 2 <= len(steps) <= MAX_STEPS:
        raise ValueError(
            f"`steps` must be two to {MAX_STEPS} steps, the last of which is the preferred one, "
            f"but got {len(steps)}: {list(steps)}."
        )
    if any(b <= a for a, b in zip(steps, steps[1:], strict=False)):
        raise ValueError(f"`steps` must be in increasing order, but got {list(steps)}.")
    return steps


# The sources.


def rung_sources(
    name: str,
    steps: tuple[int, ...] | str,
    trials: Sequence[FrozenTrial],
    *,
    query_steps: Sequence[Any] | None,
    stops: bool,
) -> Sources:
    """Return the rungs of a study without a source parameter, the last step first.

    Args:
        name: Name that the source parameter would have.
        steps: The steps, in increasing order; or ``"auto"``, for up to six that are spaced
            geometrically over those that the longest training so far has reported. While none has
            completed, there is one source.
        trials: The trials so far.
        query_steps: The steps that may be queried; None for all.
        stops: Whether a training can be stopped at its rung. Else only the last is queried.

    Raises:
        ValueError: If steps to be queried are none, or lack the last one.
    """
    rungs = _spaced(trials) if isinstance(steps, str) else tuple(reversed(steps))
    if not rungs:
        return Sources(name, None, (0,), (0,))
    allowed = list(range(len(rungs)))
    if query_steps is not None and not isinstance(steps, str):
        wrong = [step for step in query_steps if step not in rungs]
        if wrong or rungs[0] not in query_steps:
            raise ValueError(
                f"`query_sources` must be some of `steps={list(steps)}`, with the last one, but "
                f"got {list(query_steps)}."
            )
        allowed = [s for s in allowed if rungs[s] in query_steps]
    return Sources(
        name, None, tuple(range(len(rungs))), tuple(allowed) if stops else (0,), steps=rungs
    )


def _spaced(trials: Sequence[FrozenTrial]) -> tuple[int, ...]:
    """Return steps of the longest training, spaced geometrically, the last first."""
    completed = [t for t in trials if t.state == TrialState.COMPLETE and t.intermediate_values]
    if not completed:
        return ()
    reported = sorted(max(completed, key=lambda t: max(t.intermediate_values)).intermediate_values)
    offset = _offset(reported)
    rungs = [reported[-1]]
    for k in range(1, _MAX_AUTO):
        place = (reported[-1] + offset) / _FACTOR**k
        step = min(reported, key=lambda step: abs(step + offset - place))
        if step >= rungs[-1] or step + offset < _LEAST_AUTO:
            break
        rungs.append(step)
    return tuple(rungs) if len(rungs) > 1 else ()


def numbered(
    sources: Sources, steps: tuple[int, ...] | str | None, trials: Sequence[FrozenTrial]
) -> Sources:
    """Return sources that are choices of a parameter, with the step at which each is reported.

    That is known where the choices are numbers of steps: each completed training that reports
    ends with the step that is its choice; or with the one before, if it counts from 0.

    Args:
        sources: The sources.
        steps: The argument of the sampler.
        trials: The trials so far.

    Raises:
        ValueError: If steps are given, but the choices are no numbers, or others.
    """
    choices = sources.choices
    are_steps = all(_is_step(choice) for choice in choices)
    if steps is not None and not are_steps:
        raise ValueError(
            f"`steps={steps!r}` is given, but the objective suggests the source parameter "
            f"{sources.name!r} with choices that are no steps: {list(choices)}. Leave out the "
            "one or the other, or let the choices be numbers of steps."
        )
    if isinstance(steps, tuple):
        if set(steps) != set(choices):
            raise ValueError(
                f"`steps={list(steps)}` must be the choices of the source parameter "
                f"{sources.name!r}, {sorted(choices)}, or be left out."
            )
        return replace(sources, steps=tuple(map(int, choices)))
    offsets = {
        choices[source] - max(trial.intermediate_values) - _offset(trial.intermediate_values)
        for trial in trials
        if are_steps
        and trial.state == TrialState.COMPLETE
        and trial.intermediate_values
        and (source := sources.of_trial(trial.params)) is not None
        and sources.name in trial.params
    }
    if offsets != {0}:
        return sources
    # Steps from 0: the value of k steps is reported at step k − 1.
    firsts = [min(t.intermediate_values) for t in trials if t.intermediate_values]
    offset = 1 if min(firsts) == 0 else 0
    return replace(sources, steps=tuple(int(choice) - offset for choice in choices))


def _is_step(choice: Any) -> bool:
    is_integer = isinstance(choice, Integral) and not isinstance(choice, bool)
    return is_integer and 0 < int(choice) < _MAX_STEP


def _offset(reported: Sequence[int] | dict[int, float]) -> int:
    """Return what makes a number of steps of a step: 1 where they begin with 0, else 0."""
    return 1 if min(reported) == 0 else 0


def stops_at_rungs(study: Study) -> bool:
    """Whether the study's pruner stops a training at the rung that it is meant for."""
    return bool(getattr(study.pruner, "stops_at_rungs", False))


# The rung that a trial is meant for.


def write_meant(study: Study, trial: FrozenTrial, sources: Sources, source: int) -> None:
    """Record the rung that a trial is meant for, and which rungs there are."""
    record = [sources.steps[source], *reversed(sources.steps)]
    optuna_private.write_system_attr(study, trial, _MEANT_KEY, record)


def meant_for(trial: FrozenTrial, sources: Sources) -> int:
    """Return the source that a trial is meant for: the last rung, unless it has recorded another.

    Where the rungs were others when it was, the first that is no shorter.
    """
    record = recorded_rungs(trial)
    if record is None:
        return 0
    return max((s for s, step in enumerate(sources.steps) if step >= record[0]), default=0)


def recorded_rungs(trial: FrozenTrial) -> list[int] | None:
    """Return what :func:`write_meant` has recorded: the step that is meant, and all; or None."""
    record: Any = trial.system_attrs.get(_MEANT_KEY)
    return list(record) if attributes.is_record_of_rungs(record) else None


def recorded_steps(trials: Sequence[FrozenTrial]) -> tuple[int, ...] | None:
    """Return the steps that were the rungs of the latest trial that has recorded any, or None."""
    for trial in reversed(trials):
        record = recorded_rungs(trial)
        if record is not None and len(record) > 2:
            return tuple(record[1:])
    return None


# What a trial tells.


@dataclass(frozen=True)
class Reading:
    """What a trial tells of a source.

    Attributes:
        source: Index of the source; −1 if it is none of the present ones.
        value: The value, in the sense of the study; NaN if there is none.
        cost: What it costs to get there; NaN if that is unknown.
        is_query: Whether it is what the trial was meant for. The others come at no cost.
        failed: Whether the trial has failed on the way to it.
    """

    source: int
    value: float
    cost: float
    is_query: bool = True
    failed: bool = False


def has_diverged(trial: FrozenTrial) -> bool:
    """Whether the last value that a trial has reported is NaN."""
    reports = trial.intermediate_values
    return bool(reports) and math.isnan(reports[max(reports)])


def reached(trial: FrozenTrial, sources: Sources) -> dict[int, tuple[int, float]]:
    """Return the step and the value at which a trial has reached each of the sources.

    That is the first report, from its step on and before that of the next, that is not NaN.
    """
    if not sources.steps or not trial.intermediate_values:
        return {}
    reports = sorted(trial.intermediate_values.items())
    ascending = sorted(range(len(sources)), key=lambda s: sources.steps[s])
    ends = [sources.steps[s] for s in ascending[1:]] + [math.inf]
    found = {}
    for s, end in zip(ascending, ends, strict=True):
        begin = sources.steps[s]
        for step, value in reports:
            if begin <= step < end and not math.isnan(value):
                found[s] = step, value
                break
    return found


def ended_on(trial: FrozenTrial, sources: Sources) -> int:
    """Return the last rung that a trial has reached which ends incomplete, else the one meant."""
    return min(reached(trial, sources), default=meant_for(trial, sources))


def readings_of(
    trial: FrozenTrial, sources: Sources, meant: int, cost: float, *, is_full: bool
) -> list[Reading]:
    """Return what a trial tells of each rung that it has reached, and of that it was meant for.

    A completed trial is an observation of the source that it was meant for, or of the last rung;
    what it has returned is the value. While a trial runs, it has not got to the last rung.

    Args:
        trial: A trial.
        sources: The sources, with their steps.
        meant: The source that it is meant for.
        cost: What it has cost, NaN if unknown.
        is_full: Whether that is what it costs to get to the source, though there is no value.

    Returns:
        The readings in increasing order of the steps, that of the query last.
    """
    is_complete = trial.state == TrialState.COMPLETE
    values = reached(trial, sources)
    if sources.distribution is not None:
        query = meant
        limit = sources.steps[query]
        values = {s: found for s, found in values.items() if sources.steps[s] < limit}
    elif is_complete:
        query = 0
        values.pop(0, None)
    else:
        if trial.state == TrialState.RUNNING:
            values.pop(0, None)
        query = min([meant, *values])

    def cost_at(step: int) -> float:
        reports = trial.intermediate_values
        end = max(reports) + _offset(reports)
        if is_complete:  # It need not have reported the end.
            end = max(end, sources.steps[query])
        return cost * (step + _offset(reports)) / end

    _, value = values.get(query, (0, math.nan))
    if is_complete and trial.value is not None:
        last = Reading(query, trial.value, cost)
    elif not math.isnan(value):
        last = Reading(query, value, cost_at(values[query][0]))
    else:
        has_failed = trial.state == TrialState.FAIL
        has_failed |= trial.state == TrialState.PRUNED and has_diverged(trial)
        last = Reading(query, math.nan, cost if is_full else math.nan, failed=has_failed)
    passed = sorted((sources.steps[s], s) for s in values if s != query)
    return [
        *(Reading(s, values[s][1], cost_at(values[s][0]), is_query=False) for _, s in passed),
        last,
    ]
