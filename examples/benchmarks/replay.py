"""Recorded tuning tasks of the paper as problems.

Each evaluates a classifier: its error, and processor seconds as cost. Regrets are differences of
the error.
"""

from __future__ import annotations

from functools import partial

from examples.benchmarks.problem import Integer
from examples.benchmarks.problem import Parameter
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Real
from examples.benchmarks.problem import Source
from examples.paper.replay import Replay
from examples.paper.tables import TABLES
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Classifier
from examples.paper.tasks import Forest
from examples.paper.tasks import Svc


def svc(dataset: str, *, evaluations: float) -> Problem:
    """Return a task of the support vector classifier: error of ten-fold cross-validation."""
    parameters = (Real("C", 1e-2, 1e2, log=True), Real("gamma", 1e-4, 1e4, log=True))
    return _problem(f"svc-{dataset}", Svc(), parameters, evaluations)


def forest(dataset: str, *, n_features: int, evaluations: float) -> Problem:
    """Return a task of the random forest: out-of-bag error, two integers."""
    classifier = Forest(n_features)
    parameters = (Integer("n_trees", 300, 700), Integer("m_try", *classifier.m_try))
    return _problem(f"rf-{dataset}", classifier, parameters, evaluations)


def _problem(
    name: str, classifier: Classifier, parameters: tuple[Parameter, ...], evaluations: float
) -> Problem:
    table = Replay(classifier, TABLES / f"{name.replace('-', '_')}.csv")
    return Problem(
        name=name,
        parameters=parameters,
        sources=tuple(
            Source(partial(table.error, s), partial(table.cpu_s, s), size=size)
            for s, size in enumerate(SOURCES)
        ),
        minimum=table.lowest_error,
        evaluations=evaluations,
        normalised=False,
    )
