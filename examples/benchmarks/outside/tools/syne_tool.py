"""Syne Tune's ASHA and BOHB: trainings report every epoch, and the scheduler stops them."""

from __future__ import annotations

import datetime
import itertools
import logging
from typing import Any

import numpy as np
from syne_tune import config_space as cs
from syne_tune.backend.trial_status import Trial
from syne_tune.optimizer.baselines import ASHA
from syne_tune.optimizer.baselines import BOHB
from syne_tune.optimizer.scheduler import SchedulerDecision

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import REDUCTION
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer


SCHEDULERS = {"asha": ASHA, "bohb": BOHB}


def space(task: Task) -> dict[str, Any]:
    """Return the search space of a task."""
    result: dict[str, Any] = {}
    for p in task.parameters:
        if isinstance(p, Choice):
            result[p.name] = cs.choice(list(p.choices))
        elif isinstance(p, Integer):
            result[p.name] = (cs.lograndint if p.log else cs.randint)(p.low, p.high)
        else:
            result[p.name] = (cs.loguniform if p.log else cs.uniform)(p.low, p.high)
    return result


class SyneTune:
    """One run of a scheduler of Syne Tune."""

    def __init__(self, task: Task, seed: int, *, scheduler: str) -> None:
        logging.getLogger("syne_tune").setLevel(logging.ERROR)
        np.random.seed(seed)  # noqa: NPY002 - it draws brackets so
        self.task = task
        first, last = task.rungs[0], task.highest
        self.scheduler = SCHEDULERS[scheduler](
            space(task),
            metric="value",
            time_attr="step",
            max_t=int(self._step(last)),
            grace_period=int(self._step(first)),
            reduction_factor=REDUCTION,
            random_seed=seed,
        )
        self.count = itertools.count()

    def _step(self, fidelity: float) -> int:
        """Return the step by which a fidelity is reported: itself, or its place among rungs."""
        if self.task.steps == self.task.rungs:
            return REDUCTION ** self.task.rungs.index(fidelity)
        return int(fidelity)

    def job(self) -> Job:
        """One trial."""
        number = next(self.count)
        suggested = self.scheduler.suggest().config
        trial = Trial(number, suggested, datetime.datetime.now())
        self.scheduler.on_trial_add(trial)
        config = {p.name: suggested[p.name] for p in self.task.parameters}
        for fidelity in self.task.steps:
            answer = yield Query(config, fidelity, number)
            result = {"value": answer.value, "step": self._step(fidelity)}
            if fidelity == self.task.highest:
                self.scheduler.on_trial_complete(trial, result)
            elif self.scheduler.on_trial_result(trial, result) == SchedulerDecision.STOP:
                return
