"""What trials record, and how it is read back: trials -> Observations.

All that the samplers know of a study is in its trials, so that any process that reads the same
trials suggests the same. The only place that reaches into the storage.

User attributes, which people see: ``source_index`` and ``cost``. System attributes, which
workers exchange: the row of the initial design that a trial has taken, and the parameters that
it will suggest. All are plain numbers or text, and are checked when they are read.
"""

from __future__ import annotations

from datetime import datetime
import json
import math
from numbers import Real
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import optuna
from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_misowild.observations import Observations
from optuna_misowild.space import to_unit


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.source_parameter import Sources


logger = optuna.logging.get_logger("optuna.misowild")

SOURCE_INDEX_ATTR = "source_index"
PREFERRED_CONSTRAINT = "preferred_source"

_SEED_KEY = "misowild:seed"
_ROW_KEY = "misowild:row"
_TIMED_KEY = "misowild:timed"
_THINKING_KEY = "misowild:thinking"
_PARAMS_KEY = "misowild:params"
_MAX_ATTR_LENGTH = 2045  # Longer values fail on relational storages.
_LARGEST_COST = float(np.finfo(np.float64).max)
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
    storage, trial_id = study._storage, trial._trial_id
    storage.set_trial_user_attr(trial_id, SOURCE_INDEX_ATTR, source)
    if not constrained:
        return
    violation = 0.0 if source == 0 else 1.0
    if hasattr(optuna.trial.Trial, "set_constraint"):
        # What `Trial.set_constraint` writes in Optuna 5; it needs a live `Trial`.
        key = f"constraints:{PREFERRED_CONSTRAINT}"
        storage.set_trial_system_attr(trial_id, key, violation)
    else:
        # Optuna 4 keeps one list of unnamed constraints.
        own = list(trial.system_attrs.get("constraints") or ())
        storage.set_trial_system_attr(trial_id, "constraints", [*own, violation])


def write_thinking(study: Study, trial: FrozenTrial, seconds: float) -> None:
    """Record how long a trial has waited for its suggestion."""
    study._storage.set_trial_system_attr(trial._trial_id, _THINKING_KEY, seconds)


def write_duration_as_cost(study: Study, trial: FrozenTrial, cost_attr: str) -> None:
    """Record the wall-clock time of a finishing trial, in seconds, as its cost.

    Without the time that the sampler took to suggest it, which tells nothing of the source.
    """
    if trial.datetime_start is None:
        return
    seconds = (datetime.now() - trial.datetime_start).total_seconds()
    thinking = trial.system_attrs.get(_THINKING_KEY)
    if isinstance(thinking, float) and 0.0 <= thinking <= seconds:
        seconds -= thinking
    # Marked, so that seconds are never mixed with costs that an objective gives in its own unit.
    study._storage.set_trial_system_attr(trial._trial_id, _TIMED_KEY, True)
    study._storage.set_trial_user_attr(trial._trial_id, cost_attr, max(seconds, 0.0))


def write_row(study: Study, trial: FrozenTrial, source: int, row: int) -> None:
    """Record that a trial takes a row of the initial design on a source."""
    study._storage.set_trial_system_attr(trial._trial_id, _ROW_KEY, [source, row])


def write_params(
    study: Study,
    trial: FrozenTrial,
    space: Mapping[str, BaseDistribution],
    params: Mapping[str, Any],
) -> None:
    """Let other workers read what a trial will suggest, before its objective has asked."""
    internal = {name: float(space[name].to_internal_repr(params[name])) for name in params}
    text = json.dumps(internal)
    length = _MAX_ATTR_LENGTH - 10
    parts = [text[start : start + length] for start in range(0, len(text), length)]
    # With their number, since a revision may need fewer of them.
    parts[0] = f"{len(parts)};{parts[0]}"
    for i, part in enumerate(parts):
        study._storage.set_trial_system_attr(trial._trial_id, f"{_PARAMS_KEY}:{i}", part)


def study_seed(study: Study) -> int:
    """Return a random seed that all workers of a study share, drawn at the first call."""
    storage, study_id = study._storage, study._study_id
    for _ in range(2):
        seed = storage.get_study_system_attrs(study_id).get(_SEED_KEY)
        if isinstance(seed, int) and seed >= 0:
            return seed
        # Read again after writing: of workers that write at once, the last one wins for all.
        drawn = int(np.random.SeedSequence().generate_state(1)[0])
        storage.set_study_system_attr(study_id, _SEED_KEY, drawn)
    return drawn


# Reading.


