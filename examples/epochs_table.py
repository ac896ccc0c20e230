"""The network of epochs.py tuned by several samplers and pruners, in seconds of the clock.

Nothing is simulated: training and choosing both count, each run may take the same seconds, and
what has not ended by then is lost. Prints the table of quickstart_table.py, which says how to read
it. "misowild-full" knows nothing of epochs, and "first-epoch" trains at random for one epoch until
half of the time, and then the best of these to the end. Let nothing else run meanwhile.

    python examples/epochs_table.py [--seconds 60] [--seeds 3] [--file FILE] [--only NAME ...]

GPSampler needs PyTorch, which comes with the extra "benchmarks".
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
import time

from epochs import STEPS
from epochs import objective
import optuna
from optuna.pruners import NopPruner
from optuna.pruners import ThresholdPruner
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from quickstart import RIVALS
from quickstart import Searcher
from quickstart import misowild
from quickstart_table import OURS
from quickstart_table import complete
from threadpoolctl import threadpool_limits

from optuna_misowild import MisoWildSampler


PREFERRED = "misowild-full"
FIRST_EPOCH = "first-epoch"


def searcher(name: str, seed: int, seconds: float) -> Searcher:
    """Return sampler and pruner."""
    if name == OURS:
        return misowild(seed, tuple(STEPS), seconds)
    if name == PREFERRED:
        return MisoWildSampler(budget=seconds, seed=seed), NopPruner()
    if name == FIRST_EPOCH:
        return RandomSampler(seed=seed), ThresholdPruner(upper=-math.inf)  # prunes every trial
    return RIVALS[name](seed, tuple(STEPS))


def run(name: str, seed: int, seconds: float) -> list[float]:
    """Return the losses at a quarter, half and the end; NaN if no training was complete."""
    sampler, pruner = searcher(name, seed, seconds)
    study = optuna.create_study(study_name="digits", sampler=sampler, pruner=pruner)
    ended: list[tuple[float, float]] = []
    start = time.perf_counter()

    def note(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if trial.state is TrialState.COMPLETE:
            ended.append((time.perf_counter() - start, trial.value))

    def spend(until: float) -> None:
        study.optimize(objective, timeout=start + until - time.perf_counter(), callbacks=[note])

    with threadpool_limits(1):  # So small a network gains nothing from several cores.
        if name == FIRST_EPOCH:
            spend(seconds / 2)
            tried = study.get_trials(deepcopy=False)
            for trial in sorted(tried, key=lambda trial: trial.intermediate_values[1]):
                study.enqueue_trial(trial.params)
            study.pruner = NopPruner()
        spend(seconds)
    values = [
        min((v for t, v in ended if t <= part * seconds), default=math.nan)
        for part in (0.25, 0.5, 1.0)
    ]
    return [10.0**value for value in values]


def main() -> None:
    names = [OURS, PREFERRED, *RIVALS, FIRST_EPOCH]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--file", type=Path, default=Path("epochs-table.csv"))
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    args = parser.parse_args()
    complete(args.only, args.seeds, args.file, lambda name, seed: run(name, seed, args.seconds))


if __name__ == "__main__":
    main()
