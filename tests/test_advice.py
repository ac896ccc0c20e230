"""Likely mistakes are said once, and ordinary uses are left in peace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from datetime import timedelta
from typing import Any

from advised_studies import Objective
from advised_studies import infos_of
from advised_studies import priced
from advised_studies import run
import optuna
from optuna.storages import RDBStorage
import pytest
from toy_studies import METHODS
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import source_verdicts
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.study.design_budget import what_is_left


# What the sources cost.


@pytest.mark.parametrize("method", METHODS)
def test_a_preferred_source_that_is_the_cheapest_is_said(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(priced(coarse=0.1, mid=0.5, fine=1.0), 9, method=method, n_startup_trials=2)
    said = warnings_of(caplog)
    assert said.count("is by far the cheapest") == 1
    assert "preferred source 'coarse', the first choice of 'source'" in said
    assert "`preferred_source='fine'`" in said


@pytest.mark.parametrize(
    "objective, arguments",
    [
        (priced(fine=1.0, coarse=0.1), {}),
        (priced(fine=1.0, coarse=1.5), {}),
        (priced(coarse=0.1, mid=0.2, fine=1.0), {}),
        (priced(coarse=0.1, fine=1.0), {"preferred_source": "coarse"}),
        (priced(coarse=0.1, fine=1.0), {"preferred_source": "fine"}),
        (priced(coarse=0.1, fine=1.0), {"query_sources": ["coarse"]}),
        (priced(a=0.0, b=0.0), {}),
    ],
)
def test_other_orders_of_costs_are_not(
    objective: Objective, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    run(objective, 8, n_startup_trials=2, **arguments)
    assert "is by far the cheapest" not in warnings_of(caplog)


def test_the_noise_of_a_clock_is_no_cost(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["coarse", "fine"])
        value = trial.suggest_float("x", 0.0, 1.0)
        if source == "fine":  # A few milliseconds, against microseconds.
            sum(range(300_000))
        return value

    run(objective, 10)
    assert "is by far the cheapest" not in warnings_of(caplog)


def test_a_source_that_is_dropped_is_said_with_its_cost(caplog: pytest.LogCaptureFixture) -> None:
    study = run(priced(full=1.0, half=0.5, thrice=3.0, third=0.36, tenth=0.1), 16)
    first, second = warnings_of(caplog).splitlines()
    assert first == (
        "Source 'half' is dropped, unless later costs say otherwise: it costs 0.5 times as much "
        "as 'full', above `max_cost_ratio`. Offer a cheaper one in its place, or raise the limit "
        "with `MisoWildSampler(method=RobustMethod(max_cost_ratio=...))`."
    )
    assert second == (
        "Source 'thrice' is dropped, unless later costs say otherwise: it costs 3 times as much "
        "as 'full', above `max_cost_ratio`."
    )
    verdicts = source_verdicts(study)
    assert verdicts["half"] == verdicts["thrice"] == "dropped: hardly cheaper"
    assert "dropped" not in verdicts["tenth"] + verdicts["third"]
    assert sum(t.params["source"] == "half" for t in study.trials) == 2


@pytest.mark.parametrize("is_timed", [True, False])
def test_the_noise_of_a_clock_has_its_remedy(
    is_timed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    study = study_of(MisoWildSampler(seed=0))
    for trial in run(priced(full=1.0, half=0.5), 7).trials:
        if is_timed:
            seconds = trial.user_attrs.pop("cost")
            trial.datetime_start = datetime(2026, 1, 1)
            trial.datetime_complete = trial.datetime_start + timedelta(seconds=seconds)
        study.add_trial(trial)
    caplog.clear()
    study.optimize(priced(full=1.0, half=0.5), n_trials=1)
    said = (
        "mostly the noise of the clock, let the objective set a cost of your own: `trial.set_user"
    )
    assert warnings_of(caplog).count("Source 'half' is dropped") == 1
    assert warnings_of(caplog).count(said) == is_timed


@pytest.mark.parametrize("arguments", [{"method": "paper"}, {"query_sources": ["full"]}])
def test_a_source_that_is_not_dropped_is_not(
    arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    added = run(priced(full=1.0, half=0.5), 6, method=RobustMethod(max_cost_ratio=0.8))
    assert "dropped" not in " ".join(source_verdicts(added).values())
    study = study_of(MisoWildSampler(seed=0, **arguments))
    study.add_trials(added.trials)
    study.optimize(priced(full=1.0, half=0.5), n_trials=4)
    assert warnings_of(caplog) == ""
    assert "dropped" not in source_verdicts(study)["half"]


def test_free_sources_are_not_said_to_be_dropped(caplog: pytest.LogCaptureFixture) -> None:
    study = run(priced(a=0.0, b=0.0), 8)
    assert warnings_of(caplog) == ""
    assert source_verdicts(study) == {"b": "dropped: hardly cheaper"}


# The budget.


def test_a_budget_below_the_initial_design_is_said(caplog: pytest.LogCaptureFixture) -> None:
    run(priced(full=10.0, tenth=1.0), 2, budget=25.0)
    assert warnings_of(caplog) == ""
    run(priced(full=10.0, tenth=1.0), 3, budget=25.0)
    said = warnings_of(caplog)
    assert said.count("`budget=25` is less than what the initial design costs") == 1
    assert "`n_startup_trials=5`" in said


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_that_lasts_is_not(method: str, caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(MisoWildSampler(method=method, budget=200.0, seed=0))
    study.optimize(priced(full=10.0, tenth=1.0), callbacks=[CostBudgetCallback(200.0)])
    assert cumulated_cost(study) >= 200.0
    assert warnings_of(caplog) == ""
    assert "evaluations of the preferred source" not in infos_of(caplog)


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
        # Two more of the preferred source; the other one has no cost yet.
        assert "cost 11, and the 3 that are left of it are predicted to cost 22 at least" in said
        assert "in the unit of 'cost', which the objective sets" in said
    study.optimize(objective, n_trials=1, callbacks=[callback])
    assert warnings_of(caplog).count("before the initial design was through") == 1


@pytest.mark.parametrize(
    "n_left, rest, said",
    [
        (3, 22.0, "the 3 that are left of it are predicted to cost 22 at least"),
        (1, 11.0, "the 1 that is left of it is predicted to cost 11 at least"),
        (1, 0.0, "1 is left of it"),
        (2, 0.0, "2 are left of it"),
    ],
)
def test_what_is_left_of_the_design_in_words(n_left: int, rest: float, said: str) -> None:
    assert what_is_left(n_left, rest) == said


def test_a_budget_that_never_ends_is_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    run(priced(full=1.0, tenth=0.1), 12, budget=3600.0)
    assert infos_of(caplog).count("`budget=3600` would pay for 3") == 1
    assert warnings_of(caplog) == ""


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
    assert "ask `CostBudgetCallback.is_spent(study)`" in warnings_of(caplog)


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
    assert said.count("Further trials with such a cost are not told") == 1


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
    "name, value, is_said",
    [
        ("costs", 3.0, True),
        ("Cost", 3, True),
        ("costs", "3", False),
        ("cos", 3.0, False),
        ("loss", 3.0, False),
        ("seconds", 3.0, False),
    ],
)
def test_a_cost_of_almost_the_right_name_is_said(
    name: str, value: Any, is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr(name, value)
        return trial.suggest_float("x", 0.0, 1.0)

    run(objective, 3)
    assert warnings_of(caplog).count(f"pass `cost_attr={name!r}`") == is_said
    assert is_said or warnings_of(caplog) == ""


def test_a_cost_of_the_usual_name_is_said_if_another_was_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(priced(fine=1.0, coarse=0.1), 3, cost_attr="kwh")
    said = warnings_of(caplog)
    assert said.count("Trial 0 has the user attribute 'cost' = ") == 1
    assert "but no 'kwh': its cost is its duration in seconds" in said


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


def test_another_attribute_beside_the_cost_is_fine(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("costs", 3.0)
        trial.set_user_attr("cost", 3.0)
        return trial.suggest_float("x", 0.0, 1.0)

    run(objective, 3)
    assert warnings_of(caplog) == ""
