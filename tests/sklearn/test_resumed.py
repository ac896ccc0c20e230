"""A search whose trials are in a storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from optuna.storages import InMemoryStorage
import pytest
from searches import X
from searches import Y
from searches import search
from sklearn.model_selection import cross_val_score


def test_a_search_of_the_same_name_goes_on() -> None:
    """Also where the values of all folds are too long for one attribute."""
    storage = InMemoryStorage()
    stored = {"storage": storage, "study_name": "a", "fractions": [1.0], "cv": 70}
    first = search(n_iter=1, return_train_score=True, **stored).fit(X, Y)
    second = search(n_iter=2, return_train_score=True, **stored).fit(X, Y)
    assert len(second.study_.trials) == 2
    for name in ("mean_test_score", "split69_test_score", "split69_train_score", "cost"):
        assert second.cv_results_[name][0] == first.cv_results_[name][0]
    assert second.best_score_ >= first.best_score_
    again = search(n_iter=2, **stored).fit(X, Y)  # All is spent.
    assert len(again.study_.trials) == 2
    assert again.best_params_ == second.best_params_


def test_scores_of_other_data_are_not_compared() -> None:
    stored = {"storage": InMemoryStorage(), "study_name": "a", "n_iter": 1}
    search(**stored).fit(X, Y)
    with pytest.raises(ValueError, match="'a' in storage is of other data or other folds"):
        search(**stored).fit(X, 1 - Y)
    with pytest.raises(ValueError, match="'a' in storage"):
        search(**{**stored, "cv": 3}).fit(X, Y)


def test_a_nested_search_needs_a_study_for_every_outer_fold(tmp_path: Path) -> None:
    """The outer folds have the same targets here, in the same order."""
    nested = search(storage=f"sqlite:///{tmp_path / 'search.db'}", n_iter=1)
    assert np.isfinite(cross_val_score(nested, X, Y, cv=2, error_score="raise")).all()
    nested.set_params(study_name="a")
    with pytest.raises(ValueError, match="'a' in storage"):
        cross_val_score(nested, X, Y, cv=2, error_score="raise")
