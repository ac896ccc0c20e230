"""What is no study, no sampler of ours, or no number that a float holds."""

from __future__ import annotations

from collections.abc import Callable
import re
from typing import Any

import optuna
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import source_verdicts
from optuna_misowild import visualization
from optuna_misowild.dashboard import publish


PLOTS = [getattr(visualization, name) for name in visualization.__all__ if name[:4] == "plot"]
# What a sampler reads a study for, which has one objective then.
READERS = [recommend, source_verdicts, publish, MisoWildSampler(seed=0).model, *PLOTS]


@pytest.mark.parametrize("function", [*READERS, cumulated_cost])
@pytest.mark.parametrize("study", [None, "tuning", 3, [None]])
def test_a_study_is_asked_for(function: Callable[[Any], Any], study: Any) -> None:
    expected = rf"`study` must be an Optuna study(, or .*)?, but got {re.escape(repr(study))}"
    with pytest.raises(TypeError, match=expected):
        function(study)
    assert "TypeError: If an argument has" in raises(function)


@pytest.mark.parametrize("function", READERS)
def test_it_has_one_objective(function: Callable[[Any], Any]) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="`study` has 2 objectives"):
        function(study)
    assert "ValueError: If the study has several objectives" in raises(function)


def raises(function: Callable[[Any], Any]) -> str:
    """Return what a docstring says of errors."""
    return " ".join((function.__doc__ or "").split("Raises:")[1].split())


@pytest.mark.parametrize("params", ["x", 3, [3]])
def test_parameters_are_asked_for_by_a_list_of_names(params: Any) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    with pytest.raises(TypeError, match="`params` must be a list of names of parameters, but got"):
        visualization.plot_objective_model(study, params)


def test_costs_are_asked_for_by_the_name_of_an_attribute() -> None:
    with pytest.raises(TypeError, match="`cost_attr` must be a string, but got 3"):
        cumulated_cost(optuna.create_study(), cost_attr=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`study` must be an Optuna study, but got None"):
        cumulated_cost(None, cost_attr="seconds")  # type: ignore[arg-type]


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