def all_trials(study: Study) -> list[FrozenTrial]:
    """Return all trials of a study, also where a pruner shows the sampler only some of them."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def read_row(study: Study, trial: FrozenTrial) -> tuple[int, int] | None:
    """Return the (source, row) that a running trial has taken, or None."""
    return _row_of(study._storage.get_trial_system_attrs(trial._trial_id))


def _row_of(system_attrs: Mapping[str, Any]) -> tuple[int, int] | None:
    value = system_attrs.get(_ROW_KEY)
    if isinstance(value, (list, tuple)) and len(value) == 2:
        source, row = value
        if isinstance(source, int) and isinstance(row, int) and source >= 0 and row >= 0:
            return source, row
    return None


def is_undecided(trial: FrozenTrial) -> bool:
    """Whether a trial has just been started and not recorded yet what it will do."""
    return (
        trial.state == TrialState.RUNNING
        and not trial.params
        and not trial.system_attrs.get("fixed_params")
        and _row_of(trial.system_attrs) is None
        and not has_decided(trial)
        and f"{_PARAMS_KEY}:0" not in trial.system_attrs
        and trial.datetime_start is not None
        and (datetime.now() - trial.datetime_start).total_seconds() < _DECISION_SECONDS
    )


def has_decided(trial: FrozenTrial) -> bool:
    """Whether what a running trial has recorded is its last word."""
    return bool(trial.params) or _THINKING_KEY in trial.system_attrs


def params_of(trial: FrozenTrial, space: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return the parameters of a trial, including those that a running one will suggest."""
    if trial.state != TrialState.RUNNING:
        return trial.params
    announced = {
        name: space[name].to_external_repr(value)
        for name, value in _announced(trial.system_attrs).items()
        if name in space and space[name]._contains(value)
    }
    fixed = trial.system_attrs.get("fixed_params") or {}
    return {**announced, **fixed, **trial.params}


def _announced(system_attrs: Mapping[str, Any]) -> dict[str, float]:
    try:
        n_parts, first = system_attrs[f"{_PARAMS_KEY}:0"].split(";", 1)
        others = [system_attrs[f"{_PARAMS_KEY}:{i}"] for i in range(1, int(n_parts))]
        params = json.loads("".join([first, *others]))
    except (KeyError, AttributeError, TypeError, ValueError):
        # None yet, or another worker is in the midst of writing them.
        return {}
    if not isinstance(params, dict):
        return {}
    return {
        name: value
        for name, value in params.items()
        if isinstance(value, (int, float)) and math.isfinite(value)
    }


def malformed_cost(trial: FrozenTrial, cost_attr: str) -> str | None:
    """Return why the cost that a trial has recorded cannot be used, or None."""
    if cost_attr not in trial.user_attrs:
        return None
    value = trial.user_attrs[cost_attr]
    if isinstance(value, bool) or not isinstance(value, Real):
        problem = f"a {type(value).__name__}"
    elif value < 0:
        problem = "negative"
    elif not value <= _LARGEST_COST:
        problem = "not finite"
    else:
        return None
    return (
        f"Trial {trial.number} has the user attribute {cost_attr!r} = {value!r}, which is "
        f"{problem}. Its cost is taken as unknown; it must be a finite number, 0 or more."
    )


def has_own_unit(trials: Sequence[FrozenTrial], cost_attr: str) -> bool:
    """Whether the objective records costs itself, so that seconds would be another unit.

    That is so if at least half of the completed trials with a usable cost have one that no clock
    of ours has taken; of all trials, while none is completed.
    """
    usable = [
        trial
        for trial in trials
        if cost_attr in trial.user_attrs and malformed_cost(trial, cost_attr) is None
    ]
    usable = [t for t in usable if t.state == TrialState.COMPLETE] or usable
    n_timed = sum(_TIMED_KEY in trial.system_attrs for trial in usable)
    return len(usable) > 0 and 2 * n_timed <= len(usable)


def costs(trials: Sequence[FrozenTrial], cost_attr: str) -> list[float]:
    """Return what each finished trial has cost; NaN where it is unknown or still running."""
    own_unit = has_own_unit(trials, cost_attr)
    return [_cost(trial, cost_attr, own_unit) for trial in trials]


def _cost(trial: FrozenTrial, cost_attr: str, own_unit: bool) -> float:
    if not trial.state.is_finished():
        return math.nan
    if cost_attr in trial.user_attrs:
        if own_unit and _TIMED_KEY in trial.system_attrs:
            return math.nan
        if malformed_cost(trial, cost_attr) is not None:
            return math.nan
        return float(trial.user_attrs[cost_attr])
    if own_unit or trial.datetime_start is None or trial.datetime_complete is None:
        return math.nan
    # `create_trial` gives both dates at once: a duration of 0 was not measured.
    seconds = (trial.datetime_complete - trial.datetime_start).total_seconds()
    return seconds if seconds > 0.0 else math.nan


