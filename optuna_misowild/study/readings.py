"""What a training that reports its values says of each rung.

A training that was meant for one rung is an observation of all rungs that it has passed, whatever
became of it. Each trial has a list of readings, one for each rung; where there are no rungs, it is
one reading.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

from optuna.trial import TrialState

from optuna_misowild.study.continued import beginning_of
from optuna_misowild.study.steps import has_diverged
from optuna_misowild.study.steps import meant_for
from optuna_misowild.study.steps import offset_of
from optuna_misowild.study.steps import visited_cost
from optuna_misowild.study.steps import was_stopped_where_meant
from optuna_misowild.study.steps import was_to_stop


if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from optuna_misowild.study.source_parameter import Sources


@dataclass(frozen=True)
class Reading:
    """What a trial says of a source.

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


def has_failed(trial: FrozenTrial, state: TrialState) -> bool:
    """Whether a trial that ends in a state has failed, or was pruned as it had diverged."""
    return bool(state == TrialState.FAIL or (state == TrialState.PRUNED and has_diverged(trial)))


def reached(trial: FrozenTrial, sources: Sources) -> dict[int, tuple[int, float]]:
    """Return the step and the value at which a trial has reached each of the sources.

    That is the first report, from its step on and before that of the next, that is not NaN.
    """
    if not sources.steps or not trial.intermediate_values:
        return {}
    reports = trial.intermediate_values
    ascending = sorted(range(len(sources)), key=lambda s: sources.steps[s])
    ends = [sources.steps[s] for s in ascending[1:]] + [math.inf]
    before, _ = beginning_of(trial)
    found = {}
    for s, end in zip(ascending, ends, strict=True):
        begin = sources.steps[s]
        if begin <= before:  # A reading of the trial that it goes on from.
            continue
        step: int | None = begin
        if math.isnan(reports.get(begin, math.nan)):  # Mostly it is there: no need to search.
            later = (t for t, v in reports.items() if begin < t < end and not math.isnan(v))
            step = min(later, default=None)
        if step is not None:
            found[s] = step, reports[step]
    return found


def has_reached_any(trial: FrozenTrial, sources: Sources) -> bool:
    """Whether a trial has reached any of the sources by its reports."""
    before, _ = beginning_of(trial)
    first = min((step for step in sources.steps if step > before), default=math.inf)
    reports = trial.intermediate_values
    return any(step >= first and not math.isnan(value) for step, value in reports.items())


def ended_on(trial: FrozenTrial, sources: Sources, *, is_complete: bool) -> int:
    """Return the rung of a trial that ends: the last one it has reached, else the one meant.

    What a completed trial returns is the value of the last rung; unless it was to stop, and has
    returned the value in place of raising ``TrialPruned``.
    """
    furthest = min(reached(trial, sources), default=meant_for(trial, sources))
    return _ended_on(trial, sources, furthest, is_complete=is_complete)


def _ended_on(trial: FrozenTrial, sources: Sources, furthest: int, *, is_complete: bool) -> int:
    return 0 if is_complete and not was_to_stop(trial) else furthest


def readings_of(
    trial: FrozenTrial,
    sources: Sources,
    meant: int,
    cost: float,
    *,
    is_full: bool,
    is_timed: bool,
) -> list[Reading]:
    """Return what a trial says of each rung that it has reached, and of that it was meant for.

    A completed trial is an observation of the source that it was meant for, or of the last rung;
    what it has returned is the value. While a trial runs, it has not got to the last rung.

    Args:
        trial: A trial.
        sources: The sources, with their steps.
        meant: The source that it is meant for.
        cost: What it has cost, NaN if unknown.
        is_full: Whether that is what it costs to get to the source, though there is no value.
        is_timed: Whether the costs of the study are seconds.

    Returns:
        The readings in increasing order of the steps, that of the query last.
    """
    is_complete = trial.state == TrialState.COMPLETE
    before, paid_before = beginning_of(trial)
    values = reached(trial, sources)
    if sources.distribution is not None:
        query = meant
        limit = sources.steps[query]
        values = {s: found for s, found in values.items() if sources.steps[s] <= limit}
        if trial.state == TrialState.RUNNING:
            values.pop(query, None)
    elif is_complete:
        query = _ended_on(trial, sources, min(values, default=meant), is_complete=True)
    else:
        if trial.state == TrialState.RUNNING:
            values.pop(0, None)
        query = min([meant, *values])
        if was_stopped_where_meant(trial):
            query = min(values, default=meant)

    def cost_at(source: int) -> float:
        visited = visited_cost(trial, sources.steps[source], is_timed=is_timed)
        if not math.isnan(visited):
            return paid_before + visited
        step, _ = values[source]  # In proportion to the step.
        reports = trial.intermediate_values
        end = max(reports) + offset_of(reports)
        if is_complete:  # It need not have reported the end.
            end = max(end, sources.steps[query])
        begin = max(before, 0)
        return paid_before + cost * (step + offset_of(reports) - begin) / (end - begin)

    _, value = values.get(query, (0, math.nan))
    if is_complete and trial.value is not None:
        last = Reading(query, trial.value, paid_before + cost)
    elif not math.isnan(value):
        last = Reading(query, value, cost_at(query))
    else:
        failed = has_failed(trial, trial.state)
        last = Reading(query, math.nan, cost if is_full else math.nan, failed=failed)
    limit = sources.steps[query]
    passed = sorted((sources.steps[s], s) for s in values if sources.steps[s] < limit)
    return [
        *(Reading(s, values[s][1], cost_at(s), is_query=False) for _, s in passed),
        last,
    ]
