"""Figures of a study with several sources, as ``optuna.visualization`` has them of any study.

They need plotly: ``pip install "optuna-misowild[visualization]"``. All work on running studies,
and on studies that were loaded to be looked at.

It may import ``study``, ``methods``, ``optim``, ``gp`` and the roof, of which only ``dashboard``
imports it.
"""

from optuna_misowild.visualization._plotly import is_available
from optuna_misowild.visualization.acquisition import plot_acquisition
from optuna_misowild.visualization.cost_history import plot_cost_history
from optuna_misowild.visualization.cost_model import plot_cost_model
from optuna_misowild.visualization.discrepancy import plot_discrepancy
from optuna_misowild.visualization.feasibility import plot_feasibility
from optuna_misowild.visualization.learning_curves import plot_learning_curves
from optuna_misowild.visualization.objective_model import plot_objective_model
from optuna_misowild.visualization.source_usage import plot_source_usage
from optuna_misowild.visualization.source_worth import plot_source_worth


__all__ = [
    "is_available",
    "plot_acquisition",
    "plot_cost_history",
    "plot_cost_model",
    "plot_discrepancy",
    "plot_feasibility",
    "plot_learning_curves",
    "plot_objective_model",
    "plot_source_usage",
    "plot_source_worth",
]
