"""Stop when a budget of money is spent: the objective says itself what a trial has cost.

Gradient boosting on handwritten digits, on a rented machine that is paid by the processor second.
What a trial costs depends on its parameters, and the sampler learns it. Any unit will do: joules,
laboratory hours, tokens. Whatever adds up goes into the user attribute "cost".

    python examples/own_cost.py [--budget 1.0] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse
import time

import optuna
from report import print_summary
from report import print_trial
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import stratified_sources


CENTS_PER_SECOND = 0.01
SOURCES = ["100%", "10%"]  # the first is the preferred one

X, y = load_digits(return_X_y=True)
ROWS = dict(zip(SOURCES, stratified_sources(y, fractions=(1.0, 0.1)), strict=True))


def objective(trial: optuna.Trial) -> float:
    rows = ROWS[trial.suggest_categorical("source", SOURCES)]
    model = HistGradientBoostingClassifier(
        learning_rate=trial.suggest_float("learning_rate", 0.01, 1.0, log=True),
        max_iter=trial.suggest_int("max_iter", 5, 60, log=True),
        max_leaf_nodes=trial.suggest_int("max_leaf_nodes", 2, 32, log=True),
        random_state=0,
    )
    start = time.process_time()
    accuracy = cross_val_score(model, X[rows], y[rows], cv=3).mean()
    trial.set_user_attr("cost", CENTS_PER_SECOND * (time.process_time() - start))
    return accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=float, default=1.0, help="in cents")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="a twentieth of a cent")
    args = parser.parse_args()
    if args.short:
        args.budget = 0.05

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize", sampler=MisoWildSampler(budget=args.budget, seed=args.seed)
    )
    study.optimize(objective, callbacks=[print_trial, CostBudgetCallback(args.budget)])

    print_summary(study, unit="cents")


if __name__ == "__main__":
    main()
