"""The paper's tuning tasks: two classifiers, each on a dataset and on four subsets of it."""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
import math
import time
from typing import Any
from typing import ClassVar

import numpy as np
import optuna
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from examples.paper.data import Dataset


SOURCES = ("100%", "40%", "30%", "20%", "10%")  # the first is the preferred one

Params = dict[str, Any]


@dataclass(frozen=True)
class Measurement:
    """What one evaluation gives and takes: error, and seconds of the processor and the clock."""

    error: float
    cpu_s: float
    wall_s: float


class Objective:
    """A tuning task as an ordinary Optuna objective.

    Args:
        classifier: What is tuned.
        measure: Evaluates it, by training (``Live``) or from a table (``Replay``).
        sources: The sources to choose from; only the first of ``SOURCES`` for a sampler that
            knows nothing of sources.
    """

    def __init__(
        self,
        classifier: Classifier,
        measure: Callable[[str, Params], Measurement],
        sources: Sequence[str] = SOURCES,
    ) -> None:
        self.classifier = classifier
        self.measure = measure
        self.sources = sources

    def __call__(self, trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", self.sources)
        measured = self.measure(source, self.classifier.suggest(trial))
        # Seconds of the processor, because other work on the machine hardly changes them.
        trial.set_user_attr("cost", measured.cpu_s)
        trial.set_user_attr("wall_s", measured.wall_s)
        return measured.error


class Classifier(ABC):
    """A classifier with two hyperparameters to tune.

    Attributes:
        hyperparameters: Their names.
        logarithmic: Whether both matter on a logarithmic scale.
    """

    hyperparameters: ClassVar[tuple[str, str]]
    logarithmic: ClassVar[bool]

    @abstractmethod
    def suggest(self, trial: optuna.Trial) -> Params:
        """Let Optuna suggest the hyperparameters."""

    @abstractmethod
    def spread(self, u: np.ndarray) -> np.ndarray:
        """Map the unit square (n, 2) to the hyperparameters (n, 2)."""

    @abstractmethod
    def error(self, X: np.ndarray, y: np.ndarray, params: Params) -> float:
        """Train, and return the misclassification error."""


class Svc(Classifier):
    """Support vector classifier, exp(−‖a − a′‖² / (2γ²)): error of ten-fold cross-validation."""

    hyperparameters = ("C", "gamma")
    logarithmic = True

    def suggest(self, trial: optuna.Trial) -> Params:
        return {
            "C": trial.suggest_float("C", 1e-2, 1e2, log=True),
            "gamma": trial.suggest_float("gamma", 1e-4, 1e4, log=True),
        }

    def spread(self, u: np.ndarray) -> np.ndarray:
        return 10.0 ** (np.array([-2.0, -4.0]) + np.array([4.0, 8.0]) * u)

    def error(self, X: np.ndarray, y: np.ndarray, params: Params) -> float:
        svc = SVC(C=params["C"], gamma=1 / (2 * params["gamma"] ** 2), cache_size=500)
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        return float(np.mean(cross_val_predict(svc, X, y, cv=folds) != y))


class Forest(Classifier):
    """Random forest: out-of-bag error."""

    hyperparameters = ("n_trees", "m_try")
    logarithmic = False

    def __init__(self, n_features: int) -> None:
        # Halves are rounded up: with MAGIC's ten features m_try goes from 3 to 8.
        self.m_try = (math.floor(0.25 * n_features + 0.5), math.floor(0.75 * n_features + 0.5))

    def suggest(self, trial: optuna.Trial) -> Params:
        return {
            "n_trees": trial.suggest_int("n_trees", 300, 700),
            "m_try": trial.suggest_int("m_try", *self.m_try),
        }

    def spread(self, u: np.ndarray) -> np.ndarray:
        low, high = np.array([300, self.m_try[0]]), np.array([700, self.m_try[1]])
        return low + np.floor(u * (high - low + 1))

    def error(self, X: np.ndarray, y: np.ndarray, params: Params) -> float:
        forest = RandomForestClassifier(
            params["n_trees"], max_features=params["m_try"], oob_score=True, random_state=0
        )
        return float(1 - forest.fit(X, y).oob_score_)


CLASSIFIERS: dict[str, Callable[[int], Classifier]] = {
    "svc": lambda n_features: Svc(),
    "rf": Forest,
}


class Live:
    """Evaluates a classifier by training it on one of the sources."""

    def __init__(self, classifier: Classifier, dataset: Dataset) -> None:
        self.classifier = classifier
        self.dataset = dataset
        self.rows = dict(zip(SOURCES, source_rows(dataset.y), strict=True))

    def __call__(self, source: str, params: Params) -> Measurement:
        rows = self.rows[source]
        cpu, wall = time.process_time(), time.perf_counter()
        error = self.classifier.error(self.dataset.X[rows], self.dataset.y[rows], params)
        return Measurement(error, time.process_time() - cpu, time.perf_counter() - wall)


def source_rows(y: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each source: all, then subsets 1–4, 5–7, 8–9 and 10 of ten.

    ``optuna_misowild.stratified_sources`` cuts data in the same way and is what to use. The
    subsets here are those that the tables were recorded with.
    """
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros_like(y), y)
    subsets = [test for _, test in folds]
    parts = (subsets[:4], subsets[4:7], subsets[7:9], subsets[9:])
    return [np.arange(len(y)), *(np.sort(np.concatenate(part)) for part in parts)]
