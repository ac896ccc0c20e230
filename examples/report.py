"""What the examples print: a line per trial, and at the end what a user wants to know."""

from __future__ import annotations

import math
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_misowild import cumulated_cost
from optuna_misowild import recommend


def print_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Print what a trial asked, got and cost: a callback of ``study.optimize``."""
    params = dict(trial.params)
    source = params.pop("source", "")
    value = f"{trial.value:.4f}" if trial.state == TrialState.COMPLETE else trial.state.name
    print(
        f"trial {trial.number:3d}   {source!s:>11}   {_text(params)}   value {value}   "
        f"cost {trial.user_attrs.get('cost', math.nan):.2f}   total {cumulated_cost(study):.2f}",
        flush=True,
    )


def print_summary(study: optuna.Study, *, unit: str = "s") -> None:
    """Print the recommendation, how sure the model is of it, and what was spent on which source.

    Args:
        study: A study with a sampler of this package.
        unit: The unit of the costs.
    """
    best = recommend(study)
    print(f"\nRecommended: {_text(best.params)}")
    model = study.sampler.model(study)
    mean, std = model.predict(best.params)
    if study.direction == StudyDirection.MAXIMIZE:  # Models always minimise.
        mean = -mean
    if best.verified:
        print(f"Value: {best.value:.4f}, observed on the preferred source")
    print(f"The model expects {mean:.4f} ± {std:.4f} there")

    # Trials that were added from elsewhere have cost this study nothing.
    trials = [trial for trial in study.trials if "cost" in trial.user_attrs]
    total = cumulated_cost(study)
    print(f"Cost of these {len(trials)} trials: {total:.2f} {unit}, of which")
    spent: dict[Any, list[float]] = {}
    for trial in trials:
        spent.setdefault(trial.params.get("source"), []).append(trial.user_attrs["cost"])
    for source, costs in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(
            f"  {source!s:>11}   {len(costs):3d} queries   {sum(costs):8.2f} {unit}   "
            f"{sum(costs) / total:6.1%}"
        )


def _text(params: dict[str, Any]) -> str:
    return "  ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )
