"""Whether a categorical parameter is likely to be the source, though nobody has said so.

A study without a source is an ordinary use, and so is a categorical parameter in it. But one that
is a source gives the value of a cheap one as the result, without another sign that anything is
wrong. So what is likely is said aloud: after the first trial by what was given, or by a name;
later on where the first choice, which would be the preferred source, is by far the dearest one.
Someone with an ordinary parameter like that reads one warning too many.
"""

from __future__ import annotations

from difflib import SequenceMatcher
import math
import re
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState

from optuna_misowild.study import attributes
from optuna_misowild.study.costs import costs_of
from optuna_misowild.study.source_parameter import FIRST


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from optuna.trial import FrozenTrial

    from optuna_misowild.study.snapshot import Settings


_DEFAULT_SOURCE = "source"
# A categorical parameter with one of these words in its name is likely to name the source.
_TELLING_WORDS = frozenset(
    "dataset fidelity fraction grid mesh resolution resource source subset".split()
)
# A source is clearly the cheaper one below this part of what another costs, ...
CLEARLY_CHEAPER = 1.0 / 3.0
# ... if that is more than the noise of a clock, in seconds, ...
MEASURABLE = 0.1
# ... in the medians of so many trials.
_MIN_COMPARED = 3


def missing_source(
    settings: Settings, trial: FrozenTrial, trials: Sequence[FrozenTrial]
) -> str | None:
    """Return what to say of a source parameter that no trial has, or None.

    Args:
        settings: How the trials are read.
        trial: A trial that completes now.
        trials: All trials of the study.
    """
    name = settings.source
    if _is_named(name, trial, trials):
        return None
    categorical = {
        key: distribution
        for key, distribution in trial.distributions.items()
        if isinstance(distribution, CategoricalDistribution)
    }
    none = f"no parameter {name!r}: all trials count as one source"
    given = _given(settings)
    if given:
        if categorical:
            remedy = (
                f"Its categorical parameters are {_listed(categorical)}: if one of them names "
                "the source, pass its name as `source=...`"
            )
        else:
            remedy = (
                "It has no categorical parameter: let it suggest the source by "
                f"`trial.suggest_categorical({name!r}, [...])`"
            )
        return (
            f"`{given}` was given, but the objective has {none}. {remedy}. For a single source "
            "leave the argument out."
        )
    for key in filter(_is_telling, categorical):
        return f"The objective has {none}. {_if_source(key)}"
    if settings.only_preferred:
        return None
    for key, distribution in categorical.items():
        compared = _compared(key, distribution, trials, settings.cost_attr)
        if compared is not None:
            return f"The objective has {none}, but {compared}. {_if_source(key)}"
    return None


def only_source(
    settings: Settings, trial: FrozenTrial, trials: Sequence[FrozenTrial]
) -> str | None:
    """Return what to say where nothing but the name is missing: that is an ordinary use as well.

    Args:
        settings: How the trials are read.
        trial: A trial that completes now.
        trials: All trials of the study.
    """
    name = settings.source
    if settings.only_preferred or _is_named(name, trial, trials):
        return None
    return (
        f"There is no parameter {name!r}: all trials count as one source. If there are several, "
        f"let the objective suggest which by `trial.suggest_categorical({name!r}, [...])`."
    )


def _is_named(name: str, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> bool:
    return name in trial.distributions or any(name in t.distributions for t in trials)


def _given(settings: Settings) -> str:
    """Return the arguments of the sampler that only make sense with a source parameter."""
    given = []
    if settings.source != _DEFAULT_SOURCE:
        given.append(f"source={settings.source!r}")
    if settings.preferred_source is not FIRST and settings.preferred_source is not None:
        given.append(f"preferred_source={settings.preferred_source!r}")
    if settings.query_sources is not None:
        given.append(f"query_sources={list(settings.query_sources)!r}")
    return ", ".join(given)


def _is_telling(name: str) -> bool:
    """Whether a name is like "source", or has a word that such a parameter often has."""
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+", name)
    if any(word.lower().removesuffix("s") in _TELLING_WORDS for word in words):
        return True
    return SequenceMatcher(None, name.lower(), _DEFAULT_SOURCE).ratio() > 0.8


def _compared(
    name: str,
    distribution: CategoricalDistribution,
    trials: Sequence[FrozenTrial],
    cost_attr: str,
) -> str | None:
    """Return what the choices cost, if the first is by far the dearest, as a source would be."""
    costs: list[list[float]] = [[] for _ in distribution.choices]
    for trial, cost in zip(trials, costs_of(trials, cost_attr), strict=True):
        same = trial.distributions.get(name) == distribution
        if trial.state == TrialState.COMPLETE and math.isfinite(cost) and same:
            costs[int(distribution.to_internal_repr(trial.params[name]))].append(cost)
    if not all(costs):
        return None
    medians = [float(np.median(own)) for own in costs]
    cheapest = int(np.argmin(medians))
    if min(len(costs[0]), len(costs[cheapest])) < _MIN_COMPARED:
        return None
    if medians[cheapest] >= CLEARLY_CHEAPER * medians[0] or medians[0] < max(medians):
        return None
    if medians[0] < MEASURABLE and any(map(attributes.is_timed, trials)):
        return None
    return (
        f"{name!r} = {distribution.choices[0]!r} costs {medians[0]:.3g} in the median, and "
        f"{distribution.choices[cheapest]!r} only {medians[cheapest]:.3g}"
    )


def _if_source(name: str) -> str:
    return (
        f"If {name!r} names the source, pass `source={name!r}`: else the result may be that of a "
        "cheap source. If it is a parameter like any other, all is well."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
