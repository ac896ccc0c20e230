"""A task's search space as ConfigSpace has it, for the tools that take it so."""

from __future__ import annotations

from typing import Any

from ConfigSpace import CategoricalHyperparameter
from ConfigSpace import ConfigurationSpace
from ConfigSpace import UniformFloatHyperparameter
from ConfigSpace import UniformIntegerHyperparameter

from examples.benchmarks.outside.tasks import Config
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer


def space(task: Task, seed: int) -> ConfigurationSpace:
    """Return the search space of a task."""
    result = ConfigurationSpace(seed=seed)
    for p in task.parameters:
        if isinstance(p, Choice):
            result.add(CategoricalHyperparameter(p.name, list(p.choices)))
        elif isinstance(p, Integer):
            result.add(UniformIntegerHyperparameter(p.name, p.low, p.high, log=p.log))
        else:
            result.add(UniformFloatHyperparameter(p.name, p.low, p.high, log=p.log))
    return result


def config(task: Task, suggested: Any) -> Config:
    """Return plain values from what ConfigSpace calls a configuration."""
    values = dict(suggested)
    kinds = {p.name: _kind(p) for p in task.parameters}
    return {name: kind(values[name]) for name, kind in kinds.items()}


def _kind(parameter: Any) -> type:
    if isinstance(parameter, Choice):
        return str
    return int if isinstance(parameter, Integer) else float
