"""Optuna's samplers and pruners, as its documentation uses them."""

from __future__ import annotations

from collections.abc import Iterator
import itertools

import optuna
from optuna.pruners import BasePruner
from optuna.pruners import HyperbandPruner
from optuna.pruners import MedianPruner
from optuna.pruners import NopPruner
from optuna.samplers import BaseSampler
from optuna.samplers import GPSampler
from optuna.samplers import RandomSampler
from optuna.samplers import TPESampler

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import REDUCTION
from examples.benchmarks.outside.tasks import Config
from examples.benchmarks.outside.tasks import Task


SAMPLERS = {"gp": GPSampler, "random": RandomSampler, "tpe": TPESampler}


def suggest(task: Task, trial: optuna.Trial) -> Config:
    """Return the configuration that a trial suggests."""
    return task.config(task.problem.suggest(trial))


class OptunaTool:
    """A study: with a pruner each trial reports where it can, without one it trains to the end.

    Args:
        task: What is to be minimised.
        seed: Of the sampler, and in the study's name, by which Hyperband draws brackets.
        sampler: One of ``SAMPLERS``, for others ``make`` of a subclass.
        pruner: ``"hyperband"``, ``"median"`` or none.
    """

    def __init__(self, task: Task, seed: int, *, sampler: str, pruner: str = "") -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.task = task
        self.pruner = self._pruner(pruner)
        self.study = optuna.create_study(
            study_name=f"seed {seed}", sampler=self._sampler(sampler, seed), pruner=self.pruner
        )
        self._trainings: Iterator[int] = itertools.count()

    def _sampler(self, name: str, seed: int) -> BaseSampler:
        return SAMPLERS[name](seed=seed)

    def _pruner(self, name: str) -> BasePruner:
        if name == "hyperband":
            first, last = (int(self._step(f)) for f in (self.task.rungs[0], self.task.highest))
            return HyperbandPruner(
                min_resource=first, max_resource=last, reduction_factor=REDUCTION
            )
        return MedianPruner() if name == "median" else NopPruner()

    def _step(self, fidelity: float) -> int:
        """Return the step by which a fidelity is reported: itself, or its place among the rungs.

        Powers of the reduction factor are where Hyperband decides.
        """
        if self.task.steps == self.task.rungs:
            return REDUCTION ** self.task.rungs.index(fidelity)
        return int(fidelity)

    def job(self) -> Job:
        """One trial."""
        trial = self.study.ask()
        config = suggest(self.task, trial)
        if isinstance(self.pruner, NopPruner):
            answer = yield Query(config, self.task.highest)
            self.study.tell(trial, answer.value)
            return
        training = next(self._trainings)
        for fidelity in self.task.steps:
            answer = yield Query(config, fidelity, training)
            trial.report(answer.value, self._step(fidelity))
            if fidelity != self.task.highest and trial.should_prune():
                self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                return
        self.study.tell(trial, answer.value)
