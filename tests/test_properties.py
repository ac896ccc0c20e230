"""What holds for every search space, every list of sources and every history."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState
import pytest
from random_studies import SOURCE
from random_studies import Setting
from random_studies import histories
from random_studies import objective_values
from random_studies import settings

from optuna_misowild import recommend
from optuna_misowild.study.space import n_values


# Random ranges are seldom a multiple of their step.
pytestmark = pytest.mark.filterwarnings("ignore:The distribution is specified by")

Key = tuple[float, ...]


@st.composite
def studies(draw: st.DrawFn) -> tuple[Setting, list[FrozenTrial]]:
    setting = draw(settings())
    return setting, draw(histories(setting))


def key_of(setting: Setting, params: Mapping[str, Any]) -> Key:
    """A query, in Optuna's own numbers: two are the same if these are."""
    return tuple(
        distribution.to_internal_repr(params[name])
        for name, distribution in setting.distributions.items()
    )


def keys_of(setting: Setting, trials: Sequence[FrozenTrial]) -> set[Key]:
    """All queries so far, as far as they have suggested every parameter of several values."""
    certain = {
        name: getattr(distribution, "choices", (getattr(distribution, "low", None),))[0]
        for name, distribution in setting.space.items()
        if distribution.single()
    }
    return {
        key_of(setting, {**certain, **trial.params})
        for trial in trials
        if trial.params and {*certain, *trial.params} == setting.distributions.keys()
    }


def something_is_left(setting: Setting, asked: set[Key]) -> bool:
    """Whether there is a query that has not been asked, of a source that may be."""
    counts: list[float] = []
    for name, distribution in setting.distributions.items():
        if name == SOURCE:
            asked = {key for key in asked if key[0] in setting.queryable()}
            counts.append(len(setting.queryable()))
        elif isinstance(distribution, CategoricalDistribution):
            choices = distribution.choices
            counts.append(len({distribution.to_internal_repr(choice) for choice in choices}))
        else:
            count = n_values(distribution)
            counts.append(1 if distribution.single() else math.inf if count is None else count)
    return len(asked) < math.prod(counts)


@given(case=studies(), values=st.lists(objective_values, min_size=3, max_size=3))
@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_suggestions_are_inside_and_new(
    case: tuple[Setting, list[FrozenTrial]], values: list[float]
) -> None:
    setting, trials = case
    study = setting.study(trials)
    for value in values:
        before = study.get_trials(deepcopy=False)
        is_known = any(trial.state == TrialState.COMPLETE for trial in before)
        asked = keys_of(setting, before)
        trial = study.ask()
        params = setting.suggest(trial)
        assert setting.is_inside(params)
        if setting.sources is not None:
            assert key_of(setting, params)[0] in setting.queryable()
        if is_known and something_is_left(setting, asked):
            assert key_of(setting, params) not in asked
        study.tell(trial, value)
    assert recommend(study).params.keys() == setting.space.keys()


@given(case=studies(), value=objective_values)
def test_the_same_seed_and_trials_give_the_same(
    case: tuple[Setting, list[FrozenTrial]], value: float
) -> None:
    setting, trials = case
    suggested = []
    for study in (setting.study(trials), setting.study(trials)):
        for _ in range(2):
            trial = study.ask()
            suggested.append(key_of(setting, setting.suggest(trial)))
            trial.set_user_attr("cost", 1.0)  # Its time would never be the same.
            study.tell(trial, value)
    assert suggested[:2] == suggested[2:]
