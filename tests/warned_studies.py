"""Studies that the tests of warnings begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from toy_studies import study_of

from optuna_misowild import MisoWildSampler


Objective = Callable[[optuna.Trial], float]


def run(
    objective: Objective, n_trials: int, sampler: Any = None, **arguments: Any
) -> optuna.Study:
    study = study_of(sampler or MisoWildSampler(seed=0, **arguments))
    study.optimize(objective, n_trials=n_trials)
    return study


def named(name: str, choices: tuple[Any, ...] = ("full", "cheap")) -> Objective:
    """Return an objective whose source is called something; every source costs about the same."""

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical(name, choices)
        trial.set_user_attr("cost", 1.0)
        return trial.suggest_float("x", 0.0, 1.0) + 0.1 * (source != choices[0])

    return objective


def priced(name: str = "source", **costs: float) -> Objective:
    """Return an objective whose sources cost what is given."""

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical(name, list(costs))
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", costs[source] * (1.0 + 0.1 * x))
        return (x - 0.3) ** 2

    return objective


def plain(trial: optuna.Trial) -> float:
    trial.suggest_categorical("kernel", ["rbf", "poly"])
    return trial.suggest_float("x", 0.0, 1.0)
