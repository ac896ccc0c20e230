"""What a sampler knows of a study at one moment: read from the trials, never remembered."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Any

from optuna.search_space import intersection_search_space
from optuna.trial import TrialState

from optuna_misowild import arguments
from optuna_misowild.records import all_trials
from optuna_misowild.records import has_decided
from optuna_misowild.records import observe
from optuna_misowild.source_parameter import Sources
from optuna_misowild.source_parameter import latest_distribution
from optuna_misowild.source_parameter import sources_of
from optuna_misowild.space import domain_of


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.domain import Domain
    from optuna_misowild.observations import Observations


@dataclass(frozen=True)
class Settings:
    """How the trials of a study are to be read.

    Args:
        source: Name of the source parameter.
        preferred_source: The preferred choice; None for the first one.
        query_sources: The choices that may be queried; None for all.
        cost_attr: User attribute of a trial that holds its cost.
        budget: The total cost that may be spent, or None.
        only_preferred: Whether only the preferred source may be queried.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense.
    """

    source: str = "source"
    preferred_source: Any = None
    query_sources: Sequence[Any] | None = None
    cost_attr: str = "cost"
    budget: float | None = None
    only_preferred: bool = False

    def __post_init__(self) -> None:
        arguments.text("source", self.source)
        if self.query_sources is not None:
            arguments.choices("query_sources", self.query_sources)
        arguments.text("cost_attr", self.cost_attr)
        if self.budget is not None:
            arguments.number("budget", self.budget, positive=True)

    def sources(self, distribution: BaseDistribution | None) -> Sources:
        """Return the sources that a distribution of the source parameter defines."""
        sources = sources_of(self.source, distribution, self.preferred_source, self.query_sources)
        return replace(sources, queryable=(0,)) if self.only_preferred else sources


class StudyView:
    """The trials of a study, and what follows from them.

    Args:
        study: The study.
        settings: How to read it.
        asking: Number of the trial that asks, which is no observation; None if none does.
    """

    def __init__(self, study: Study, settings: Settings, asking: int | None = None) -> None:
        self.study = study
        self.settings = settings
        self.asking = asking
        self.trials: list[FrozenTrial] = all_trials(study)

    @cached_property
    def sources(self) -> Sources:
        """The sources, as far as any trial has named them."""
        return self.settings.sources(latest_distribution(self.settings.source, self.trials))

    @cached_property
    def space(self) -> dict[str, BaseDistribution]:
        """The parameters that every completed trial has, without the source.

        As in Optuna's own model-based samplers. Parameters of a single value tell nothing.
        """
        return {
            name: distribution
            for name, distribution in intersection_search_space(self.trials).items()
            if name != self.settings.source and not distribution.single()
        }

    @cached_property
    def domain(self) -> Domain:
        """The space as the numerical layer sees it."""
        return domain_of(self.space)

    @cached_property
    def observations(self) -> Observations:
        """What the trials tell over the space."""
        return self._observe(self.space, self.trials)

    @cached_property
    def design_observations(self) -> Observations:
        """The same for the initial design, without locations: known from the first trial on."""
        return self._observe({}, self.trials, by_slot=True)

    @property
    def spent(self) -> float:
        """What all trials together have cost."""
        return self.design_observations.spent

    def rivals(self) -> Observations:
        """Return the running trials, as they are now, that the one that asks must give way to.

        Of workers that choose at the same moment, the one with the lower trial number keeps its
        choice, unless the other is through with it.
        """
        assert self.asking is not None
        running = [
            trial
            for trial in all_trials(self.study)
            if trial.state == TrialState.RUNNING
            and (trial.number < self.asking or has_decided(trial))
        ]
        return self._observe(self.space, running)

    def _observe(
        self,
        space: dict[str, BaseDistribution],
        trials: list[FrozenTrial],
        *,
        by_slot: bool = False,
    ) -> Observations:
        return observe(
            self.study,
            trials,
            sources=self.sources,
            space=space,
            cost_attr=self.settings.cost_attr,
            budget=self.settings.budget,
            exclude=self.asking,
            by_slot=by_slot,
        )
