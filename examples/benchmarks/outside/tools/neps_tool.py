"""NePS with the optimiser that it chooses by itself for fidelities without a prior: Hyperband.

Its ifBO would be another, but loads a model from the network when it runs.
"""

from __future__ import annotations

import logging
from typing import Any

import neps
from neps.optimizers.algorithms import hyperband

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import REDUCTION
from examples.benchmarks.outside.tasks import Config
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer


def space(task: Task) -> neps.PipelineSpace:
    """Return the search space of a task, with its fidelity."""
    fields: dict[str, Any] = {"fidelity": neps.FloatFidelity(task.lowest, task.highest)}
    for p in task.parameters:
        if isinstance(p, Choice):
            fields[p.name] = neps.Categorical(list(p.choices))
        elif isinstance(p, Integer):
            fields[p.name] = neps.Integer(p.low, p.high, log=p.log)
        else:
            fields[p.name] = neps.Float(p.low, p.high, log=p.log)
    return type("Space", (neps.PipelineSpace,), fields)()


class Neps:
    """One run of NePS."""

    def __init__(self, task: Task, seed: int) -> None:
        import random

        import numpy as np
        import torch

        logging.getLogger("neps").setLevel(logging.ERROR)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - it draws from the global generators
        torch.manual_seed(seed)
        self.task = task
        self.neps = neps.AskAndTell(hyperband(space(task), eta=REDUCTION))

    def job(self) -> Job:
        """One trial."""
        trial = self.neps.ask()
        config: Config = {}
        for p in self.task.parameters:
            value = trial.config[p.name]
            kind = str if isinstance(p, Choice) else int if isinstance(p, Integer) else float
            config[p.name] = kind(value)
        answer = yield Query(config, float(trial.config["fidelity"]))
        self.neps.tell(trial, {"objective_to_minimize": answer.value, "cost": answer.cost})
