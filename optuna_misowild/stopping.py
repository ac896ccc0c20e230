"""Stopping a study once no query is worth its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.methods import arguments
from optuna_misowild.methods.robust.gain import best_net_gain
from optuna_misowild.study.attributes import logger
from optuna_misowild.study_sampler import sampler_of


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.study.snapshot import StudyView


# What an improvement is worth by default: a hundredth of the spread of the values is worth one
# evaluation of the preferred source.
_PART = 0.01
# While the preferred source has fewer values, too little is known.
_LEAST = 6


class StopWhenNotWorthIt:
    """Callback that stops a study once no query is expected to be worth its cost.

    You say what an improvement is worth: `StopWhenNotWorthIt(0.001, cost=600)` pays 600, in the
    unit of the costs, for an improvement of the objective by 0.001, and in proportion. A query of
    the preferred source is worth its expected improvement, and one of another source what it saves
    by telling where such a query pays; see
    :func:`~optuna_misowild.methods.robust.gain.net_gain`. The study stops when none has been worth
    its cost after several trials in a row. That is an expectation of the models: a study that goes
    on may still find something better.

    It never stops during the initial design, nor before the preferred source has six values.

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
        self._n_in_a_row = 0

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if trial.state == TrialState.FAIL:
            return
        sampler = sampler_of(study)
        view = sampler.view(study)
        offer = self._best_offer(sampler, view)
        self._n_in_a_row = 0 if offer.gain > 0.0 else self._n_in_a_row + 1
        if self._n_in_a_row < self._patience:
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

        So it is while too little is known to tell.
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
