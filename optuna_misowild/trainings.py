"""Trainings between Optuna's trials and a method: those that run, and those that were stopped."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.methods.base import Judge
from optuna_misowild.methods.base import Training
from optuna_misowild.methods.base import Verdict
from optuna_misowild.study.attributes import row_of
from optuna_misowild.study.continued import beginning_of
from optuna_misowild.study.continued import stopped_trainings
from optuna_misowild.study.continued import write_continued
from optuna_misowild.study.readings import ended_on
from optuna_misowild.study.steps import visited_cost


if TYPE_CHECKING:
    from collections.abc import Collection

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.methods.base import Method
    from optuna_misowild.methods.base import Proposal
    from optuna_misowild.study.snapshot import StudyView


def running_training(
    view: StudyView, trial: FrozenTrial, source: int, paid: float, other: float
) -> Training:
    """Return a trial that has reached a source as its method sees it.

    Args:
        view: What is known of the study.
        trial: The trial.
        source: The source.
        paid: What it has cost.
        other: The acquisition of the best other query, NaN if unknown.
    """
    seen, steps = view.observations, view.sources.steps
    rows = np.flatnonzero((seen.trial == trial.number) & ~seen.free)
    meant = int(seen.source[rows[0]]) if len(rows) else 0
    further = [s for s in view.sources.queryable if steps[s] > steps[meant]]
    return Training(
        trial=trial.number,
        x=seen.X[rows[0]] if len(rows) else np.full(view.domain.d, math.nan),
        reached=source,
        meant=meant,
        further=tuple(further) if view.sources.are_rungs else (),
        paid=paid,
        other=other,
        before=beginning_of(trial)[1],
    )


def judged(method: Method, model: Any, view: StudyView, training: Training) -> Verdict:
    """Return whether a training goes on, by the models of a suggestion.

    Where there are none, or the method does not decide it, it stops at the rung that it is meant
    for; so it does where it has no place in the search space.
    """
    steps = view.sources.steps
    if model is None or not isinstance(method, Judge) or np.isnan(training.x).any():
        is_there = steps[training.reached] >= steps[training.meant]
        return Verdict(None if is_there else training.meant)
    return method.judge(model, view.observations, view.domain, training)


def resumed(
    method: Method,
    view: StudyView,
    proposal: Proposal,
    allowed: tuple[int, ...],
    names: Collection[str],
) -> tuple[Proposal, FrozenTrial | None]:
    """Return a proposal and the trial that it goes on from: None, if it begins anew.

    A training that was stopped where the proposal is goes on, such as one that is verified. Else
    of all that were stopped the one that promises most for the rest of its cost, if that is more
    than the proposal does.

    Args:
        method: The method.
        view: What is known of the study.
        proposal: What the method suggests.
        allowed: The sources that may be queried.
        names: The parameters that a training must have.
    """
    steps = view.sources.steps
    seen = view.observations
    rows = {int(n): i for i, n in enumerate(seen.trial) if seen.has_value[i]}
    earlier, trainings = [], []
    for trial in stopped_trainings(view.trials):
        row = rows.get(trial.number)
        if row is None or not all(name in trial.params for name in names):
            continue
        reached = ended_on(trial, view.sources, is_complete=False)
        earlier.append(trial)
        trainings.append(
            Training(
                trial=trial.number,
                x=seen.X[row],
                reached=reached,
                meant=reached,
                further=tuple(s for s in allowed if steps[s] > steps[reached]),
                paid=_paid(view, trial),
                other=proposal.value,
            )
        )
    same = [
        i
        for i, training in enumerate(trainings)
        if proposal.source in training.further and np.array_equal(training.x, proposal.x)
    ]
    if same:
        return proposal, max((earlier[i] for i in same), key=lambda t: _stopped_at(view, t))
    is_chosen = proposal.model is not None and math.isfinite(proposal.value)
    if not isinstance(method, Judge) or not is_chosen:
        return proposal, None
    verdicts = method.resume(proposal.model, trainings)
    better = [
        (verdict.index, i, verdict.goes_on_to)
        for i, verdict in enumerate(verdicts)
        if verdict.goes_on_to is not None
    ]
    if not better:
        return proposal, None
    index, i, source = max(better, key=lambda one: one[0])
    return replace(proposal, source=source, x=trainings[i].x, value=index), earlier[i]


def resumed_row(view: StudyView, source: int, row: int) -> FrozenTrial | None:
    """Return the training that was stopped at a row of the initial design, before a source."""
    here = [
        trial
        for trial in stopped_trainings(view.trials)
        if (slot := row_of(trial)) is not None
        and slot[1] == row
        and _stopped_at(view, trial) < view.sources.steps[source]
    ]
    return max(here, key=lambda trial: _stopped_at(view, trial), default=None)


def write_beginning(
    study: Study, trial: FrozenTrial, view: StudyView, earlier: FrozenTrial
) -> None:
    """Record that a trial goes on from an earlier one."""
    step = _stopped_at(view, earlier)
    write_continued(study, trial, earlier.number, step, _paid(view, earlier))


def _stopped_at(view: StudyView, trial: FrozenTrial) -> int:
    """Return the step of the rung at which a training was stopped."""
    return view.sources.steps[ended_on(trial, view.sources, is_complete=False)]


def _paid(view: StudyView, trial: FrozenTrial) -> float:
    """Return what a training has cost until it stopped, with what it has gone on from."""
    step = _stopped_at(view, trial)
    cost = visited_cost(trial, step, is_timed=not view.has_own_unit)
    return beginning_of(trial)[1] + cost
