"""Costs that nobody knows, that are nothing, or that are spent before they are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
import warnings

import numpy as np
import optuna
import pytest
from toy_studies import METHODS
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import warnings_of

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import source_verdicts
from optuna_misowild.gp.cost import LogCost
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.visualization import plot_cost_model


def objective_of(cost: Callable[[str], object]) -> Callable[[optuna.Trial], float]:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        trial.set_user_attr("cost", cost(source))
        return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 + 0.1 * (source == "cheap")

    return objective


def test_a_model_of_no_cost_at_all_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    model = LogCost(fit_gp(np.empty((0, 2)), np.empty(0), offsets=np.zeros(3)))
    anywhere = np.full((4, 2), 0.5)
    np.testing.assert_array_equal(model.median(anywhere, 2), 1.0)
    assert np.isfinite(model.mean_and_std(anywhere, 1)).all()
    assert capfd.readouterr() == ("", "")  # LAPACK itself complains of empty matrices.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("free", ["cheap", "all"])
def test_sources_that_cost_nothing_have_a_verdict(method: str, free: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(objective_of(lambda source: float(free != "all" and source == "full")), 14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert source_verdicts(study).keys() == {"cheap"}


def test_what_is_left_of_the_design_is_not_said_to_cost_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = study_of(MisoWildSampler(budget=2.0, seed=0))
    study.enqueue_trial({"source": "full", "x": 0.5})
    study.optimize(objective_of(lambda source: 3.0), callbacks=[CostBudgetCallback(2.0)])
    said = warnings_of(caplog)
    assert "1 trial has cost 3, and 1 remains. What has" in said


def test_a_budget_that_running_trials_have_spent_is_said_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = study_of(MisoWildSampler(budget=2.5, seed=0, query_sources=["full"]))
    callback = CostBudgetCallback(2.5, running="predict")
    objective = objective_of(lambda source: 2.0)
    objective(study.ask())  # Another worker is at it.
    study.optimize(objective, callbacks=[callback])
    said = warnings_of(caplog)
    assert len(study.trials) == 2
    assert "1 trial has cost 2, with what is running the rest, and the" in said


@pytest.mark.parametrize(
    "cost",
    [1e-320, 1e-300, 10**400, np.float32(3.0), np.float32(1e38), np.float64(2.0), np.int64(4)],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_numbers_of_any_kind_are_costs_and_numpy_does_not_warn(cost: Any) -> None:
    study = study_of(MisoWildSampler(seed=0, budget=100.0))

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        trial.set_user_attr("cost", cost if trial.number % 3 == 0 else len(source))
        return trial.suggest_float("x", 0.0, 1.0)

    study.optimize(objective, n_trials=9, callbacks=[CostBudgetCallback(100.0)])
    lengths = [len(t.params["source"]) for t in study.trials if t.number % 3]
    # Where it is too large to be a cost, it is taken as unknown.
    n = len(study.trials) - len(lengths)
    known = 0.0 if type(cost) is int else n * float(cost)
    assert cumulated_cost(study) == pytest.approx(sum(lengths) + known)


@pytest.mark.parametrize("free", [["cheap"], SOURCES])
def test_a_source_that_costs_nothing_is_drawn(free: list[str]) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        x, y = (trial.suggest_float(name, 0.0, 1.0) for name in "xy")
        trial.set_user_attr("cost", 0.0 if source in free else 1.0 + x)
        return x + y

    study = study_of(MisoWildSampler(method="paper", seed=0))
    study.optimize(objective, n_trials=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        figure = plot_cost_model(study)
    highest = figure.layout.coloraxis2.cmax
    assert highest is None or np.isfinite(highest)
