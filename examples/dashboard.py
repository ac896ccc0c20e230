"""Watch a study in optuna-dashboard: its page has figures of sources and costs, and a note.

Tuning a support vector classifier on SPLICE, replayed from recorded measurements, so that it
takes seconds instead of minutes. While it runs, or afterwards, open the page:

    python -m examples.dashboard [--n-trials 60] [--storage sqlite:///dashboard.db]
    optuna-dashboard sqlite:///dashboard.db
"""

from __future__ import annotations

import argparse
import sys

import optuna

from examples.benchmarks.replay import svc
from optuna_misowild import CostProgressBar
from optuna_misowild import MisoWildSampler
from optuna_misowild.dashboard import DashboardCallback
from optuna_misowild.dashboard import publish


SOURCES = ["100%", "40%", "30%", "20%", "10%"]  # the first is the preferred one
SPLICE = svc("splice", evaluations=50)


def objective(trial: optuna.Trial) -> float:
    source = SOURCES.index(trial.suggest_categorical("source", SOURCES))
    error, seconds = SPLICE.evaluate(source, SPLICE.suggest(trial))
    trial.set_user_attr("cost", float(seconds))  # as recorded, not those of the replay
    return float(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-trials", type=int, default=60)
    parser.add_argument("--storage", default="sqlite:///dashboard.db")
    args = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=args.storage,
        sampler=MisoWildSampler(seed=0),
        study_name="splice",
        load_if_exists=True,
    )
    with CostProgressBar() as bar:
        study.optimize(
            objective, n_trials=args.n_trials, callbacks=[bar, DashboardCallback(every=20)]
        )
    publish(study)  # what came after the last of these updates

    print(f"Look at it: optuna-dashboard {args.storage}", file=sys.stderr)


if __name__ == "__main__":
    main()
