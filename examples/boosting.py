"""Tune gradient boosting: five folds of cross-validation count, one fold and fewer rows are cheap.

The loss of five folds on all rows is what counts. One fold alone costs a fifth of it, and on a
fifth of the rows less still. How well these two tell good parameters from bad, and what they
cost, depends on the parameters, and is learnt.

    python examples/boosting.py [--budget 60] [--seed 0] [--library sklearn|lightgbm] [--versus]
        [--short]

LightGBM has to be installed: python -m pip install lightgbm. With --versus, TPESampler may spend
the same on five folds only.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import optuna
from report import print_comparison
from report import print_summary
from report import print_trial
from report import require
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import stratified_sources


SOURCES = ["five folds", "one fold", "one fold, 20 %"]  # the first is the preferred one


def booster(library: str, params: dict[str, Any], n_trees: int) -> Any:
    """Return an untrained model; both libraries call its parameters by other names."""
    if library == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=n_trees,
            learning_rate=params["learning_rate"],
            num_leaves=params["leaves"],
            min_child_samples=params["min_samples_leaf"],
            reg_lambda=params["l2"],
            colsample_bytree=params["features"],
            n_jobs=1,
            verbosity=-1,
            random_state=0,
        )
    return HistGradientBoostingClassifier(
        max_iter=n_trees,
        learning_rate=params["learning_rate"],
        max_leaf_nodes=params["leaves"],
        min_samples_leaf=params["min_samples_leaf"],
        l2_regularization=params["l2"],
        max_features=params["features"],
        early_stopping=False,
        random_state=0,
    )


class Objective:
    """Logarithmic loss in cross-validation, of all folds or of the first one."""

    def __init__(self, X: np.ndarray, y: np.ndarray, library: str, n_trees: int) -> None:
        self.X, self.y, self.library, self.n_trees = X, y, library, n_trees
        self.sources = SOURCES
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        self.folds = list(folds.split(X, y))
        fit, _ = self.folds[0]
        _, part = stratified_sources(y[fit], fractions=(1.0, 0.2))
        self.part = fit[part]

    def __call__(self, trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", self.sources)
        params = {
            "learning_rate": trial.suggest_float("learning_rate", 1e-2, 1.0, log=True),
            "leaves": trial.suggest_int("leaves", 3, 31, log=True),
            "min_samples_leaf": trial.suggest_int("min_samples_leaf", 2, 50, log=True),
            "l2": trial.suggest_float("l2", 1e-3, 1e2, log=True),
            "features": trial.suggest_float("features", 0.1, 1.0),
        }
        begin = time.process_time()
        losses = []
        for fit, rest in self.folds if source == "five folds" else self.folds[:1]:
            rows = self.part if source == "one fold, 20 %" else fit
            model = booster(self.library, params, self.n_trees).fit(self.X[rows], self.y[rows])
            losses.append(log_loss(self.y[rest], model.predict_proba(self.X[rest])))
        # Without this line the cost is the seconds on the clock, other programs' work included.
        trial.set_user_attr("cost", time.process_time() - begin)
        return float(np.log10(np.mean(losses)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=float, help="in processor seconds: 60, in short 1.5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", choices=["sklearn", "lightgbm"], default="sklearn")
    parser.add_argument("--versus", action="store_true", help="compare with TPESampler")
    parser.add_argument("--short", action="store_true", help="three classes, and fewer trees")
    args = parser.parse_args()
    if args.library == "lightgbm":
        require("lightgbm")
    budget = args.budget or (1.5 if args.short else 60.0)

    X, y = load_digits(return_X_y=True, n_class=3 if args.short else 10)
    objective = Objective(X, y, args.library, n_trees=8 if args.short else 40)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=MisoWildSampler(budget=budget, seed=args.seed))
    study.optimize(objective, callbacks=[print_trial, CostBudgetCallback(budget)])
    print_summary(study, unit="s")

    if args.versus:
        theirs = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=args.seed))
        objective.sources = SOURCES[:1]
        theirs.optimize(objective, callbacks=[CostBudgetCallback(budget)])
        print_comparison(
            {"MisoWildSampler, three sources": study, "TPESampler, five folds": theirs},
            SOURCES[0],
            budget=budget,
            what="loss in five folds",
            shown=lambda value: 10.0**value,
        )


if __name__ == "__main__":
    main()
