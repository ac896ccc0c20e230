"""Studies of trainings that report each epoch, which several tests begin with."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler
from optuna_misowild.study import attributes
from optuna_misowild.study.attributes import RUNG_KEY


STEPS = (2, 6, 18)
PLACES = [((i * 0.618) % 1.0, (i * 0.755 + 0.3) % 1.0) for i in range(12)]


def value_of(params: dict[str, Any], epoch: int) -> float:
    x, y = params["x"], params["y"]
    return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.3 * (1.0 + x) / epoch


def curve(trial: optuna.Trial, sign: float = 1.0) -> float:
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in "xy"}
    value = 0.0
    for epoch in range(1, 19):
        value = sign * value_of(params, epoch)
        trial.set_user_attr("cost", epoch * (1.0 + params["x"]))
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def add(study: optuna.Study, x: float, y: float, step: int, sign: float = 1.0) -> None:
    """Add a training that was meant for a step, as if it had run."""
    params, is_complete = {"x": x, "y": y}, step == STEPS[-1]
    mark = attributes._mark_of({}, len(STEPS) - 1 - STEPS.index(step) if step in STEPS else 1)
    study.add_trial(
        optuna.create_trial(
            state=TrialState.COMPLETE if is_complete else TrialState.PRUNED,
            value=sign * value_of(params, step) if is_complete else None,
            params=params,
            distributions=dict.fromkeys("xy", FloatDistribution(0.0, 1.0)),
            intermediate_values={t: sign * value_of(params, t) for t in range(1, step + 1)},
            user_attrs={"cost": step * (1.0 + x)},
            system_attrs={RUNG_KEY: [step, *STEPS], **mark},
        )
    )


def study_of(
    *, sampler: Any = None, sign: float = 1.0, empty: bool = False, **kwargs: Any
) -> optuna.Study:
    """A study whose initial design is over, or one without trials."""
    sampler = sampler or MisoWildSampler(steps=STEPS, seed=0, budget=300.0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner(), **kwargs)
    for i, (x, y) in enumerate([] if empty else PLACES):
        add(study, x, y, STEPS[::-1][i // 4], sign)
    return study
