from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend


__all__ = ["CarboCoolingSampler", "CostBudgetCallback", "MisoWildSampler", "recommend"]
