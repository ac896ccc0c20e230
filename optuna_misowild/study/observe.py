"""The trials of a study as observations: what the methods learn from.

All are read once (:func:`read`), and then seen in the search space, or without locations for the
initial design. A trial is one observation; a training that reports its values is one of each rung
that it has reached (:mod:`optuna_misowild.study.readings`). A trial that has finished says the
same each time, so it is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from functools import cached_property
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
from optuna_misowild.study.costs import cost_of
from optuna_misowild.study.memory import PerStudy
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


# What finished trials say, by their numbers, and how they were read.
_KNOWN = PerStudy()


@dataclass(frozen=True, eq=False)
class ReadTrial:
    """What a trial says, by itself.

    Attributes:
        trial: The trial.
        cost: What it has cost; NaN if unknown.
        is_imported: Whether this study has not paid for it.
        row: Row of the initial design that it holds, or None.
        readings: What it says of the sources; none if nothing is known of its query.
        design_sources: The source of each reading, but a trial that has not suggested a source
            counts for the one whose row of the initial design it has taken, rather than as a full
            evaluation.
        location: Its coordinates in the search space, or None if it has no place there.
        is_hidden: Whether it has parameters that are not in the space, and might be others.
        before: What of its cost an earlier trial has paid; 0 where it is unknown.
        constraints: Values of the user's constraints, by name.
    """

    trial: FrozenTrial
    cost: float
    is_imported: bool
    row: int | None
    readings: Sequence[Reading] = ()
    design_sources: Sequence[int] = ()
    location: Sequence[float] | None = None
    is_hidden: bool = False
    before: float = 0.0
    constraints: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Reader:
    """How the trials of a study are read.

    Attributes:
        sources: The sources of the study.
        space: The search space without the source parameter.
        cost_attr: The user attribute that holds the cost.
        has_own_unit: Whether costs are those that the objective sets, so that seconds are none.
    """

    sources: Sources
    space: Mapping[str, BaseDistribution]
    cost_attr: str
    has_own_unit: bool

    def read(self, trial: FrozenTrial) -> ReadTrial:
        """Return what a trial says."""
        sources = self.sources
        cost = cost_of(trial, self.cost_attr, has_own_unit=self.has_own_unit)
        slot = attributes.row_of(trial)
        read = ReadTrial(
            trial, cost, attributes.is_imported(trial), None if slot is None else slot[1]
        )
        if attributes.has_no_query(trial):
            return read
        params = attributes.params_of(trial, self._full_space)
        readings = self._readings(trial, params, cost)
        design_sources = [reading.source for reading in readings]
        if sources.name not in params and not sources.are_rungs:
            index = source_of(trial, params, sources, by_slot=True)
            design_sources = [-1 if index is None else index] * len(readings)
        before = beginning_of(trial)[1]
        constraints = (
            attributes.constraint_values(trial, sources.name) if trial.state.is_finished() else {}
        )
        return replace(
            read,
            readings=readings,
            design_sources=design_sources,
            location=_location(self._axes, params, trial.distributions),
            is_hidden=any(
                name not in self.space and name != sources.name and not distribution.single()
                for name, distribution in trial.distributions.items()
            ),
            before=0.0 if math.isnan(before) else before,
            constraints=constraints,
        )

    @cached_property
    def _full_space(self) -> dict[str, BaseDistribution]:
        """The search space with the source parameter."""
        if self.sources.distribution is None:
            return dict(self.space)
        return {**self.space, self.sources.name: self.sources.distribution}

    @cached_property
    def _axes(self) -> list[tuple[str, BaseDistribution, Callable[[Any], float]]]:
        return [(name, dist, coordinate(dist)) for name, dist in self.space.items()]

    def _readings(
        self, trial: FrozenTrial, params: Mapping[str, Any], cost: float
    ) -> list[Reading]:
        """Return what a trial says of the sources: one reading, or one of each rung."""
        sources = self.sources
        source = source_of(trial, params, sources, by_slot=False)
        # A pruned or crashed trial has paid for a part only: no sample of the cost surface.
        is_full = _is_full_evaluation(trial, self.cost_attr)
        if sources.steps and source is not None:
            is_full &= not sources.are_rungs
            is_timed = not self.has_own_unit
            return readings_of(trial, sources, source, cost, is_full=is_full, is_timed=is_timed)
        if not is_full:
            cost = math.nan
        failed = trial.state == TrialState.FAIL
        return [Reading(-1 if source is None else source, _value(trial), cost, failed=failed)]


@dataclass(frozen=True, eq=False)
class History:
    """The readings of all trials of a study, wherever they lie in the search space.

    An entry for each reading of each trial. Trials without one are excluded, and imported ones
    come first.

    Attributes:
        reads: What the trials say, n entries; each trial as often as it has readings.
        source: Their sources, shape (n,); −1 for one that is none of the present ones.
        design_source: The same by the rows of the initial design; see :class:`ReadTrial`.
        design_row: Row of the initial design that they hold, shape (n,); −1 for none.
        y: Values in the minimised sense, shape (n,), possibly infinite; NaN where there is none.
        cost: Samples of the cost surface, shape (n,); NaN where there is none.
        free: Whether they came at no cost, with what the trial was meant for, shape (n,).
        running: Whether they are running, and not there yet, shape (n,).
        stale: Whether their worker is gone, shape (n,). Such trials are ignored, unless two of
            them were close to each other: then they count as failed.
        failed: Whether they have failed, shape (n,), as those have whose worker was killed.
        constraints: Values of the user's constraints, shape (n, K); NaN where unknown.
        ignored_constraints: Names of further constraints, where there are more than ten.
        sources: The sources of the study.
        space: The search space without the source parameter.
        spent: Total cost of the study so far, including trials without a reading.
        initial_spent: Cost of the initial design.
        n_undecided: How many trials have begun before the one that asks, and not yet chosen.
    """

    reads: Sequence[ReadTrial]
    source: NDArray[np.int_]
    design_source: NDArray[np.int_]
    design_row: NDArray[np.int_]
    y: NDArray[np.float64]
    cost: NDArray[np.float64]
    free: NDArray[np.bool_]
    running: NDArray[np.bool_]
    stale: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    constraints: NDArray[np.float64]
    ignored_constraints: Sequence[str]
    sources: Sources
    space: Mapping[str, BaseDistribution]
    spent: float
    initial_spent: float
    n_undecided: int

    def in_space(self, budget: float | None) -> Observations:
        """Return the observations in the search space.

        Trials that lack one of its parameters, or have it outside its range, have no row in the
        result, but their costs count.

        Args:
            budget: The total cost that may be spent, or None.
        """
        nowhere = [math.nan] * len(self.space)
        locations = [read.location for read in self.reads]
        placed = np.array([location is not None for location in locations], dtype=bool)
        X = np.array(
            [nowhere if location is None else location for location in locations], dtype=float
        ).reshape(len(locations), len(self.space))
        categorical = domain_of(self.space).categorical
        return self._observations(X, self.source, placed, categorical, budget)

    def of_design(self, budget: float | None) -> Observations:
        """Return the observations for the initial design, without locations.

        What came at no cost is excluded: it is where longer trainings went, and does not cover
        the space as the rows of the design do.
        """
        X = np.empty((len(self.reads), 0))
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
        reads = [self.reads[i] for i in kept.tolist()]
        return Observations(
            X=X[keep],
            source=source[keep],
            y=y[keep],
            cost=self.cost[kept],
            pending=self.running[kept] & ~self.stale[kept],
            trial=np.array([read.trial.number for read in reads], dtype=int),
            design_row=design_row[keep],
            n_sources=len(self.sources),
            queryable=self.sources.queryable,
            spent=self.spent,
            budget=budget,
            initial_spent=self.initial_spent,
            n_undecided=self.n_undecided,
            n_imported=sum(read.is_imported for read in reads),
            # Of the stale ones only those are here that were close to each other.
            failed=self.failed[kept] | self.stale[kept],
            constraints=self.constraints[kept],
            free=self.free[kept],
            before=np.array([read.before for read in reads], dtype=float),
            hidden=np.array([read.is_hidden for read in reads], dtype=bool),
            lengths=self.sources.lengths,
            sizes=self.sources.sizes,
        )


def read(
    study: Study,
    trials: Sequence[FrozenTrial],
    reader: Reader,
    *,
    exclude: int | None = None,
    stale: Collection[int] = (),
) -> History:
    """Read the trials of a study.

    Args:
        study: The study, which gives the direction.
        trials: Its trials, or some of them.
        reader: How they are read.
        exclude: Number of the trial that asks, which is no observation.
        stale: Numbers of the trials whose worker is gone.
    """
    asking = math.inf if exclude is None else exclude
    others = [
        trial
        for trial in attributes.imported_first(trials)
        if trial.number != exclude and trial.state != TrialState.WAITING
    ]
    reads = _read_each(study, reader, others)
    paid = [one for one in reads if math.isfinite(one.cost) and not one.is_imported]
    entries = [
        (one, reading, source)
        for one in reads
        for reading, source in zip(one.readings, one.design_sources, strict=True)
    ]
    names, ignored = constraint_names([one.constraints for one, *_ in entries])
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    y = np.array([sign * reading.value for _, reading, _ in entries], dtype=float)
    no_value = np.isnan(y)
    running = [one.trial.state == TrialState.RUNNING for one, *_ in entries]
    rows = [
        one.row if one.row is not None and reading.is_query else -1 for one, reading, _ in entries
    ]
    return History(
        reads=[one for one, *_ in entries],
        source=np.array([reading.source for _, reading, _ in entries], dtype=int),
        design_source=np.array([source for *_, source in entries], dtype=int),
        design_row=np.array(rows, dtype=int),
        y=y,
        cost=np.array([reading.cost for _, reading, _ in entries], dtype=float),
        free=np.array([not reading.is_query for _, reading, _ in entries], dtype=bool),
        running=np.array(running, dtype=bool) & no_value,
        # What it had reported before counts all the same.
        stale=np.array([one.trial.number in stale for one, *_ in entries], dtype=bool) & no_value,
        failed=np.array([reading.failed for _, reading, _ in entries], dtype=bool),
        constraints=np.array(
            [[one.constraints.get(name, math.nan) for name in names] for one, *_ in entries],
            dtype=float,
        ).reshape(len(entries), len(names)),
        ignored_constraints=ignored,
        sources=reader.sources,
        space=reader.space,
        spent=sum((one.cost for one in paid), 0.0),
        initial_spent=sum((one.cost for one in paid if one.row is not None), 0.0),
        n_undecided=sum(
            attributes.is_undecided(trial) and trial.number < asking for trial in others
        ),
    )


def _read_each(study: Study, reader: Reader, trials: Sequence[FrozenTrial]) -> list[ReadTrial]:
    """Return what each trial says, from memory if it has finished, and was read so before."""
    kept = _KNOWN.of(study)
    latest: tuple[Reader, dict[int, ReadTrial]] | None = kept.get("latest")
    if latest is None or latest[0] != reader:
        latest = kept["latest"] = reader, {}
    reader, known = latest
    reads = []
    for trial in trials:
        one = known.get(trial.number)
        if one is None or one.trial is not trial:
            one = reader.read(trial)
            if trial.state.is_finished():
                known[trial.number] = one
        reads.append(one)
    return reads


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
