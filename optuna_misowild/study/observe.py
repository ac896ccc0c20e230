"""The trials of a study as observations: what the methods learn from.

Each trial is read once (:func:`read`), and then seen over the search space, or without
locations for the initial design. It is one observation; a training that reports its values is one
of each rung that it has reached (:mod:`optuna_misowild.study.readings`).
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_misowild.methods.base import Observations
from optuna_misowild.optim.domain import distances
from optuna_misowild.study import attributes
from optuna_misowild.study.constraints import constraint_names
from optuna_misowild.study.continued import beginning_of
from optuna_misowild.study.costs import costs_of
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.readings import Reading
from optuna_misowild.study.readings import readings_of
from optuna_misowild.study.space import coordinate
from optuna_misowild.study.space import domain_of
from optuna_misowild.study.space import is_within
from optuna_misowild.study.steps import meant_for


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Mapping
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.study.source_parameter import Sources


# Squares of values are computed: values beyond ± this count as ± this.
_LARGEST_VALUE = 1e100
# Two trials that lost their worker this close to each other, in units of √d, may have killed it.
_SAME_CAUSE = 0.05


@dataclass(frozen=True)
class History:
    """The readings of all trials of a study, wherever they lie in the search space.

    An entry for each reading of each trial. Trials without one are excluded, and imported ones
    come first.

    Attributes:
        trials: The trials, n of them; as often as they have readings.
        params: Their parameters, including those that a running one will suggest.
        number: Their numbers, shape (n,).
        source: Their sources, shape (n,); −1 for one that is none of the present ones.
        design_source: The same, but a trial that has not suggested a source counts for the one
            whose row of the initial design it has taken, rather than as a full evaluation.
        design_row: Row of the initial design that they hold, shape (n,); −1 for none.
        y: Values in the minimised sense, shape (n,), possibly infinite; NaN where there is none.
        cost: Samples of the cost surface, shape (n,); NaN where there is none.
        free: Whether they came at no cost, with what the trial was meant for, shape (n,).
        before: What of their cost an earlier trial has paid, shape (n,); 0 where it is unknown.
        running: Whether they are running, and not there yet, shape (n,).
        imported: Whether they are imported, shape (n,).
        stale: Whether their worker is gone, shape (n,). Such trials are ignored, unless two of
            them were close to each other: then they count as failed.
        failed: Whether they have failed, shape (n,), as those have whose worker was killed.
        constraints: Values of the user's constraints, shape (n, K); NaN where unknown.
        ignored_constraints: Names of further constraints, where there are more than ten.
        sources: The sources of the study.
        spent: Total cost of the study so far, including trials without a reading.
        initial_spent: Cost of the initial design.
        n_undecided: How many trials have begun before the one that asks, and not yet chosen.
    """

    trials: Sequence[FrozenTrial]
    params: Sequence[Mapping[str, Any]]
    number: NDArray[np.int_]
    source: NDArray[np.int_]
    design_source: NDArray[np.int_]
    design_row: NDArray[np.int_]
    y: NDArray[np.float64]
    cost: NDArray[np.float64]
    free: NDArray[np.bool_]
    before: NDArray[np.float64]
    running: NDArray[np.bool_]
    imported: NDArray[np.bool_]
    stale: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    constraints: NDArray[np.float64]
    ignored_constraints: Sequence[str]
    sources: Sources
    spent: float
    initial_spent: float
    n_undecided: int

    def over(self, space: Mapping[str, BaseDistribution], budget: float | None) -> Observations:
        """Return the observations over a search space.

        Args:
            space: The search space without the source parameter. Trials that lack one of its
                parameters, or have it outside its range, have no row in the result, but their
                costs count.
            budget: The total cost that may be spent, or None.
        """
        axes = [(name, dist, coordinate(dist)) for name, dist in space.items()]
        each = {t.number: (t, p) for t, p in zip(self.trials, self.params, strict=True)}
        known = {n: _location(axes, p, t.distributions) for n, (t, p) in each.items()}
        locations = [known[trial.number] for trial in self.trials]
        placed = np.array([location is not None for location in locations], dtype=bool)
        X = np.array(
            [[math.nan] * len(axes) if location is None else location for location in locations],
            dtype=float,
        ).reshape(len(locations), len(axes))
        categorical = domain_of(space).categorical
        observations = self._observations(X, self.source, placed, categorical, budget)
        hidden = {n for n, (trial, _) in each.items() if self._has_hidden(trial, space)}
        return replace(
            observations, hidden=np.array([n in hidden for n in observations.trial], dtype=bool)
        )

    def _has_hidden(self, trial: FrozenTrial, space: Mapping[str, BaseDistribution]) -> bool:
        """Whether a trial has parameters that are not in the space, and might be others."""
        return any(
            name not in space and name != self.sources.name and not distribution.single()
            for name, distribution in trial.distributions.items()
        )

    def of_design(self, budget: float | None) -> Observations:
        """Return the observations for the initial design, without locations.

        What came at no cost is excluded: it is where longer trainings went, and does not cover
        the space as the rows of the design do.
        """
        X = np.empty((len(self.trials), 0))
        no_axis = np.empty(0, dtype=bool)
        return self._observations(X, self.design_source, ~self.free, no_axis, budget)

    def _observations(
        self,
        X: NDArray[np.float64],
        source: NDArray[np.int_],
        placed: NDArray[np.bool_],
        categorical: NDArray[np.bool_],
        budget: float | None,
    ) -> Observations:
        kept = np.flatnonzero(placed & (source >= 0))
        X, source, design_row = X[kept], source[kept], self.design_row[kept]
        stale = self.stale[kept]
        y = np.clip(_clip_infinite(self.y[kept], source), -_LARGEST_VALUE, _LARGEST_VALUE)
        keep = ~stale | _is_repeated(X, source, design_row, stale, categorical)
        kept = kept[keep]
        return Observations(
            X=X[keep],
            source=source[keep],
            y=y[keep],
            cost=self.cost[kept],
            pending=self.running[kept] & ~self.stale[kept],
            trial=self.number[kept],
            design_row=design_row[keep],
            n_sources=len(self.sources),
            queryable=self.sources.queryable,
            spent=self.spent,
            budget=budget,
            initial_spent=self.initial_spent,
            n_undecided=self.n_undecided,
            n_imported=int(self.imported[kept].sum()),
            # Of the stale ones only those are here that were close to each other.
            failed=self.failed[kept] | self.stale[kept],
            constraints=self.constraints[kept],
            free=self.free[kept],
            before=self.before[kept],
            lengths=self.sources.lengths,
            sizes=self.sources.sizes,
        )


def read(
    study: Study,
    trials: Sequence[FrozenTrial],
    *,
    sources: Sources,
    space: Mapping[str, BaseDistribution],
    cost_attr: str,
    exclude: int | None = None,
    stale: Collection[int] = (),
) -> History:
    """Read the trials of a study.

    Args:
        study: The study, which gives the direction.
        trials: Its trials.
        sources: Its sources.
        space: The search space without the source parameter, by which the parameters of running
            trials are read.
        cost_attr: The user attribute that holds the cost.
        exclude: Number of the trial that asks, which is no observation.
        stale: Numbers of the trials whose worker is gone.
    """
    full_space: dict[str, BaseDistribution] = dict(space)
    if sources.distribution is not None:
        full_space[sources.name] = sources.distribution
    trials = attributes.imported_first(trials)
    direction = study.direction
    kept: list[tuple[FrozenTrial, dict[str, Any], int, Reading]] = []
    is_timed = not has_own_unit(trials, cost_attr)
    spent, initial_spent, n_undecided = 0.0, 0.0, 0
    for trial, cost in zip(trials, costs_of(trials, cost_attr), strict=True):
        if trial.number == exclude or trial.state == TrialState.WAITING:
            continue
        slot = attributes.row_of(trial)
        if math.isfinite(cost) and not attributes.is_imported(trial):
            spent += cost
            initial_spent += cost if slot is not None else 0.0
        n_undecided += attributes.is_undecided(trial) and (
            exclude is None or trial.number < exclude
        )
        if not attributes.has_no_query(trial):
            params = attributes.params_of(trial, full_space)
            for reading in _readings(trial, params, sources, cost, cost_attr, is_timed):
                row = slot[1] if slot is not None and reading.is_query else -1
                kept.append((trial, params, row, reading))

    def by_slot(trial: FrozenTrial, params: dict[str, Any], reading: Reading) -> int:
        if sources.name in params or sources.are_rungs:
            return reading.source
        index = source_of(trial, params, sources, by_slot=True)
        return -1 if index is None else index

    number = [trial.number for trial, *_ in kept]
    # Once for each trial, however many readings it has. A running one may have more to say.
    once = {t.number: t for t, *_ in kept}
    constraints_of: dict[int, dict[str, float]] = {
        n: attributes.constraint_values(t, sources.name) if t.state.is_finished() else {}
        for n, t in once.items()
    }
    constraints = [constraints_of[n] for n in number]
    imported = {n for n, t in once.items() if attributes.is_imported(t)}
    names, ignored = constraint_names(constraints)
    sign = -1.0 if direction == StudyDirection.MAXIMIZE else 1.0
    y = np.array([sign * reading.value for *_, reading in kept], dtype=float)
    free = np.array([not reading.is_query for *_, reading in kept], dtype=bool)
    before = np.array([beginning_of(trial)[1] for trial, *_ in kept], dtype=float)
    running = np.array([t.state == TrialState.RUNNING for t, *_ in kept], dtype=bool)
    return History(
        trials=[trial for trial, *_ in kept],
        params=[params for _, params, *_ in kept],
        number=np.array(number, dtype=int),
        source=np.array([reading.source for *_, reading in kept], dtype=int),
        design_source=np.array([by_slot(t, params, r) for t, params, _, r in kept], dtype=int),
        design_row=np.array([row for _, _, row, _ in kept], dtype=int),
        y=y,
        cost=np.array([reading.cost for *_, reading in kept], dtype=float),
        free=free,
        before=np.nan_to_num(before),
        running=running & np.isnan(y),
        imported=np.array([n in imported for n in number], dtype=bool),
        # What it had reported before counts all the same.
        stale=np.array([n in stale for n in number], dtype=bool) & np.isnan(y),
        failed=np.array([reading.failed for *_, reading in kept], dtype=bool),
        constraints=np.array(
            [[g.get(name, math.nan) for name in names] for g in constraints], dtype=float
        ).reshape(len(kept), len(names)),
        ignored_constraints=ignored,
        sources=sources,
        spent=spent,
        initial_spent=initial_spent,
        n_undecided=n_undecided,
    )


def _readings(
    trial: FrozenTrial,
    params: Mapping[str, Any],
    sources: Sources,
    cost: float,
    cost_attr: str,
    is_timed: bool,
) -> list[Reading]:
    """Return what a trial says of the sources: one reading, or one of each rung."""
    source = source_of(trial, params, sources, by_slot=False)
    # A pruned or crashed trial has paid for a part only: no sample of the cost surface.
    is_full = _is_full_evaluation(trial, cost_attr)
    if sources.steps and source is not None:
        is_full &= not sources.are_rungs
        return readings_of(trial, sources, source, cost, is_full=is_full, is_timed=is_timed)
    if not is_full:
        cost = math.nan
    failed = trial.state == TrialState.FAIL
    return [Reading(-1 if source is None else source, _value(trial), cost, failed=failed)]


def source_of(
    trial: FrozenTrial, params: Mapping[str, Any], sources: Sources, *, by_slot: bool
) -> int | None:
    """Return the source index of a trial, or None if its source is none of the present ones."""
    if sources.are_rungs:
        return meant_for(trial, sources)
    slot = attributes.row_of(trial) if sources.name not in params else None
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


def _value(trial: FrozenTrial) -> float:
    is_complete = trial.state == TrialState.COMPLETE
    return trial.value if is_complete and trial.value is not None else math.nan


def _is_full_evaluation(trial: FrozenTrial, cost_attr: str) -> bool:
    if trial.state == TrialState.FAIL:
        return cost_attr in trial.user_attrs and not attributes.is_timed(trial)
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


def _is_repeated(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    design_row: NDArray[np.int_],
    is_stale: NDArray[np.bool_],
    categorical: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which of the stale trials have another stale one of the same source close to them.

    Without locations, at the same row of the initial design.
    """
    result = np.zeros(len(X), dtype=bool)
    index = np.flatnonzero(is_stale)
    for i in index:
        others = index[(index != i) & (source[index] == source[i])]
        if X.shape[1]:
            distance = distances(X[others], X[[i]], categorical)
            result[i] = (distance <= _SAME_CAUSE * math.sqrt(X.shape[1])).any()
        else:
            result[i] = design_row[i] >= 0 and (design_row[others] == design_row[i]).any()
    return result
