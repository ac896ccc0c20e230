"""Tune a support vector classifier on handwritten digits, asking subsets of the data as well.

The error on all 1797 digits is what counts, but it takes up to seconds to compute; the errors on
40, 30, 20 and 10 % of them are cheap and less accurate. How accurate and how cheap depends on C
and gamma, and the sampler learns it from the trials.

    python examples/quickstart.py [--n-trials 50] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse
from collections import Counter
import time

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import stratified_sources


SOURCES = ["100%", "40%", "30%", "20%", "10%"]  # the first is the preferred one


class Objective:
    """Error of a support vector classifier in five-fold cross-validation."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y = X, y
        self.rows = dict(zip(SOURCES, stratified_sources(y), strict=True))

    def error(self, C: float, gamma: float, source: str) -> float:
        rows = self.rows[source]
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        svc = SVC(C=C, gamma=gamma)
        return 1 - cross_val_score(svc, self.X[rows], self.y[rows], cv=folds).mean()

    def __call__(self, trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        C = trial.suggest_float("C", 1e-2, 1e2, log=True)
        gamma = trial.suggest_float("gamma", 1e-4, 1e1, log=True)
        return self.error(C, gamma, source)  # the trial's cost: the time that it took


def print_trial(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
    p, cost = trial.params, trial.user_attrs["cost"]
    print(
        f"trial {trial.number:3d}   {p['source']:>4} of the data   C {p['C']:8.3g}   "
        f"gamma {p['gamma']:8.2g}   error {trial.value:.4f}   cost {cost:5.2f} s   "
        f"total {cumulated_cost(study):6.2f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="30 trials on a third of the data")
    args = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X = X / 16
    if args.short:
        X, y, args.n_trials = X[::3], y[::3], 30
    objective = Objective(X, y)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=MisoWildSampler(seed=args.seed))
    study.optimize(objective, n_trials=args.n_trials, callbacks=[print_trial])

    best = recommend(study)
    if not best.verified:  # the model trusts a point that only subsets have seen: ask all the data
        study.enqueue_trial(best.to_enqueue())
        study.optimize(objective, n_trials=1, callbacks=[print_trial])
        best = recommend(study)

    params = {name: study.best_params[name] for name in ("C", "gamma")}
    print(f"\nBest on all the data: {params}, error {study.best_value:.4f}")
    print(f"Recommended:          {best.params}, verified on all the data: {best.verified}")
    error = objective.error(**best.params, source="100%")
    print(f"Its error on all the data, computed again: {error:.4f}")

    asked = Counter(trial.params["source"] for trial in study.trials)
    print("Sources asked: " + ", ".join(f"{asked[source]} x {source}" for source in SOURCES))
    print(f"Total cost of the {len(study.trials)} trials: {cumulated_cost(study):.1f} s")

    print(
        "\nFor comparison, the same configurations on all the data, each of them now measured ..."
    )
    start = time.perf_counter()
    for trial in study.trials:
        objective.error(trial.params["C"], trial.params["gamma"], source="100%")
    print(f"{len(study.trials)} full evaluations cost {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
