"""An estimator that costs what it says, and searches with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import uniform
from sklearn.base import BaseEstimator
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from optuna_misowild.sklearn import MisoWildSearchCV


N = 300
X = np.arange(2.0 * N).reshape(N, 2)
Y = np.arange(N) % 2
DISTRIBUTIONS = {"x": uniform(-1.0, 2.0)}


class Parabola(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Its score is 1 − (x − 0.3)², less on fewer rows.

    Args:
        x: What is searched.
        n_steps: A resource.
        fails_below: It cannot be fitted to fewer rows.
        fails_above: It cannot be fitted with a larger ``x``.
    """

    def __init__(
        self, x: float = 0.0, n_steps: int = 9, fails_below: int = 0, fails_above: float = 9.0
    ) -> None:
        self.x = x
        self.n_steps = n_steps
        self.fails_below = fails_below
        self.fails_above = fails_above

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Parabola:
        if X.shape[0] < self.fails_below or self.x > self.fails_above:
            raise RuntimeError("too few rows or too large an x")
        self.n_rows_ = X.shape[0]
        self.weight_ = None if sample_weight is None else float(np.sum(sample_weight))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return np.zeros(X.shape[0], dtype=int)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        # On a part of the resource everything looks better: what mixes sources is found out.
        return 1.0 - (self.x - 0.3) ** 2 + 10.0 / self.n_rows_ + 1.0 / self.n_steps


def search(estimator: Any = None, distributions: Any = None, **settings: Any) -> MisoWildSearchCV:
    """Return a search that is fast."""
    defaults = {"fractions": [1.0, 0.1], "n_iter": 5, "cv": 2, "random_state": 0}
    return MisoWildSearchCV(
        Parabola() if estimator is None else estimator,
        DISTRIBUTIONS if distributions is None else distributions,
        **{**defaults, **settings},
    )
