"""Fits that go on from stage to stage, where the resource is a number of iterations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
import warnings

from joblib import parallel_config
import numpy as np
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState
import pytest
from scipy.stats import uniform
from searches import Parabola
from searches import X
from searches import Y
from searches import search
from sklearn.base import BaseEstimator
from sklearn.base import TransformerMixin
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from optuna_misowild.sklearn import MisoWildSearchCV
from optuna_misowild.sklearn import evaluation
from optuna_misowild.sklearn import trials
from optuna_misowild.sklearn.stages import Stages
from optuna_misowild.visualization import plot_learning_curves


class Growing(Parabola):
    """Its members, the same in each fit, are fitted one after the other.

    Args:
        x: What is searched.
        n_estimators: The number of members.
        warm_start: Whether a fit adds to those that there are.
        fails_below: It cannot have fewer members.
        fails_above: It cannot be fitted with a larger ``x``.
        stops_at: It never gets more members.
    """

    def __init__(
        self,
        x: float = 0.0,
        n_estimators: int = 100,
        warm_start: bool = False,
        fails_below: int = 0,
        fails_above: float = 9.0,
        stops_at: int = 1000,
    ) -> None:
        super().__init__(x, fails_above=fails_above)
        self.n_estimators = n_estimators
        self.warm_start = warm_start
        self.fails_below = fails_below
        self.stops_at = stops_at

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Growing:
        before = getattr(self, "n_iter_", 0) if self.warm_start else 0
        if self.n_estimators < self.fails_below or self.x > self.fails_above:
            self.n_iter_ = before + 1  # It is left as it was when it failed.
            raise RuntimeError("too few members or too large an x")
        self.n_rows_, self.classes_ = len(X), np.unique(y)
        self.weight_ = None if sample_weight is None else float(np.sum(sample_weight))
        self.n_iter_ = min(self.n_estimators, max(self.stops_at, before + 1))
        self.n_added_ = self.n_iter_ - before
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return 1.0 - (self.x - 0.3) ** 2 - 1.0 / self.n_iter_


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a member take a second, and all else no time."""
    clock = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr(trials, "time", clock)
    original = evaluation.fit_and_score

    def timed(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        fold = original(estimator, *args, **kwargs)
        return {**fold, "fit_time": float(getattr(estimator, "n_added_", 1)), "score_time": 0.0}

    monkeypatch.setattr(evaluation, "fit_and_score", timed)


def staged(estimator: Any = None, **settings: Any) -> MisoWildSearchCV:
    defaults = {"resource": "n_estimators", "fractions": [1.0, 0.3, 0.1], "n_iter": 6}
    return search(Growing() if estimator is None else estimator, **{**defaults, **settings})


@pytest.fixture(scope="module")
def storage() -> InMemoryStorage:
    return InMemoryStorage()


@pytest.fixture(scope="module")
def found(storage: InMemoryStorage) -> MisoWildSearchCV:
    with pytest.MonkeyPatch.context() as patch:
        seconds.__wrapped__(patch)
        return staged(storage=storage, study_name="a").fit(X, Y)


def test_a_training_goes_from_stage_to_stage_and_stops(found: MisoWildSearchCV) -> None:
    results, trials = found.cv_results_, found.study_.trials
    reached = [sorted(trial.intermediate_values) for trial in trials]
    assert [10, 30, 100] in reached and [10] in reached
    assert list(results["source"]) == list(results["n_resources"]) == sum(reached, [])
    states = [TrialState.COMPLETE if 100 in steps else TrialState.PRUNED for steps in reached]
    assert [trial.state for trial in trials] == states
    assert states[0] == TrialState.COMPLETE  # So that there is something to refit.
    assert reached[1] == [10]  # The initial design begins with what is cheap.
    assert plot_learning_curves(found.study_).data


def test_every_member_is_paid_for_once(found: MisoWildSearchCV) -> None:
    results, trials = found.cv_results_, found.study_.trials
    assert {(n, cost) for n, cost in zip(results["source"], results["cost"], strict=True)} == {
        (10, 20.0),
        (30, 40.0),
        (100, 140.0),
    }
    costs = [2.0 * max(trial.intermediate_values) for trial in trials]
    assert [trial.user_attrs["cost"] for trial in trials] == costs
    assert sum(costs[:-1]) < 6 * 200.0 <= sum(costs)


def test_only_the_last_stage_is_ranked_and_can_be_best(found: MisoWildSearchCV) -> None:
    results = found.cv_results_
    assert np.array_equal(np.ma.getmaskarray(results["rank_test_score"]), results["source"] < 100)
    assert found.best_score_ == results["mean_test_score"].max()
    assert found.best_params_["n_estimators"] == found.best_estimator_.n_iter_ == 100
    assert not found.best_estimator_.warm_start
    assert found.study_.best_params["x"] == found.best_params_["x"]


def test_a_stored_search_goes_on(found: MisoWildSearchCV, storage: InMemoryStorage) -> None:
    more = staged(storage=storage, study_name="a", n_iter=7).fit(X, Y)
    before = len(found.cv_results_["source"])
    assert len(more.cv_results_["source"]) > before
    for name in ("mean_test_score", "cost"):
        assert np.array_equal(more.cv_results_[name][:before], found.cv_results_[name])
    with pytest.raises(ValueError, match="'a' in storage is of another search"):
        staged(storage=storage, study_name="a", fractions=[1.0, 0.1]).fit(X, Y)


# Which estimators can.


@pytest.mark.parametrize(
    ("estimator", "resource", "flag"),
    [
        (RandomForestRegressor(), "n_estimators", "warm_start"),
        (GradientBoostingClassifier(), "n_estimators", "warm_start"),
        (GradientBoostingClassifier(n_iter_no_change=5), "n_estimators", None),
        (HistGradientBoostingClassifier(), "max_iter", "warm_start"),
        (HistGradientBoostingClassifier(), "max_leaf_nodes", None),
        (Pipeline([("a", RandomForestClassifier())]), "a__n_estimators", "a__warm_start"),
        (
            Pipeline([("a", StandardScaler()), ("b", Pipeline([("c", BaggingClassifier())]))]),
            "b__c__n_estimators",
            "b__c__warm_start",
        ),
        (Pipeline([("a", StandardScaler()), ("b", MLPClassifier())]), "b__max_iter", None),
        (
            Pipeline([("a", RandomTreesEmbedding()), ("b", RandomForestClassifier())]),
            "a__n_estimators",
            None,
        ),
        (SGDClassifier(), "max_iter", None),
        (OneVsRestClassifier(RandomForestClassifier()), "estimator__n_estimators", None),
        (Parabola(), "n_steps", None),
    ],
)
def test_an_ensemble_can_or_a_pipeline_that_ends_with_one(
    estimator: Any, resource: str, flag: str | None
) -> None:
    stages = Stages.of_estimator(estimator, resource)
    assert (None if stages is None else stages.flag) == flag


@pytest.mark.parametrize(
    ("estimator", "resource"),
    [
        (HistGradientBoostingClassifier(max_iter=12, max_features=0.5), "max_iter"),
        (GradientBoostingClassifier(n_estimators=12, subsample=0.5), "n_estimators"),
        (
            HistGradientBoostingClassifier(max_iter=30, early_stopping=True, n_iter_no_change=2),
            "max_iter",
        ),
        (RandomForestClassifier(n_estimators=12), "n_estimators"),
        (BaggingClassifier(n_estimators=12), "n_estimators"),
    ],
)
def test_stages_score_as_one_fit_of_as_many_members(estimator: Any, resource: str) -> None:
    name = "max_features" if "max_features" in estimator.get_params() else "learning_rate"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 4))
    target = (rows[:, 0] + rows[:, 1] * rows[:, 2] + rng.normal(size=120) > 0.0).astype(int)
    pipeline = Pipeline([("a", StandardScaler()), ("b", estimator.set_params(random_state=0))])
    found = search(
        pipeline,
        {f"b__{name}": uniform(0.3, 0.7)},
        resource=f"b__{resource}",
        fractions=[1.0, 0.5, 0.1],
        n_iter=1,
        scoring="neg_log_loss",
    ).fit(rows, target)
    assert len(found.cv_results_["params"]) == 3
    for params, score in zip(
        found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True
    ):
        one_fit = clone(pipeline).set_params(**params)
        scores = cross_val_score(one_fit, rows, target, cv=2, scoring="neg_log_loss")
        assert score == pytest.approx(scores.mean(), rel=1e-12)


