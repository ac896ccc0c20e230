"""``MisoWildSearchCV`` as a user of scikit-learn's searches knows it."""

from __future__ import annotations

import pickle
from typing import Any

from joblib import parallel_config
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import loguniform
from searches import DISTRIBUTIONS
from searches import Parabola
from searches import X
from searches import Y
from searches import search
import sklearn
from sklearn.base import clone
from sklearn.base import is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold
from sklearn.model_selection import RandomizedSearchCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from optuna_misowild import recommend
from optuna_misowild import source_verdicts
from optuna_misowild.sklearn import MisoWildSearchCV
from optuna_misowild.visualization import plot_cost_history


def of_source(found: MisoWildSearchCV, name: str, source: Any = "100%") -> Any:
    results = found.cv_results_
    return np.asarray(results[name])[results["source"] == source]


@pytest.fixture(scope="module")
def found() -> MisoWildSearchCV:
    return search(return_train_score=True).fit(X, Y)


def test_only_all_rows_are_ranked_and_can_be_best(found: MisoWildSearchCV) -> None:
    """A part of the rows has better scores here than all of them."""
    results = found.cv_results_
    is_part = results["source"] == "10%"
    assert is_part.any() and results["mean_test_score"][is_part].max() > found.best_score_
    ranks = results["rank_test_score"]
    assert np.array_equal(np.ma.getmaskarray(ranks), is_part)
    assert sorted(ranks.compressed())[0] == 1
    assert ranks[found.best_index_] == 1
    assert found.best_score_ == of_source(found, "mean_test_score").max()
    assert found.best_params_ == results["params"][found.best_index_]
    assert found.best_estimator_.x == found.best_params_["x"]
    assert found.best_estimator_.n_rows_ == len(X)
    assert found.study_.best_params["x"] == found.best_params_["x"]


def test_the_results_have_what_those_of_scikit_learn_have(found: MisoWildSearchCV) -> None:
    other = RandomizedSearchCV(
        Parabola(), DISTRIBUTIONS, n_iter=2, cv=2, return_train_score=True
    ).fit(X, Y)
    more = {"source", "n_resources", "cost"}
    assert set(found.cv_results_) == set(other.cv_results_) | more
    frame = pd.DataFrame(found.cv_results_)
    assert len(frame) == len(found.study_.trials)
    assert set(zip(frame["source"], frame["n_resources"], strict=True)) == {
        ("100%", 300),
        ("10%", 30),
    }
    seconds = 2 * (frame["mean_fit_time"] + frame["mean_score_time"])
    assert (frame["cost"] > seconds).all()  # And what choosing took.
    for name in ("best_score_", "refit_time_", "multimetric_", "scorer_", "n_splits_"):
        assert isinstance(getattr(found, name), type(getattr(other, name)))


def test_the_study_can_be_looked_at(found: MisoWildSearchCV) -> None:
    assert recommend(found.study_).source == "100%"
    assert set(source_verdicts(found.study_)) == {"10%"}
    assert plot_cost_history(found.study_).data


def test_without_parts_n_iter_is_the_number_of_evaluations() -> None:
    found = search(fractions=[1.0], n_iter=4).fit(X, Y)
    assert len(found.cv_results_["params"]) == 4


@pytest.mark.filterwarnings("ignore:The budget")  # On a slow machine.
def test_it_ends_once_the_budget_is_spent() -> None:
    found = search(budget=0.3).fit(X, Y)
    costs = found.cv_results_["cost"]
    assert costs[:-1].sum() < 0.3 <= costs.sum()


def test_a_parameter_as_resource() -> None:
    found = search(resource="n_steps", fractions=[1.0, 0.3]).fit(X, Y)
    assert set(found.cv_results_["n_resources"]) == {9, 3}
    assert found.best_params_["n_steps"] == found.best_estimator_.n_steps == 9
    steps = [params["n_steps"] for params in found.cv_results_["params"]]
    assert steps == list(found.cv_results_["n_resources"])


def test_the_same_seed_begins_alike() -> None:
    first, second = (search(n_iter=2).fit(X, Y).best_params_ for _ in range(2))
    assert first == second != search(n_iter=2, random_state=1).fit(X, Y).best_params_


# What a user hands in.


def test_several_metrics() -> None:
    scoring = {"accuracy": "accuracy", "own": lambda estimator, X, y: -estimator.x}
    found = search(scoring=scoring, refit="own", n_iter=3).fit(X, Y)
    assert found.multimetric_ and set(found.scorer_) == {"accuracy", "own"}
    assert found.best_score_ == of_source(found, "mean_test_own").max() == -found.best_params_["x"]
    assert found.score(X, Y) == -found.best_params_["x"]
    assert "rank_test_accuracy" in found.cv_results_


def test_a_scorer_that_returns_several() -> None:
    def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        return {"a": 1.0, "b": -estimator.x}

    estimator = Parabola(fails_above=0.0)
    with pytest.warns(FitFailedWarning):
        found = search(estimator, scoring=both, refit="b", fractions=[1.0]).fit(X, Y)
    assert found.multimetric_
    assert found.best_score_ == np.nanmax(of_source(found, "mean_test_b"))


def test_a_function_that_chooses_gets_only_what_is_ranked() -> None:
    seen = []

    def worst(results: dict[str, Any]) -> int:
        seen.extend(results["source"])
        return int(np.argmin(results["mean_test_score"]))

    found = search(refit=worst).fit(X, Y)
    assert set(seen) == {"100%"}
    scores = found.cv_results_["mean_test_score"]
    assert scores[found.best_index_] == of_source(found, "mean_test_score").min()
    assert not hasattr(found, "best_score_")


