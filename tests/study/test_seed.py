from __future__ import annotations

from datetime import datetime
import itertools
from typing import Any

import optuna
from optuna.trial import TrialState
import pytest

from optuna_misowild.study.seed import study_seed


def test_all_workers_of_a_study_share_a_seed() -> None:
    study = optuna.create_study()
    assert study_seed(study) == study_seed(study)
    assert study_seed(study) != study_seed(optuna.create_study())


def test_the_seed_that_0_1_0_has_stored_stays() -> None:
    study = optuna.create_study()
    study._storage.set_study_system_attr(study._study_id, "misowild:seed", 7)
    assert study_seed(study) == 7


@pytest.mark.parametrize(
    ("storage", "call", "is_first", "is_through"),
    [*itertools.product(["memory"], range(4), [False, True], [False, True])]
    + [("sqlite", 3, True, False), ("sqlite", 2, True, True)],
)
def test_workers_that_ask_for_the_seed_at_once_get_the_same(
    storage: str,
    call: int,
    is_first: bool,
    is_through: bool,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another worker comes in between before any call to the storage."""
    url = None if storage == "memory" else f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=url, study_name="shared")
    other = study if url is None else optuna.load_study(storage=url, study_name="shared")
    study.add_trial(optuna.create_trial(value=1.0))
    trials = [other.ask(), study.ask()] if is_first else [study.ask(), other.ask()]
    others_trial = trials[0 if is_first else 1]
    seen: list[int] = []
    n_calls = 0

    def interrupted(original: Any) -> Any:
        def function(*args: Any, **kwargs: Any) -> Any:
            nonlocal n_calls
            n_calls += 1
            if n_calls == call + 1:
                seen.append(study_seed(other))
                if is_through:
                    other.tell(others_trial, 1.0)
            return original(*args, **kwargs)

        return function

    names = ("get_study_system_attrs", "get_all_trials", "set_study_system_attr")
    for name in (*names, "get_study_name_from_id"):
        original = getattr(study._storage, name)
        monkeypatch.setattr(study._storage, name, interrupted(original))
    seen.append(study_seed(study))
    assert len(seen) == 2
    assert seen[0] == seen[1] == study_seed(other)


def test_a_second_run_of_the_same_program_has_another_seed() -> None:
    """Also if both have the same name and the same trials from before."""
    seeds = set()
    for second in range(2):
        study = optuna.create_study(study_name="same")
        study.add_trial(optuna.create_trial(value=1.0))
        trial = optuna.create_trial(state=TrialState.RUNNING)
        trial.datetime_start = datetime(2026, 1, 1, second=second)
        study.add_trial(trial)
        seeds.add(study_seed(study))
    assert len(seeds) == 2
