"""Tasks of scikit-learn's users: an estimator, the parameters to search, and real data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import loguniform
from scipy.stats import randint
from scipy.stats import uniform
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from examples.paper.data import load


@dataclass(frozen=True)
class Task:
    """What is tuned.

    Attributes:
        estimator: The estimator, which uses one thread.
        distributions: Its parameters, as ``RandomizedSearchCV`` takes them.
        X: Features, shape (n, d).
        y: Classes, shape (n,).
        cv: Number of folds.
        scoring: The score that is maximised.
        seconds: What a search may take.
        resource: What an evaluation can use less of.
    """

    estimator: Any
    distributions: dict[str, Any]
    X: np.ndarray
    y: np.ndarray
    cv: int
    scoring: str
    seconds: float = 10.0
    resource: str = "n_samples"


def svc_digits() -> Task:
    """A support vector machine on digits."""
    X, y = load_digits(return_X_y=True)
    distributions = {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1.0)}
    return Task(make_pipeline(StandardScaler(), SVC()), distributions, X, y, 3, "accuracy")


def boosting_magic(n_rounds: int = 60, *, seconds: float = 30.0, **settings: Any) -> Task:
    """Gradient boosting on the air showers of MAGIC."""
    data = load("magic")
    rows = np.random.default_rng(0).choice(len(data.y), 6000, replace=False)
    distributions = {
        "learning_rate": loguniform(1e-2, 1.0),
        "max_leaf_nodes": randint(4, 64),
        "min_samples_leaf": randint(2, 100),
        "l2_regularization": loguniform(1e-3, 1e2),
        "max_features": uniform(0.2, 0.8),
    }
    estimator = HistGradientBoostingClassifier(
        max_iter=n_rounds, early_stopping=False, random_state=0
    )
    return Task(
        estimator, distributions, data.X[rows], data.y[rows], 3, "roc_auc", seconds, **settings
    )


def logistic_magic() -> Task:
    """Logistic regression on products of the features, after a choice of them."""
    data = load("magic")
    rows = np.random.default_rng(1).choice(len(data.y), 6000, replace=False)
    estimator = make_pipeline(
        PolynomialFeatures(include_bias=False),
        StandardScaler(),
        SelectKBest(),
        LogisticRegression(max_iter=200),
    )
    distributions = {
        "polynomialfeatures__interaction_only": [False, True],
        "selectkbest__k": randint(5, 56),
        "logisticregression__C": loguniform(1e-4, 1e3),
        "logisticregression__class_weight": [None, "balanced"],
    }
    return Task(estimator, distributions, data.X[rows], data.y[rows], 5, "roc_auc")


def forest_splice() -> Task:
    """A random forest on the genes of SPLICE."""
    data = load("splice")
    distributions = {
        "max_features": uniform(0.02, 0.98),
        "min_samples_leaf": randint(1, 30),
        "max_depth": randint(2, 30),
        "criterion": ["gini", "entropy"],
    }
    estimator = RandomForestClassifier(n_estimators=25, random_state=0)
    return Task(estimator, distributions, data.X, data.y, 3, "accuracy")


def perceptron_digits() -> Task:
    """A perceptron on digits."""
    X, y = load_digits(return_X_y=True)
    estimator = make_pipeline(StandardScaler(), MLPClassifier(max_iter=30, random_state=0))
    distributions = {
        "mlpclassifier__hidden_layer_sizes": [(20,), (50,), (100,), (20, 20), (50, 50)],
        "mlpclassifier__alpha": loguniform(1e-6, 10.0),
        "mlpclassifier__learning_rate_init": loguniform(1e-4, 1e-1),
        "mlpclassifier__batch_size": randint(16, 200),
        "mlpclassifier__activation": ["relu", "tanh"],
    }
    return Task(estimator, distributions, X, y, 3, "accuracy")


def svc_magic() -> Task:
    """A support vector machine on MAGIC, whose fits take seconds."""
    data = load("magic")
    rows = np.random.default_rng(2).choice(len(data.y), 10_000, replace=False)
    X, y = data.X[rows], data.y[rows]
    distributions = {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-4, 10.0)}
    estimator = make_pipeline(StandardScaler(), SVC())
    return Task(estimator, distributions, X, y, 3, "accuracy", seconds=80.0)


def rounds_magic() -> Task:
    """The same with more rounds, the number of which is the resource."""
    return boosting_magic(300, seconds=50.0, resource="max_iter")


TASKS: dict[str, Callable[[], Task]] = {
    "svc-digits": svc_digits,
    "boosting-magic": boosting_magic,
    "logistic-magic": logistic_magic,
    "forest-splice": forest_splice,
    "perceptron-digits": perceptron_digits,
    "svc-magic": svc_magic,
    "rounds-magic": rounds_magic,
}
