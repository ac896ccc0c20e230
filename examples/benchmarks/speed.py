"""Seconds that a sampler thinks per trial, beside Optuna's GPSampler, in one process and thread.

    python -m examples.benchmarks.speed --methods robust paper tpe

Four parameters and five sources. Each sampler gets a study of n finished trials, GPSampler one of
the same points on one source, and is asked for further trials: the first suggestion has nothing to
start from; those after it may build on the one before, as in any study that goes on. Seconds are
those of the processor, which other work on the machine disturbs less than those of the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import time
import warnings

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from threadpoolctl import threadpool_limits
import torch

from examples.benchmarks.methods import METHODS
from examples.benchmarks.methods import Method


REFERENCE = "gp"
D, N_SOURCES = 4, 5
OPTIMUM = np.array([0.3, 0.6, 0.8, 0.2])
SPACE = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(D)}
SOURCE = CategoricalDistribution(range(N_SOURCES))
BUDGET = 1e6  # never reached


def evaluate(x: np.ndarray, source: int) -> tuple[float, float]:
    """A bowl with ripples, biased and cheaper from source to source; dearer towards x0 = 1."""
    bowl = np.sum((x - OPTIMUM) ** 2) + 0.1 * np.sum(np.cos(7.0 * x))
    bias = 0.05 * source * np.sin(3.0 * x[1] + source)
    return float(bowl + bias), float(np.exp(2.0 * x[0]) / 3.0**source)


def study_of(method: Method, n: int, seed: int) -> optuna.Study:
    """Return a study of n finished trials, half of them around the optimum as in a real one."""
    rng = np.random.default_rng(seed)
    study = optuna.create_study(sampler=method.sampler(BUDGET, seed))
    for i in range(n):
        x = rng.random(D)
        if i % 2:
            x = np.clip(OPTIMUM + 0.1 * rng.standard_normal(D), 0.0, 1.0)
        source = i % N_SOURCES if method.all_sources else 0
        value, cost = evaluate(x, source)
        params = dict(zip(SPACE, x.tolist(), strict=True))
        distributions = dict(SPACE)
        if method.all_sources:
            params["source"] = source
            distributions["source"] = SOURCE
        study.add_trial(
            optuna.create_trial(
                params=params,
                distributions=distributions,
                value=value,
                user_attrs={"source_index": source, "cost": cost},
            )
        )
    return study


def seconds_of_one_trial(study: optuna.Study, method: Method) -> float:
    """Time of a trial from asking to telling, without its evaluation."""
    start = time.process_time()
    trial = study.ask()
    source = trial.suggest_categorical("source", SOURCE.choices) if method.all_sources else 0
    x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in SPACE])
    thinking = time.process_time() - start

    value, cost = evaluate(x, source)
    trial.set_user_attr("cost", cost)
    start = time.process_time()
    study.tell(trial, value)
    return thinking + time.process_time() - start


def measure(names: Sequence[str], n: int, repetitions: int) -> dict[str, np.ndarray]:
    """Return the seconds of the first and the later trials of each method, interleaved."""
    studies = {name: study_of(METHODS[name], n, seed=0) for name in names}
    seconds = np.empty((repetitions + 1, len(names)))
    for i in range(repetitions + 1):
        for j, name in enumerate(names):
            seconds[i, j] = seconds_of_one_trial(studies[name], METHODS[name])
    return dict(zip(names, seconds.T, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    choices = [name for name in METHODS if name != REFERENCE]
    parser.add_argument("--methods", nargs="+", choices=choices, default=["robust", "paper"])
    parser.add_argument("--n", nargs="+", type=int, default=[50, 100, 200, 500, 1000])
    parser.add_argument("--repetitions", type=int, default=9)
    args = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        # What a process does once is not counted.
        measure([REFERENCE, *args.methods], n=20, repetitions=1)
        print("| trials | method | first, s | next: median, s | next: slowest, s | ratio to gp |")
        print("|---|---|---|---|---|---|")
        for n in args.n:
            results = measure([REFERENCE, *args.methods], n, args.repetitions)
            reference = np.median(results[REFERENCE][1:])
            for name, (first, *later) in results.items():
                median = np.median(later)
                print(
                    f"| {n} | {name} | {first:.3f} | {median:.3f} | {max(later):.3f} "
                    f"| {median / reference:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
