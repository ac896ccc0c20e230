"""Whether so many trials fail that something else than their parameters may be wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from optuna_misowild.study.attributes import is_imported
from optuna_misowild.study.readings import has_failed
from optuna_misowild.study.steps import has_diverged


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.trial import FrozenTrial


_LAST = 10


def many_failed(trial: FrozenTrial, trials: Sequence[FrozenTrial], source: str) -> str | None:
    """Return what to say of the failures among the last trials, or None if they are few.

    Args:
        trial: A trial that fails now, or ends as what it reported is NaN.
        trials: All trials of the study.
        source: Name of the source parameter.
    """
    ended = [
        other
        for other in trials
        if other.state.is_finished() and other.number != trial.number and not is_imported(other)
    ]
    last = [*ended[1 - _LAST :], trial]
    failed = [trial, *(other for other in last[:-1] if has_failed(other, other.state))]
    if 2 * len(failed) <= _LAST:
        return None
    counts = Counter(repr(t.params[source]) for t in failed if source in t.params)
    how = "failed or reported NaN" if any(map(has_diverged, failed)) else "failed"
    parts = ", ".join(f"{n} on {choice}" for choice, n in counts.most_common(3))
    on = f" ({parts})" if parts else ""
    return (
        f"{len(failed)} of the last {len(last)} trials have {how}{on}. Each "
        "costs, and gives no value. Optuna's log says why: what fails whatever the parameters "
        "are is to be mended first. Where only some parameters fail, the sampler learns to avoid "
        "them, and a search space without them would save these trials."
    )
