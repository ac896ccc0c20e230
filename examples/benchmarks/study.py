"""A study of any size to time a sampler on, without the time that it took to get there."""

from __future__ import annotations

from dataclasses import dataclass
import time

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution

from examples.benchmarks.methods import METHODS


BUDGET = 1e6  # never reached


@dataclass(frozen=True)
class Task:
    """A bowl with ripples, biased and cheaper from source to source; it costs most at x0 = 1."""

    d: int
    n_sources: int

    @property
    def space(self) -> dict[str, FloatDistribution]:
        """The parameters, without the source."""
        return {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(self.d)}

    @property
    def optimum(self) -> np.ndarray:
        """Near the bottom of the bowl, shape (d,)."""
        return np.random.default_rng(0).uniform(0.2, 0.8, self.d)

    def evaluate(self, x: np.ndarray, source: int) -> tuple[float, float]:
        """Return value and cost."""
        bowl = np.sum((x - self.optimum) ** 2) + 0.1 * np.sum(np.cos(7.0 * x))
        bias = 0.05 * source * np.sin(3.0 * x[-1] + source)
        return float(bowl + bias), float(np.exp(2.0 * x[0]) / 3.0**source)


class Session:
    """A sampler and its study of n finished trials, half of them around the optimum."""

    def __init__(self, method: str, task: Task, n: int) -> None:
        self.method, self.task = method, task
        self.study = optuna.create_study(sampler=METHODS[method].sampler(BUDGET, 0))
        rng = np.random.default_rng(0)
        for i in range(n):
            x = rng.random(task.d)
            if i % 2:
                x = np.clip(task.optimum + 0.1 * rng.standard_normal(task.d), 0.0, 1.0)
            self._add(x, i % task.n_sources)

    def _add(self, x: np.ndarray, source: int) -> None:
        value, cost = self.task.evaluate(x, source)
        params = dict(zip(self.task.space, x.tolist(), strict=True))
        distributions: dict[str, optuna.distributions.BaseDistribution] = dict(self.task.space)
        if self.task.n_sources > 1:
            params["source"] = source
            distributions["source"] = CategoricalDistribution(range(self.task.n_sources))
        self.study.add_trial(
            optuna.create_trial(
                params=params,
                distributions=distributions,
                value=value,
                user_attrs={"source_index": source, "cost": cost},
            )
        )

    def seconds_of_one_trial(self) -> float:
        """Return the time of a trial from asking to telling, without its evaluation."""
        start = time.process_time()
        trial = self.study.ask()
        source = 0
        if self.task.n_sources > 1:
            source = trial.suggest_categorical("source", range(self.task.n_sources))
        x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in self.task.space])
        thinking = time.process_time() - start

        value, cost = self.task.evaluate(x, source)
        trial.set_user_attr("cost", cost)
        start = time.process_time()
        self.study.tell(trial, value)
        return thinking + time.process_time() - start
