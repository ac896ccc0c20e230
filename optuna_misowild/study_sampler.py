"""The sampler whose method and settings count when a study is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from optuna.distributions import CategoricalDistribution

from optuna_misowild.base_sampler import MethodSampler
from optuna_misowild.base_sampler import require_study
from optuna_misowild.samplers import MisoWildSampler
from optuna_misowild.study.attributes import all_trials
from optuna_misowild.study.attributes import source_index_of
from optuna_misowild.study.costs import recorded_cost_attr
from optuna_misowild.study.optuna_private import unwrapped
from optuna_misowild.study.source_parameter import sources_of
from optuna_misowild.study.steps import recorded_steps


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.study.snapshot import StudyView


def sampler_of(study: Study, trials: Sequence[FrozenTrial] | None = None) -> MethodSampler:
    """Return the study's sampler if it is one of ours, else a ``MisoWildSampler()`` that fits.

    A study that is loaded to be looked at has Optuna's default sampler. Its trials still show
    which parameter names the source and which choice is the preferred one, or which steps are the
    sources; and which user attribute holds the costs. ``trials`` are these, if they have been read
    already.
    """
    own = own_sampler_of(study)
    if own is not None:
        return own
    if trials is None:
        trials = all_trials(study)
    steps = recorded_steps(trials)
    if steps is not None:
        return MisoWildSampler(steps=steps, cost_attr=recorded_cost_attr(trials))
    source, preferred = _recorded_source(trials)
    return MisoWildSampler(
        source=source, preferred_source=preferred, cost_attr=recorded_cost_attr(trials)
    )


def view_of(study: Study, sampler: MethodSampler | None) -> tuple[MethodSampler, StudyView]:
    """Return the sampler that a user has given, or the study's, and how it sees the study now.

    The trials are read once. See :func:`sampler_of`.

    Raises:
        TypeError: If it is none of ours, or the study is no study.
    """
    if sampler is not None and not isinstance(sampler, MethodSampler):
        raise TypeError(
            "`sampler` must be a MisoWildSampler, a CarboCoolingSampler or None, but got "
            f"{sampler!r}."
        )
    require_study(study)
    trials = all_trials(study)
    if sampler is None:
        sampler = sampler_of(study, trials)
    return sampler, sampler.view(study, trials)


def cost_attr_of(study: Study) -> str:
    """Return the user attribute that holds the costs: the sampler's if it is one of ours."""
    own = own_sampler_of(study)
    return recorded_cost_attr(all_trials(study)) if own is None else own.settings.cost_attr


def own_sampler_of(study: Study) -> MethodSampler | None:
    """Return the study's sampler if it is one of ours, also within a ``PartialFixedSampler``.

    Raises:
        TypeError: If it is no study.
    """
    require_study(study)
    sampler = unwrapped(study.sampler)
    return sampler if isinstance(sampler, MethodSampler) else None


def _recorded_source(trials: Sequence[FrozenTrial]) -> tuple[str, Any]:
    """Return the name of the source parameter and its preferred choice, None for the first.

    They are those by which the choices agree with the source indices that the trials record.
    """
    recorded = [(t, index) for t in trials if (index := source_index_of(t)) is not None]
    names = {
        name
        for trial, _ in recorded
        for name, distribution in trial.distributions.items()
        if isinstance(distribution, CategoricalDistribution)
    }
    for name in sorted(names, key=lambda name: (name != "source", name)):
        having = [(trial, index) for trial, index in recorded if name in trial.params]
        several = len({index for _, index in having}) > 1
        # A categorical parameter that never changed agrees with an index that never did.
        if name != "source" and not several:
            continue
        distribution = having[-1][0].distributions[name]
        assert isinstance(distribution, CategoricalDistribution)
        for choice in distribution.choices:
            sources = sources_of(name, distribution, choice, None)
            if all(sources.of_trial(trial.params) == index for trial, index in having):
                return name, choice
    return "source", None
