"""HEBO on the highest fidelity: it knows no others."""

from __future__ import annotations

from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO
import numpy as np
import pandas as pd
import torch

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer


def space(task: Task) -> DesignSpace:
    """Return the search space of a task."""
    rows = []
    for p in task.parameters:
        if isinstance(p, Choice):
            rows.append({"name": p.name, "type": "cat", "categories": list(p.choices)})
        elif isinstance(p, Integer):
            kind = "pow_int" if p.log else "int"
            rows.append({"name": p.name, "type": kind, "lb": p.low, "ub": p.high})
        else:
            kind = "pow" if p.log else "num"
            rows.append({"name": p.name, "type": kind, "lb": p.low, "ub": p.high})
    return DesignSpace().parse(rows)


class Hebo:
    """One run of HEBO."""

    def __init__(self, task: Task, seed: int) -> None:
        np.random.seed(seed)  # noqa: NPY002 - it draws from the global generators
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.task = task
        self.hebo = HEBO(space(task), scramble_seed=seed)

    def job(self) -> Job:
        """One trial."""
        suggested: pd.DataFrame = self.hebo.suggest(n_suggestions=1)
        config = {}
        for p in self.task.parameters:
            kind = str if isinstance(p, Choice) else int if isinstance(p, Integer) else float
            config[p.name] = kind(suggested[p.name].iloc[0])
        answer = yield Query(config, self.task.highest)
        self.hebo.observe(suggested, np.array([[answer.value]]))
