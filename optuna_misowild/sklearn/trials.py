"""The study of a search: its trials are the evaluations, until they have cost enough."""

from __future__ import annotations

from contextlib import contextmanager
from contextlib import nullcontext
from dataclasses import dataclass
import math
import time
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState

from optuna_misowild.budget import CostBudgetCallback
from optuna_misowild.progress import CostProgressBar
from optuna_misowild.samplers import MisoWildSampler
from optuna_misowild.sklearn.results import Row
from optuna_misowild.sklearn.results import is_recorded
from optuna_misowild.sklearn.results import record


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.sklearn.distributions import Parameter
    from optuna_misowild.sklearn.evaluation import Evaluation
    from optuna_misowild.sklearn.resources import Source


COST_ATTR = "cost"
# What tells the data of a study from others.
_DATA_KEY = "misowild:data"
# The sampler plans anew once what may be spent has changed by more than this part of it.
_REPLAN = 0.05
# Sums of costs are no more exact than this.
_EXACTNESS = 1e-9


@dataclass(frozen=True)
class Trials:
    """The trials of a search.

    Attributes:
        study: The study, which maximises the score.
        resource: Name of the study's source parameter.
        sources: The sources, the preferred one first.
        parameters: The searched parameters, by their names in the estimator.
    """

    study: Study
    resource: str
    sources: Sequence[Source]
    parameters: Mapping[str, Parameter]

    @classmethod
    def of_study(
        cls,
        storage: str | BaseStorage | None,
        study_name: str | None,
        *,
        resource: str,
        sources: Sequence[Source],
        parameters: Mapping[str, Parameter],
        data: str,
        is_quiet: bool,
    ) -> Trials:
        """Create the study, or load it if the storage has one of that name.

        Args:
            storage: An Optuna storage or its URL; None for one in memory.
            study_name: Name of the study, or None for a new one.
            resource: See :class:`Trials`.
            sources: See :class:`Trials`.
            parameters: See :class:`Trials`.
            data: What tells these data and folds from others.
            is_quiet: Whether Optuna is not to say that it creates a study.

        Raises:
            ValueError: If the stored study is one of other data.
        """
        with _quiet() if is_quiet else nullcontext():
            study = optuna.create_study(
                storage=storage,
                study_name=study_name,
                direction="maximize",
                load_if_exists=study_name is not None,
            )
        if study.user_attrs.get(_DATA_KEY, data) != data or (
            _DATA_KEY not in study.user_attrs and study.get_trials(deepcopy=False)
        ):
            raise ValueError(
                f"The study {study.study_name!r} in storage is not of this target and these folds: "
                "its scores cannot be compared with others. Use another study_name, or the same "
                "data and a cv that makes the same folds each time."
            )
        study.set_user_attr(_DATA_KEY, data)
        return cls(study, resource, sources, parameters)

    def search(
        self,
        evaluation: Evaluation,
        *,
        budget: float | None,
        n_iter: int,
        seed: int | None,
        shows_progress: bool,
    ) -> list[dict[str, Any]]:
        """Evaluate until enough is spent.

        Args:
            evaluation: What evaluates parameters on a source.
            budget: Seconds that all trials may cost, or None.
            n_iter: Without a budget, they may cost as much as so many of the preferred source.
            seed: Seed of the sampler, or None.
            shows_progress: Whether to show a progress bar.

        Returns:
            What each fold of the preferred source has given.
        """
        study, of_preferred = self.study, []
        planned: float | None = None
        study.sampler = self._sampler(budget, seed)
        with CostProgressBar(budget) if shows_progress else nullcontext() as bar:
            while True:
                costs = self._costs_of_preferred()
                limit = budget
                if budget is None and costs:
                    limit = n_iter * float(np.mean(costs))
                    if planned is None or abs(limit - planned) > _REPLAN * planned:
                        planned = limit
                        study.sampler = self._sampler(planned, seed)
                if budget is None and len(costs) >= n_iter:
                    break
                if limit is not None and self._is_spent(limit):
                    break
                source, folds, trial = self._evaluate(evaluation)
                if source is self.sources[0]:
                    of_preferred += folds
                if bar is not None:
                    bar(study, trial)
        return of_preferred

    def _sampler(self, budget: float | None, seed: int | None) -> MisoWildSampler:
        return MisoWildSampler(source=self.resource, budget=budget, seed=seed)

    def _is_spent(self, limit: float) -> bool:
        return CostBudgetCallback(limit * (1.0 - _EXACTNESS)).is_spent(self.study)

    def _evaluate(
        self, evaluation: Evaluation
    ) -> tuple[Source, list[dict[str, Any]], FrozenTrial]:
        """Run one trial."""
        start = time.perf_counter()
        choices = CategoricalDistribution(tuple(source.choice for source in self.sources))
        space = {parameter.name: parameter.distribution for parameter in self.parameters.values()}
        trial = self.study.ask({self.resource: choices, **space})
        cost = time.perf_counter() - start
        try:
            source = self._source_of(trial.params)
            folds = evaluation(
                source, self._params_of(trial.params), is_preferred=source is self.sources[0]
            )
            value = evaluation.value(folds)
            record(trial, folds)
            cost += math.fsum(fold["fit_time"] + fold["score_time"] for fold in folds)
            trial.set_user_attr(COST_ATTR, cost)
        except BaseException:  # Also what the user stops: no trial is to look as if it ran on.
            self.study.tell(trial, state=TrialState.FAIL)
            raise
        if math.isnan(value):
            told = self.study.tell(trial, state=TrialState.FAIL)
        else:
            told = self.study.tell(trial, value)
        return source, folds, told

    def _source_of(self, params: Mapping[str, Any]) -> Source:
        return next(s for s in self.sources if s.choice == params[self.resource])

    def _params_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the estimator's parameters, without those of the source."""
        return {
            name: parameter.decode(params[parameter.name])
            for name, parameter in self.parameters.items()
        }

    def _costs_of_preferred(self) -> list[float]:
        choice = self.sources[0].choice
        return [
            trial.user_attrs[COST_ATTR]
            for trial in self.study.get_trials(deepcopy=False)
            if trial.state.is_finished()
            and trial.params.get(self.resource) == choice
            and COST_ATTR in trial.user_attrs
        ]

    def rows(self, n_splits: int) -> list[Row]:
        """Return the evaluations, with those of earlier searches.

        Args:
            n_splits: Number of folds.
        """
        rows = []
        for trial in self.study.get_trials():
            if is_recorded(trial, n_splits):
                source = self._source_of(trial.params)
                rows.append(
                    Row(
                        trial=trial,
                        params={**self._params_of(trial.params), **source.params},
                        source=source.choice,
                        n_resources=source.n_resources,
                        is_preferred=source is self.sources[0],
                    )
                )
        return rows


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Optuna only warn."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
