"""An Optuna sampler for several information sources with location-dependent costs."""

from optuna_misowild import visualization
from optuna_misowild.budget import CostBudgetCallback
from optuna_misowild.budget import StopWhenNotWorthIt
from optuna_misowild.budget import cumulated_cost
from optuna_misowild.datasets import stratified_sources
from optuna_misowild.imported import import_trials
from optuna_misowild.methods.carbo import CostCooling
from optuna_misowild.methods.paper import PaperMethod
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.model import Model
from optuna_misowild.progress import CostProgressBar
from optuna_misowild.pruner import MisoWildPruner
from optuna_misowild.recommendation import Recommendation
from optuna_misowild.recommendation import recommend
from optuna_misowild.samplers import CarboCoolingSampler
from optuna_misowild.samplers import MisoWildSampler
from optuna_misowild.study.continued import continued_from
from optuna_misowild.worth import source_verdicts


__version__ = "0.2.0"

__all__ = [
    "CarboCoolingSampler",
    "CostBudgetCallback",
    "CostCooling",
    "CostProgressBar",
    "MisoWildPruner",
    "MisoWildSampler",
    "Model",
    "PaperMethod",
    "Recommendation",
    "RobustMethod",
    "StopWhenNotWorthIt",
    "continued_from",
    "cumulated_cost",
    "import_trials",
    "recommend",
    "source_verdicts",
    "stratified_sources",
    "visualization",
]
