from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from datetime import timedelta
import multiprocessing
from pathlib import Path
import time
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.storages import JournalStorage
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
import pytest

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild.figure_data import FigureData


def study_with(costs: list[float | None], state: TrialState = TrialState.COMPLETE) -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for cost in costs:
        study.add_trial(
            optuna.create_trial(
                state=state,
                value=1.0 if state == TrialState.COMPLETE else None,
                user_attrs={} if cost is None else {"cost": cost},
            )
        )
    return study


def objective(trial: optuna.Trial) -> float:
    trial.set_user_attr("cost", 1.0)
    return trial.suggest_float("x", 0.0, 1.0)


@pytest.mark.parametrize("state", [TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED])
def test_finished_trials_of_every_state_have_paid(state: TrialState) -> None:
    assert cumulated_cost(study_with([1.0, 2.5, 0.0], state)) == 3.5


def test_another_attribute_may_hold_the_cost() -> None:
    study = study_with([])
    study.add_trial(optuna.create_trial(value=1.0, user_attrs={"cost": 1.0, "joules": 7.0}))
    assert cumulated_cost(study, cost_attr="joules") == 7.0


def test_a_cost_of_another_name_is_found_by_all_that_read_costs(tmp_path: Path) -> None:
    def metered(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("grid", ["fine", "coarse"])
        trial.set_user_attr("kwh", 10.0 if source == "fine" else 1.0)
        return trial.suggest_float("x", 0.0, 1.0) + (source == "coarse")

    url = f"sqlite:///{tmp_path / 's.db'}"
    sampler = MisoWildSampler(source="grid", cost_attr="kwh", budget=60.0, seed=0)
    study = optuna.create_study(study_name="s", storage=url, sampler=sampler)
    callback = CostBudgetCallback(60.0)
    study.optimize(metered, n_trials=60, callbacks=[callback])
    spent = sum(trial.user_attrs["kwh"] for trial in study.trials)
    assert 60.0 <= spent < 70.0
    loaded = optuna.load_study(study_name="s", storage=url)
    for seen in (study, loaded):
        assert cumulated_cost(seen) == spent
        assert callback.is_spent(seen)
        assert FigureData(seen).queries[-1].spent == spent
        assert FigureData(seen).cost_unit == ""
    # Running trials too are predicted in that unit: one at the fine grid costs 10.
    loaded.enqueue_trial({"grid": "fine", "x": 0.5})
    trial = loaded.ask()
    metered(trial)
    assert not CostBudgetCallback(spent + 9.0, running="ignore").is_spent(loaded)
    assert CostBudgetCallback(spent + 9.0).is_spent(loaded)
    assert not CostBudgetCallback(spent + 11.0).is_spent(loaded)


def test_nothing_is_spent_in_an_empty_study() -> None:
    assert cumulated_cost(study_with([])) == 0.0


def test_the_study_stops_at_the_trial_that_reaches_the_budget() -> None:
    study = study_with([])
    study.optimize(objective, n_trials=20, callbacks=[CostBudgetCallback(5.0)])
    assert len(study.trials) == 5
    # A resumed study goes on from there.
    study.optimize(objective, n_trials=20, callbacks=[CostBudgetCallback(7.5)])
    assert len(study.trials) == 8


def test_a_budget_that_is_spent_already_stops_at_once() -> None:
    study = study_with([10.0])
    callback = CostBudgetCallback(5.0)
    assert callback.is_spent(study)
    study.optimize(objective, n_trials=20, callbacks=[callback])
    assert len(study.trials) == 2


def test_failed_trials_spend_too() -> None:
    def fails(trial: optuna.Trial) -> float:
        objective(trial)
        raise RuntimeError

    study = study_with([])
    study.optimize(fails, n_trials=20, catch=(RuntimeError,), callbacks=[CostBudgetCallback(3.0)])
    assert len(study.trials) == 3


def test_threads() -> None:
    study = study_with([])
    study.optimize(objective, n_trials=100, n_jobs=4, callbacks=[CostBudgetCallback(10.0)])
    assert 10 <= len(study.trials) <= 13


def test_running_trials_can_count_in_advance() -> None:
    study = study_with([1.0, 1.0])
    running = optuna.create_trial(state=TrialState.RUNNING)
    running.datetime_start = datetime.now() - timedelta(seconds=50)
    study.add_trial(running)
    assert not CostBudgetCallback(40.0, running="ignore").is_spent(study)
    assert CostBudgetCallback(40.0, running="elapsed").is_spent(study)
    assert not CostBudgetCallback(90.0, running="elapsed").is_spent(study)


def test_running_trials_count_as_predicted() -> None:
    study = study_with([])
    study.optimize(objective, n_trials=4)
    trials = [study.ask() for _ in range(3)]
    for trial in trials[:2]:
        trial.suggest_float("x", 0.0, 1.0)
    # Four have cost 1 each, and so will these three: the last one too, of which nothing is known.
    assert CostBudgetCallback(6.5).is_spent(study)
    assert not CostBudgetCallback(7.5).is_spent(study)
    assert not CostBudgetCallback(4.5, running="ignore").is_spent(study)


def test_nothing_is_predicted_before_any_cost_is_known() -> None:
    study = study_with([])
    study.ask().suggest_float("x", 0.0, 1.0)
    assert not CostBudgetCallback(1e-9).is_spent(study)


@pytest.mark.parametrize("says_nothing", [False, True])
def test_a_trial_whose_worker_is_gone_holds_no_money_back(says_nothing: bool) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0, budget=3.5))
    study.optimize(objective, n_trials=3)
    orphan = study.ask()
    if not says_nothing:
        objective(orphan)
    callback = CostBudgetCallback(3.5)
    assert callback.is_spent(study)
    frozen = study._storage.get_all_trials(study._study_id, deepcopy=False)[orphan.number]
    frozen.system_attrs["misowild:begun"] = [time.time() - 1e5, 0.0, 0]
    assert not callback.is_spent(study)
    study.optimize(objective, n_trials=9, callbacks=[callback])
    assert cumulated_cost(study) == 4.0


def storage(kind: str, folder: Path) -> BaseStorage:
    if kind == "sqlite":
        return RDBStorage(
            f"sqlite:///{folder / 'study.db'}", engine_kwargs={"connect_args": {"timeout": 60}}
        )
    return JournalStorage(JournalFileBackend(str(folder / "study.log")))


def work(kind: str, folder: Path) -> int:
    study = optuna.load_study(
        study_name="s", storage=storage(kind, folder), sampler=optuna.samplers.RandomSampler()
    )
    before = len(study.trials)
    study.optimize(objective, n_trials=100, callbacks=[CostBudgetCallback(20.0)])
    return len(study.trials) - before


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_two_processes(kind: str, tmp_path: Path) -> None:
    study = optuna.create_study(study_name="s", storage=storage(kind, tmp_path))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(work, [kind] * 2, [tmp_path] * 2))
    # Each worker finishes the trial that it is at when the budget is reached.
    assert 20 <= len(study.get_trials()) <= 21
    assert cumulated_cost(study) == len(study.get_trials())


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"budget": 0.0}, ValueError, "`budget` must be finite and positive, but got 0.0"),
        ({"budget": "1h"}, TypeError, "`budget` must be a number, but got '1h'"),
        ({"budget": 1.0, "running": "yes"}, ValueError, "`running` must be one of .*got 'yes'"),
        ({"budget": 1.0, "cost_attr": ""}, ValueError, "`cost_attr` must not be empty"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CostBudgetCallback(**arguments)
