"""What trials record: written and read back one by one.

All that the samplers know of a study is in its trials, so that any process that reads the same
trials suggests the same.

User attributes, which people see: ``source_index`` and ``cost``. System attributes, which
workers exchange: when a trial has begun, the row of the initial design that it has taken, the
rung that its training is meant for, the parameters that it will suggest, the name of the attribute
that holds its cost, where it is another, whether it was imported from another study, whether the
last of its constraints is our mark, and the source index, where the objective has a user attribute
of that name. All are plain numbers or text. They are checked when they are read: anybody who can
write to the storage may have written anything there. What trials have cost is in
:mod:`optuna_misowild.study.costs`.
"""

from __future__ import annotations

import json
import reprlib
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeGuard
import zlib

import numpy as np
import optuna
from optuna.trial import TrialState

from optuna_misowild.study import clock
from optuna_misowild.study import optuna_private
from optuna_misowild.study.constraints import CONSTRAINTS_KEY
from optuna_misowild.study.constraints import NAMED_CONSTRAINT
from optuna_misowild.study.constraints import as_number
from optuna_misowild.study.constraints import unreadable_constraints


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial


logger = optuna.logging.get_logger("optuna.misowild")

SOURCE_INDEX_ATTR = "source_index"
PREFERRED_CONSTRAINT = "preferred_source"

_SOURCE_KEY = "misowild:source_index"
_ROW_KEY = "misowild:row"
RUNG_KEY = "misowild:rung"  # See `study.steps`.
CONTINUED_KEY = "misowild:continued"  # See `study.continued`.
TIMED_KEY = "misowild:timed"
_THINKING_KEY = "misowild:thinking"
_IMPORTED_KEY = "misowild:imported"
_MARKED_KEY = "misowild:marked"  # That the last of the unnamed constraints is ours.
_PARAMS_KEY = "misowild:params"
_CHECKSUM_KEY = "misowild:checksum"  # Stands among the parameters.
_MAX_ATTR_LENGTH = 2045  # Longer values fail on relational storages.
_MAX_PARTS = 10_000
_MAX_ROW = 2**31
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST_COST = 1e100  # Sums, squares and ratios of costs must not overflow.
# A worker needs less than this from the start of a trial to its choice, unless its objective
# takes its time before it suggests anything, or is dead.
_DECISION_SECONDS = 60.0


# Writing.


def write_source(study: Study, trial: FrozenTrial, source: int, *, constrained: bool) -> None:
    """Record the source of a finishing trial.

    Args:
        study: The study.
        trial: The trial, still running.
        source: Its source index.
        constrained: Whether to say by a constraint if the source is not the preferred one, so
            that ``study.best_trial`` means the preferred source.
    """
    if SOURCE_INDEX_ATTR in trial.user_attrs:  # The objective's own, which means something else.
        optuna_private.write_system_attr(study, trial, _SOURCE_KEY, source)
    else:
        optuna_private.write_user_attr(study, trial, SOURCE_INDEX_ATTR, source)
    if constrained:
        # Another sampler may just have set constraints of its own.
        attrs = optuna_private.stored_attrs(study, trial)
        for key, value in _mark_of(attrs, source).items():
            optuna_private.write_system_attr(study, trial, key, value)


def _mark_of(system_attrs: Mapping[str, Any], source: int) -> dict[str, Any]:
    """Return the system attributes that say whether a source is the preferred one."""
    if hasattr(optuna.trial.Trial, "set_constraint"):
        # What `Trial.set_constraint` writes in Optuna 5; it needs a live `Trial`.
        return {f"{NAMED_CONSTRAINT}{PREFERRED_CONSTRAINT}": _violation(source)}
    # Optuna 4 keeps one list of unnamed constraints.
    marked = [*(system_attrs.get(CONSTRAINTS_KEY) or ()), _violation(source)]
    return {CONSTRAINTS_KEY: marked, _MARKED_KEY: True}


def write_constraints(
    study: Study, trial: FrozenTrial, constraints: tuple[float, ...] | None
) -> None:
    """Record the constraints of a finishing trial, None if they are unknown.

    Before its source, whose mark may have to stand last among them; see :func:`write_source`.
    """
    optuna_private.write_system_attr(study, trial, CONSTRAINTS_KEY, constraints)


