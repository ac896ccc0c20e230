"""Whether so many trials of the preferred source are pruned that there is little to learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna.trial import TrialState

from optuna_misowild.study.source_parameter import latest_distribution


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.trial import FrozenTrial

    from optuna_misowild.study.snapshot import Settings


# So many trials, and such a part of all, are more than an accident.
_MANY, _PART = 4, 1.0 / 3.0


def many_pruned(
    settings: Settings, trial: FrozenTrial, trials: Sequence[FrozenTrial]
) -> str | None:
    """Return what to say of the pruned trials of the preferred source, or None if they are few.

    Args:
        settings: How the trials are read.
        trial: A trial that is pruned now.
        trials: All trials of the study.
    """
    sources = settings.sources(latest_distribution(settings.source, trials))
    has_name = sources.distribution is not None
    states = [
        TrialState.PRUNED if other.number == trial.number else other.state
        for other in trials
        if sources.of_trial(other.params) == 0 and (sources.name in other.params or not has_name)
    ]
    n_pruned, n_complete = map(states.count, (TrialState.PRUNED, TrialState.COMPLETE))
    n = n_pruned + n_complete
    if n_pruned < max(_MANY, _PART * n):
        return None
    of = f" of the preferred source {sources.choices[0]!r}" if has_name else ""
    return (
        f"{n_pruned} of {n} trials{of} were pruned. Their costs count, but the models learn "
        "nothing from a part of an evaluation. Unless you want that, create the study with "
        "`pruner=optuna.pruners.NopPruner()`, since Optuna's default prunes. What ends early, "
        "such as fewer epochs, can be a source of its own."
    )
