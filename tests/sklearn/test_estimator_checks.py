"""scikit-learn's own checks of what an estimator must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_misowild.sklearn import MisoWildSearchCV


SEARCHES = [
    MisoWildSearchCV(estimator, distributions, n_iter=1, cv=2, random_state=0, error_score="raise")
    for estimator, distributions in [
        (LogisticRegression(), {"C": loguniform(0.1, 10.0)}),
        (Ridge(), {"alpha": loguniform(0.1, 10.0)}),
    ]
]


@parametrize_with_checks(SEARCHES)
def test_it_is_an_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
