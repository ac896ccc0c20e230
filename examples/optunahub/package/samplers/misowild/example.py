"""Minimise a function that is expensive to evaluate exactly, and cheap roughly."""

from __future__ import annotations

import math
from pathlib import Path

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", ["exact", "rough"])  # the first is preferred
    x = trial.suggest_float("x", 0.0, 1.0)
    value = (6 * x - 2) ** 2 * math.sin(12 * x - 4)
    if source == "rough":
        value = 0.5 * value + 10 * (x - 0.5) - 5
    # In real life the cost is the time that the trial takes, unless it is set.
    trial.set_user_attr("cost", (1.0 if source == "exact" else 0.05) * (1.0 + x))
    return value


# This copy of the package; `optunahub.load_module("samplers/misowild")` loads the published one.
module = optunahub.load_local_module(
    "samplers/misowild", registry_root=str(Path(__file__).parents[2])
)

if __name__ == "__main__":
    study = optuna.create_study(sampler=module.MisoWildSampler(budget=20.0, seed=0))
    study.optimize(objective, callbacks=[module.CostBudgetCallback(20.0)])
    best = module.recommend(study)
    print(f"x = {best.params['x']:.4f}, value {best.value:.4f}, observed there: {best.verified}")
