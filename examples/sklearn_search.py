"""Tune a pipeline as with ``RandomizedSearchCV``, on all rows and on parts of them.

A support vector machine on handwritten digits, by five-fold cross-validation.

    python examples/sklearn_search.py [--budget 30] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse

import pandas as pd
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_misowild import source_verdicts
from optuna_misowild.sklearn import MisoWildSearchCV


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=float, default=30.0, help="in seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="eight evaluations' worth")
    args = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    search = MisoWildSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1.0)},
        budget=None if args.short else args.budget,
        n_iter=8,
        cv=5,
        random_state=args.seed,
        verbose=1,
    ).fit(X, y)

    results = pd.DataFrame(search.cv_results_)
    columns = ["source", "param_svc__C", "param_svc__gamma", "mean_test_score", "cost"]
    best = results.sort_values("rank_test_score").head()
    print(best[columns].to_string())
    print(results.groupby("source")["cost"].agg(["count", "sum"]).to_string())
    print(f"Worth their cost? {source_verdicts(search.study_)}")
    print(f"Best: {search.best_params_}")
    print(f"Accuracy: {search.best_score_:.4f} in cross-validation", end=", ")
    print(f"{search.score(X_test, y_test):.4f} on other rows")


if __name__ == "__main__":
    main()
