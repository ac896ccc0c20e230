"""Whether a budget lasts for the initial design."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.costs import paid


if TYPE_CHECKING:
    from optuna_misowild.methods.base import Method
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.study.snapshot import StudyView


def rest_of_design(view: StudyView, method: Method, n_rows: int) -> tuple[int, float]:
    """Return how many trials of the initial design are left, and what they will cost at least.

    Sources that have not been asked yet count as free. What a method adds to the design's rows
    as it goes, where all values are the same, is not counted.
    """
    observations = view.design_observations
    left = [source for source, row in method.design(observations, n_rows) if row < n_rows]
    return len(left), math.fsum(_typical(observations, source) for source in left)


def what_is_left(n_left: int, rest: float) -> str:
    """Return in words what is left of the design, and what it will cost at least."""
    are = "is" if n_left == 1 else "are"
    if rest == 0.0:  # None of their sources has a cost yet.
        return f"{n_left} {are} left of it"
    return f"the {n_left} that {are} left of it {are} predicted to cost {rest:.4g} at least"


def ended_early(view: StudyView, method: Method, n_rows: int, budget: float) -> str | None:
    """Return what to say of a budget that was spent before the design was through, or None."""
    n_left, rest = rest_of_design(view, method, n_rows)
    if not n_left:
        return None
    n_paid = sum(math.isfinite(cost) for cost in paid(view.trials, view.cost_attr))
    running = "" if view.spent >= budget else ", with what is running the rest"
    return (
        f"The budget of {budget:g} was spent before the initial design was through: {n_paid} "
        f"{'trial has' if n_paid == 1 else 'trials have'} cost {view.spent:.4g}{running}, and "
        f"{what_is_left(n_left, rest)}. What has been found is no more than a point of that "
        f"design. A budget is in {unit_of(view)}."
    )


def unit_of(view: StudyView) -> str:
    """Return in words what the costs of a study are measured in."""
    if has_own_unit(view.trials, view.cost_attr):
        return f"the unit of {view.cost_attr!r}, which the objective sets"
    return f"seconds, since the objective does not set {view.cost_attr!r}"


def _typical(observations: Observations, source: int) -> float:
    costs = observations.cost[observations.costed(source)]
    return typical_cost(costs) if (costs > 0.0).any() else 0.0