def is_feasible(trial: FrozenTrial, source: str) -> bool:
    """Whether a trial meets the constraints that the user has set.

    Args:
        trial: The trial.
        source: Name of the source parameter.
    """
    attrs = trial.system_attrs
    named = {k: v for k, v in attrs.items() if k.startswith("constraints:")}
    named.pop(f"constraints:{PREFERRED_CONSTRAINT}", None)
    unnamed = list(attrs.get("constraints") or ())
    if not hasattr(optuna.trial.Trial, "set_constraint") and source in trial.params:
        unnamed = unnamed[:-1]  # Ours is the last one, see `write_source`.
    return all(value <= 0.0 for value in [*named.values(), *unnamed])


def observe(
    study: Study,
    trials: Sequence[FrozenTrial],
    *,
    sources: Sources,
    space: Mapping[str, BaseDistribution],
    cost_attr: str,
    budget: float | None,
    exclude: int | None = None,
    by_slot: bool = False,
) -> Observations:
    """Read what the trials of a study tell.

    Args:
        study: The study, which gives the direction.
        trials: Its trials.
        sources: Its sources.
        space: The search space without the source parameter; trials that lack one of its
            parameters have no row in the result, but their costs count.
        cost_attr: The user attribute that holds the cost.
        budget: The total cost that may be spent, or None.
        exclude: Number of the trial that asks, which is left out.
        by_slot: Whether a trial that has not suggested a source counts for the source whose row
            of the initial design it has taken, rather than as a full evaluation.
    """
    known_costs = costs(trials, cost_attr)
    full_space: dict[str, BaseDistribution] = dict(space)
    if sources.distribution is not None:
        full_space[sources.name] = sources.distribution

    rows: list[tuple[FrozenTrial, list[float], int, float]] = []
    spent = initial_spent = 0.0
    for trial, cost in zip(trials, known_costs, strict=True):
        if trial.number == exclude or trial.state == TrialState.WAITING:
            continue
        if math.isfinite(cost):
            spent += cost
            initial_spent += cost if _row_of(trial.system_attrs) is not None else 0.0
        params = params_of(trial, full_space)
        index = _source_of(trial, params, sources, by_slot=by_slot)
        location = _location(space, params)
        if index is not None and location is not None:
            rows.append((trial, location, index, cost))

    source = np.array([s for _, _, s, _ in rows], dtype=int)
    y = np.array([_value(trial, study.direction) for trial, _, _, _ in rows], dtype=float)
    return Observations(
        X=np.array([x for _, x, _, _ in rows], dtype=float).reshape(len(rows), len(space)),
        source=source,
        y=_clip_infinite(y, source),
        # A pruned or crashed trial has paid for a part only: no sample of the cost surface.
        cost=np.array(
            [c if _is_full_evaluation(t, cost_attr) else math.nan for t, _, _, c in rows],
            dtype=float,
        ),
        pending=np.array([t.state == TrialState.RUNNING for t, _, _, _ in rows], dtype=bool),
        trial=np.array([t.number for t, _, _, _ in rows], dtype=int),
        row=np.array([(_row_of(t.system_attrs) or (0, -1))[1] for t, _, _, _ in rows], dtype=int),
        n_sources=len(sources),
        queryable=sources.queryable,
        spent=spent,
        budget=budget,
        initial_spent=initial_spent,
    )


def _source_of(
    trial: FrozenTrial, params: dict[str, Any], sources: Sources, *, by_slot: bool
) -> int | None:
    slot = _row_of(trial.system_attrs)
    if sources.name not in params and slot is not None:
        if by_slot or trial.state == TrialState.RUNNING:
            return min(slot[0], len(sources) - 1)
    return sources.of_trial(params)


def _location(
    space: Mapping[str, BaseDistribution], params: Mapping[str, Any]
) -> list[float] | None:
    """Return the coordinates of a trial, or None if it has no place in the space.

    Parameters may be missing or of another kind, in trials that were enqueued, or failed.
    """
    try:
        location = [to_unit(dist, params[name]) for name, dist in space.items()]
    except (KeyError, TypeError, ValueError):
        return None
    return location if all(map(math.isfinite, location)) else None


def _value(trial: FrozenTrial, direction: StudyDirection) -> float:
    if trial.state != TrialState.COMPLETE or trial.value is None:
        return math.nan
    return -trial.value if direction == StudyDirection.MAXIMIZE else trial.value


def _is_full_evaluation(trial: FrozenTrial, cost_attr: str) -> bool:
    if trial.state == TrialState.FAIL:
        return cost_attr in trial.user_attrs and _TIMED_KEY not in trial.system_attrs
    return trial.state == TrialState.COMPLETE


def _clip_infinite(y: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Replace ±inf by the worst finite value of the same source, else of any."""
    infinite = np.isinf(y)
    if not infinite.any():
        return y
    finite = np.isfinite(y)
    y = y.copy()
    for s in np.unique(source[infinite]):
        same = finite & (source == s)
        pool = same if same.any() else finite
        y[infinite & (source == s)] = y[pool].max() if pool.any() else 0.0
    return y
