"""The random seed that all workers of a study share."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.study import attributes
from optuna_misowild.study.optuna_private import stored_study_attr
from optuna_misowild.study.optuna_private import write_study_attr


if TYPE_CHECKING:
    from optuna.study import Study


_SEED_KEY = "misowild:seed"


def study_seed(study: Study) -> int:
    """Return a random seed that all workers of a study share, stored at the first call.

    Workers that make the first call at once derive the same one: from the study's name and the
    start of the first trial that is running, which another study, or a second run of the same
    program, does not have in common. A worker reads the trials before it looks for a stored seed
    again: the seed of a trial that is through by then is there.
    """
    seed = stored_study_attr(study, _SEED_KEY)
    if _is_seed(seed):
        return int(seed)
    running = [t for t in attributes.all_trials(study) if t.state == TrialState.RUNNING]
    seed = stored_study_attr(study, _SEED_KEY)
    if _is_seed(seed):
        return int(seed)
    if seed is not None:
        attributes.logger.warning(
            f"The study has the system attribute {_SEED_KEY!r} = {attributes.short(seed)}, which "
            "is no seed. It is replaced."
        )
    entropy = None  # Nobody else draws if nothing runs.
    if running:
        first = running[0]
        entropy = [*f"{study.study_name} {first.number} {first.datetime_start}".encode()]
    derived = int(np.random.SeedSequence(entropy).generate_state(1)[0])
    write_study_attr(study, _SEED_KEY, derived)
    return derived


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64
