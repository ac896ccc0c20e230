"""What is no study, no sampler of ours, or no number that a float holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import source_verdicts


@pytest.mark.parametrize("function", [recommend, source_verdicts, cumulated_cost])
@pytest.mark.parametrize("study", [None, "tuning"])
def test_a_study_is_asked_for(function: Callable[[Any], Any], study: Any) -> None:
    with pytest.raises(TypeError, match=f"`study` must be an Optuna study, but got {study!r}"):
        function(study)


@pytest.mark.parametrize("function", [recommend, source_verdicts])
def test_another_sampler_does_not_recommend(function: Callable[..., Any]) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    with pytest.raises(TypeError, match="`sampler` must be a MisoWildSampler, .* got <optuna"):
        function(study, sampler=optuna.samplers.RandomSampler())
    with pytest.raises(TypeError, match="`study` must be an Optuna study"):
        function("tuning", sampler=MisoWildSampler(seed=0))


@pytest.mark.parametrize(
    "make", [lambda b: MisoWildSampler(budget=b), CarboCoolingSampler, CostBudgetCallback]
)
def test_a_budget_is_not_beyond_all_floats(make: Callable[[int], Any]) -> None:
    assert make(10**300)
    with pytest.raises(ValueError, match=r"`budget` must be finite and positive, but got 1000\d*"):
        make(10**400)
