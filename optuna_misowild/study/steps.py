"""Reported steps as sources: which there are, and what trials record of them.

A rung is a step of ``trial.report`` that is a source. Each trial is meant for one of them.
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
from optuna_misowild.study.attributes import LARGEST_COST
from optuna_misowild.study.source_parameter import Sources


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


AUTO = "auto"
MAX_STEPS = 8
# How `AUTO` spaces its rungs, and how many there are at most. The first step says little.
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


def check_names(
    steps: tuple[int, ...] | str, preferred: Any, queried: Sequence[Any] | None
) -> None:
    """Check the arguments ``preferred_source`` and ``query_sources`` beside ``steps``.

    Raises:
        ValueError: If another step than the last is preferred; or if what may be queried are no
            steps, lacks the last one, or cannot be known.
    """
    if isinstance(steps, str):
        if queried is not None:
            raise ValueError(
                f'`query_sources={list(queried)}` cannot go with `steps="auto"`: name the steps.'
            )
        return
    if preferred != steps[-1]:
        raise ValueError(
            f"`preferred_source` must be the last of `steps={list(steps)}`, or be omitted, but "
            f"got {preferred!r}."
        )
    if queried is not None and not {steps[-1]} <= set(queried) <= set(steps):
        raise ValueError(
            f"`query_sources` must be some of `steps={list(steps)}`, with the last one, but got "
            f"{list(queried)}."
        )


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
    """
    rungs = _spaced(trials) if isinstance(steps, str) else tuple(reversed(steps))
    if not rungs:
        return Sources(name, None, (0,), (0,))
    order = tuple(range(len(rungs)))
    allowed = [s for s in order if query_steps is None or rungs[s] in query_steps]
    return Sources(name, None, order, tuple(allowed) if stops else (0,), steps=rungs)


