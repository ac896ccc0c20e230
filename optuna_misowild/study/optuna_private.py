"""The private names of Optuna that the samplers need, each in one place, with the reason.

No other module touches a storage, or a name of Optuna's that begins with an underscore. What
Optuna may change without a word is looked for here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from optuna.samplers import PartialFixedSampler


if TYPE_CHECKING:
    from collections.abc import Iterable

    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial


# Trials.


def stored_trials(study: Study) -> list[FrozenTrial]:
    """Return all trials of a study, not copied.

    ``Study.get_trials`` omits some where ``HyperbandPruner`` shows the sampler a part of the
    study.
    """
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def stored_attrs(study: Study, trial: FrozenTrial | Trial) -> dict[str, Any]:
    """Return the system attributes of a trial as they are now.

    ``FrozenTrial.system_attrs`` are those of the moment at which the trial was read, and a
    ``Trial`` has none in public.
    """
    return study._storage.get_trial_system_attrs(trial._trial_id)


def write_system_attr(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a system attribute of a trial; a sampler gets a ``FrozenTrial``, which cannot."""
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def write_user_attr(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a user attribute of a trial; a sampler gets a ``FrozenTrial``, which cannot."""
    study._storage.set_trial_user_attr(trial._trial_id, key, value)


def heartbeat_interval(study: Study) -> float | None:
    """Return the seconds between two signs of life of a worker, or None if there are none.

    Only the storage knows.
    """
    interval = getattr(study._storage, "get_heartbeat_interval", None)
    return None if interval is None else interval()


def without_heartbeat(study: Study, trials: Iterable[FrozenTrial]) -> set[int]:
    """Return the numbers of those trials whose heartbeat has stopped.

    ``fail_stale_trials`` says it by failing them, which is for the user to decide.
    """
    stale = set(study._storage._get_stale_trial_ids(study._study_id))  # type: ignore[attr-defined]
    return {trial.number for trial in trials if trial._trial_id in stale}


# Studies.


def stored_study_attr(study: Study, key: str) -> Any:
    """Return a system attribute of a study, or None; Optuna 5 has no public name for it."""
    return study._storage.get_study_system_attrs(study._study_id).get(key)


def write_study_attr(study: Study, key: str, value: Any) -> None:
    """Write a system attribute of a study; Optuna 5 has no public name for it."""
    study._storage.set_study_system_attr(study._study_id, key, value)


def storage_of(study: Study) -> BaseStorage:
    """Return the storage, which lives as long as anyone uses the study; a name may come back."""
    return study._storage


def is_same_study(one: Study, other: Study) -> bool:
    """Whether two objects stand for one study; those of one name may be in two storages."""
    return one._storage is other._storage and one._study_id == other._study_id


# Samplers and distributions.


def unwrapped(sampler: BaseSampler) -> BaseSampler:
    """Return the sampler within a ``PartialFixedSampler``, which does not give it away."""
    return sampler._base_sampler if isinstance(sampler, PartialFixedSampler) else sampler


def partially_fixed(sampler: BaseSampler) -> dict[str, Any]:
    """Return the parameters that a ``PartialFixedSampler`` fixes; only it knows them."""
    return dict(sampler._fixed_params) if isinstance(sampler, PartialFixedSampler) else {}


def is_value(distribution: BaseDistribution, internal: float) -> bool:
    """Whether a number stands for a value of a distribution.

    Its public ``to_external_repr`` takes any number.
    """
    return distribution._contains(internal)
