"""Fail if the default method has become bad: worse than chance, or far slower than GPSampler.

    python -m examples.benchmarks.check

On every problem, ``robust`` must have found at half of the budget, on two at all of it, what the
luckiest quarter of random searches has, or better, or be next to the optimum; where designs
hardly differ, what the luckier three quarters have; and with 200 trials, a suggestion of it must
take at most three times as long as one of Optuna's GPSampler. Either is repeated before it counts:
bad luck is no failure.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
import os
import sys

import numpy as np
import optuna

from examples.benchmarks import speed
from examples.benchmarks.methods import METHODS
from examples.benchmarks.problem import Problem
from examples.benchmarks.problems import PROBLEMS
from examples.benchmarks.quality import available
from examples.benchmarks.quality import process_pool
from examples.benchmarks.quality import run
from examples.benchmarks.report import TOLERANCE
from examples.benchmarks.report import regrets


METHOD, CHANCE, REFERENCE = "robust", "random", "gp"
SHARE = 0.5  # of the budget of the benchmark
# Where no method is told from a good draw at half of the budget, all of it is spent.
SHARE_IF_SLOW = {"mlp-phoneme": 1.0, "nas-imagenet": 1.0}
LUCK = 0.25  # With the median, a method that is no better than chance would often pass.
# Where most of what tells two designs apart is the noise of cross-validation, no method is told
# from chance at half of the budget: there, one that is as good as chance must pass. Where costs
# differ a hundredfold and what is good is expensive, the default is little better than chance.
LUCK_ELSEWHERE = {"rf-splice": 0.75, "mlp-phoneme": 0.5}
RANDOM_SEEDS = range(100, 125)
SEEDS = range(5)

N_TRIALS, D, N_SOURCES = 200, 4, 5
MAX_RATIO = 3.0
ATTEMPTS = 3


def found(problem: Problem, method: str, seeds: Iterable[int], quantile: float = 0.5) -> float:
    """Return a quantile over seeds of the regret of the recommendation, by default the median.

    Raises:
        RuntimeError: If a run fails.
    """
    result = []
    for seed in seeds:
        trials = run(problem, METHODS[method], seed, shares=(1.0,))
        if "failure" in trials[-1]:
            raise RuntimeError(f"{problem.name}, {method}, seed {seed}: {trials[-1]['failure']}")
        result += regrets(trials, problem.budget, (1.0,))
    return float(np.quantile(result, quantile))


def check_quality(name: str) -> tuple[bool, str]:
    """Compare the method with random search on one problem."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    share = SHARE_IF_SLOW.get(name, SHARE)
    problem = replace(PROBLEMS[name], evaluations=share * PROBLEMS[name].evaluations)
    chance = found(problem, CHANCE, RANDOM_SEEDS, LUCK_ELSEWHERE.get(name, LUCK))
    limit = max(chance, TOLERANCE)
    for seeds in (SEEDS[:1], SEEDS):
        regret = found(problem, METHOD, seeds)
        if regret <= limit:
            break
    passed = regret <= limit
    of = f"{len(seeds)} run{'s' if len(seeds) > 1 else ''}"
    return passed, f"{name}: {METHOD} {regret:.4f} ({of}), at most {limit:.4f} allowed"


def check_speed() -> tuple[bool, str]:
    """Compare the time per suggestion with that of GPSampler."""
    speed.one_thread()
    for _ in range(ATTEMPTS):
        reference, ours = speed.measure([REFERENCE, METHOD], N_TRIALS, D, [N_SOURCES], 5)
        ratio = ours.median / reference.median
        if ratio <= MAX_RATIO:
            break
    return ratio <= MAX_RATIO, (
        f"{N_TRIALS} trials: {METHOD} {ours.median:.3f} s per suggestion, "
        f"{REFERENCE} {reference.median:.3f} s, ratio {ratio:.2f}, at most {MAX_RATIO:.1f} allowed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at the same time")
    args = parser.parse_args()

    failures = 0

    def report(passed: bool, text: str) -> None:
        nonlocal failures
        failures += not passed
        print(f"{'ok    ' if passed else 'FAILED'} {text}", flush=True)

    with process_pool(args.jobs) as pool:
        for outcome in pool.map(check_quality, available(args.problems, PROBLEMS)):
            report(*outcome)
    report(*check_speed())
    if failures:
        sys.exit(f"{failures} of the checks failed.")


if __name__ == "__main__":
    main()
