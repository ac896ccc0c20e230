"""Go on with trainings that were stopped, from files; and with a study that was killed.

The objective of `epochs.py`, which saves the network when it is told to stop. The sampler may
choose to go on with it later: `continued_from` tells which file to load, and only the rest is
paid.

Run again with the same folder, it continues the study, also after it was killed.

    python examples/checkpoints.py [--folder checkpoints] [--n-trials 40] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
import pickle

from epochs import STEPS
from epochs import X_train
from epochs import X_valid
from epochs import y_train
from epochs import y_valid
import numpy as np
import optuna
from report import print_summary
from report import print_trial
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler
from optuna_misowild import continued_from


def objective(trial: optuna.Trial, folder: Path) -> float:
    network = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("width", 8, 256, log=True),),
        learning_rate_init=trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1e1, log=True),
        batch_size=trial.suggest_int("batch_size", 16, 256, log=True),
        random_state=0,
    )
    epoch = 0
    begin = continued_from(trial)  # Asked when the parameters are known.
    if begin is not None:
        epoch = begin.step
        network = pickle.loads((folder / f"{begin.number}.pickle").read_bytes())
        print(f"trial {trial.number} goes on from trial {begin.number}, epoch {epoch}")
    value = math.nan
    while epoch < STEPS[-1]:
        epoch += 1
        network.partial_fit(X_train, y_train, classes=np.arange(10))
        value = math.log10(log_loss(y_valid, network.predict_proba(X_valid)))
        trial.report(value, epoch)
        if trial.should_prune():
            (folder / f"{trial.number}.pickle").write_bytes(pickle.dumps(network))
            raise optuna.TrialPruned
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("checkpoints"))
    parser.add_argument("--n-trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="5 trials of a fifth of the epochs")
    args = parser.parse_args()
    n_rows = 5
    if args.short:
        STEPS[:] = [2, 8]
        args.n_trials, n_rows = 5, 1

    args.folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name="checkpoints",
        storage=f"sqlite:///{args.folder / 'study.db'}",
        sampler=MisoWildSampler(
            steps=STEPS, checkpoints=True, n_startup_trials=n_rows, seed=args.seed
        ),
        pruner=MisoWildPruner(),
        load_if_exists=True,
    )
    study.optimize(
        lambda trial: objective(trial, args.folder),
        n_trials=args.n_trials,
        callbacks=[print_trial],
    )
    print_summary(study)


if __name__ == "__main__":
    main()
