"""Tune a neural network on handwritten digits: an objective that reports each epoch.

The loss after 27 epochs is what counts. The objective trains epoch by epoch, reports each loss and
stops when told, as with any of Optuna's pruners. The sampler chooses parameters, and after 1, 3
or 9 epochs whether the training goes on. In the end TPESampler with HyperbandPruner may spend the
same on the same objective.

    python examples/quickstart.py [--seed 0] [--budget 10] [--figures DIR] [--short]
        [--versus tpe-hyperband|tpe-median|tpe|random-hyperband|gp-hyperband|gp|none]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import math
import time

import numpy as np
import optuna
from optuna.pruners import HyperbandPruner
from optuna.pruners import MedianPruner
from optuna.pruners import NopPruner
from optuna.samplers import GPSampler
from optuna.samplers import RandomSampler
from optuna.samplers import TPESampler
from report import print_comparison
from report import print_files
from report import print_summary
from report import print_trial
from report import require
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler


STEPS = (1, 3, 9, 27)  # epochs; the last one is what counts
BUDGET = 10.0  # about a dozen trainings to the end

Searcher = tuple[optuna.samplers.BaseSampler, optuna.pruners.BasePruner]


def misowild(seed: int, steps: tuple[int, ...], budget: float) -> Searcher:
    return MisoWildSampler(steps=steps, budget=budget, seed=seed), MisoWildPruner()


def hyperband(steps: tuple[int, ...]) -> HyperbandPruner:
    return HyperbandPruner(min_resource=steps[0], max_resource=steps[-1], reduction_factor=3)


RIVALS: dict[str, Callable[[int, tuple[int, ...]], Searcher]] = {
    "tpe-hyperband": lambda seed, steps: (TPESampler(seed=seed), hyperband(steps)),
    "tpe-median": lambda seed, steps: (TPESampler(seed=seed), MedianPruner()),
    "tpe": lambda seed, steps: (TPESampler(seed=seed), NopPruner()),
    "random-hyperband": lambda seed, steps: (RandomSampler(seed=seed), hyperband(steps)),
    "gp-hyperband": lambda seed, steps: (GPSampler(seed=seed), hyperband(steps)),
    "gp": lambda seed, steps: (GPSampler(seed=seed), NopPruner()),
}


class Objective:
    """Logarithm of a network's loss on digits that it was not trained on.

    Args:
        n_epochs: Up to which epoch a training goes.
        every: 1 for all the digits, 3 for each third of them.
    """

    def __init__(self, n_epochs: int = STEPS[-1], every: int = 1) -> None:
        self.n_epochs = n_epochs
        X, y = load_digits(return_X_y=True)
        self.X, self.X_valid, self.y, self.y_valid = train_test_split(
            X[::every] / 16, y[::every], test_size=0.4, stratify=y[::every], random_state=0
        )
        self.seconds = 0.0  # what all trainings have taken

    def __call__(self, trial: optuna.Trial) -> float:
        network = MLPClassifier(
            hidden_layer_sizes=(trial.suggest_int("width", 16, 256, log=True),)
            * trial.suggest_int("layers", 1, 3),
            learning_rate_init=trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True),
            alpha=trial.suggest_float("alpha", 1e-6, 1e1, log=True),
            batch_size=trial.suggest_int("batch_size", 16, 256, log=True),
            random_state=0,
        )
        value = math.nan
        for epoch in range(1, self.n_epochs + 1):
            start = time.perf_counter()
            network.partial_fit(self.X, self.y, classes=np.arange(10))
            # A bad network has a hundred times the loss of a good one: hence the logarithm.
            value = math.log10(log_loss(self.y_valid, network.predict_proba(self.X_valid)))
            self.seconds += time.perf_counter() - start
            # Without this line the cost is the trial's seconds, which are never the same twice.
            trial.set_user_attr("cost", epoch * self.cost_of_an_epoch(network))
            trial.report(value, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    def cost_of_an_epoch(self, network: MLPClassifier) -> float:
        """About the seconds of one core, by a formula that was fitted to measurements."""
        batches = math.ceil(len(self.y) / network.batch_size)
        weights = sum(layer.size for layer in network.coefs_)
        return 0.008 + batches * (5e-4 + 1.5e-8 * weights)


def search(
    searcher: Searcher, objective: Objective, budget: float, *, verbose: bool = False
) -> optuna.Study:
    """Return a study that has spent the budget."""
    sampler, pruner = searcher
    # Hyperband sorts trials into brackets by the name of the study, which is random by default.
    study = optuna.create_study(study_name="digits", sampler=sampler, pruner=pruner)
    callbacks: list[Callable[[optuna.Study, optuna.trial.FrozenTrial], None]]
    callbacks = [CostBudgetCallback(budget), *([print_trial] if verbose else [])]
    # So small a network gains nothing from several cores, and with one all runs are equal.
    with threadpool_limits(1):
        study.optimize(objective, callbacks=callbacks)
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, help=f"{BUDGET:g}, in short 1")
    parser.add_argument(
        "--versus", choices=[*RIVALS, "none"], default="tpe-hyperband", help="gp needs PyTorch"
    )
    parser.add_argument("--figures", metavar="DIR", help="a folder for the figures of the study")
    parser.add_argument(
        "--short", action="store_true", help="a third of the data, and of the epochs"
    )
    args = parser.parse_args()
    if args.versus.startswith("gp"):
        require("torch", "benchmarks")
    if args.figures:
        require("plotly", "examples")

    steps = STEPS[:-1] if args.short else STEPS
    objective = Objective(steps[-1], every=3 if args.short else 1)
    budget = args.budget or (1.0 if args.short else BUDGET)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    print("A value is the decimal logarithm of a loss.")
    start = time.perf_counter()
    study = search(misowild(args.seed, steps, budget), objective, budget, verbose=True)
    seconds = time.perf_counter() - start
    training = objective.seconds

    print_summary(study, unit="s")
    print(f"Seconds: {training:.1f} of training, {seconds - training:.1f} of choosing")

    if args.versus != "none":
        theirs = search(RIVALS[args.versus](args.seed, steps), objective, budget)
        print_comparison(
            {"misowild": study, args.versus: theirs},
            steps[-1],
            budget=budget,
            what=f"loss after {steps[-1]} epochs",
            shown=lambda value: 10.0**value,
        )

    if args.figures:
        from figures import write_study

        print_files(write_study(study, args.figures))
    else:
        print("Its figures: the same command with --figures figures, then open figures/*.html")


if __name__ == "__main__":
    main()
