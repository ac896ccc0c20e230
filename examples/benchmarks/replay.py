"""Recorded tuning tasks of the paper as problems."""

from __future__ import annotations

from functools import partial

from examples.benchmarks.problem import Parameter
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Source
from examples.paper.replay import Replay
from examples.paper.tables import TABLES
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Svc


def svc(dataset: str, *, evaluations: float) -> Problem:
    """Return a recorded C-SVC task: ten-fold error, and processor seconds as cost.

    Regrets are differences of the error.
    """
    table = Replay(Svc(), TABLES / f"svc_{dataset}.csv")
    return Problem(
        name=f"svc-{dataset}",
        parameters=(Parameter("C", 1e-2, 1e2, log=True), Parameter("gamma", 1e-4, 1e4, log=True)),
        sources=tuple(
            Source(partial(table.error, s), partial(table.cpu_s, s)) for s in range(len(SOURCES))
        ),
        minimum=table.lowest_error,
        evaluations=evaluations,
        normalised=False,
    )
