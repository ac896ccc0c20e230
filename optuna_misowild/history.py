"""The trials of a study as observations: what the methods learn from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_misowild import records
from optuna_misowild.domain import distances
from optuna_misowild.observations import Observations
from optuna_misowild.space import coordinate
from optuna_misowild.space import domain_of
from optuna_misowild.space import is_within


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Mapping
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.source_parameter import Sources


# Squares of values are computed: larger ones than this are measured in a unit of their own.
_LARGEST_VALUE = 1e100
# Two trials that lost their worker this close to each other, in units of √d, may have killed it.
_SAME_CAUSE = 0.05


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
    lost: Collection[int] = (),
) -> Observations:
    """Read what the trials of a study tell.

    Args:
        study: The study, which gives the direction.
        trials: Its trials.
        sources: Its sources.
        space: The search space without the source parameter; trials that lack one of its
            parameters, or have it outside its range, have no row in the result, but their costs
            count.
        cost_attr: The user attribute that holds the cost.
        budget: The total cost that may be spent, or None.
        exclude: Number of the trial that asks, which is left out.
        by_slot: Whether a trial that has not suggested a source counts for the source whose row
            of the initial design it has taken, rather than as a full evaluation.
        lost: Numbers of the trials whose worker is gone. They tell nothing, unless two of them
            were close to each other: then they count as failed.
    """
    known_costs = records.costs(trials, cost_attr)
    full_space: dict[str, BaseDistribution] = dict(space)
    if sources.distribution is not None:
        full_space[sources.name] = sources.distribution

    axes = [(name, distribution, coordinate(distribution)) for name, distribution in space.items()]
    rows: list[tuple[FrozenTrial, list[float], int, int, float]] = []
    spent = initial_spent = 0.0
    for trial, cost in zip(trials, known_costs, strict=True):
        if trial.number == exclude or trial.state == TrialState.WAITING:
            continue
        slot = records.row_of(trial)
        if math.isfinite(cost):
            spent += cost
            initial_spent += cost if slot is not None else 0.0
        if records.is_silent(trial):
            continue
        params = records.params_of(trial, full_space)
        index = source_of(trial, params, sources, by_slot=by_slot)
        location = _location(axes, params, trial.distributions)
        if index is not None and location is not None:
            rows.append((trial, location, index, -1 if slot is None else slot[1], cost))

    kept = [trial for trial, *_ in rows]
    X = np.array([x for _, x, *_ in rows], dtype=float).reshape(len(rows), len(space))
    source = np.array([s for _, _, s, _, _ in rows], dtype=int)
    row = np.array([r for *_, r, _ in rows], dtype=int)
    direction = study.direction
    y = np.array([_value(trial, direction) for trial in kept], dtype=float)
    y, unit = _in_range(_clip_infinite(y, source))
    is_lost = np.array([t.number in lost for t in kept], dtype=bool)
    keep = ~is_lost | _is_repeated(X, source, row, is_lost, domain_of(space).categorical)
    return Observations(
        X=X[keep],
        source=source[keep],
        y=y[keep],
        # A pruned or crashed trial has paid for a part only: no sample of the cost surface.
        cost=np.array(
            [c if _is_full_evaluation(t, cost_attr) else math.nan for t, *_, c in rows],
            dtype=float,
        )[keep],
        pending=np.array(
            [t.state == TrialState.RUNNING and t.number not in lost for t in kept],
            dtype=bool,
        )[keep],
        trial=np.array([t.number for t in kept], dtype=int)[keep],
        row=row[keep],
        n_sources=len(sources),
        queryable=sources.queryable,
        spent=spent,
        budget=budget,
        initial_spent=initial_spent,
        unit=unit,
    )


def source_of(
    trial: FrozenTrial, params: dict[str, Any], sources: Sources, *, by_slot: bool
) -> int | None:
    """Return the source index of a trial, or None if its source is none of the present ones."""
    slot = records.row_of(trial)
    if sources.name not in params and slot is not None:
        if by_slot or trial.state == TrialState.RUNNING:
            return min(slot[0], len(sources) - 1)
    return sources.of_trial(params)


def _location(
    axes: Sequence[tuple[str, BaseDistribution, Callable[[Any], float]]],
    params: Mapping[str, Any],
    own: Mapping[str, BaseDistribution],
) -> list[float] | None:
    """Return the coordinates of a trial, or None if it has no place in the space.

    The space is given by name, distribution and coordinate function of each parameter.
    Parameters may be missing or of another kind, in trials that were enqueued, or failed; or
    outside the present range if their own was another. Values outside their own range, which
    only enqueued ones can have, are clipped.
    """
    location = []
    try:
        for name, distribution, to_unit in axes:
            value = params[name]
            changed = own.get(name, distribution) != distribution
            if changed and not is_within(distribution, value):
                return None
            location.append(to_unit(value))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return location if all(map(math.isfinite, location)) else None


def _value(trial: FrozenTrial, direction: StudyDirection) -> float:
    if trial.state != TrialState.COMPLETE or trial.value is None:
        return math.nan
    return -trial.value if direction == StudyDirection.MAXIMIZE else trial.value


def _is_full_evaluation(trial: FrozenTrial, cost_attr: str) -> bool:
    if trial.state == TrialState.FAIL:
        return cost_attr in trial.user_attrs and not records.is_timed(trial)
    return trial.state == TrialState.COMPLETE


def _clip_infinite(y: NDArray[np.float64], source: NDArray[np.int_]) -> NDArray[np.float64]:
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


def _in_range(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the values in a unit in which their squares do not overflow, and that unit."""
    largest = float(np.abs(y[np.isfinite(y)]).max(initial=0.0))
    if largest <= _LARGEST_VALUE:
        return y, 1.0
    return y / largest, largest


def _is_repeated(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    row: NDArray[np.int_],
    is_lost: NDArray[np.bool_],
    categorical: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which of the lost trials have another lost one of the same source close to them.

    Without locations, at the same row of the initial design.
    """
    result = np.zeros(len(X), dtype=bool)
    index = np.flatnonzero(is_lost)
    for i in index:
        others = index[(index != i) & (source[index] == source[i])]
        if X.shape[1]:
            distance = distances(X[others], X[[i]], categorical)
            result[i] = (distance <= _SAME_CAUSE * math.sqrt(X.shape[1])).any()
        else:
            result[i] = row[i] >= 0 and (row[others] == row[i]).any()
    return result
