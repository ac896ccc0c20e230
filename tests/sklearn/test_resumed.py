"""A search whose trials are in a storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import InMemoryStorage
import pytest
from scipy.stats import norm
from searches import Parabola
from searches import X
from searches import Y
from searches import search
from sklearn.model_selection import KFold
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


SPACE = {"x": [0.0, 0.3, 0.5, 0.6], "fails_below": [0, 1], "fails_above": norm(9.0, 1.0)}
OTHER_X, OTHER_Y = X.copy(), Y.copy()
OTHER_X[1, 1], OTHER_Y[1] = 0.5, 1 - Y[1]


@pytest.mark.parametrize(
    ("changed", "data", "part"),
    [
        ({}, {"X": OTHER_X}, "X"),
        ({}, {"y": OTHER_Y}, "y"),
        ({}, {"sample_weight": np.ones(len(X))}, "the parameters of fit"),
        ({"cv": KFold(2, shuffle=True, random_state=1)}, {}, "cv (the folds)"),
        ({"estimator": Parabola(n_steps=8)}, {}, "estimator"),
        ({"scoring": "accuracy"}, {}, "scoring, or the metric that refit names"),
        ({"fractions": [1.0, 0.2]}, {}, "sources (there ['100%', '10%'], here ['100%', '20%'])"),
        ({"x": [0.0, 0.3, 0.5, 0.7]}, {}, "param_distributions['x']"),
        ({"x": [0.0, 0.3, 0.5]}, {}, "param_distributions['x']"),
        ({"fails_below": [0, 2]}, {}, "param_distributions['fails_below']"),
        ({"fails_above": norm(9.0, 2.0)}, {}, "param_distributions['fails_above']"),
    ],
)
def test_what_scores_depend_on_must_be_the_same(
    changed: dict[str, Any], data: dict[str, Any], part: str
) -> None:
    """The study is refused before anything is evaluated, and the error says why."""
    storage = InMemoryStorage()

    def run(space: dict[str, Any], data: dict[str, Any], **settings: Any) -> None:
        stored = {"storage": storage, "study_name": "a", "n_iter": 1, "cv": KFold(2)}
        search(distributions=space, **{**stored, **settings}).fit(**{"X": X, "y": Y, **data})

    run(SPACE, {})
    study = optuna.load_study(study_name="a", storage=storage)
    space = {name: changed.pop(name, given) for name, given in SPACE.items()}
    with pytest.raises(ValueError, match="'a' in storage is of another search") as raised:
        run(space, data, n_iter=9, **changed)
    assert f"What differs: {part}" in str(raised.value)
    assert len(study.trials) == 1


def test_one_of_several_metrics_is_not_compared_with_another() -> None:
    stored = {"storage": InMemoryStorage(), "study_name": "a", "scoring": ["accuracy", "f1"]}
    search(**stored, refit="f1", n_iter=1).fit(X, Y)
    with pytest.raises(ValueError, match="What differs: scoring, or the metric that refit names"):
        search(**stored, refit="accuracy", n_iter=2).fit(X, Y)


def test_what_no_score_depends_on_may_change() -> None:
    storage = InMemoryStorage()

    def run(space: dict[str, Any], **settings: Any) -> int:
        stored = {"storage": storage, "study_name": "a", "fractions": [1.0]}
        own = {"scoring": lambda estimator, X, y: -estimator.x}
        return len(
            search(distributions=space, **stored, **own, **settings).fit(X, Y).study_.trials
        )

    assert run(SPACE, n_iter=1) == 1
    other = Parabola(x=0.7)  # It is searched.
    turned = dict(reversed(SPACE.items()))
    assert run(turned, estimator=other, n_iter=2, error_score="raise", random_state=1) == 2


def test_a_study_of_an_earlier_version_resumes() -> None:
    """It has recorded less, and that is compared."""
    stored = {"storage": InMemoryStorage(), "study_name": "a", "fractions": [1.0]}
    study = search(n_iter=1, **stored).fit(X, Y).study_
    known = study.user_attrs["misowild:searched"]
    earlier = {part: known[part] for part in ("resource", "in_stages", "sources", "parameters")}
    study.set_user_attr("misowild:searched", earlier)
    assert len(search(n_iter=2, **stored).fit(X, Y).study_.trials) == 2
    assert study.user_attrs["misowild:searched"] == known
    with pytest.raises(ValueError, match="What differs: parameters"):
        search(distributions={"n_steps": [1, 2]}, **stored).fit(X, Y)


def test_a_study_of_no_search_is_refused() -> None:
    storage = InMemoryStorage()
    optuna.create_study(study_name="a", storage=storage).ask()
    with pytest.raises(ValueError, match="'a' in storage is not of a MisoWildSearchCV"):
        search(storage=storage, study_name="a").fit(X, Y)


def test_a_nested_search_needs_a_study_for_every_outer_fold(tmp_path: Path) -> None:
    """The outer folds have the same targets here, in the same order."""
    nested = search(storage=f"sqlite:///{tmp_path / 'search.db'}", n_iter=1)
    assert np.isfinite(cross_val_score(nested, X, Y, cv=2, error_score="raise")).all()
    nested.set_params(study_name="a")
    with pytest.raises(ValueError, match="'a' in storage"):
        cross_val_score(nested, X, Y, cv=2, error_score="raise")
