"""What is said of costs and budgets; ordinary uses hear nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from optuna.storages import RDBStorage
import pytest
from toy_studies import METHODS
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of
from warned_studies import priced
from warned_studies import run

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild.study.warnings import what_remains


# The budget.


def test_a_budget_below_the_initial_design_is_said(caplog: pytest.LogCaptureFixture) -> None:
    run(priced(full=10.0, tenth=1.0), 2, budget=25.0)
    assert warnings_of(caplog) == ""
    run(priced(full=10.0, tenth=1.0), 13, budget=25.0)
    said = warnings_of(caplog)
    assert said.count("`budget=25` is less than what the initial design costs") == 1
    assert "`n_startup_trials=5`" in said


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_that_lasts_is_not(method: str, caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(MisoWildSampler(method=method, budget=200.0, seed=0))
    study.optimize(priced(full=10.0, tenth=1.0), callbacks=[CostBudgetCallback(200.0)])
    assert cumulated_cost(study) >= 200.0
    assert warnings_of(caplog) == ""


@pytest.mark.parametrize("is_timed", [False, True])
def test_a_budget_spent_before_the_design_is_through_is_said(
    is_timed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", ["full", "tenth"])
        if not is_timed:
            trial.set_user_attr("cost", 11.0)
        return trial.suggest_float("x", 0.0, 1.0)

    budget = 1e-9 if is_timed else 2.0
    study = study_of(MisoWildSampler(budget=budget, seed=0))
    callback = CostBudgetCallback(budget)
    study.optimize(objective, callbacks=[callback])
    said = warnings_of(caplog)
    assert len(study.trials) == 1
    assert said.count(f"The budget of {budget:g} was spent before the initial design") == 1
    assert "1 trial has cost" in said
    if is_timed:
        assert "in seconds, since the objective does not set 'cost'" in said
    else:
        assert "cost 11, and 1 remains" in said  # Of the preferred source nothing is known.
        assert "in the unit of 'cost', which the objective sets" in said
    study.optimize(objective, n_trials=1, callbacks=[callback])
    assert warnings_of(caplog).count("before the initial design was through") == 1


@pytest.mark.parametrize(
    "n, rest, said",
    [
        (3, 22.0, "the 3 that remain are predicted to cost 22 at least"),
        (1, 11.0, "the 1 that remains is predicted to cost 11 at least"),
        (1, 0.0, "1 remains"),
        (2, 0.0, "2 remain"),
    ],
)
def test_what_remains_of_the_design_in_words(n: int, rest: float, said: str) -> None:
    assert what_remains(n, rest) == said


def test_two_budgets_are_said(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(MisoWildSampler(budget=100.0, seed=0))
    study.optimize(toy, n_trials=3, callbacks=[CostBudgetCallback(50.0)])
    assert warnings_of(caplog).count("plans with `budget=100`") == 1
    assert "stops the study at 50." in warnings_of(caplog)


@pytest.mark.parametrize("budget", [None, 50.0])
def test_one_budget_is_not(budget: float | None, caplog: pytest.LogCaptureFixture) -> None:
    for sampler in (MisoWildSampler(budget=budget, seed=0), optuna.samplers.RandomSampler()):
        study = study_of(sampler)
        study.optimize(toy, n_trials=3, callbacks=[CostBudgetCallback(50.0)])
    assert warnings_of(caplog) == ""


def test_a_budget_that_is_spent_names_what_can_be_done(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(MisoWildSampler(budget=3.0, seed=0))
    callback = CostBudgetCallback(3.0)
    study.optimize(toy, callbacks=[callback])
    assert "is spent" not in warnings_of(caplog)
    assert callback.is_spent(study)
    study.optimize(toy, n_trials=1, callbacks=[callback])
    assert "check `CostBudgetCallback.is_spent(study)`" in warnings_of(caplog)


def test_a_budget_without_any_usable_cost_is_said(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("cost", "3 EUR")
        return trial.suggest_float("x", 0.0, 1.0)

    study = study_of(MisoWildSampler(budget=5.0, seed=0))
    study.optimize(objective, n_trials=8, callbacks=[CostBudgetCallback(5.0)])
    assert cumulated_cost(study) == 0.0
    said = warnings_of(caplog)
    assert said.count("budget of 5 cannot be kept: none of the 3 finished trials") == 1
    assert "In trial 0 the user attribute 'cost' is '3 EUR'" in said
    assert said.count("which is a str") == 3
    assert said.count("Further trials with such a cost are not mentioned") == 1


def test_a_budget_that_nothing_is_spent_of_is_said(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(MisoWildSampler(budget=5.0, seed=0))
    study.optimize(priced(a=0.0, b=0.0), n_trials=2, callbacks=[CostBudgetCallback(5.0)])
    assert warnings_of(caplog) == ""
    callback = CostBudgetCallback(5.0)
    study.optimize(priced(a=0.0, b=0.0), n_trials=4, callbacks=[callback])
    said = warnings_of(caplog)
    assert said.count("budget of 5 cannot be kept: none of the 3 finished trials") == 1
    assert "In trial 0 the user attribute 'cost' is 0. Let the objective" in said
    assert said.count("\n") == 0
    caplog.clear()
    study = study_of(MisoWildSampler(budget=5.0, seed=0))
    study.optimize(priced(a=1.0, b=0.0), n_trials=6, callbacks=[CostBudgetCallback(50.0)])
    assert "cannot be kept" not in warnings_of(caplog)


@pytest.mark.parametrize("name, asked", [("cost", "seconds"), ("kwh", "cost")])
@pytest.mark.parametrize("sampler", ["ours", "random"])
def test_a_budget_of_costs_that_no_trial_has_is_said(
    name: str, asked: str, sampler: str, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr(name, 10.0)
        return trial.suggest_float("x", 0.0, 1.0)

    ours = MisoWildSampler(cost_attr=name, seed=0)
    study = study_of(ours if sampler == "ours" else optuna.samplers.RandomSampler())
    study.optimize(objective, n_trials=3, callbacks=[CostBudgetCallback(120.0, cost_attr=asked)])
    said = warnings_of(caplog)
    if sampler == "random" and name != "cost":  # Nobody has said what "kwh" is.
        assert said == ""
        return
    assert said.count(f"no trial has a user attribute {asked!r}") == 1
    assert f"Trial 0 has {name!r} = 10.0: if that is its cost, pass `cost_attr={name!r}`" in said


def test_costs_that_the_callback_reads_beside_others_are_fine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("joules", 1.0)
        return trial.suggest_float("x", 0.0, 1.0)

    study = study_of(MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=9, callbacks=[CostBudgetCallback(5.0, cost_attr="joules")])
    assert len(study.trials) == 5
    assert "no trial has" not in warnings_of(caplog)


# Costs.


@pytest.mark.parametrize(
    "storage, sets",
    [("memory", lambda n: n != 4), ("memory", lambda n: n == 4), ("sqlite", lambda n: n != 4)],
    ids=["most", "one", "sqlite"],
)
def test_costs_of_some_trials_only_are_said(
    storage: str, sets: Callable[[int], bool], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        if sets(trial.number):
            trial.set_user_attr("cost", 100.0)
        return trial.suggest_float("x", 0.0, 1.0)

    where = RDBStorage(f"sqlite:///{tmp_path / 's.db'}") if storage == "sqlite" else None
    study = study_of(MisoWildSampler(seed=0), storage=where)
    study.optimize(objective, n_trials=4)
    assert warnings_of(caplog) == ""
    study.optimize(objective, n_trials=4)
    said = warnings_of(caplog)
    assert said.count("has set the user attribute 'cost' = 100.0") == 1
    lacking, having = (4, 0) if sets(0) else (0, 4)
    assert f"Trial {having} has set" in said and f"but trial {lacking} has not" in said


@pytest.mark.parametrize("method", METHODS)
def test_costs_of_all_trials_but_those_that_failed_are_fine(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number in (0, 5):
            raise optuna.TrialPruned
        trial.set_user_attr("cost", 1.0 + x)
        return x

    run(objective, 8, method=method)
    assert warnings_of(caplog) == ""


def test_times_beside_added_trials_that_have_a_cost_are_fine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = study_of(MisoWildSampler(seed=0))
    study.add_trial(optuna.create_trial(value=1.0, user_attrs={"cost": 3.0}))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=4)
    assert warnings_of(caplog) == ""


@pytest.mark.parametrize(
    "before, after, is_said", [("kwh", "cost", 1), ("kwh", "kwh", 0), ("cost", "cost", 0)]
)
def test_a_study_resumed_without_the_name_of_its_costs_is_told(
    before: str, after: str, is_said: int, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr(before, 3.0)
        return trial.suggest_float("x", 0.0, 1.0)

    study = run(objective, 3, cost_attr=before)
    study.sampler = MisoWildSampler(cost_attr=after, seed=0)
    study.optimize(objective, n_trials=1)
    assert warnings_of(caplog).count("pass `cost_attr='kwh'` to the sampler again") == is_said
