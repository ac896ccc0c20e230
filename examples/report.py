"""What the examples print: a line per trial, and at the end what a user wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from importlib.util import find_spec
import math
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import source_verdicts


def require(package: str, extra: str | None = None) -> None:
    """Leave with one line if a package is missing, before anything has been done.

    Args:
        package: The package.
        extra: The extra of this repository that installs it, if there is one.
    """
    if find_spec(package) is not None:
        return
    if extra is None:
        where, what = "With", package
    else:
        where, what = "In the folder of the repository, with", f'-e ".[{extra}]"'
    raise SystemExit(
        f"{package} is missing. {where} the Python that runs this: python -m pip install {what}"
    )


def print_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Print what a trial asked, got and cost: a callback of ``study.optimize``."""
    params = {name: value for name, value in trial.params.items() if name != "source"}
    source = _source(trial) or ""
    value = trial.state.name if trial.value is None else f"{trial.value:.4f}"
    print(
        f"trial {trial.number:3d}   {source!s:>11}   {_text(params)}   value {value}   "
        f"cost {_amount(trial.user_attrs.get('cost', math.nan))}   "
        f"total {_amount(cumulated_cost(study))}",
        flush=True,
    )


def best_observed(study: optuna.Study) -> FrozenTrial | None:
    """Return the trial with the best value on the preferred source, or None."""
    try:
        return study.best_trial
    except ValueError:
        return None


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
    else:
        print("Not evaluated on the preferred source yet")
    print(f"The model expects {best.mean:.4f} ± {best.std:.2g} there")
    observed = best_observed(study)
    if observed is not None and observed != best.trial:
        why = ", by luck as far as the model can tell" if best.verified else ""
        print(f"The best observed value is {observed.value:.4f}, of trial {observed.number}{why}")

    # Trials that were added from elsewhere have cost this study nothing.
    trials = [trial for trial in study.trials if "cost" in trial.user_attrs]
    total = cumulated_cost(study)
    print(f"Cost of these {len(trials)} trials: {_amount(total)} {unit}, of which")
    spent: dict[Any, list[float]] = {}
    for trial in trials:
        spent.setdefault(_source(trial), []).append(trial.user_attrs["cost"])
    verdicts = source_verdicts(study)
    for source, costs in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(
            f"  {source!s:>11}   {len(costs):3d} queries   {_amount(sum(costs)):>8} {unit}   "
            f"{sum(costs) / total:6.1%}   {verdicts.get(source, '')}".rstrip()
        )
    added = Counter(t.params.get("source") for t in study.trials if "cost" not in t.user_attrs)
    for source, count in added.items():
        print(f"  {source!s:>11}   {count:3d} added, at no cost   {verdicts.get(source, '')}")
    if verdicts:
        print(
            "A verdict is on what a source's queries say of the preferred one, for their cost.\n"
            "Whether the study gained by them, only the same cost without them can show."
        )


def print_comparison(
    studies: Mapping[str, optuna.Study],
    preferred: Any,
    *,
    budget: float | None = None,
    what: str | None = None,
    shown: Callable[[float], float] = float,
) -> None:
    """Print what several studies have found for the same cost, and after parts of it.

    Args:
        studies: The studies by their names, all minimising.
        preferred: The source, or the step, that counts.
        budget: What each of them could spend; by default what the first one has cost.
        what: What their values are; by default an error on a part of the data.
        shown: Takes a value to what is printed of it.
    """
    first, *_ = studies.values()
    total = cumulated_cost(first) if budget is None else budget
    width = max(map(len, studies))
    what = f"error on {preferred} of the data" if what is None else what
    print(f"\nThe lowest {what} when a part of that cost is spent:")
    print(f"  {'':{width}}   a quarter     half      all   trials")
    for name, study in studies.items():
        # The last training of each may exceed the budget a little, and counts.
        parts = [lowest(study, part * total, preferred) for part in (0.25, 0.5, math.inf)]
        quarter, half, end = ("none" if v is None else f"{shown(v):.4f}" for v in parts)
        print(f"  {name:{width}}   {quarter:>9}   {half:>6}   {end:>6}   {len(study.trials):6d}")


def print_files(paths: Sequence[Path]) -> None:
    """Print which figures were written, and where to."""
    stems = ", ".join(dict.fromkeys(path.stem for path in paths))
    kinds = " and ".join(dict.fromkeys(path.suffix for path in paths))
    print(f"Its figures, as {kinds} in {paths[0].parent}: {stems}")


def lowest(study: optuna.Study, cost: float, preferred: Any) -> float | None:
    """Return the lowest value that the preferred source has had when a cost was spent."""
    spent, values = 0.0, []
    for trial in study.get_trials(deepcopy=False):
        spent += trial.user_attrs.get("cost", 0.0)
        if spent > cost:
            break
        # A training that is pruned at the last step has ended there, too.
        if _source(trial) == preferred and trial.value is not None:
            values.append(trial.value)
    return min(values, default=None)


def _source(trial: FrozenTrial) -> Any:
    """Return the source that a trial asked; where there is none, the last step it reported."""
    return trial.params.get("source", trial.last_step)


def _amount(cost: float) -> str:
    """Return a cost with as many digits as tell something."""
    return f"{cost:#.3g}" if cost < 10.0 else f"{cost:.2f}"


def _text(params: dict[str, Any]) -> str:
    return "  ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )
