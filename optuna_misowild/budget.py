"""The total cost of a study, and stopping when it is spent."""

from __future__ import annotations

from datetime import datetime
import math
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_misowild import arguments
from optuna_misowild.cost import fit_log_cost
from optuna_misowild.cost import typical_cost
from optuna_misowild.records import costs
from optuna_misowild.study_view import Settings
from optuna_misowild.study_view import StudyView


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial


RUNNING = ("ignore", "elapsed", "predict")


def cumulated_cost(study: Study, *, cost_attr: str = "cost") -> float:
    """Return the total cost of a study so far.

    All finished trials count, whatever their state: failed and pruned ones have paid too. Trials
    of unknown cost count as 0.

    Args:
        study: The study.
        cost_attr: User attribute of a trial that holds its cost. Where no objective sets it, the
            cost is the wall-clock time in seconds.
    """
    known = costs(study.get_trials(deepcopy=False), cost_attr)
    return math.fsum(cost for cost in known if math.isfinite(cost))


class CostBudgetCallback:
    """Callback that stops a study once its total cost reaches a budget.

    Like ``optuna.study.MaxTrialsCallback``, it looks at all trials in the storage: those of other
    threads, of other processes and of earlier runs. Every worker needs the callback, and each
    finishes the trial that it is at. Optuna calls it after each trial; to run none at all when
    the budget is spent already, ask :meth:`is_spent` first.

    Example:

        .. code-block:: python

            study.optimize(objective, callbacks=[CostBudgetCallback(3600)])

    Args:
        budget: The total cost that may be spent, in the unit of the costs.
        cost_attr: User attribute of a trial that holds its cost; see :func:`cumulated_cost`.
        running: What trials that are still running count for: ``"ignore"``, nothing;
            ``"elapsed"``, the seconds since they began, if costs are seconds; ``"predict"``, what
            they will have cost when they finish, by a model of the costs so far.
        source: Name of the source parameter, for ``"predict"``.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense.
    """

    def __init__(
        self,
        budget: float,
        *,
        cost_attr: str = "cost",
        running: str = "ignore",
        source: str = "source",
    ) -> None:
        self._budget = arguments.number("budget", budget, positive=True)
        self._settings = Settings(source=source, cost_attr=cost_attr)
        if running not in RUNNING:
            raise ValueError(f"`running` must be one of {RUNNING}, but got {running!r}.")
        self._running = running

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if self.is_spent(study):
            study.stop()

    def is_spent(self, study: Study) -> bool:
        """Return whether the trials so far have cost the budget."""
        spent = cumulated_cost(study, cost_attr=self._settings.cost_attr)
        if spent < self._budget and self._running == "elapsed":
            spent += _elapsed(study, self._settings)
        elif spent < self._budget and self._running == "predict":
            spent += _predicted(study, self._settings)
        return spent >= self._budget


def _elapsed(study: Study, settings: Settings) -> float:
    """Return how long all running trials together have been running, in seconds."""
    now = datetime.now()
    view = StudyView(study, settings)
    return math.fsum(
        max((now - trial.datetime_start).total_seconds(), 0.0)
        for trial in view.trials
        if trial.state == TrialState.RUNNING
        and trial.datetime_start is not None
        and trial.number not in view.lost
    )


def _predicted(study: Study, settings: Settings) -> float:
    """Return what all running trials together will have cost, by prediction."""
    view = StudyView(study, settings)
    observations = view.observations
    total = 0.0
    for source in range(observations.n_sources):
        costed = observations.costed(source)
        running = observations.pending & (observations.source == source)
        if running.any():
            model = fit_log_cost(
                observations.X[costed],
                observations.cost[costed],
                default=typical_cost(observations.cost),
                categorical=view.domain.categorical,
            )
            total += float(np.sum(model.median(observations.X[running])))
    return total
