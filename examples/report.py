"""What the examples print: a line per trial, and at the end what a user wants to know."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from importlib.util import find_spec
import math
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import source_verdicts


def require(package: str, extra: str) -> None:
    """Leave with one line if a package is missing: to be asked before anything has been done."""
    if find_spec(package) is None:
        raise SystemExit(
            f"{package} is missing. In the folder of the repository, with the Python that runs "
            f'this: python -m pip install -e ".[{extra}]"'
        )


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
    """Print the recommendation, how sure the model is of it, and what each source was worth.

    Args:
        study: A study with a sampler of this package.
        unit: The unit of the costs.
    """
    best = recommend(study)
    print(f"\nRecommended: {_text(best.params)}")
    if best.verified:
        print(f"Value: {best.value:.4f}, observed on the preferred source")
    print(f"The model expects {best.mean:.4f} ± {best.std:.2g} there")

    # Trials that were added from elsewhere have cost this study nothing.
    trials = [trial for trial in study.trials if "cost" in trial.user_attrs]
    total = cumulated_cost(study)
    print(f"Cost of these {len(trials)} trials: {total:.2f} {unit}, of which")
    spent: dict[Any, list[float]] = {}
    for trial in trials:
        spent.setdefault(trial.params.get("source"), []).append(trial.user_attrs["cost"])
    verdicts = source_verdicts(study)
    for source, costs in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(
            f"  {source!s:>11}   {len(costs):3d} queries   {sum(costs):8.2f} {unit}   "
            f"{sum(costs) / total:6.1%}   {verdicts.get(source, '')}".rstrip()
        )


def print_comparison(studies: Mapping[str, optuna.Study], preferred: str) -> None:
    """Print what several studies have found for the same cost, and how soon.

    Args:
        studies: The studies by their names, all minimising. How soon is told of what the last
            one has found in the end.
        preferred: The source that counts.
    """
    *_, last = studies.values()
    width = max(map(len, studies))
    print(f"\nFor the same cost, on {preferred} of the data:")
    print(f"  {'':{width}}   lowest error   trials   cost to reach {last.best_value:.4f}")
    for name, study in studies.items():
        cost = _cost_to_reach(study, last.best_value, preferred)
        print(
            f"  {name:{width}}   {study.best_value:12.4f}   {len(study.trials):6d}   "
            f"{'not reached' if cost is None else f'{cost:.2f}':>20}"
        )


def print_files(paths: Sequence[Path]) -> None:
    """Print which figures were written, and where to."""
    stems = ", ".join(dict.fromkeys(path.stem for path in paths))
    kinds = " and ".join(dict.fromkeys(path.suffix for path in paths))
    print(f"Its figures, as {kinds} in {paths[0].parent}: {stems}")


def _cost_to_reach(study: optuna.Study, value: float, preferred: str) -> float | None:
    """Return what was spent when the preferred source first had a value as low as this one."""
    spent = 0.0
    for trial in study.get_trials(deepcopy=False):
        spent += trial.user_attrs.get("cost", 0.0)
        if trial.params.get("source") == preferred and trial.value is not None:
            if round(trial.value, 4) <= round(value, 4):  # as printed
                return spent
    return None


def _text(params: dict[str, Any]) -> str:
    return "  ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )
