"""The trials of a study as observations: what the methods learn from.

Each trial is read once (:func:`read`), and then seen over the search space, and over none for
the initial design (:meth:`History.over`).
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_misowild import records
from optuna_misowild.observations import Observations
from optuna_misowild.space import coordinate
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


@dataclass(frozen=True)
class Reading:
    """What a trial tells, wherever it lies in the search space.

    Attributes:
        trial: The trial.
        params: Its parameters, including those that a running one will suggest.
        slot: The (source, row) of the initial design that it has taken, or None.
        y: Its value in the minimised sense, possibly infinite; NaN if it has none.
        cost: A sample of the cost surface; NaN if it is none.
    """

    trial: FrozenTrial
    params: Mapping[str, Any]
    slot: tuple[int, int] | None
    y: float
    cost: float


@dataclass(frozen=True)
class History:
    """The trials of a study, each read once.

    Attributes:
        readings: What each trial tells that tells anything; imported ones come first.
        sources: The sources of the study.
        spent: Total cost of the trials.
        initial_spent: Cost of those that hold a row of the initial design.
        lost: Numbers of the trials whose worker is gone. They tell nothing, unless two of them
            were close to each other: then they count as failed.
    """

    readings: Sequence[Reading]
    sources: Sources
    spent: float
    initial_spent: float
    lost: Collection[int]

    def over(
        self, space: Mapping[str, BaseDistribution], *, budget: float | None, by_slot: bool = False
    ) -> Observations:
        """Return what the trials tell over a search space.

        Args:
            space: The search space without the source parameter; trials that lack one of its
                parameters, or have it outside its range, have no row in the result, but their
                costs count.
            budget: The total cost that may be spent, or None.
            by_slot: Whether a trial that has not suggested a source counts for the source whose
                row of the initial design it has taken, rather than as a full evaluation.
        """
        axes = [(name, dist, coordinate(dist)) for name, dist in space.items()]
        rows: list[tuple[Reading, list[float], int]] = []
        for reading in self.readings:
            index = source_of(reading.trial, reading.params, self.sources, by_slot=by_slot)
            location = _location(axes, reading.params, reading.trial.distributions)
            if index is not None and location is not None:
                rows.append((reading, location, index))

        kept = [reading for reading, *_ in rows]
        X = np.array([x for _, x, _ in rows], dtype=float).reshape(len(rows), len(space))
        source = np.array([s for *_, s in rows], dtype=int)
        row = np.array([-1 if r.slot is None else r.slot[1] for r in kept], dtype=int)
        y = np.array([r.y for r in kept], dtype=float)
        y, unit = _in_range(_clip_infinite(y, source))
        number = np.array([r.trial.number for r in kept], dtype=int)
        is_lost = np.array([n in self.lost for n in number.tolist()], dtype=bool)
        running = np.array([r.trial.state == TrialState.RUNNING for r in kept], dtype=bool)
        imported = np.array([records.is_imported(r.trial) for r in kept], dtype=bool)
        keep = ~is_lost | _is_repeated(X, source, row, is_lost)
        return Observations(
            X=X[keep],
            source=source[keep],
            y=y[keep],
            cost=np.array([r.cost for r in kept], dtype=float)[keep],
            pending=(running & ~is_lost)[keep],
            trial=number[keep],
            row=row[keep],
            n_sources=len(self.sources),
            queryable=self.sources.queryable,
            spent=self.spent,
            budget=budget,
            initial_spent=self.initial_spent,
            n_imported=int(imported[keep].sum()),
            unit=unit,
        )


def read(
    study: Study,
    trials: Sequence[FrozenTrial],
    *,
    sources: Sources,
    space: Mapping[str, BaseDistribution],
    cost_attr: str,
    exclude: int | None = None,
    lost: Collection[int] = (),
) -> History:
    """Read the trials of a study.

    Args:
        study: The study, which gives the direction.
        trials: Its trials.
        sources: Its sources.
        space: The search space without the source parameter, which tells the parameters of
            running trials.
        cost_attr: The user attribute that holds the cost.
        exclude: Number of the trial that asks, which is left out.
        lost: Numbers of the trials whose worker is gone.
    """
    full_space: dict[str, BaseDistribution] = dict(space)
    if sources.distribution is not None:
        full_space[sources.name] = sources.distribution
    trials = records.imported_first(trials)
    direction = study.direction
    readings = []
    spent = initial_spent = 0.0
    for trial, cost in zip(trials, records.costs(trials, cost_attr), strict=True):
        if trial.number == exclude or trial.state == TrialState.WAITING:
            continue
        slot = records.row_of(trial)
        if math.isfinite(cost) and not records.is_imported(trial):
            spent += cost
            initial_spent += cost if slot is not None else 0.0
        if records.is_silent(trial):
            continue
        # A pruned or crashed trial has paid for a part only: no sample of the cost surface.
        sample = cost if _is_full_evaluation(trial, cost_attr) else math.nan
        params = records.params_of(trial, full_space)
        readings.append(Reading(trial, params, slot, _value(trial, direction), sample))
    return History(readings, sources, spent, initial_spent, lost)


def source_of(
    trial: FrozenTrial, params: Mapping[str, Any], sources: Sources, *, by_slot: bool
) -> int | None:
    """Return the source index of a trial, or None if its source is none of the present ones."""
    slot = records.row_of(trial) if sources.name not in params else None
    if slot is not None:
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
) -> NDArray[np.bool_]:
    """Return which of the lost trials have another lost one of the same source close to them.

    Without locations, at the same row of the initial design.
    """
    result = np.zeros(len(X), dtype=bool)
    index = np.flatnonzero(is_lost)
    for i in index:
        others = index[(index != i) & (source[index] == source[i])]
        if X.shape[1]:
            distance = np.linalg.norm(X[others] - X[i], axis=1)
            result[i] = (distance <= _SAME_CAUSE * math.sqrt(X.shape[1])).any()
        else:
            result[i] = row[i] >= 0 and (row[others] == row[i]).any()
    return result
