"""Tune a support vector classifier on handwritten digits, asking subsets of the data as well.

The error on all 1797 digits is what counts; those on 40, 30, 20 and 10 % of them are cheap and
less accurate. How accurate and how cheap depends on C and gamma, and the sampler learns it from
the trials. In the end the same sampler, and Optuna's TPESampler, may spend the same on all the
data only, for comparison.

    python examples/quickstart.py [--n-trials 50] [--seed 0] [--versus tpe|gp|none]
        [--figures DIR] [--short]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import optuna
from report import print_comparison
from report import print_files
from report import print_summary
from report import print_trial
from report import require
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.model_selection import cross_validate
from sklearn.svm import SVC

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import stratified_sources


SOURCES = ["100%", "40%", "30%", "20%", "10%"]  # the first is the preferred one
RIVALS = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}


class Objective:
    """Error of a support vector classifier in five-fold cross-validation."""

    def __init__(self, X: np.ndarray, y: np.ndarray, sources: list[str]) -> None:
        self.X, self.y, self.sources = X, y, sources
        self.rows = dict(zip(SOURCES, stratified_sources(y), strict=True))
        self.seconds = 0.0  # what all evaluations have taken

    def __call__(self, trial: optuna.Trial) -> float:
        rows = self.rows[trial.suggest_categorical("source", self.sources)]
        svc = SVC(
            C=trial.suggest_float("C", 1e-2, 1e2, log=True),
            gamma=trial.suggest_float("gamma", 1e-4, 1e1, log=True),
        )
        start = time.perf_counter()  # from here on: suggesting is the sampler's time
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        scores = cross_validate(svc, self.X[rows], self.y[rows], cv=folds, return_estimator=True)
        # Without this line the cost is the trial's seconds, which are never the same twice.
        trial.set_user_attr("cost", kernel_values(scores["estimator"], len(rows)))
        self.seconds += time.perf_counter() - start
        return 1 - scores["test_score"].mean()


def kernel_values(fitted: list[SVC], n_rows: int) -> float:
    """Support vectors times rows, in millions: what the work of these classifiers grows with."""
    return 1e-6 * n_rows * sum(int(svc.n_support_.sum()) for svc in fitted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-trials", type=int, help="50, in short 30")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--versus", choices=[*RIVALS, "none"], default="tpe", help="gp needs PyTorch"
    )
    parser.add_argument("--figures", metavar="DIR", help="a folder for the figures of the study")
    parser.add_argument("--short", action="store_true", help="30 trials on a third of the data")
    args = parser.parse_args()
    if args.versus == "gp":
        require("torch", "benchmarks")
    if args.figures:
        require("plotly", "examples")

    X, y = load_digits(return_X_y=True)
    X = X / 16
    if args.short:
        X, y = X[::3], y[::3]
    n_trials = args.n_trials or (30 if args.short else 50)
    objective = Objective(X, y, SOURCES)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=MisoWildSampler(seed=args.seed))
    start = time.perf_counter()
    study.optimize(objective, n_trials=n_trials, callbacks=[print_trial])

    if not recommend(study).verified:  # so far only subsets have been asked there
        study.enqueue_trial(recommend(study).to_enqueue())
        study.optimize(objective, n_trials=1, callbacks=[print_trial])
    seconds = time.perf_counter() - start
    thinking = seconds - objective.seconds

    print_summary(study, unit="million kernel values")
    print(f"Seconds: {objective.seconds:.1f} in the objective, {thinking:.1f} in the sampler")

    if args.versus != "none":
        rival = RIVALS[args.versus]
        only = f"{SOURCES[0]} only"
        samplers = {
            f"MisoWildSampler, {only}": MisoWildSampler(seed=args.seed),
            f"{rival.__name__}, {only}": rival(seed=args.seed),
        }
        studies = {f"MisoWildSampler, {len(SOURCES)} sources": study}
        for name, sampler in samplers.items():
            studies[name] = optuna.create_study(sampler=sampler)
            budget = CostBudgetCallback(cumulated_cost(study))
            studies[name].optimize(Objective(X, y, SOURCES[:1]), callbacks=[budget])
        print_comparison(studies, SOURCES[0])

    if args.figures:
        from figures import write_study

        print_files(write_study(study, args.figures))
    else:
        print("Its figures: the same command with --figures figures, then open figures/*.html")


if __name__ == "__main__":
    main()
