"""Many for one epoch, the best to the end.

Egele, Guyon, Sun, Balaprakash (2023), Is one epoch all you need for multi-fidelity hyperparameter
optimization? (arXiv:2307.15422). Half of the money goes to random configurations at the lowest
fidelity, one epoch where there are epochs; then they are trained to the end, the best first.
"""

from __future__ import annotations

import numpy as np

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import Config
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.outside.tasks import random_config


class FirstEpoch:
    """The baseline."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.rng = np.random.default_rng(seed)
        self.seen: list[tuple[float, int, Config]] = []
        self.spent = 0.0
        self.ranked: list[tuple[float, int, Config]] | None = None

    def job(self) -> Job:
        """One look, or one training to the end."""
        if self.spent < self.task.budget / 2:
            config = random_config(self.task, self.rng)
            answer = yield Query(config, self.task.steps[0])
            self.spent += answer.cost
            self.seen.append((answer.value, len(self.seen), config))
        else:
            if self.ranked is None:
                self.ranked = sorted(self.seen, key=lambda s: s[:2], reverse=True)
            yield Query(self.ranked.pop()[2], self.task.highest)
