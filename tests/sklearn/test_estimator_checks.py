"""scikit-learn's own checks of what an estimator must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optuna.distributions import FloatDistribution
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_misowild.sklearn import MisoWildSearchCV


# The names of the checks contain these searches, and must be the same in every process: no
# distribution of SciPy's, which shows its address.
SEARCHES = [
    MisoWildSearchCV(estimator, distributions, n_iter=1, cv=2, random_state=0, error_score="raise")
    for estimator, distributions in [
        (LogisticRegression(), {"C": FloatDistribution(0.1, 10.0, log=True)}),
        (Ridge(), {"alpha": FloatDistribution(0.1, 10.0, log=True)}),
    ]
]


@parametrize_with_checks(SEARCHES)
def test_it_is_an_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