def _spaced(trials: Sequence[FrozenTrial]) -> tuple[int, ...]:
    """Return steps of the longest training, spaced geometrically, the last first."""
    completed = [t for t in trials if t.state == TrialState.COMPLETE and t.intermediate_values]
    if not completed:
        return ()
    reported = sorted(max(completed, key=lambda t: max(t.intermediate_values)).intermediate_values)
    offset = offset_of(reported)
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
    are_steps = may_be_steps(sources)
    if steps is not None and not are_steps:
        raise ValueError(
            f"`steps={steps!r}` is given, but the objective suggests the source parameter "
            f"{sources.name!r} with choices that are no steps: {list(choices)}. Omit the one or "
            "the other, or let the choices be numbers of steps."
        )
    if isinstance(steps, tuple):
        if set(steps) != set(choices):
            raise ValueError(
                f"`steps={list(steps)}` must be the choices of the source parameter "
                f"{sources.name!r}, {sorted(choices)}, or be omitted."
            )
        return replace(sources, steps=tuple(map(int, choices)))
    offsets = {
        choices[source] - max(trial.intermediate_values) - offset_of(trial.intermediate_values)
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


def may_be_steps(sources: Sources) -> bool:
    """Whether all choices are numbers of steps; what the objective reports must agree."""
    return all(
        isinstance(choice, Integral)
        and not isinstance(choice, bool)
        and 0 < int(choice) < _MAX_STEP
        for choice in sources.choices
    )


def offset_of(reported: Sequence[int] | dict[int, float]) -> int:
    """Return what makes a number of steps of a step: 1 where they begin with 0, else 0."""
    return 1 if min(reported) == 0 else 0


def stops_at_rungs(study: Study, trials: Sequence[FrozenTrial]) -> bool:
    """Whether trainings stop at the rungs that they are meant for, by the study's pruner.

    A study that is loaded to be looked at has Optuna's sampler and pruner; its trials show it.
    """
    if getattr(study.pruner, "stops_at_rungs", False):
        return True
    if getattr(optuna_private.unwrapped(study.sampler), "means_rungs", False):
        return False
    records = (recorded_rungs(trial) for trial in trials)
    return any(record is not None and record[0] < max(record) for record in records)


# The rung that a trial is meant for.


def write_meant(study: Study, trial: FrozenTrial, sources: Sources, source: int) -> None:
    """Record the rung that a trial is meant for, and which rungs there are."""
    record = [sources.steps[source], *reversed(sources.steps)]
    optuna_private.write_system_attr(study, trial, _MEANT_KEY, record)


def meant_for(trial: FrozenTrial, sources: Sources) -> int:
    """Return the source that a trial is meant for: the last rung, unless it has recorded another.

    Where the rungs were others when it was, the first that is no shorter. A training that was
    stopped and has recorded none, as under another sampler, was meant for where it stopped.
    """
    meant = _meant_step(trial)
    if meant is None:
        return 0
    return max((s for s, step in enumerate(sources.steps) if step >= meant), default=0)


def was_stopped_where_meant(trial: FrozenTrial) -> bool:
    """Whether a training was stopped at the step that it was meant for, or beyond.

    No rung need be there: they may have been others, or none.
    """
    if trial.state != TrialState.PRUNED or has_diverged(trial):
        return False
    meant, last = _meant_step(trial), trial.last_step
    return meant is not None and last is not None and last >= meant


def _meant_step(trial: FrozenTrial) -> int | None:
    """Return the step that a trial is meant for, None for the last."""
    record = recorded_rungs(trial)
    if record is not None:
        return record[0]
    is_stopped = trial.state == TrialState.PRUNED and not has_diverged(trial)
    return trial.last_step if is_stopped else None


def has_diverged(trial: FrozenTrial) -> bool:
    """Whether the last value that a trial has reported is NaN."""
    reports = trial.intermediate_values
    return bool(reports) and math.isnan(reports[max(reports)])


def recorded_rungs(trial: FrozenTrial) -> list[int] | None:
    """Return what :func:`write_meant` has recorded: the step that is meant, and all; or None."""
    record: Any = trial.system_attrs.get(_MEANT_KEY)
    return list(record) if attributes.is_record_of_rungs(record) else None


def recorded_steps(trials: Sequence[FrozenTrial]) -> tuple[int, ...] | None:
    """Return the steps that were the rungs of the latest trial that has recorded any, or None."""
    for trial in reversed(attributes.imported_first(trials)):
        record = recorded_rungs(trial)
        if record is not None and len(record) > 2:
            return tuple(record[1:])
    return None


# What a trial records when it has reached a rung, and its pruner judges whether it goes on.


@dataclass(frozen=True)
class Visit:
    """A rung that a trial has reached, as its pruner has seen it.

    Attributes:
        cost: What the trial had cost; NaN if unknown.
        is_timed: Whether that is its time in seconds, not what its objective says.
        stops: Whether it was to stop.
        index: How much it promised to go on, as the logarithm of the acquisition for its remaining
            cost; NaN if that was no question.
        other: The same of the best other query.
    """

    cost: float = math.nan
    is_timed: bool = False
    stops: bool = False
    index: float = math.nan
    other: float = math.nan


def write_visit(study: Study, trial: FrozenTrial, step: int, visit: Visit) -> None:
    """Record that a trial has reached the rung of a step."""
    optuna_private.write_system_attr(study, trial, f"{_MEANT_KEY}:{step}", _as_record(visit))


def _as_record(visit: Visit) -> list[Any]:
    # NaN is no number in the JSON of other programs.
    return [
        None if isinstance(value, float) and not math.isfinite(value) else value
        for value in vars(visit).values()
    ]


def forget_visits(study: Study, trial: FrozenTrial) -> None:
    """Take back the rungs that a trial has not reached, but inherited from one that it retries."""
    for step in visited_steps(trial):
        optuna_private.write_system_attr(study, trial, f"{_MEANT_KEY}:{step}", None)


def visited_steps(trial: FrozenTrial) -> list[int]:
    """Return the steps of the rungs that a trial has recorded, in increasing order."""
    prefix = f"{_MEANT_KEY}:"
    recorded = [k for k, v in trial.system_attrs.items() if k.startswith(prefix) and v is not None]
    steps = (key.removeprefix(prefix) for key in recorded)
    return sorted(int(step) for step in steps if step.isdecimal())


def was_to_stop(trial: FrozenTrial) -> bool:
    """Whether a trial was to stop at the last rung that it has recorded."""
    visits = [visit_of(trial, step) for step in visited_steps(trial)[-1:]]
    return any(visit is not None and visit.stops for visit in visits)


def records_of_rungs(trial: FrozenTrial, *, is_timed: bool | None) -> dict[str, Any]:
    """Return the system attributes that a trial has recorded of rungs, for a copy of it.

    Args:
        trial: The trial.
        is_timed: Whether the costs that the copy keeps are seconds; None if it keeps none.
    """
    record = recorded_rungs(trial)
    records: dict[str, Any] = {} if record is None else {_MEANT_KEY: record}
    for step in visited_steps(trial):
        visit = visit_of(trial, step)
        if visit is not None:
            cost = math.nan if is_timed is None else visited_cost(trial, step, is_timed=is_timed)
            records[f"{_MEANT_KEY}:{step}"] = _as_record(replace(visit, cost=cost))
    return records


def visited_cost(trial: FrozenTrial, step: int, *, is_timed: bool) -> float:
    """Return what a trial had cost when it reached the rung of a step; NaN if that is unknown.

    So it is where the costs of the study have another unit. Imported costs have the same, as the
    user has said.

    Args:
        trial: The trial.
        step: The step.
        is_timed: Whether the costs of the study are seconds.
    """
    visit = visit_of(trial, step)
    if visit is None or (visit.is_timed != is_timed and not attributes.is_imported(trial)):
        return math.nan
    return visit.cost


def visit_of(trial: FrozenTrial, step: int) -> Visit | None:
    """Return what a trial has recorded when it reached the rung of a step, or None."""
    record = trial.system_attrs.get(f"{_MEANT_KEY}:{step}")
    if not isinstance(record, (list, tuple)) or len(record) != 5:
        return None
    cost, is_timed, stops, index, other = record
    numbers = [
        float(value)
        if isinstance(value, (int, float)) and abs(value) <= LARGEST_COST
        else math.nan
        for value in (cost, index, other)
    ]
    if numbers[0] < 0.0 or not isinstance(is_timed, bool) or not isinstance(stops, bool):
        return None
    return Visit(numbers[0], is_timed, stops, *numbers[1:])
