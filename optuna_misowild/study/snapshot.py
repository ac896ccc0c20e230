"""What a sampler knows of a study at one moment, by its trials alone."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.methods import arguments
from optuna_misowild.study.attributes import all_trials
from optuna_misowild.study.attributes import imported_first
from optuna_misowild.study.attributes import params_of
from optuna_misowild.study.costs import COST_ATTR
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.observe import History
from optuna_misowild.study.observe import Reader
from optuna_misowild.study.observe import read
from optuna_misowild.study.observe import source_of
from optuna_misowild.study.readings import has_reached_any
from optuna_misowild.study.source_parameter import FIRST
from optuna_misowild.study.source_parameter import Sources
from optuna_misowild.study.source_parameter import latest_distribution
from optuna_misowild.study.source_parameter import sources_of
from optuna_misowild.study.space import common_space
from optuna_misowild.study.space import domain_of
from optuna_misowild.study.stale_trials import stale_trials
from optuna_misowild.study.steps import check_names
from optuna_misowild.study.steps import checked_steps
from optuna_misowild.study.steps import numbered
from optuna_misowild.study.steps import rung_sources
from optuna_misowild.study.steps import stops_at_rungs


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.optim.domain import Domain


# So many rows of the initial design at least and at most, unless the user says how many.
_LEAST_ROWS, MOST_ROWS = 5, 10


@dataclass(frozen=True)
class Settings:
    """How the trials of a study are to be read.

    Args:
        source: Name of the source parameter.
        preferred_source: The preferred choice; by default the first one.
        query_sources: The choices that may be queried; None for all.
        cost_attr: User attribute of a trial that holds its cost.
        budget: The total cost that may be spent, or None.
        only_preferred: Whether only the preferred source may be queried.
        n_startup_trials: Number of rows of the initial design; None for as many as the number of
            parameters needs.
        steps: Steps of ``trial.report`` that are sources, in increasing order; or ``"auto"``.
        checkpoints: Whether a training can go on where an earlier one was stopped.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense.
    """

    source: str = "source"
    preferred_source: Any = FIRST
    query_sources: Sequence[Any] | None = None
    cost_attr: str = COST_ATTR
    budget: float | None = None
    only_preferred: bool = False
    n_startup_trials: int | None = None
    steps: tuple[int, ...] | str | None = None
    checkpoints: bool = False

    def __post_init__(self) -> None:
        arguments.text("source", self.source)
        if self.query_sources is not None:
            arguments.choices("query_sources", self.query_sources)
        arguments.text("cost_attr", self.cost_attr)
        if self.budget is not None:
            arguments.number("budget", self.budget, positive=True)
        if self.n_startup_trials is not None:
            arguments.integer("n_startup_trials", self.n_startup_trials, least=1)
        object.__setattr__(self, "steps", checked_steps(self.steps))
        if arguments.flag("checkpoints", self.checkpoints) and self.steps is None:
            raise ValueError("`checkpoints=True` needs `steps`, at which trainings are stopped.")
        if self.steps is not None:
            is_given = self.preferred_source is not FIRST
            preferred = self.preferred_source if is_given else self.steps[-1]
            check_names(self.steps, preferred, self.query_sources)

    def sources(
        self,
        distribution: BaseDistribution | None,
        trials: Sequence[FrozenTrial] = (),
        *,
        stops: bool = False,
    ) -> Sources:
        """Return the sources: those of a distribution of the source parameter, or the rungs.

        Args:
            distribution: The distribution; None if no trial has the parameter.
            trials: The trials so far, which may show the steps.
            stops: Whether the study's pruner stops a training at the rung that it is meant for.
        """
        if distribution is None and self.steps is not None:
            sources = rung_sources(
                self.source, self.steps, trials, query_steps=self.query_sources, stops=stops
            )
        else:
            sources = sources_of(
                self.source, distribution, self.preferred_source, self.query_sources
            )
            if distribution is not None:
                sources = numbered(sources, self.steps, trials)
        return replace(sources, queryable=(0,)) if self.only_preferred else sources

    @property
    def block(self) -> int:
        """Number of rows of one Latin hypercube; further rows are those of a further one."""
        return MOST_ROWS if self.n_startup_trials is None else self.n_startup_trials


class StudyView:
    """The trials of a study, and what follows from them.

    Args:
        study: The study.
        settings: How to read it.
        asking: Number of the trial that asks, which is no observation; None if none does.
        trials: The trials, if they have been read; by default as they are now.
        source_distribution: Distribution of the source parameter, if it is known before any trial
            has it.
    """

    def __init__(
        self,
        study: Study,
        settings: Settings,
        asking: int | None = None,
        trials: list[FrozenTrial] | None = None,
        source_distribution: BaseDistribution | None = None,
    ) -> None:
        self.study = study
        self.settings = settings
        self.asking = asking
        self.trials: list[FrozenTrial] = all_trials(study) if trials is None else trials
        self.source_distribution = source_distribution

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of the initial design: one more than there are parameters, 5 to 10."""
        given = self.settings.n_startup_trials
        return min(max(len(self.space) + 1, _LEAST_ROWS), MOST_ROWS) if given is None else given

    @cached_property
    def sources(self) -> Sources:
        """The sources, as far as any trial has named them."""
        latest = latest_distribution(self.settings.source, self.trials)
        return self.settings.sources(
            self.source_distribution or latest,
            self.trials,
            stops=stops_at_rungs(self.study, self.trials),
        )

    @cached_property
    def space(self) -> dict[str, BaseDistribution]:
        """The parameters that the latest trials with a value share, without the source.

        Parameters of a single value do not belong to it.
        """
        rungs = self.sources if self.sources.are_rungs else None
        evaluations = [
            trial
            for trial in imported_first(self.trials)
            if trial.state == TrialState.COMPLETE
            or (rungs is not None and trial.state.is_finished() and has_reached_any(trial, rungs))
        ]
        return {
            name: distribution
            for name, distribution in common_space(evaluations).items()
            if name != self.settings.source and not distribution.single()
        }

    @cached_property
    def has_only_sources(self) -> bool:
        """Whether there is nothing to choose but the source."""
        completed = [t.distributions for t in self.trials if t.state == TrialState.COMPLETE]
        return any(completed) and all(
            name == self.settings.source or distribution.single()
            for distributions in completed
            for name, distribution in distributions.items()
        )

    @cached_property
    def domain(self) -> Domain:
        """The space as the numerical layer sees it."""
        return domain_of(self.space)

    @cached_property
    def observations(self) -> Observations:
        """The observations over the space."""
        return self._history.in_space(self.settings.budget)

    @cached_property
    def design_observations(self) -> Observations:
        """The same for the initial design, without locations: known from the first trial on."""
        return self._history.of_design(self.settings.budget)

    @cached_property
    def _history(self) -> History:
        """The trials, each read once for both kinds of observations."""
        return self._read(self.trials)

    @property
    def cost_attr(self) -> str:
        """User attribute of a trial that holds its cost."""
        return self.settings.cost_attr

    @cached_property
    def has_own_unit(self) -> bool:
        """Whether costs are those that the objective sets, so that seconds are none."""
        return has_own_unit(self.trials, self.cost_attr)

    @property
    def spent(self) -> float:
        """What all trials together have cost."""
        return self._history.spent

    @property
    def ignored_constraints(self) -> Sequence[str]:
        """Names of the user's constraints that are too many to be learnt from."""
        return self._history.ignored_constraints

    @cached_property
    def stale(self) -> frozenset[int]:
        """Numbers of the trials whose worker is gone."""
        space = {}
        if self.sources.distribution is not None:
            space[self.sources.name] = self.sources.distribution

        def source(trial: FrozenTrial) -> int | None:
            return source_of(trial, params_of(trial, space), self.sources, by_slot=True)

        return stale_trials(self.study, self.trials, source)

    def observed(self) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
        """Return all queries so far, (n, d), and their sources, (n,).

        A trial that has not suggested a source would be the same with any other one.
        """
        seen = self.observations
        X, source = [seen.X], [seen.source]
        if self.sources.distribution is not None and self.space:
            name = self.sources.name
            without = {t.number for t in self.trials if t.state.is_finished()} - {
                t.number for t in self.trials if name in t.params
            }
            rows = np.isin(seen.trial, list(without))
            for s in range(len(self.sources)):
                X.append(seen.X[rows])
                source.append(np.full(int(rows.sum()), s))
        return np.concatenate(X), np.concatenate(source)

    def meanwhile(self) -> list[FrozenTrial]:
        """Return the other trials that are new to this view, as they are now.

        Those that are running now, and those that have finished since the view was taken: an
        objective may be faster than a suggestion.
        """
        known = {trial.number for trial in self.trials if trial.state.is_finished()}
        return [
            trial
            for trial in all_trials(self.study)
            if trial.state != TrialState.WAITING
            and trial.number != self.asking
            and trial.number not in known
            and trial.number not in self.stale
        ]

    def queries(self, trials: list[FrozenTrial], *, by_slot: bool = False) -> Observations:
        """Return the queries of some trials; without locations if by their slots in the design."""
        history, budget = self._read(trials), self.settings.budget
        return history.of_design(budget) if by_slot else history.in_space(budget)

    def _read(self, trials: list[FrozenTrial]) -> History:
        reader = Reader(self.sources, self.space, self.cost_attr, self.has_own_unit)
        return read(self.study, trials, reader, exclude=self.asking, stale=self.stale)
