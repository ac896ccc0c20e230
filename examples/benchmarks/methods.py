"""The samplers that the benchmarks compare, each made as a user would make it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import optuna
from optuna.samplers import BaseSampler
from optuna.samplers import GPSampler
from optuna.samplers import RandomSampler
from optuna.samplers import TPESampler

import optuna_misowild


@dataclass(frozen=True)
class Method:
    """A sampler, from the total budget and a seed.

    Attributes:
        sampler: Makes the sampler.
        all_sources: Whether it chooses among the sources; if not, it only ever gets f_1.
    """

    sampler: Callable[[float, int], BaseSampler]
    all_sources: bool = False

    def recommended(self, study: optuna.Study) -> dict[str, float]:
        """Return the parameters that a user would take from the study."""
        if self.all_sources:
            return dict(optuna_misowild.recommend(study).params)
        return study.best_params


def misowild(method: str) -> Callable[[float, int], BaseSampler]:
    def make(budget: float, seed: int) -> BaseSampler:
        return optuna_misowild.MisoWildSampler(method=method, budget=budget, seed=seed)

    return make


def carbo(budget: float, seed: int) -> BaseSampler:
    return optuna_misowild.CarboCoolingSampler(budget, seed=seed)


def ei_per_cost(budget: float, seed: int) -> BaseSampler:
    return optuna_misowild.CarboCoolingSampler(budget, alpha=1.0, seed=seed)


def ei(budget: float, seed: int) -> BaseSampler:
    return optuna_misowild.CarboCoolingSampler(budget, alpha=0.0, seed=seed)


METHODS = {
    "robust": Method(misowild("robust"), all_sources=True),
    "paper": Method(misowild("paper"), all_sources=True),
    "carbo": Method(carbo),
    "ei-per-cost": Method(ei_per_cost),
    "ei": Method(ei),
    "gp": Method(lambda budget, seed: GPSampler(seed=seed)),
    "tpe": Method(lambda budget, seed: TPESampler(seed=seed)),
    "random": Method(lambda budget, seed: RandomSampler(seed=seed)),
}
