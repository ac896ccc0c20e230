"""Trials of an earlier study, taken over into a new one: known, and paid for already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
import math
from typing import TYPE_CHECKING
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import check_distribution_compatibility
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_misowild.methods import arguments
from optuna_misowild.study import attributes
from optuna_misowild.study.continued import record_of_beginning
from optuna_misowild.study.costs import COST_ATTR
from optuna_misowild.study.costs import costs_of
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.costs import recorded_cost_attr
from optuna_misowild.study.optuna_private import is_same_study
from optuna_misowild.study.readings import ended_on
from optuna_misowild.study.source_parameter import latest_distribution
from optuna_misowild.study.steps import records_of_rungs
from optuna_misowild.study_sampler import cost_attr_of
from optuna_misowild.study_sampler import sampler_of


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study

    from optuna_misowild.study.source_parameter import Sources


class _Default(Enum):
    """Stands for "what the trials say", as ``None`` may be a choice itself."""

    OWN = "the trials' own, else the preferred one"

    def __repr__(self) -> str:
        return f"<{self.value}>"


OWN = _Default.OWN


def import_trials(
    study: Study,
    old: Study | Iterable[FrozenTrial],
    *,
    source: Any = OWN,
    choices: Sequence[Any] | None = None,
    params: Mapping[str, Any] | None = None,
    distributions: Mapping[str, BaseDistribution] | None = None,
    cost: float | Callable[[FrozenTrial], float | None] | str | None = None,
) -> int:
    """Copy the finished trials of an earlier study into a study that uses our samplers.

    The sampler learns from them as from its own trials. But they are paid for: whatever cost they
    have, it counts neither for :func:`cumulated_cost` nor for a budget. And they ran before: they
    count as no recent queries. The earlier study may have had any sampler.

    All trials are checked before the first is added. Those that have been imported already are
    not added again, so that a program that is resumed may call it each time.

    Example:

        .. code-block:: python

            SOURCES = ["this month", "a tenth", "last month"]  # As the objective suggests them.
            sampler = MisoWildSampler(query_sources=["this month", "a tenth"])
            study = optuna.create_study(sampler=sampler)
            import_trials(study, last_month, source="last month", choices=SOURCES)

    Args:
        study: The study to add them to. Its sampler has the names of the source parameter and of
            the attribute that holds costs: create the study with it.
        old: The earlier study, or some of its trials.
        source: The choice of the source that their values stand for. By default that of the
            trials' own source parameter, and the preferred source for those without. None means
            the default where it is no choice.
        choices: All choices of the source parameter, in the order in which the objective suggests
            them. Needed with ``source`` while no trial of the study has suggested the parameter.
        params: Values of parameters that the objective has and the old trials lack.
        distributions: Distributions of parameters, as the objective suggests them. By default
            those of the old trials; needed for ``params`` while no trial of the study has them.
        cost: What the models learn of the cost of a completed trial, in the unit of this study:
            None for nothing; a number; a function of the old trial, which may return None; or
            ``"old"`` for the cost that it has had. Where steps are the sources, ``"old"`` gives
            the cost of stopped trainings too.

    Returns:
        The number of trials that were added.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense, or the trials do not go
            together with those of the study. Then none is added.
    """
    settings = sampler_of(study).settings
    trials = _finished(study, old)
    old_cost_attr = (
        cost_attr_of(old) if isinstance(old, optuna.Study) else recorded_cost_attr(trials)
    )
    replaced = {
        old_cost_attr,
        settings.cost_attr,
        COST_ATTR,
        attributes.SOURCE_INDEX_ATTR,
    }
    known = _latest_distributions(study)
    given = dict(distributions or {})
    if choices is not None:
        given[settings.source] = CategoricalDistribution(arguments.choices("choices", choices))
    own = latest_distribution(settings.source, trials)
    sources = settings.sources(
        given.get(settings.source, known.get(settings.source, own)),
        [*attributes.all_trials(study), *trials],
    )
    if source is None and None not in sources.choices[: len(sources) * bool(sources.distribution)]:
        source = OWN
    _check_source(source, sources, trials)
    if sources.distribution is not None:
        given[sources.name] = sources.distribution

    done = Counter(
        _key(trial) for trial in attributes.all_trials(study) if attributes.is_imported(trial)
    )
    # With a source parameter, what trials have recorded of steps has no meaning.
    are_trainings = settings.steps is not None and sources.distribution is None
    costs = _costs(trials, cost, old_cost_attr, are_trainings)
    is_timed = not has_own_unit(trials, old_cost_attr) if cost == "old" else None
    new = []
    for trial, paid in zip(trials, costs, strict=True):
        values = {**(params or {}), **trial.params}
        if sources.distribution is not None and source is not OWN:
            values[sources.name] = source
        elif sources.distribution is not None:
            values.setdefault(sources.name, sources.choices[0])
        user_attrs = {k: v for k, v in trial.user_attrs.items() if k not in replaced}
        if math.isfinite(paid):
            user_attrs[settings.cost_attr] = paid
        system_attrs = attributes.imported_attrs(
            attributes.own_constraints(trial, sources.name),
            _index(trial, values, sources),
            _records(trial, is_timed) if are_trainings else {},
        )
        copy = _copy(
            trial,
            values,
            {**known, **trial.distributions, **given},
            user_attrs=user_attrs,
            system_attrs=system_attrs,
        )
        _check_compatible(trial, copy, known)
        if done[_key(copy)] > 0:
            done[_key(copy)] -= 1
        else:
            new.append(copy)
    study.add_trials(new)
    return len(new)


def _finished(study: Study, old: Any) -> list[FrozenTrial]:
    """Return the finished trials that say anything, if the study can have them."""
    if len(study.directions) > 1:
        raise ValueError("`study` has several objectives, but the samplers optimise one.")
    if isinstance(old, optuna.Study):
        if is_same_study(old, study):
            raise ValueError("`old` must be another study than `study`.")
        if old.directions != study.directions:
            raise ValueError(
                f"`old` must have the direction of `study`, {study.direction.name}, but it has "
                f"{', '.join(direction.name for direction in old.directions)}."
            )
        old = attributes.all_trials(old)
    if not isinstance(old, Iterable) or isinstance(old, str):
        raise TypeError(f"`old` must be an Optuna study or a list of its trials, but got {old!r}.")
    trials = []
    for trial in old:
        if not isinstance(trial, FrozenTrial):
            raise TypeError(f"`old` must consist of Optuna trials, but has {trial!r}.")
        if trial.values is not None and len(trial.values) > 1:
            raise ValueError(f"Trial {trial.number} of `old` has several values: {trial.values}.")
        if trial.state.is_finished() and trial.params and not attributes.was_killed(trial):
            trials.append(trial)
    return trials


def _latest_distributions(study: Study) -> dict[str, BaseDistribution]:
    """Return the distribution of each parameter in the latest trial of a study that has it."""
    known: dict[str, BaseDistribution] = {}
    for trial in attributes.imported_first(attributes.all_trials(study)):
        known.update(trial.distributions)
    return known


def _check_source(source: Any, sources: Sources, trials: Sequence[FrozenTrial]) -> None:
    """Raise an error if trials cannot stand for a source."""
    if source is OWN:
        return
    if sources.distribution is None:
        raise ValueError(
            f"`source={source!r}` is given, but no trial of the study has suggested the source "
            f"parameter {sources.name!r} yet. Pass `choices=[...]` with all its choices, in the "
            "order in which the objective suggests them."
        )
    try:
        sources.index_of(source)
    except ValueError:
        raise ValueError(
            f"`source` has {source!r}, which is not a choice of the source parameter "
            f"{sources.name!r}: {list(sources.distribution.choices)}."
        ) from None
    own = {repr(trial.params[sources.name]) for trial in trials if sources.name in trial.params}
    if len(own) > 1:
        raise ValueError(
            f"`source={source!r}` is given, but the trials of `old` are of several sources: "
            f"{', '.join(sorted(own))}. Import the trials of each as a list of its own."
        )


def _index(trial: FrozenTrial, values: Mapping[str, Any], sources: Sources) -> int | None:
    """Return the source index by which a trial is marked, or None."""
    if sources.are_rungs:
        return ended_on(trial, sources, is_complete=trial.state == TrialState.COMPLETE)
    return None if sources.distribution is None else sources.of_trial(values)


def _records(trial: FrozenTrial, is_timed: bool | None) -> dict[str, Any]:
    """Return what a trial has recorded as a training; see :func:`records_of_rungs`."""
    beginning = record_of_beginning(trial, with_cost=is_timed is not None)
    return {**records_of_rungs(trial, is_timed=is_timed), **beginning}


def _costs(
    trials: Sequence[FrozenTrial], cost: Any, old_cost_attr: str, are_trainings: bool
) -> list[float]:
    """Return what the models learn of the cost of each trial; NaN for nothing."""
    if cost is None:
        known = [math.nan] * len(trials)
    elif isinstance(cost, str):
        if cost != "old":
            raise ValueError(
                f'`cost` must be a number, a function, "old" or None, but got {cost!r}.'
            )
        known = costs_of(trials, old_cost_attr)
    elif callable(cost):
        returned = [cost(trial) for trial in trials]
        known = [
            math.nan if value is None else arguments.number("cost(trial)", value, positive=False)
            for value in returned
        ]
    else:
        known = [arguments.number("cost", cost, positive=False)] * len(trials)
    # What failed or was pruned is no sample of what an evaluation costs. But of a training it is
    # known how far it went for it.
    samples = {TrialState.COMPLETE}
    if are_trainings and cost == "old":
        samples.add(TrialState.PRUNED)
    return [
        value if trial.state in samples else math.nan
        for trial, value in zip(trials, known, strict=True)
    ]


def _copy(
    trial: FrozenTrial,
    values: dict[str, Any],
    distributions: Mapping[str, BaseDistribution],
    *,
    user_attrs: dict[str, Any],
    system_attrs: dict[str, Any],
) -> FrozenTrial:
    """Return a trial as one of the new study."""
    unknown = sorted(values.keys() - distributions.keys())
    if unknown:
        raise ValueError(
            f"`params` has {unknown}, which no trial of the study has suggested yet. Pass their "
            "distributions, as the objective suggests them: `distributions={...}`."
        )
    try:
        return optuna.trial.create_trial(
            state=trial.state,
            value=trial.value if trial.state == TrialState.COMPLETE else None,
            params=values,
            distributions={name: distributions[name] for name in values},
            user_attrs=user_attrs,
            system_attrs=system_attrs,
            intermediate_values=trial.intermediate_values,
        )
    except ValueError as error:
        raise ValueError(f"Trial {trial.number} of `old` cannot be imported: {error}") from None


def _check_compatible(
    trial: FrozenTrial, copy: FrozenTrial, known: Mapping[str, BaseDistribution]
) -> None:
    """Raise an error for a parameter that Optuna would refuse, in the midst of the trials."""
    for name in copy.distributions.keys() & known.keys():
        try:
            check_distribution_compatibility(known[name], copy.distributions[name])
        except ValueError:
            raise ValueError(
                f"The parameter {name!r} of trial {trial.number} of `old` would be imported with "
                f"{copy.distributions[name]}, but the trials of the study have it with "
                f"{known[name]}. Optuna wants the same choices, kind and scale throughout a study."
            ) from None


def _key(trial: FrozenTrial) -> Hashable:
    """Return what is the same for two imported trials only if they are copies."""
    values = None if trial.values is None else tuple(trial.values)
    return trial.state, values, repr(sorted(trial.params.items()))
