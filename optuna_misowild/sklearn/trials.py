"""The study of a search: its trials are the evaluations, until they have cost enough.

Where fits go in stages, a trial is a training that is evaluated at each stage, the steps of the
study. Else it is one evaluation, and its source a parameter.
"""

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
from optuna_misowild.pruner import MisoWildPruner
from optuna_misowild.samplers import MisoWildSampler
from optuna_misowild.sklearn.results import COST_ATTR
from optuna_misowild.sklearn.results import Row
from optuna_misowild.sklearn.results import record
from optuna_misowild.sklearn.results import recorded


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial

    from optuna_misowild.sklearn.distributions import Parameter
    from optuna_misowild.sklearn.evaluation import Evaluation
    from optuna_misowild.sklearn.resources import Source


_CHOOSING_ATTR = "choosing_time"
# What tells a study from that of another search, whose scores cannot be compared.
_SEARCHED_KEY = "misowild:searched"
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
        resource: Name of the study's source parameter, if it has one.
        sources: The sources, the preferred one first.
        parameters: The searched parameters, by their names in the estimator.
        in_stages: Whether the sources are stages of one training.
    """

    study: Study
    resource: str
    sources: Sequence[Source]
    parameters: Mapping[str, Parameter]
    in_stages: bool = False

    @classmethod
    def of_study(
        cls,
        storage: str | BaseStorage | None,
        study_name: str | None,
        *,
        resource: str,
        sources: Sequence[Source],
        parameters: Mapping[str, Parameter],
        in_stages: bool,
        depends_on: Mapping[str, str],
    ) -> Trials:
        """Create the study, or load it if the storage has one of that name.

        Args:
            storage: An Optuna storage or its URL; None for one in memory.
            study_name: Name of the study, or None for a new one.
            resource: See :class:`Trials`.
            sources: See :class:`Trials`.
            parameters: See :class:`Trials`.
            in_stages: See :class:`Trials`.
            depends_on: What else the scores depend on, each as a hash.

        Raises:
            ValueError: If the stored study differs in any of this, or is of no search. What an
                earlier version has not recorded is not compared.
        """
        searched = {
            "resource": resource,
            "in_stages": in_stages,
            "sources": [source.choice for source in sources],
            "parameters": sorted(parameter.name for parameter in parameters.values()),
        }
        with _quiet():
            study = optuna.create_study(
                storage=storage,
                study_name=study_name,
                direction="maximize",
                pruner=MisoWildPruner() if in_stages else None,
                load_if_exists=study_name is not None,
            )
        known = {**searched, **depends_on}
        earlier = study.user_attrs.get(_SEARCHED_KEY)
        if earlier is None and study.get_trials(deepcopy=False):
            raise ValueError(
                f"The study {study.study_name!r} in storage is not of a MisoWildSearchCV. Use "
                "another study_name."
            )
        earlier = earlier or known
        differing = [part for part in known if earlier.get(part, known[part]) != known[part]]
        if differing:
            told = (
                f"{part} (there {earlier[part]}, here {known[part]})" if part in searched else part
                for part in differing
            )
            raise ValueError(
                f"The study {study.study_name!r} in storage is of another search, so that its "
                f"scores cannot be compared with new ones. What differs: {'; '.join(told)}. Use "
                "another study_name, or what the study was begun with."
            )
        study.set_user_attr(_SEARCHED_KEY, {**earlier, **known})
        return cls(study, resource, sources, parameters, in_stages)

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
            For each fit on the preferred source, its error.
        """
        if not self.in_stages and not self.study.get_trials(deepcopy=False):
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
                    self.study.sampler = self._sampler(*plan, seed)
                errors, trial = self._evaluate(evaluation)
                of_preferred += errors
                if bar is not None:
                    bar(self.study, trial)

    def _sampler(
        self, budget: float | None, query_sources: list[Any], seed: int | None
    ) -> MisoWildSampler:
        planning: dict[str, Any] = {"budget": budget, "query_sources": query_sources}
        if self.in_stages:
            steps = [source.n_resources for source in reversed(self.sources)]
            return MisoWildSampler(steps=steps, seed=seed, **planning)
        return MisoWildSampler(source=self.resource, seed=seed, **planning)

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
        return [
            trial.user_attrs[COST_ATTR]
            for trial in self._finished()
            if any(source is self.sources[0] for source, _ in self._reached(trial))
        ]

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
            cost = choosing - trial.user_attrs[_CHOOSING_ATTR]
            for source, attrs in self._reached(trial):
                cost += attrs[COST_ATTR]  # What it takes to get there.
                costs[source.choice][at] = cost

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

    def _evaluate(self, evaluation: Evaluation) -> tuple[list[dict[str, Any]], FrozenTrial]:
        """Run one trial; return also the error of each fit on the preferred source."""
        start = time.perf_counter()
        space = {parameter.name: parameter.distribution for parameter in self.parameters.values()}
        if not self.in_stages:
            choices = CategoricalDistribution(tuple(source.choice for source in self.sources))
            space = {self.resource: choices, **space}
        trial = self.study.ask(space)
        choosing = time.perf_counter() - start
        try:
            source, value, errors = self._fit(trial, evaluation, choosing)
        except BaseException:  # Also what the user stops: no trial is to look as if it ran on.
            self.study.tell(trial, state=TrialState.FAIL)
            raise
        if math.isnan(value):
            return errors, self.study.tell(trial, state=TrialState.FAIL)
        if self.in_stages and source is not self.sources[0]:
            return errors, self.study.tell(trial, state=TrialState.PRUNED)
        return errors, self.study.tell(trial, value)

    def _fit(
        self, trial: Trial, evaluation: Evaluation, choosing: float
    ) -> tuple[Source, float, list[dict[str, Any]]]:
        """Evaluate a trial on its source, or at one stage after the other until it stops.

        Args:
            trial: The trial, which records what each evaluation gives and costs.
            evaluation: What evaluates parameters on a source.
            choosing: Seconds that its choice has taken, which are part of its cost.

        Returns:
            The last source, the value there, and the error of each fit on the preferred source.
        """
        # Something to refit is there from the first training on.
        is_first = not self._costs_of_preferred()
        params = self._params_of(trial.params)
        folds: list[dict[str, Any]] | None = None
        cost, added = 0.0, choosing
        for source in self._stages_of(trial.params):
            is_preferred = source is self.sources[0]
            folds = evaluation(source, params, is_preferred=is_preferred, before=folds)
            value = evaluation.value(folds)
            added += math.fsum(fold["fit_time"] + fold["score_time"] for fold in folds)
            cost += added
            trial.set_user_attr(_CHOOSING_ATTR, choosing)
            record(trial, folds, added, source.n_resources if self.in_stages else None)
            trial.set_user_attr(COST_ATTR, cost)
            added = 0.0
            if self.in_stages and not math.isnan(value):
                trial.report(value, source.n_resources)
                if not is_preferred and trial.should_prune() and not is_first:
                    break
        errors = [{"fit_error": fold["fit_error"]} for fold in folds or () if is_preferred]
        return source, value, errors

    def _stages_of(self, params: Mapping[str, Any]) -> Sequence[Source]:
        """Return the sources that a trial may be evaluated on, one after the other."""
        if self.in_stages:
            return self.sources[::-1]
        return [source for source in self.sources if source.choice == params[self.resource]]

    def _params_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the estimator's parameters, without those of the source."""
        return {
            name: parameter.decode(params[parameter.name])
            for name, parameter in self.parameters.items()
        }

    def _reached(self, trial: FrozenTrial) -> Iterator[tuple[Source, dict[str, Any]]]:
        """Yield the sources that a trial was evaluated on, with what it has recorded."""
        for source in self._stages_of(trial.params):
            if attrs := recorded(trial, source.n_resources if self.in_stages else None):
                yield source, attrs

    def rows(self) -> list[Row]:
        """Return the evaluations, with those of earlier searches."""
        return [
            Row(
                attrs=attrs,
                params={**self._params_of(trial.params), **source.params},
                source=source.choice,
                n_resources=source.n_resources,
                is_preferred=source is self.sources[0],
            )
            for trial in self._finished()
            for source, attrs in self._reached(trial)
        ]


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Optuna only warn."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