# What may happen.


def test_what_has_stopped_early_is_not_fitted_further() -> None:
    results = staged(Growing(stops_at=25), n_iter=1).fit(X, Y).cv_results_
    assert list(results["source"]) == [10, 30, 100]
    assert list(results["cost"]) == [20.0, 30.0, 0.0]
    assert results["mean_test_score"][1] == results["mean_test_score"][2]


class Random(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """It is another one in each fit."""

    n_fits = 0

    def fit(self, X: Any, y: Any = None) -> Random:
        type(self).n_fits += 1
        self.is_fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return X


def test_transformers_are_fitted_once_in_a_training() -> None:
    pipeline = Pipeline([("random", Random()), ("growing", Growing())])
    searched = {"growing__x": uniform(-1.0, 2.0)}
    settings = {"resource": "growing__n_estimators", "n_iter": 1, "refit": False}
    found = search(pipeline, searched, fractions=[1.0, 0.5, 0.2], **settings).fit(X, Y)
    assert len(found.cv_results_["params"]) == 3
    assert Random.n_fits == 2  # Folds.


@pytest.mark.parametrize("error_score", [np.nan, "raise"])
def test_what_fails_in_an_early_stage_begins_anew_in_the_next(error_score: float | str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitFailedWarning)
        found = staged(Growing(fails_below=50), error_score=error_score, n_iter=3).fit(X, Y)
    results = found.cv_results_
    assert len(found.study_.trials) == 3
    assert np.array_equal(np.isnan(results["mean_test_score"]), results["source"] < 50)
    assert np.isfinite(found.best_score_)
    assert set(results["cost"][results["source"] == 100]) == {200.0}


def test_what_fails_to_the_end_is_told_and_never_best() -> None:
    with pytest.warns(FitFailedWarning, match="fits failed out of a total of"):
        found = staged(Growing(fails_above=0.2)).fit(X, Y)
    failed = [t for t in found.study_.trials if t.state == TrialState.FAIL]
    assert failed and min(trial.params["x"] for trial in failed) > 0.2
    assert found.best_params_["x"] <= 0.2
    with pytest.raises(ValueError, match=r"(?s)All the 6 fits failed.*too large an x"):
        staged(Growing(fails_above=-2.0), n_iter=3).fit(X, Y)
    with pytest.raises(RuntimeError, match="too large an x"):
        staged(Growing(fails_above=-2.0), error_score="raise").fit(X, Y)


def test_several_metrics_and_folds_at_once() -> None:
    scoring = {"zeros": "accuracy", "x": lambda estimator, X, y: -estimator.x}
    with parallel_config(backend="threading"):
        found = staged(scoring=scoring, refit="x", n_jobs=2).fit(X, Y)
    results = found.cv_results_
    is_last = results["source"] == 100
    assert found.best_score_ == results["mean_test_x"][is_last].max()
    assert np.array_equal(np.ma.getmaskarray(results["rank_test_zeros"]), ~is_last)
    assert found.study_.best_value == found.best_score_
