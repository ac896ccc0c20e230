"""Start from last month's study: its trials are one more source, which is only read.

A classifier of handwritten digits was tuned last month, on the images that there were. Now there
are three times as many, and it has to be tuned anew. Last month's results say where to look, and
are off by an amount that the sampler learns. They cost nothing: they are paid. A tenth of this
month's images is a third source, which may be queried.

    python examples/last_month.py [--n-trials 25] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse

import optuna
from report import print_summary
from report import print_trial
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from optuna_misowild import MisoWildSampler
from optuna_misowild import import_trials
from optuna_misowild import stratified_sources


SOURCES = ["this month", "a tenth", "last month"]  # the first is the preferred one

X, y = load_digits(return_X_y=True)
X = X / 16


def error(trial: optuna.Trial, rows: list[int] | slice) -> float:
    """Return the error of a support vector classifier in five-fold cross-validation."""
    svc = SVC(
        C=trial.suggest_float("C", 1e-2, 1e2, log=True),
        gamma=trial.suggest_float("gamma", 1e-4, 1e1, log=True),
    )
    return 1 - float(cross_val_score(svc, X[rows], y[rows], cv=5).mean())


def study_of_last_month(n_trials: int) -> optuna.Study:
    """Do what was done last month. In earnest, `optuna.load_study` gets it from its storage."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda trial: error(trial, slice(600)), n_trials=n_trials)
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-trials", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="10 trials, 15 of last month")
    args = parser.parse_args()
    n_trials_of_last_month = 40
    if args.short:
        args.n_trials, n_trials_of_last_month = 10, 15

    all_rows, tenth = stratified_sources(y, fractions=(1.0, 0.1))
    rows = {"this month": all_rows, "a tenth": tenth}

    def objective(trial: optuna.Trial) -> float:
        return error(trial, rows[trial.suggest_categorical("source", SOURCES)])

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    last_month = study_of_last_month(n_trials_of_last_month)

    study = optuna.create_study(
        sampler=MisoWildSampler(query_sources=["this month", "a tenth"], seed=args.seed)
    )
    import_trials(study, last_month, source="last month", choices=SOURCES)
    # What was best then is the first that a user wants to know now.
    study.enqueue_trial({**last_month.best_params, "source": "this month"})
    study.optimize(objective, n_trials=args.n_trials, callbacks=[print_trial])

    print(f"\nBest of last month, on the images of then: {last_month.best_params}")
    print_summary(study)


if __name__ == "__main__":
    main()
