"""What the examples print: a line per trial, and at the end what a user wants to know."""

from __future__ import annotations

from collections import Counter
import math
from typing import Any

import optuna
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
    """Print the recommendation, the sources asked, and what they saved.

    Args:
        study: A study with a sampler of this package.
        unit: The unit of the costs.
    """
    best = recommend(study)
    print(f"\nRecommended: {_text(best.params)}")
    if best.verified:
        print(f"Value: {best.value:.4f}, observed on the preferred source")
    else:
        print(f"Value: {best.value:.4f} ± {best.std:.4f} by the model; not verified yet")

    # Trials that were added from elsewhere have cost this study nothing.
    trials = [trial for trial in study.trials if "cost" in trial.user_attrs]
    asked = Counter(trial.params.get("source") for trial in trials)
    print("Trials: " + ", ".join(f"{n} x {source}" for source, n in asked.items()))
    print(f"Cost of these {len(trials)} trials: {cumulated_cost(study):.1f} {unit}")

    # What the same parameters would have cost on the preferred source, by the model of its costs.
    model = study.sampler.model(study)
    mean, _ = model.predict_cost([trial.params for trial in trials])
    print(f"All of them on the preferred source: about {mean.sum():.1f} {unit}, by the cost model")


def _text(params: dict[str, Any]) -> str:
    return "  ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )
