"""Tune a neural network on handwritten digits, with fewer epochs of training as cheaper sources.

Forty epochs are what counts. Ten, or four, are cheaper and tell which configurations learn fast,
which are not always those that end best: the sampler learns where they mislead. How long an epoch
takes depends on the size of the network and of its batches.

Folds of a cross-validation are sources in the same way: all of them, or the first one only.

    python examples/epochs.py [--n-trials 50] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse
import math
import warnings

import optuna
from report import print_summary
from report import print_trial
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from optuna_misowild import MisoWildSampler


EPOCHS = {"all epochs": 40, "a quarter": 10, "a tenth": 4}  # the first is the preferred one

X, y = load_digits(return_X_y=True)
X_train, X_valid, y_train, y_valid = train_test_split(
    X / 16, y, test_size=0.4, stratify=y, random_state=0
)


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", list(EPOCHS))
    width = trial.suggest_int("width", 8, 256, log=True)
    network = MLPClassifier(
        hidden_layer_sizes=(width,) * trial.suggest_int("layers", 1, 3),
        learning_rate_init=trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1e1, log=True),
        batch_size=trial.suggest_int("batch_size", 16, 256, log=True),
        max_iter=EPOCHS[source],
        n_iter_no_change=EPOCHS[source],
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # It is meant to stop early.
        network.fit(X_train, y_train)
    # Bad networks have a hundred times the loss of good ones. On a logarithmic scale the
    # differences among the good ones count as well. The trial's cost: the seconds that it takes.
    return math.log10(log_loss(y_valid, network.predict_proba(X_valid)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="15 trials of a fifth of the epochs")
    args = parser.parse_args()
    if args.short:
        EPOCHS.update({"all epochs": 8, "a quarter": 2, "a tenth": 1})
        args.n_trials = 15

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=MisoWildSampler(seed=args.seed))
    study.optimize(objective, n_trials=args.n_trials, callbacks=[print_trial])
    print_summary(study)


if __name__ == "__main__":
    main()
