"""A source that fails where another does not, such as a subset with fewer rows than components."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from optuna_misowild import MisoWildSampler
from optuna_misowild import PaperMethod
from optuna_misowild import RobustMethod
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import stratified_sources
from optuna_misowild.methods.base import Observations


X, Y = load_iris(return_X_y=True)
X = PolynomialFeatures(2).fit_transform(X)  # Fifteen features.
ROWS = dict(zip(["all", "5 %"], stratified_sources(Y, (1.0, 0.05)), strict=True))
N_FEW = len(ROWS["5 %"])


def objective(trial: optuna.Trial) -> float:
    rows = ROWS[trial.suggest_categorical("source", list(ROWS))]
    n_components = trial.suggest_int("n_components", 1, 15)
    C = trial.suggest_float("C", 1e-3, 1e2, log=True)
    trial.set_user_attr("cost", float(len(rows)))
    model = make_pipeline(PCA(n_components), LogisticRegression(C=C, max_iter=50))
    return 1.0 - float(model.fit(X[rows], Y[rows]).score(X, Y))


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("method", ["robust", "paper"])
def test_crashes_of_a_subset_do_not_stop_the_others(method: str) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(method=method, seed=0))
    with pytest.raises(ValueError, match="n_components"):
        study.optimize(objective, n_trials=20)
    study.optimize(objective, n_trials=20, catch=(ValueError,))

    trials = study.trials
    failed = [t for t in trials if t.state == TrialState.FAIL]
    assert failed
    for trial in trials:
        impossible = trial.params["source"] == "5 %" and trial.params["n_components"] > N_FEW
        assert (trial.state == TrialState.FAIL) == impossible
    # The preferred source goes there after they have failed.
    later = trials[failed[0].number + 1 :]
    assert any(t.params["source"] == "all" and t.params["n_components"] > N_FEW for t in later)
    assert recommend(study).verified
    assert cumulated_cost(study) == sum(t.user_attrs["cost"] for t in trials)


@pytest.mark.parametrize(("method", "n_rows"), [(RobustMethod(), 1), (PaperMethod(), 5)])
def test_a_row_that_failed_on_one_source_is_free_on_the_others(method: Any, n_rows: int) -> None:
    failed = Observations(
        X=np.empty((2, 0)),
        source=np.array([1, 1]),
        y=np.full(2, np.nan),
        cost=np.full(2, 0.1),
        pending=np.zeros(2, dtype=bool),
        trial=np.arange(2),
        design_row=np.arange(2),
        n_sources=2,
        queryable=(0, 1),
        spent=0.2,
    )
    wanted = method.design(failed, 5)
    assert {(0, row) for row in range(n_rows)} <= set(wanted)
    assert not {(1, 0), (1, 1)} & set(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_after_a_failure_the_preferred_source_is_tried_where_another_succeeds(seed: int) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["fine", "coarse"])
        x = np.array([trial.suggest_float(name, -2.0, 2.0) for name in ("x0", "x1")])
        trial.set_user_attr("cost", 10.0 if source == "fine" else 1.0)
        if np.linalg.norm(x - [0.3, 0.7]) > 0.4:  # In all but a thirtieth of the space.
            raise ArithmeticError
        return float(np.sum((x - [0.3, 0.7]) ** 2))

    study = optuna.create_study(sampler=MisoWildSampler(seed=seed))
    study.enqueue_trial({"source": "coarse", "x0": 0.2, "x1": 0.6})
    study.optimize(objective, n_trials=16, catch=(ArithmeticError,))
    fine = [trial.state for trial in study.trials if trial.params["source"] == "fine"]
    assert fine.index(TrialState.COMPLETE) <= 2
