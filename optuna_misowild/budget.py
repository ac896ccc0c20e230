"""The total cost of a study, and stopping when it is spent, or when no query is worth its cost."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from datetime import datetime
import math
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.base_sampler import require_study
from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.methods import arguments
from optuna_misowild.methods.robust.fit import fit_costs
from optuna_misowild.methods.robust.fit import pending_cost
from optuna_misowild.methods.robust.gain import best_net_gain
from optuna_misowild.study.attributes import all_trials
from optuna_misowild.study.attributes import is_imported
from optuna_misowild.study.attributes import logger
from optuna_misowild.study.clock import age
from optuna_misowild.study.costs import malformed_cost
from optuna_misowild.study.costs import paid
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.snapshot import StudyView
from optuna_misowild.study.warnings import OncePerStudy
from optuna_misowild.study.warnings import rest_of_design
from optuna_misowild.study.warnings import unit_of
from optuna_misowild.study.warnings import what_remains
from optuna_misowild.study_sampler import cost_attr_of
from optuna_misowild.study_sampler import own_sampler_of
from optuna_misowild.study_sampler import sampler_of


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler


RUNNING = ("ignore", "elapsed", "predict")
# So many finished trials without a usable cost are no accident.
_MIN_FREE = 3
# What an improvement is worth by default: a hundredth of the spread of the values is worth one
# evaluation of the preferred source.
_PART = 0.01
# While the preferred source has fewer values, too little is known.
_LEAST = 6


def cumulated_cost(study: Study, *, cost_attr: str | None = None) -> float:
    """Return the total cost of a study so far.

    All finished trials count, whatever their state: failed and pruned ones have paid too. Trials
    of unknown cost count as 0, and so do those that :func:`import_trials` has added.

    Example:

        .. code-block:: python

            print(f"{cumulated_cost(study):.0f} of 3600 s are spent.")

    Args:
        study: The study.
        cost_attr: User attribute of a trial that holds its cost; by default that of the study's
            sampler, or which the trials record, else ``"cost"``. Where no objective sets it, the
            cost is the wall-clock time in seconds.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If ``cost_attr`` is empty.
    """
    require_study(study)
    if cost_attr is None:
        cost_attr = cost_attr_of(study)
    else:
        cost_attr = arguments.text("cost_attr", cost_attr)
    known = paid(all_trials(study), cost_attr)
    return math.fsum(cost for cost in known if math.isfinite(cost))


class CostBudgetCallback:
    """Callback that stops a study once its total cost reaches a budget.

    Like ``optuna.study.MaxTrialsCallback``, it looks at all trials in the storage: those of other
    threads, of other processes and of earlier runs. Every worker needs the callback, and each
    finishes the trial that it is at: what that will have cost is predicted and counts, unless its
    worker is gone. Optuna calls it after each trial; to run none at all when the budget is spent
    already, check :meth:`is_spent` first.

    Example:

        .. code-block:: python

            callback = CostBudgetCallback(3600)
            if not callback.is_spent(study):  # As it may be when a study is resumed.
                study.optimize(objective, callbacks=[callback])

    Args:
        budget: The total cost that may be spent, in the unit of the costs.
        cost_attr: User attribute of a trial that holds its cost; see :func:`cumulated_cost`.
        running: What trials that are still running count for: ``"predict"``, what they will have
            cost when they finish, by a model of the costs so far; ``"elapsed"``, the seconds
            since they began, if costs are seconds; ``"ignore"``, nothing, so that the study may
            exceed the budget by what all workers are at.
        source: Name of the source parameter, for ``"predict"``; by default that of the study's
            sampler, or by which the trials agree with the sources that they record.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense.
    """

    def __init__(
        self,
        budget: float,
        *,
        cost_attr: str | None = None,
        running: str = "predict",
        source: str | None = None,
    ) -> None:
        self._budget = arguments.number("budget", budget, positive=True)
        self._source = None if source is None else arguments.text("source", source)
        self._cost_attr = None if cost_attr is None else arguments.text("cost_attr", cost_attr)
        if running not in RUNNING:
            raise ValueError(f"`running` must be one of {RUNNING}, but got {running!r}.")
        self._running = running
        self._once = OncePerStudy()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        self._warn_other_budget(study)
        self._warn_other_cost_attr(study)
        self._warn_no_cost(study)
        if self.is_spent(study):
            self._warn_early_end(study)
            study.stop()

    def is_spent(self, study: Study) -> bool:
        """Return whether the trials so far have cost the budget.

        Raises:
            TypeError: If it is no study.
        """
        spent = cumulated_cost(study, cost_attr=self._cost_attr)
        if spent < self._budget and self._running != "ignore":
            view = StudyView(study, self._settings(study))
            if self._running == "elapsed":
                spent += _elapsed(view)
            else:
                spent += _predicted(view)
        return spent >= self._budget

    def _settings(self, study: Study) -> Settings:
        """Return how the study is read: by the arguments, else as its sampler reads it."""
        settings = sampler_of(study).settings
        if self._source is not None and self._source != settings.source:
            settings = Settings(source=self._source, cost_attr=settings.cost_attr)
        return replace(settings, cost_attr=self._cost_attr or settings.cost_attr)

    # What is said to the user.

    def _warn_other_budget(self, study: Study) -> None:
        sampler = own_sampler_of(study)
        if sampler is None or sampler.budget is None or math.isclose(sampler.budget, self._budget):
            return
        if self._once.first(study, "other budget"):
            logger.warning(
                f"The sampler plans with `budget={sampler.budget:g}`, but `CostBudgetCallback` "
                f"stops the study at {self._budget:g}. Give both the same budget."
            )

    def _warn_early_end(self, study: Study) -> None:
        """Warn if all was spent on the initial design: often the budget is in another unit."""
        sampler = own_sampler_of(study)
        if sampler is None or self._once.is_said(study, "early end"):
            return
        view = StudyView(study, self._settings(study))
        n_rest, rest = rest_of_design(view, sampler.method)
        if not n_rest or not self._once.first(study, "early end"):
            return
        n_paid = sum(math.isfinite(cost) for cost in paid(view.trials, view.cost_attr))
        running = "" if view.spent >= self._budget else ", with what is running the rest"
        logger.warning(
            f"The budget of {self._budget:g} was spent before the initial design was through: "
            f"{n_paid} {'trial has' if n_paid == 1 else 'trials have'} cost {view.spent:.4g}"
            f"{running}, and {what_remains(n_rest, rest)}. What has been found is no more than a "
            f"point of that design. A budget is in {unit_of(view)}."
        )

    def _warn_other_cost_attr(self, study: Study) -> None:
        """Warn if no trial has the attribute that is to hold the costs, but another does."""
        recorded = cost_attr_of(study)
        if self._cost_attr in (None, recorded) or self._once.is_said(study, "other cost"):
            return
        finished = [t for t in all_trials(study) if t.state.is_finished()]
        having = [trial for trial in finished if recorded in trial.user_attrs]
        if not having or any(self._cost_attr in trial.user_attrs for trial in finished):
            return
        if self._once.first(study, "other cost"):
            logger.warning(
                f"`CostBudgetCallback(cost_attr={self._cost_attr!r})`: no trial has a user "
                f"attribute {self._cost_attr!r}, so that the seconds of the clock count towards "
                f"the budget of {self._budget:g}. Trial {having[-1].number} has {recorded!r} = "
                f"{having[-1].user_attrs[recorded]!r}: if that is its cost, pass "
                f"`cost_attr={recorded!r}` or omit it."
            )

    def _warn_no_cost(self, study: Study) -> None:
        """Warn if nothing counts as spent, since all costs are 0 or malformed.

        The seconds are known, but are not the unit that the budget is in.
        """
        if self._once.is_said(study, "no cost"):
            return
        cost_attr = self._cost_attr or cost_attr_of(study)
        ours = [trial for trial in all_trials(study) if not is_imported(trial)]
        finished = [trial for trial in ours if trial.state.is_finished()]
        malformed = [t for t in finished if malformed_cost(t, cost_attr) is not None]
        usable = [t for t in finished if malformed_cost(t, cost_attr) is None]
        if len(finished) < _MIN_FREE or any(t.user_attrs.get(cost_attr) != 0 for t in usable):
            return
        if not self._once.first(study, "no cost"):
            return
        said = (
            f"The budget of {self._budget:g} cannot be kept: none of the {len(finished)} finished "
            "trials has a usable cost above 0, so that nothing counts as spent. In trial "
        )
        if malformed:
            said += (
                f"{malformed[0].number} the user attribute {cost_attr!r} is "
                f"{malformed[0].user_attrs[cost_attr]!r}; it must be a finite number, 0 or more."
            )
        else:
            said += (
                f"{finished[0].number} the user attribute {cost_attr!r} is 0. Let the objective "
                "set it to what the trial has cost, or not at all: then it is the seconds. Until "
                "then only `n_trials` or `timeout` stop `study.optimize`."
            )
        logger.warning(said)


class StopWhenNotWorthIt:
    """Callback that stops a study once no query is expected to be worth its cost.

    You say what an improvement is worth: `StopWhenNotWorthIt(0.001, cost=600)` pays 600, in the
    unit of the costs, for an improvement of the objective by 0.001, and in proportion. A query of
    the preferred source is worth its expected improvement, and one of another source what it saves
    by showing where such a query pays; see
    :func:`~optuna_misowild.methods.robust.gain.net_gain`. The study stops when none has been worth
    its cost after several trials in a row. That is an expectation of the models: a study that goes
    on may still find something better.

    It never stops during the initial design, nor before the preferred source has six values. All
    that it knows is read from the trials, whoever ran them: a study that is resumed goes on where
    it was, and one callback may serve several studies.

    Example:

        .. code-block:: python

            study.optimize(objective, callbacks=[StopWhenNotWorthIt(), CostBudgetCallback(3600)])

    Args:
        improvement: An improvement of the objective, above 0. By default a hundredth of the
            interquartile range of the values of the preferred source.
        cost: What it is worth, in the unit of the costs. By default the median cost of the
            preferred source.
        patience: After how many finished trials in a row no query has to be worth its cost.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense.
    """

    def __init__(
        self,
        improvement: float | None = None,
        *,
        cost: float | None = None,
        patience: int = 3,
    ) -> None:
        self._improvement = (
            None
            if improvement is None
            else arguments.number("improvement", improvement, positive=True)
        )
        self._cost = None if cost is None else arguments.number("cost", cost, positive=True)
        self._patience = arguments.integer("patience", patience, least=1)

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if trial.state == TrialState.FAIL:
            return
        sampler = sampler_of(study)
        view = sampler.view(study)
        offer = self._best_offer(sampler, view)
        known = _known_after_latest(view.trials, self._patience)
        if offer.gain > 0.0 or len(known) < self._patience:
            return
        for trials in known[1:]:
            if self._best_offer(sampler, sampler.view(study, trials)).gain > 0.0:
                return
        saved = ""
        if sampler.budget is not None and sampler.budget > view.spent:
            share = 1.0 - view.spent / sampler.budget
            saved = f" {share:.0%} of the budget of {sampler.budget:g} is saved."
        logger.info(
            f"The study stops after {len(view.trials)} trials, which have cost {view.spent:.4g}: "
            f"no query is expected to be worth its cost, if an improvement of "
            f"{offer.improvement:.3g} is worth {offer.cost:.4g}.{saved}"
        )
        study.stop()

    def is_worth_it(self, study: Study) -> bool:
        """Return whether some query is expected to be worth its cost.

        So it is while too little is known to decide.

        Raises:
            TypeError: If it is no study.
            ValueError: If the study has several objectives.
        """
        sampler = sampler_of(study)
        return self._best_offer(sampler, sampler.view(study)).gain > 0.0

    def _best_offer(self, sampler: MethodSampler, view: StudyView) -> _Offer:
        observations, domain = view.observations, view.domain
        values = observations.y[observations.valued(0)]
        costs = observations.cost[observations.costed(0)]
        if len(values) < _LEAST or not (costs > 0.0).any() or not domain.d:
            return _UNKNOWN
        improvement = self._improvement
        if improvement is None:
            improvement = _PART * float(np.subtract(*np.quantile(values, [0.75, 0.25])))
        cost = typical_cost(costs) if self._cost is None else self._cost
        is_designing = bool(sampler.method.design(view.design_observations, view.n_rows))
        if is_designing or improvement <= 0.0:  # That is, most values are the same.
            return _UNKNOWN
        rng = np.random.default_rng(len(view.trials))
        with single_blas_thread():
            gain = best_net_gain(observations, domain, price=improvement / cost, rng=rng)
        return _Offer(gain, improvement, cost)


@dataclass(frozen=True)
class _Offer:
    """What the best query gains beyond its cost, and what an improvement is worth."""

    gain: float
    improvement: float
    cost: float


_UNKNOWN = _Offer(np.inf, np.nan, np.nan)


def _known_after_latest(trials: Sequence[FrozenTrial], n: int) -> list[list[FrozenTrial]]:
    """Return what was known after each of the n latest trials, the latest first.

    Those that failed do not count among them, nor do imported ones, which ran before. There may be
    fewer than n. What was running meanwhile is excluded.
    """
    imported = [trial for trial in trials if is_imported(trial)]
    own = [trial for trial in trials if trial.state.is_finished() and not is_imported(trial)]
    own.sort(key=lambda trial: (trial.datetime_complete or datetime.max, trial.number))
    ends = [i + 1 for i, trial in enumerate(own) if trial.state != TrialState.FAIL]
    return [
        sorted([*imported, *own[:end]], key=lambda trial: trial.number)
        for end in reversed(ends[-n:])
    ]


def _running(view: StudyView) -> list[FrozenTrial]:
    """Return the trials that are running and have a worker."""
    running = [trial for trial in view.trials if trial.state == TrialState.RUNNING]
    return [trial for trial in running if trial.number not in view.stale]


def _elapsed(view: StudyView) -> float:
    """Return how long all running trials together have been running, in seconds."""
    return math.fsum(age(trial) for trial in _running(view))


def _predicted(view: StudyView) -> float:
    """Return what all running trials together will have cost, by prediction.

    By the model that the default method has of the costs, whatever the study's method. A trial of
    which nothing is known yet counts as a typical one; and nothing counts while no cost is known.
    """
    n_running = len(_running(view))
    if not n_running:
        return 0.0
    observations = view.observations
    if not (observations.cost > 0.0).any():
        return 0.0
    cost = fit_costs(observations, categorical=view.domain.categorical)
    n_unknown = n_running - int(observations.pending.sum())
    return pending_cost(observations, cost) + n_unknown * typical_cost(observations.cost)
