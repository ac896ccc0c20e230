"""Fits that fail, on all rows or on a part of them."""

from __future__ import annotations

from typing import Any
import warnings

import numpy as np
from optuna.trial import TrialState
import pytest
from searches import Parabola
from searches import X
from searches import Y
from searches import search
from sklearn.exceptions import FitFailedWarning


@pytest.mark.parametrize("error_score", [np.nan, "raise"])
def test_what_fails_on_a_part_is_a_failure_of_that_part_only(error_score: float | str) -> None:
    estimator = Parabola(fails_below=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = search(estimator, error_score=error_score, n_iter=6).fit(X, Y)
    results = found.cv_results_
    is_part = results["source"] == "10%"
    assert is_part.any()
    assert np.array_equal(np.isnan(results["mean_test_score"]), is_part)
    states = np.array([trial.state for trial in found.study_.trials])
    assert np.array_equal(states == TrialState.FAIL, is_part)
    failed = next(trial for trial in found.study_.trials if trial.state == TrialState.FAIL)
    assert failed.user_attrs["fit_error"] == "RuntimeError: too few rows or too large an x"
    assert failed.user_attrs["cost"] > 0.0
    assert np.isfinite(found.best_score_)


def test_some_failures_on_all_rows_are_told_once_and_are_never_best() -> None:
    with pytest.warns(FitFailedWarning, match="fits failed out of a total of"):
        found = search(Parabola(fails_above=-0.3), fractions=[1.0], n_iter=6).fit(X, Y)
    assert found.best_params_["x"] <= -0.3
    assert np.isnan(found.cv_results_["mean_test_score"]).any()


@pytest.mark.parametrize("many", [False, True])
def test_a_score_that_is_no_number_is_told(many: bool) -> None:
    def undefined(estimator: Parabola, X: Any, y: Any) -> float:
        return np.nan if many or estimator.x > -0.3 else estimator.x

    with pytest.warns(UserWarning, match="One or more of the test scores are non-finite") as told:
        found = search(scoring=undefined, fractions=[1.0], n_iter=6).fit(X, Y)
    assert len(told) == 1
    assert many or found.best_params_["x"] <= -0.3


def test_a_score_for_failures() -> None:
    estimator = Parabola(fails_above=-0.3)
    with pytest.warns(FitFailedWarning):
        found = search(estimator, fractions=[1.0], n_iter=6, error_score=-7).fit(X, Y)
    assert found.cv_results_["mean_test_score"].min() == -7.0
    failed = [t.params["x"] for t in found.study_.trials if t.state == TrialState.FAIL]
    assert failed and min(failed) > -0.3


def test_if_all_rows_fail_always_the_reason_is_told() -> None:
    with pytest.raises(ValueError, match=r"(?s)All the 6 fits failed.*too few rows"):
        search(Parabola(fails_below=1000), fractions=[1.0], n_iter=3).fit(X, Y)


def test_a_failure_can_be_raised() -> None:
    found = search(Parabola(fails_below=1000), error_score="raise")
    with pytest.raises(RuntimeError, match="too few rows"):
        found.fit(X, Y)
    assert [trial.state for trial in found.study_.trials] == [TrialState.FAIL]
