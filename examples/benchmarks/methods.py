"""The samplers that the benchmarks compare, each made and used as a user would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import optuna
from optuna.pruners import BasePruner
from optuna.pruners import HyperbandPruner
from optuna.pruners import NopPruner
from optuna.samplers import BaseSampler
from optuna.samplers import CmaEsSampler
from optuna.samplers import GPSampler
from optuna.samplers import RandomSampler
from optuna.samplers import TPESampler

import optuna_misowild


class Use(Enum):
    """How an objective uses the sources."""

    PREFERRED = "every trial asks the preferred source"
    CHOSEN = "every trial asks the source that the sampler has chosen"
    RUNGS = "every trial asks the sources from the cheapest on, until it is pruned"


@dataclass(frozen=True)
class Method:
    """A sampler with what belongs to it.

    Attributes:
        sampler: Makes the sampler from the total budget and a seed.
        use: How the objective uses the sources.
        pruner: Makes the pruner from the number of sources.
        recommended: Returns the parameters that a user would take from a study of this method;
            ValueError if there is nothing to take.
        requires: A package without which it cannot be run, as pip names it.
    """

    sampler: Callable[[float, int], BaseSampler]
    use: Use = Use.PREFERRED
    pruner: Callable[[int], BasePruner] = lambda n_sources: NopPruner()
    recommended: Callable[[optuna.Study], dict[str, Any]] = lambda study: study.best_params
    requires: str | None = None

    def study(self, budget: float, n_sources: int, seed: int) -> optuna.Study:
        """Return a new study, which depends on nothing but the arguments."""
        return optuna.create_study(
            study_name=f"seed {seed}",  # Hyperband draws brackets by it
            sampler=self.sampler(budget, seed),
            pruner=self.pruner(n_sources),
        )


# One in REDUCTION trials goes on from one source to the next more expensive one, Optuna's default.
REDUCTION = 3


def resource(rung: int) -> int:
    """Return the step that a trial reports at a source, 0 being the cheapest.

    Powers of the reduction factor are where the pruner decides, so that every source is a rung.
    """
    return REDUCTION**rung


def hyperband(n_sources: int) -> BasePruner:
    return HyperbandPruner(
        min_resource=1, max_resource=resource(n_sources - 1), reduction_factor=REDUCTION
    )


def misowild(method: str) -> Callable[[float, int], BaseSampler]:
    def make(budget: float, seed: int) -> BaseSampler:
        return optuna_misowild.MisoWildSampler(method=method, budget=budget, seed=seed)

    return make


def recommended_by_misowild(study: optuna.Study) -> dict[str, Any]:
    return dict(optuna_misowild.recommend(study).params)


def knowledge_gradient(budget: float, seed: int) -> BaseSampler:
    from examples.benchmarks.knowledge_gradient import KnowledgeGradientSampler

    return KnowledgeGradientSampler(seed=seed)


def recommended_by_knowledge_gradient(study: optuna.Study) -> dict[str, Any]:
    from examples.benchmarks.knowledge_gradient import KnowledgeGradientSampler

    assert isinstance(study.sampler, KnowledgeGradientSampler)
    return study.sampler.recommend(study)


def carbo(budget: float, seed: int) -> BaseSampler:
    return optuna_misowild.CarboCoolingSampler(budget, seed=seed)


def ei_per_cost(budget: float, seed: int) -> BaseSampler:
    return optuna_misowild.CarboCoolingSampler(budget, alpha=1.0, seed=seed)


def ei(budget: float, seed: int) -> BaseSampler:
    return optuna_misowild.CarboCoolingSampler(budget, alpha=0.0, seed=seed)


METHODS = {
    "robust": Method(misowild("robust"), use=Use.CHOSEN, recommended=recommended_by_misowild),
    "robust-alone": Method(misowild("robust")),
    "paper": Method(misowild("paper"), use=Use.CHOSEN, recommended=recommended_by_misowild),
    "kg": Method(
        knowledge_gradient,
        use=Use.CHOSEN,
        recommended=recommended_by_knowledge_gradient,
        requires="botorch",
    ),
    "carbo": Method(carbo),
    "ei-per-cost": Method(ei_per_cost),
    "ei": Method(ei),
    "gp": Method(lambda budget, seed: GPSampler(seed=seed)),
    "cma-es": Method(lambda budget, seed: CmaEsSampler(seed=seed), requires="cmaes"),
    "tpe": Method(lambda budget, seed: TPESampler(seed=seed)),
    "tpe-hyperband": Method(
        lambda budget, seed: TPESampler(seed=seed), use=Use.RUNGS, pruner=hyperband
    ),
    "random": Method(lambda budget, seed: RandomSampler(seed=seed)),
}
