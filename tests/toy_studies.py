"""Small studies with the samplers, which several tests begin with."""

from __future__ import annotations

from typing import Any

import optuna
import pytest

from optuna_misowild import MisoWildSampler


METHODS = ["paper", "robust"]
SOURCES = ["full", "cheap"]
OPTIMUM = 0.3


def toy(trial: optuna.Trial, sign: float = 1.0) -> float:
    """A parabola with its optimum at 0.3; the cheap source has it at 0.4, and below."""
    source = trial.suggest_categorical("source", SOURCES)
    x = trial.suggest_float("x", 0.0, 1.0)
    trial.set_user_attr("cost", (1.0 + x) * (1.0 if source == "full" else 0.1))
    if source == "full":
        return sign * (x - OPTIMUM) ** 2
    return sign * ((x - 0.4) ** 2 - 0.05)


def warnings_of(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(r.getMessage() for r in caplog.records if r.levelname == "WARNING")


def study_of(sampler: Any = None, n_trials: int = 0, **kwargs: Any) -> optuna.Study:
    study = optuna.create_study(
        sampler=MisoWildSampler(method="paper", seed=0) if sampler is None else sampler, **kwargs
    )
    if n_trials:
        study.optimize(toy, n_trials=n_trials)
    return study