def test_without_refit_there_are_the_best_parameters() -> None:
    found = search(refit=False, n_iter=2).fit(X, Y)
    assert found.best_params_ and not hasattr(found, "best_estimator_")
    with pytest.raises(AttributeError):
        found.predict(X)


def test_groups_and_weights_go_where_they_belong() -> None:
    groups = np.arange(len(X)) % 20
    weight = np.full(len(X), 2.0)
    found = search(cv=GroupKFold(3), n_iter=2)
    found.fit(X, Y, groups=groups, sample_weight=weight)
    assert found.n_splits_ == 3
    assert found.best_estimator_.weight_ == 2.0 * len(X)


def test_metadata_is_routed() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Parabola().set_fit_request(sample_weight="w")
        estimator.set_score_request(sample_weight=False)
        found = search(estimator, cv=GroupKFold(3), n_iter=1)
        found.fit(X, Y, w=np.ones(len(X)), groups=np.arange(len(X)) % 20)
        assert found.best_estimator_.weight_ == len(X)
        with pytest.raises(TypeError, match="unexpected argument"):
            search(n_iter=1).fit(X, Y, nonsense=1)


IRIS = load_iris(as_frame=True)
C = {"logisticregression__C": loguniform(1e-2, 1e2)}


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "lists"])
def test_any_kind_of_rows(kind: str) -> None:
    features, target = IRIS.data, IRIS.target
    if kind == "polars":
        polars = pytest.importorskip("polars")
        features = polars.DataFrame(features.to_dict("list"))
    elif kind == "sparse":
        features = sparse.csr_matrix(features)
    elif kind == "lists":
        features, target = features.to_numpy().tolist(), target.tolist()
    pipeline = make_pipeline(StandardScaler(with_mean=False), LogisticRegression())
    found = search(pipeline, C, fractions=[1.0, 0.4], n_iter=5).fit(features, target)
    assert set(found.cv_results_["source"]) == {"100%", "40%"}
    assert found.score(features, target) > 0.9
    if kind == "pandas":  # Of the others it depends on scikit-learn's version.
        assert list(found.feature_names_in_) == list(IRIS.data.columns)


def test_rows_of_several_lengths() -> None:
    words = [["a", "b"][: 1 + i % 2] for i in range(len(X))]
    pipeline = make_pipeline(CountVectorizer(analyzer=lambda row: row), LogisticRegression())
    assert search(pipeline, C, fractions=[1.0], n_iter=1).fit(words, Y).best_score_ == 1.0


def test_several_targets() -> None:
    target = np.column_stack([X[:, 0], -X[:, 1]])
    found = search(Ridge(), {"alpha": loguniform(0.1, 10.0)}, n_iter=5).fit(X, target)
    assert set(found.cv_results_["source"]) == {"100%", "10%"}
    assert found.predict(X).shape == target.shape


def test_it_is_an_estimator_like_any_other(found: MisoWildSearchCV) -> None:
    assert is_classifier(found)
    again = clone(found).set_params(estimator__fails_below=1, n_iter=1)
    assert not hasattr(again, "best_params_")
    assert len(cross_val_score(again, X, Y, cv=2)) == 2
    copy = pickle.loads(pickle.dumps(found))
    assert np.array_equal(copy.predict(X), found.predict(X))
    assert copy.study_.best_params == found.study_.best_params
    assert "Parabola" in found._repr_html_()


def test_folds_at_once() -> None:
    estimator = LogisticRegression()
    with parallel_config(backend="threading"):  # Processes take seconds to begin.
        found = search(estimator, {"C": loguniform(0.1, 1.0)}, n_iter=1, n_jobs=2).fit(X, Y)
    alone = search(estimator, {"C": loguniform(0.1, 1.0)}, n_iter=1).fit(X, Y)
    assert found.best_params_ == alone.best_params_
    assert found.best_score_ == alone.best_score_


def test_it_is_quiet_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    search(n_iter=1).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    search(n_iter=1, verbose=2).fit(X, Y)
    assert "[CV] END" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"budget": 0.0}, ValueError, "'budget' parameter of MisoWildSearchCV must be"),
        ({"n_iter": 0}, ValueError, "'n_iter' parameter of MisoWildSearchCV must be"),
        ({"fractions": "none"}, ValueError, "'fractions' parameter of MisoWildSearchCV must be"),
        ({"storage": 1}, ValueError, "'storage' parameter of MisoWildSearchCV must be"),
        ({"distributions": [1]}, ValueError, "'param_distributions' parameter"),
        ({"distributions": {"y": [1, 2]}}, ValueError, "Invalid parameter 'y' for estimator"),
        ({"resource": "x"}, ValueError, "Cannot use parameter x as the resource since"),
        ({"cv": []}, ValueError, "No fits were performed"),
        ({"scoring": ["accuracy"]}, ValueError, "refit must be set to a scorer key"),
        ({"scoring": {"a": "accuracy"}, "refit": "b"}, ValueError, "refit must be set to a "),
        (
            {"scoring": lambda estimator, X, y: {"a": 1.0}, "n_iter": 1},
            ValueError,
            "refit must be set to a scorer key",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_fit(
    settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        search(**settings).fit(X, Y)


def test_too_small_a_budget_is_told() -> None:
    with pytest.warns(UserWarning, match="budget of 1e-06 s was spent after 1 of the evaluations"):
        search(budget=1e-6).fit(X, Y)


def test_a_scorer_of_one_metric() -> None:
    found = search(scoring=make_scorer(accuracy_score), n_iter=1).fit(X, Y)
    assert found.score(X, Y) == 0.5
