"""What has been said of a study is remembered as long as its storage is in use."""

from __future__ import annotations

import copy
import gc
import pickle

import optuna

from optuna_misowild.study.warnings import OncePerStudy


def test_what_is_remembered_goes_with_the_storage() -> None:
    once = OncePerStudy()
    study = optuna.create_study(study_name="one")
    assert once.first(study, "topic") and not once.first(study, "topic")
    assert once.is_said(study, "topic")
    other = optuna.create_study(study_name="two", storage=study._storage)
    assert once.first(other, "topic")
    del study, other
    gc.collect()
    assert not len(once._said._kept)


def test_copies_start_anew() -> None:
    once = OncePerStudy()
    study = optuna.create_study()
    assert once.first(study, "topic")
    for copied in (copy.deepcopy(once), pickle.loads(pickle.dumps(once))):
        assert copied.first(study, "topic")
