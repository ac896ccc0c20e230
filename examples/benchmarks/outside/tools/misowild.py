"""optuna_misowild: with fidelities as sources, with reported steps, and with the highest only."""

from __future__ import annotations

import itertools

import optuna

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.outside.tools.optuna_tools import suggest
from examples.benchmarks.problem import Array
import optuna_misowild


class Ours:
    """What the three have in common: the sampler knows the budget, and it recommends."""

    def __init__(self, task: Task, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.task = task
        self.study = optuna.create_study(**self._settings(seed))
        self._trainings = itertools.count()

    def _settings(self, seed: int) -> dict[str, object]:
        return {"sampler": optuna_misowild.MisoWildSampler(budget=self.task.budget, seed=seed)}

    def recommend(self) -> Array | None:
        """Return what a user who stops now would take."""
        try:
            params = optuna_misowild.recommend(self.study).params
        except ValueError:  # nothing was observed on the preferred source
            return None
        return self.task.location(dict(params))


class Preferred(Ours):
    """Every trial goes to the highest fidelity."""

    def job(self) -> Job:
        """One trial."""
        trial = self.study.ask()
        answer = yield Query(suggest(self.task, trial), self.task.highest)
        trial.set_user_attr("cost", answer.cost)
        self.study.tell(trial, answer.value)


class Sources(Ours):
    """The rungs are sources, and every query of one starts anew."""

    def job(self) -> Job:
        """One trial."""
        trial = self.study.ask()
        fidelity = trial.suggest_categorical("source", self.task.rungs[::-1])
        answer = yield Query(suggest(self.task, trial), fidelity)
        trial.set_user_attr("cost", answer.cost)
        self.study.tell(trial, answer.value)


class Steps(Ours):
    """A training reports, and the pruner stops it; with checkpoints, others go on with it."""

    def __init__(self, task: Task, seed: int, *, checkpoints: bool = False) -> None:
        self.checkpoints = checkpoints
        super().__init__(task, seed)

    def _settings(self, seed: int) -> dict[str, object]:
        sampler = optuna_misowild.MisoWildSampler(
            budget=self.task.budget,
            seed=seed,
            steps=tuple(int(rung) for rung in self.task.rungs),
            checkpoints=self.checkpoints,
        )
        return {"sampler": sampler, "pruner": optuna_misowild.MisoWildPruner()}

    def job(self) -> Job:
        """One trial."""
        trial = self.study.ask()
        config = suggest(self.task, trial)
        begin = optuna_misowild.continued_from(trial) if self.checkpoints else None
        training, cost = next(self._trainings), 0.0
        for step in self.task.steps:
            if begin is not None and step <= begin.step:
                continue
            answer = yield Query(config, step, training)
            cost += answer.cost
            trial.set_user_attr("cost", cost)
            trial.report(answer.value, int(step))
            if trial.should_prune():
                self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                return
        self.study.tell(trial, answer.value)
