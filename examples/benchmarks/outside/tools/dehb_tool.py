"""DEHB: differential evolution in Hyperband's brackets, by ask and tell."""

from __future__ import annotations

import tempfile

from dehb import DEHB

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import REDUCTION
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.outside.tools import configspace


class Dehb:
    """One run of DEHB."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.folder = tempfile.TemporaryDirectory()
        space = configspace.space(task, seed)
        self.dehb = DEHB(
            f=None,
            cs=space,
            dimensions=len(task.parameters),
            min_fidelity=task.lowest,
            max_fidelity=task.highest,
            eta=REDUCTION,
            seed=seed,
            n_workers=1,
            output_path=self.folder.name,
            log_level="ERROR",
            save_freq=None,
        )

    def job(self) -> Job:
        """One trial."""
        info = self.dehb.ask()
        config = configspace.config(self.task, info["config"])
        answer = yield Query(config, float(info["fidelity"]))
        self.dehb.tell(info, {"fitness": answer.value, "cost": answer.cost})
