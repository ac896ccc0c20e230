"""What a benchmark problem is: several sources over one box, each with a value and a cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats.qmc import Sobol


if TYPE_CHECKING:
    import optuna


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Real:
    """A real parameter, sampled on a linear or logarithmic scale."""

    name: str
    low: float
    high: float
    log: bool = False

    def scale(self, u: Array) -> Array:
        """Map [0, 1) to the parameter's range."""
        if self.log:
            return np.exp(np.log(self.low) + u * np.log(self.high / self.low))
        return self.low + u * (self.high - self.low)

    def unit(self, value: float) -> float:
        """Map the parameter's range to [0, 1]."""
        if self.log:
            return float(np.log(value / self.low) / np.log(self.high / self.low))
        return (value - self.low) / (self.high - self.low)

    def suggest(self, trial: optuna.Trial) -> float:
        """Let Optuna suggest the coordinate."""
        return trial.suggest_float(self.name, self.low, self.high, log=self.log)

    def coordinate(self, value: float) -> float:
        """Return the coordinate that a value of Optuna's stands for."""
        return value


@dataclass(frozen=True)
class Integer:
    """An integer parameter: low, low + step, …, high; on a logarithmic scale without steps."""

    name: str
    low: int
    high: int
    step: int = 1
    log: bool = False

    def scale(self, u: Array) -> Array:
        """Map [0, 1) to the parameter's range."""
        if self.log:
            low, high = np.log(self.low - 0.5), np.log(self.high + 0.5)
            return np.clip(np.round(np.exp(low + u * (high - low))), self.low, self.high)
        return self.low + self.step * np.floor(u * ((self.high - self.low) // self.step + 1))

    def unit(self, value: float) -> float:
        """Map the parameter's range to [0, 1]."""
        return Real(self.name, self.low, self.high, self.log).unit(value)

    def suggest(self, trial: optuna.Trial) -> float:
        """Let Optuna suggest the coordinate."""
        value = trial.suggest_int(self.name, self.low, self.high, step=self.step, log=self.log)
        return float(value)

    def coordinate(self, value: int) -> float:
        """Return the coordinate that a value of Optuna's stands for."""
        return float(value)


@dataclass(frozen=True)
class Choice:
    """A categorical parameter, whose coordinate is the index of the choice."""

    name: str
    choices: tuple[str, ...]

    def scale(self, u: Array) -> Array:
        """Map [0, 1) to the indices of the choices."""
        return np.floor(u * len(self.choices))

    def unit(self, value: float) -> float:
        """Map equal choices to the same number, others to numbers that are far apart."""
        return value

    def suggest(self, trial: optuna.Trial) -> float:
        """Let Optuna suggest the coordinate."""
        return self.coordinate(trial.suggest_categorical(self.name, self.choices))

    def coordinate(self, value: str) -> float:
        """Return the coordinate that a value of Optuna's stands for."""
        return float(self.choices.index(value))


Parameter = Real | Integer | Choice


def unconstrained(x: Array) -> Array:
    """Return no constraint at locations (..., d), shape (..., 0)."""
    return np.empty((*x.shape[:-1], 0))


@dataclass(frozen=True)
class Source:
    """One source: functions of locations (..., d), in natural units, to arrays (...).

    ``noise`` is the standard deviation of what an observation adds to the value. ``constraints``
    gives g_k(x), shape (..., K), each at most 0 where it is met. ``size`` is what a user would
    call it who has sources of several sizes, such as a number of epochs; else it is its index.
    """

    value: Callable[[Array], Array]
    cost: Callable[[Array], Array]
    noise: float = 0.0
    constraints: Callable[[Array], Array] = unconstrained
    size: float | str | None = None


@dataclass(frozen=True)
class Problem:
    """A function to minimise, f_1, that other sources approximate.

    Attributes:
        name: Its name on the command line.
        parameters: The search space.
        sources: The first is the preferred one, f_1.
        minimum: Lowest value of f_1, where its constraints are met.
        evaluations: The budget, as a number of evaluations of f_1 of mean cost.
        normalised: Whether regrets are divided by (median of f_1 − minimum), or with constraints
            by (highest feasible value of f_1 − minimum); if not, they are in the units of f_1.
        requires: A package without which it cannot be run, as pip names it.
        resumable: Whether an evaluation goes on from that of a cheaper source at the same place,
            as a training does after some epochs, and costs only the rest.
    """

    name: str
    parameters: tuple[Parameter, ...]
    sources: tuple[Source, ...]
    minimum: float
    evaluations: float
    normalised: bool = True
    requires: str | None = None
    resumable: bool = False

    @cached_property
    def cheapest_first(self) -> tuple[int, ...]:
        """The sources in the order of their mean costs."""
        means = [np.mean(source.cost(self.sample)) for source in self.sources]
        return tuple(int(s) for s in np.argsort(means, kind="stable"))

    @property
    def choices(self) -> tuple[Any, ...]:
        """What the sources are called in a study."""
        return tuple(i if s.size is None else s.size for i, s in enumerate(self.sources))

    def evaluate(self, source: int, x: Array) -> tuple[Array, Array]:
        """Return the noise-free values and the costs of a source at x (..., d)."""
        return self.sources[source].value(x), self.sources[source].cost(x)

    def suggest(self, trial: optuna.Trial) -> Array:
        """Let Optuna suggest a location, shape (d,)."""
        return np.array([p.suggest(trial) for p in self.parameters])

    def location(self, params: dict[str, Any]) -> Array:
        """Return the location that Optuna's parameters describe, shape (d,)."""
        return np.array([p.coordinate(params[p.name]) for p in self.parameters])

    def is_feasible(self, x: Array) -> NDArray[np.bool_]:
        """Return whether x (..., d) meets the constraints of the preferred source, shape (...)."""
        return np.all(self.sources[0].constraints(x) <= 0.0, axis=-1)

    def regret(self, x: Array) -> Array:
        """Return (f_1(x) − minimum) / (median of f_1 − minimum), noise-free.

        So 0 is the optimum and 1 is as good as half of all points. With constraints, 1 is the
        worst of all feasible points, and what is infeasible counts as that.
        """
        regret = self.sources[0].value(x) - self.minimum
        if self.normalised:
            regret = regret / self.spread
        if self.is_constrained:
            regret = np.where(self.is_feasible(x), np.minimum(regret, 1.0), 1.0)
        return np.maximum(regret, 0.0)

    @cached_property
    def is_constrained(self) -> bool:
        """Whether the preferred source has constraints."""
        return self.sources[0].constraints(self.sample[:1]).shape[-1] > 0

    @cached_property
    def spread(self) -> float:
        """What has the regret 1, above the minimum."""
        values = self.sources[0].value(self.sample)
        if self.is_constrained:
            return float(values[self.is_feasible(self.sample)].max()) - self.minimum
        return float(np.median(values)) - self.minimum

    @cached_property
    def budget(self) -> float:
        """The total cost that a method may spend."""
        return self.evaluations * float(np.mean(self.sources[0].cost(self.sample)))

    @cached_property
    def sample(self) -> Array:
        """Points spread evenly over the search space, shape (m, d)."""
        u = Sobol(len(self.parameters), seed=0).random_base2(13)
        columns = [p.scale(u[:, i]) for i, p in enumerate(self.parameters)]
        return np.stack(columns, axis=-1)
