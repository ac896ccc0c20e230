from __future__ import annotations

import copy
import gc
import pickle

import optuna

from optuna_misowild import MisoWildSampler
from optuna_misowild.study.once import OncePerStudy


def test_what_is_remembered_of_a_study_does_not_grow_with_it() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    old = study.ask()  # Whose worker is gone.
    for n_trials in (3, 20):
        study.add_trials([optuna.create_trial(value=1.0) for _ in range(n_trials)])
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        study.tell(trial, 1.0)
        unchecked = study.sampler._advice._unchecked.of(study)  # type: ignore[attr-defined]
        assert len(unchecked) <= 2
        assert old.number in unchecked


def test_what_is_remembered_goes_with_the_storage() -> None:
    once = OncePerStudy()
    study = optuna.create_study(study_name="one")
    assert once.first(study, "topic") and not once.first(study, "topic")
    assert once.is_said(study, "topic")
    other = optuna.create_study(study_name="two", storage=study._storage)
    assert once.first(other, "topic")
    del study, other
    gc.collect()
    assert not len(once._said._of)


def test_copies_start_anew() -> None:
    once = OncePerStudy()
    study = optuna.create_study()
    assert once.first(study, "topic")
    for copied in (copy.deepcopy(once), pickle.loads(pickle.dumps(once))):
        assert copied.first(study, "topic")
