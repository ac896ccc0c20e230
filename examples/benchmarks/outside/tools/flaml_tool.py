"""FLAML's searches that know costs: BlendSearch, and CFO, its local search alone.

Its documentation: "Tune User Guide", with a resource attribute. No configuration of low cost is
named, as no tool is told anything of the task.
"""

from __future__ import annotations

import logging
from typing import Any

from flaml import CFO
from flaml import BlendSearch
from flaml import tune

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import REDUCTION
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer


SEARCHES = {"blendsearch": BlendSearch, "cfo": CFO}


def space(task: Task) -> dict[str, Any]:
    """Return the search space of a task."""
    result: dict[str, Any] = {}
    for p in task.parameters:
        if isinstance(p, Choice):
            result[p.name] = tune.choice(list(p.choices))
        elif isinstance(p, Integer):
            make = tune.lograndint if p.log else tune.randint
            result[p.name] = make(p.low, p.high + 1)
        else:
            make = tune.loguniform if p.log else tune.uniform
            result[p.name] = make(p.low, p.high)
    return result


class Flaml:
    """One run of a search of FLAML."""

    def __init__(self, task: Task, seed: int, *, search: str) -> None:
        for name in ("optuna", "flaml", "flaml.tune.searcher"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self.task = task
        self.search = SEARCHES[search](
            metric="value",
            mode="min",
            space=space(task),
            resource_attr="fidelity",
            min_resource=task.lowest,
            max_resource=task.highest,
            reduction_factor=REDUCTION,
            cost_attr="price",
            cost_budget=task.budget,
            seed=seed + 20,  # 20 is its default
        )
        self.count = 0

    def job(self) -> Job:
        """One trial."""
        self.count += 1
        name = str(self.count)
        suggested = self.search.suggest(name)
        if suggested is None:
            return
        fidelity = float(suggested.get("fidelity", self.task.highest))
        config = {p.name: suggested[p.name] for p in self.task.parameters}
        for p in self.task.parameters:
            if isinstance(p, Integer):
                config[p.name] = int(config[p.name])
        answer = yield Query(config, fidelity)
        self.search.on_trial_complete(
            name,
            {
                "value": answer.value,
                "price": answer.cost,
                "config": suggested,
                "fidelity": fidelity,
                "time_total_s": answer.cost,
            },
        )