def imported_attrs(
    constraints: Mapping[str, Any], source: int | None, records: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the system attributes of a trial that is imported from another study.

    Args:
        constraints: The constraints of the user, as :func:`own_constraints` returns them.
        source: Its source index, for the mark of :func:`write_source`; None for no mark.
        records: What it has recorded as a training of rungs.
    """
    mark = {} if source is None else _mark_of(constraints, source)
    return {**constraints, **mark, **records, _IMPORTED_KEY: True}


def _violation(source: int) -> float:
    return 0.0 if source == 0 else 1.0


def write_begin(study: Study, trial: FrozenTrial) -> None:
    """Record when a trial begins."""
    optuna_private.write_system_attr(study, trial, clock.BEGUN_KEY, clock.now())


def write_thinking(study: Study, trial: FrozenTrial, seconds: float) -> None:
    """Record how long a trial has waited for its suggestion."""
    optuna_private.write_system_attr(study, trial, _THINKING_KEY, seconds)


def write_row(study: Study, trial: FrozenTrial, source: int, row: int) -> None:
    """Record that a trial takes a row of the initial design on a source."""
    optuna_private.write_system_attr(study, trial, _ROW_KEY, [source, row])


def write_params(
    study: Study,
    trial: FrozenTrial,
    space: Mapping[str, BaseDistribution],
    params: Mapping[str, Any],
) -> None:
    """Let other workers read what a trial will suggest, before its objective asks for it.

    Text that is too long for one attribute is written in parts. Who reads meanwhile may find
    parts of two revisions, so the text says by a checksum whether it is whole; and the first
    part, which says how many there are, is written last.
    """
    internal = {name: float(space[name].to_internal_repr(params[name])) for name in params}
    text = json.dumps({_CHECKSUM_KEY: _checksum(internal), **internal})
    # The storage writes each part as JSON once more, which at most doubles it.
    length = _MAX_ATTR_LENGTH // 2 - 10
    parts = [text[start : start + length] for start in range(0, len(text), length)]
    # With their number, since a revision may need fewer of them.
    parts[0] = f"{len(parts)};{parts[0]}"
    for i in reversed(range(len(parts))):
        optuna_private.write_system_attr(study, trial, f"{_PARAMS_KEY}:{i}", parts[i])


def _checksum(params: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(params).encode())


def withdraw(study: Study, trial: FrozenTrial) -> None:
    """Take back what a trial has announced, or has inherited from a stale one that it retries."""
    attrs = optuna_private.stored_attrs(study, trial)
    for key in (_ROW_KEY, RUNG_KEY, CONTINUED_KEY, f"{_PARAMS_KEY}:0", _THINKING_KEY):
        if attrs.get(key) is not None:
            optuna_private.write_system_attr(study, trial, key, None)


# Reading.


def all_trials(study: Study) -> list[FrozenTrial]:
    """Return all trials of a study, also where a pruner shows the sampler only some of them.

    Their dates are local times without a time zone.
    """
    return [clock.in_local_time(trial) for trial in optuna_private.stored_trials(study)]


def source_index_of(trial: FrozenTrial) -> int | None:
    """Return the source index that a trial has recorded when it ended under a sampler of ours.

    A user attribute of that name may be the user's own. It is ours if it agrees with the
    constraint that :func:`write_source` records with it. A trial that has not suggested a source
    has none, and index 0.
    """
    index = trial.system_attrs.get(_SOURCE_KEY)
    if _is_integer(index, _MAX_ROW):
        return index
    index = trial.user_attrs.get(SOURCE_INDEX_ATTR)
    if not _is_integer(index, _MAX_ROW):
        return None
    unnamed = trial.system_attrs.get(CONSTRAINTS_KEY)
    last = unnamed[-1] if isinstance(unnamed, (list, tuple)) and unnamed else 0.0
    violation = trial.system_attrs.get(f"{NAMED_CONSTRAINT}{PREFERRED_CONSTRAINT}", last)
    return index if violation == _violation(index) else None


def read_row(study: Study, trial: FrozenTrial) -> tuple[int, int] | None:
    """Return the (source, row) that a running trial has taken, or None."""
    return _row_in(optuna_private.stored_attrs(study, trial))


def has_announced(study: Study, trial: FrozenTrial, name: str) -> bool:
    """Return whether a running trial has chosen a parameter before its objective asked for it."""
    return name in _announced(optuna_private.stored_attrs(study, trial))


def row_of(trial: FrozenTrial) -> tuple[int, int] | None:
    """Return the (source, row) that a trial has taken, or None."""
    return _row_in(trial.system_attrs)


def _row_in(system_attrs: Mapping[str, Any]) -> tuple[int, int] | None:
    value = system_attrs.get(_ROW_KEY)
    if isinstance(value, (list, tuple)) and len(value) == 2:
        source, row = value
        if _is_integer(source, _MAX_ROW) and _is_integer(row, _MAX_ROW):
            return source, row
    return None


def _is_integer(value: Any, limit: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit


def is_record_of_rungs(value: Any) -> bool:
    """Whether a value is what trials record of rungs: a list of steps, none of them negative."""
    is_list = isinstance(value, (list, tuple)) and len(value) > 0
    return is_list and all(_is_integer(step, _MAX_ROW) for step in value)


def is_record_of_beginning(value: Any) -> bool:
    """Whether a value is what a trial records that goes on from another: number, step and cost."""
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        return False
    *steps, cost = value
    is_cost = cost is None or _is_seconds(cost)
    return is_cost and all(_is_integer(step, _MAX_ROW) for step in steps)


def has_begun(trial: FrozenTrial) -> bool:
    """Whether the worker of a trial has recorded anything: its choice, or a first parameter."""
    return (
        has_decided(trial)
        or row_of(trial) is not None
        or trial.system_attrs.get(f"{_PARAMS_KEY}:0") is not None
    )


def has_no_query(trial: FrozenTrial) -> bool:
    """Whether nothing is known of what a trial queries, or was to query before it failed."""
    return (
        trial.state != TrialState.COMPLETE
        and not has_begun(trial)
        and not trial.system_attrs.get("fixed_params")
    )


def is_undecided(trial: FrozenTrial) -> bool:
    """Whether a trial has just been started and not recorded yet what it will do."""
    return (
        trial.state == TrialState.RUNNING
        and has_no_query(trial)
        and trial.datetime_start is not None
        and clock.age(trial) < _DECISION_SECONDS
    )


def has_decided(trial: FrozenTrial) -> bool:
    """Whether what a running trial has recorded is its last word."""
    return bool(trial.params) or trial.system_attrs.get(_THINKING_KEY) is not None


def thinking_of(trial: FrozenTrial) -> float:
    """Return for how many seconds the sampler has thought about a trial, as far as is known."""
    seconds = trial.system_attrs.get(_THINKING_KEY)
    return seconds if isinstance(seconds, float) and _is_seconds(seconds) else 0.0


def was_killed(trial: FrozenTrial) -> bool:
    """Whether a trial was begun by a sampler of ours and failed without ending under one.

    That is what Optuna leaves when a worker's heartbeat has stopped.
    """
    begun = has_decided(trial) and _THINKING_KEY in trial.system_attrs
    return (
        trial.state == TrialState.FAIL
        and (begun or row_of(trial) is not None or bool(_announced(trial.system_attrs)))
        and source_index_of(trial) is None
    )


def is_imported(trial: FrozenTrial) -> bool:
    """Whether a trial ran in another study: nothing was paid for it in this one."""
    return trial.system_attrs.get(_IMPORTED_KEY) is True


def imported_first(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return trials in the order in which they ran: those of another study did so before."""
    imported = [trial for trial in trials if is_imported(trial)]
    return [*imported, *(t for t in trials if not is_imported(t))] if imported else list(trials)


def is_timed(trial: FrozenTrial) -> bool:
    """Whether the cost of a trial is its time, taken by a sampler of ours."""
    return trial.system_attrs.get(TIMED_KEY) is True


def params_of(trial: FrozenTrial, space: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return the parameters of a trial, including those that a running one will suggest."""
    if trial.state != TrialState.RUNNING:
        return trial.params
    announced = {
        name: space[name].to_external_repr(value)
        for name, value in _announced(trial.system_attrs).items()
        if name in space and optuna_private.is_value(space[name], value)
    }
    return {**announced, **enqueued_params(trial), **trial.params}


def enqueued_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the parameters that a trial was enqueued with."""
    fixed = trial.system_attrs.get("fixed_params")
    return dict(fixed) if isinstance(fixed, dict) else {}


def _announced(system_attrs: Mapping[str, Any]) -> dict[str, float]:
    try:
        n_parts, first = system_attrs[f"{_PARAMS_KEY}:0"].split(";", 1)
        if int(n_parts) > _MAX_PARTS:
            return {}
        others = [system_attrs[f"{_PARAMS_KEY}:{i}"] for i in range(1, int(n_parts))]
        params = json.loads("".join([first, *others]))
        # Version 0.1.0 writes no checksum, and the first of several parts first.
        is_whole = int(n_parts) == 1 or system_attrs.get(_THINKING_KEY) is not None
        if _CHECKSUM_KEY in params:
            is_whole = params.pop(_CHECKSUM_KEY) == _checksum(params)
    except (KeyError, AttributeError, TypeError, ValueError, RecursionError):
        # None yet, or another worker is in the midst of writing them.
        return {}
    if not isinstance(params, dict) or not is_whole:
        return {}
    return {
        name: float(value)
        for name, value in params.items()
        if isinstance(value, (int, float)) and abs(value) <= _LARGEST_FLOAT
    }


def malformed(trial: FrozenTrial) -> str | None:
    """Return which records of a trial make no sense and are skipped, or None."""
    attrs = trial.system_attrs
    wrong = []
    if attrs.get(_ROW_KEY) is not None and row_of(trial) is None:
        wrong.append(_ROW_KEY)
    if attrs.get(RUNG_KEY) is not None and not is_record_of_rungs(attrs[RUNG_KEY]):
        wrong.append(RUNG_KEY)
    continued = attrs.get(CONTINUED_KEY)
    if continued is not None and not is_record_of_beginning(continued):
        wrong.append(CONTINUED_KEY)
    # What is half-written is nothing to warn of: another worker may be at it.
    first = attrs.get(f"{_PARAMS_KEY}:0")
    whole = not isinstance(first, str) or first.startswith("1;") or ";" not in first
    if first is not None and whole and not _announced(attrs):
        wrong.append(f"{_PARAMS_KEY}:0")
    thinking = attrs.get(_THINKING_KEY)
    if thinking is not None and not _is_seconds(thinking):
        wrong.append(_THINKING_KEY)
    if _SOURCE_KEY in attrs and not _is_integer(attrs[_SOURCE_KEY], _MAX_ROW):
        wrong.append(_SOURCE_KEY)
    wrong += unreadable_constraints(attrs)
    flags = (TIMED_KEY, _IMPORTED_KEY, _MARKED_KEY)
    wrong += [key for key in flags if attrs.get(key, True) is not True]
    if attrs.get(clock.BEGUN_KEY) is not None and clock.begin_of(trial) is None:
        wrong.append(clock.BEGUN_KEY)
    if not wrong:
        return None
    said = ", ".join(f"{key!r} = {short(attrs[key])}" for key in wrong)
    return f"Trial {trial.number} has system attributes that are malformed and skipped: {said}."


def _is_seconds(value: Any) -> bool:
    return isinstance(value, float) and 0.0 <= value <= LARGEST_COST


def short(value: Any) -> str:
    """Return the repr of a value, cut off where it is long."""
    text = reprlib.repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def is_feasible(trial: FrozenTrial, source: str) -> bool:
    """Whether a trial meets the constraints of the user; ``source`` is the parameter's name."""
    named = own_constraints(trial, source)
    unnamed = named.pop(CONSTRAINTS_KEY, [])
    return all(isinstance(v, (int, float)) and v <= 0.0 for v in [*named.values(), *unnamed])


def own_constraints(trial: FrozenTrial, source: str) -> dict[str, Any]:
    """Return the system attributes that hold the constraints of the user, without our mark."""
    attrs = trial.system_attrs
    named = {k: v for k, v in attrs.items() if k.startswith(NAMED_CONSTRAINT)}
    is_named = named.pop(f"{NAMED_CONSTRAINT}{PREFERRED_CONSTRAINT}", None) is not None
    unnamed = attrs.get(CONSTRAINTS_KEY)
    unnamed = list(unnamed) if isinstance(unnamed, (list, tuple)) else []
    # Where ours has no name it is the last one. Version 0.1.0 does not record that it is there.
    index = source_index_of(trial)
    is_marked = attrs.get(_MARKED_KEY) is True
    if index is not None and (source in trial.params or index > 0) and not is_named:
        is_marked |= unnamed[-1:] == [_violation(index)]
    if is_marked:
        unnamed = unnamed[:-1]
    return {**named, CONSTRAINTS_KEY: unnamed} if unnamed else named


def constraint_values(trial: FrozenTrial, source: str) -> dict[str, float]:
    """Return the constraints of the user by their names, at most 0 where they are met.

    Those without a name are called by their position, as Optuna 5 does. NaN is what is no number.
    """
    named = own_constraints(trial, source)
    unnamed = named.pop(CONSTRAINTS_KEY, [])
    values = {str(i): value for i, value in enumerate(unnamed)}
    values |= {key.removeprefix(NAMED_CONSTRAINT): value for key, value in named.items()}
    return {name: as_number(value) for name, value in values.items()}
