"""Tune a neural network on handwritten digits: an objective that reports each epoch, as it is.

The objective trains epoch by epoch, reports the loss of each, and stops when told, as with any of
Optuna's pruners. The sampler chooses parameters and up to which epoch they are tried; forty epochs
are what counts. What a training tells on its way is learnt from, and how long an epoch takes,
which depends on the size of the network and of its batches.

    python examples/epochs.py [--n-trials 60] [--seed 0] [--framework sklearn|torch] [--short]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import math
from typing import Any

import numpy as np
import optuna
from report import print_summary
from report import print_trial
from report import require
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler


STEPS = [2, 5, 14, 40]  # The last one is what counts.

X, y = load_digits(return_X_y=True)
X_train, X_valid, y_train, y_valid = train_test_split(
    X / 16, y, test_size=0.4, stratify=y, random_state=0
)


def sklearn_losses(params: dict[str, Any]) -> Iterator[float]:
    """Train with scikit-learn, and yield the loss after each epoch."""
    network = MLPClassifier(
        hidden_layer_sizes=(params["width"],) * params["layers"],
        learning_rate_init=params["learning_rate"],
        alpha=params["alpha"],
        batch_size=params["batch_size"],
        random_state=0,
    )
    while True:
        network.partial_fit(X_train, y_train, classes=np.unique(y))
        yield log_loss(y_valid, network.predict_proba(X_valid))


def torch_losses(params: dict[str, Any]) -> Iterator[float]:
    """Train with PyTorch, and yield the loss after each epoch."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers: list[nn.Module] = []
    for _ in range(params["layers"]):
        layers += [nn.LazyLinear(params["width"]), nn.ReLU()]
    network = nn.Sequential(*layers, nn.LazyLinear(10))
    network(torch.zeros(1, X.shape[1]))  # Now it knows its sizes.
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=params["learning_rate"], weight_decay=params["alpha"]
    )
    loss = nn.CrossEntropyLoss()
    data = torch.tensor(X_train, dtype=torch.float32), torch.tensor(y_train)
    valid = torch.tensor(X_valid, dtype=torch.float32), torch.tensor(y_valid)
    while True:
        for rows in torch.randperm(len(y_train)).split(params["batch_size"]):
            optimizer.zero_grad()
            loss(network(data[0][rows]), data[1][rows]).backward()
            optimizer.step()
        with torch.no_grad():
            yield float(loss(network(valid[0]), valid[1]))


FRAMEWORKS = {"sklearn": sklearn_losses, "torch": torch_losses}


def objective(trial: optuna.Trial, framework: str = "sklearn") -> float:
    params = {
        "width": trial.suggest_int("width", 8, 256, log=True),
        "layers": trial.suggest_int("layers", 1, 3),
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True),
        "alpha": trial.suggest_float("alpha", 1e-6, 1e1, log=True),
        "batch_size": trial.suggest_int("batch_size", 16, 256, log=True),
    }
    value = math.nan
    for epoch, loss in enumerate(FRAMEWORKS[framework](params), start=1):
        # Bad networks have a hundred times the loss of good ones. On a logarithmic scale the
        # differences among the good ones count as well.
        value = math.log10(loss)
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
        if epoch == STEPS[-1]:
            break
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--framework", choices=list(FRAMEWORKS), default="sklearn")
    parser.add_argument("--short", action="store_true", help="8 trials of a fifth of the epochs")
    args = parser.parse_args()
    if args.framework == "torch":
        require("torch", "benchmarks")
        # What PyTorch loads with its first training is not the cost of that one.
        smallest = {
            "width": 8,
            "layers": 1,
            "learning_rate": 1e-3,
            "alpha": 0.0,
            "batch_size": 256,
        }
        next(torch_losses(smallest))
    n_rows = 5
    if args.short:
        STEPS[:] = [2, 8]
        args.n_trials, n_rows = 8, 2

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = MisoWildSampler(steps=STEPS, n_startup_trials=n_rows, seed=args.seed)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(
        lambda trial: objective(trial, args.framework),
        n_trials=args.n_trials,
        callbacks=[print_trial],
    )
    print_summary(study)


if __name__ == "__main__":
    main()
