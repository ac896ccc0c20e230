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
_CHOOSING_ATTR = "choosing_time"
# What tells the data of a study from others.
_DATA_KEY = "misowild:data"
# The sampler plans anew once what may be spent has changed by more than this part of it.
_REPLAN = 0.05
# A source is cheap up to this part of what the preferred one costs where both were evaluated.
_MAX_COST_RATIO = 1.0 / 3.0
# So many of the latest choices tell how long one takes.
_MOST_CHOOSING = 5
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
    ) -> Trials:
        """Create the study, or load it if the storage has one of that name.

        Args:
            storage: An Optuna storage or its URL; None for one in memory.
            study_name: Name of the study, or None for a new one.
            resource: See :class:`Trials`.
            sources: See :class:`Trials`.
            parameters: See :class:`Trials`.
            data: What tells these data and folds from others.

        Raises:
            ValueError: If the stored study is one of other data.
        """
        with _quiet():
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
                f"The study {study.study_name!r} in storage is of other data or other folds, "
                "so that its scores cannot be compared with new ones. Use another study_name, or "
                "the same data and a cv that makes the same folds each time."
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
        if not self.study.get_trials(deepcopy=False):
            # Something to refit is there from the first evaluation on, and its cost is known.
            self.study.enqueue_trial({self.resource: self.sources[0].choice})
        plan: tuple[float | None, list[Any]] | None = None
        of_preferred: list[dict[str, Any]] = []
        with CostProgressBar(budget) if shows_progress else nullcontext() as bar:
            while True:
                limit = budget or self._limit(n_iter)
                if limit is not None and self._is_spent(limit):
                    return of_preferred
                if plan != (plan := self._plan(limit, plan)):
                    self.study.sampler = MisoWildSampler(
                        source=self.resource,
                        budget=plan[0],
                        query_sources=plan[1],
                        seed=seed,
                    )
                source, folds, trial = self._evaluate(evaluation)
                if source is self.sources[0]:
                    of_preferred += folds
                if bar is not None:
                    bar(self.study, trial)

    def _limit(self, n_iter: int) -> float | None:
        """Return what so many evaluations on the preferred source cost, by the mean so far."""
        costs = self._costs_of_preferred()
        return n_iter * float(np.mean(costs)) if costs else None

    def _plan(
        self, limit: float | None, plan: tuple[float | None, list[Any]] | None
    ) -> tuple[float | None, list[Any]]:
        """Return the sampler's budget and its sources.

        It has no budget during its initial design, which needs none. Later a limit that has
        hardly changed is what it was: a new sampler says its warnings once more.
        """
        planned = plan[0] if plan is not None else None
        if limit is None or self._is_designing():
            planned = None
        elif planned is None or abs(limit - planned) > _REPLAN * planned:
            planned = limit
        elif self._is_spent(planned):  # The limit is not.
            planned = limit
        return planned, self.worthwhile()

    def _is_designing(self) -> bool:
        sampler = self.study.sampler
        if not isinstance(sampler, MisoWildSampler):
            return True
        view = sampler.view(self.study)
        return bool(sampler.method.design(view.design_observations, view.n_rows))

    def _costs_of_preferred(self) -> list[float]:
        choice = self.sources[0].choice
        finished = self._finished()
        return [t.user_attrs[COST_ATTR] for t in finished if t.params[self.resource] == choice]

    def worthwhile(self) -> list[Any]:
        """Return the choices of the sources that are cheap, the time of choosing included.

        The sampler compares what sources cost, too, with more care. But where fits are fast, what
        a choice takes decides, and that is not known while the initial design compares them.
        """
        taken = [trial.user_attrs[_CHOOSING_ATTR] for trial in self._finished()]
        choosing = float(np.median(taken[-_MOST_CHOOSING:])) if taken else 0.0
        costs: dict[Any, dict[Any, float]] = {source.choice: {} for source in self.sources}
        for trial in self._finished():
            at = tuple(trial.params[parameter.name] for parameter in self.parameters.values())
            evaluating = trial.user_attrs[COST_ATTR] - trial.user_attrs[_CHOOSING_ATTR]
            costs[trial.params[self.resource]][at] = evaluating + choosing

        def is_cheap(source: Source) -> bool:
            of_source, of_preferred = costs[source.choice], costs[self.sources[0].choice]
            both = of_source.keys() & of_preferred.keys()
            if source is self.sources[0] or not both:
                return True
            most = _MAX_COST_RATIO * math.fsum(of_preferred[at] for at in both)
            return math.fsum(of_source[at] for at in both) <= most

        return [source.choice for source in self.sources if is_cheap(source)]

    def _finished(self) -> list[FrozenTrial]:
        """Return the trials that have been evaluated."""
        trials = self.study.get_trials(deepcopy=False)
        return [t for t in trials if t.state.is_finished() and _CHOOSING_ATTR in t.user_attrs]

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
        choosing = time.perf_counter() - start
        try:
            source = self._source_of(trial.params)
            folds = evaluation(
                source, self._params_of(trial.params), is_preferred=source is self.sources[0]
            )
            value = evaluation.value(folds)
            record(trial, folds)
            evaluating = math.fsum(fold["fit_time"] + fold["score_time"] for fold in folds)
            trial.set_user_attr(COST_ATTR, choosing + evaluating)
            trial.set_user_attr(_CHOOSING_ATTR, choosing)
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
