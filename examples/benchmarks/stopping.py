"""What it costs and saves to stop once no query is worth its cost.

    python -m examples.benchmarks.stopping --problems hartmann3 branin --seeds 3

Every study of the default method runs to the end of its budget, and is asked after each trial
whether ``StopWhenNotWorthIt()`` would have stopped it there.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import optuna

from examples.benchmarks.methods import METHODS
from examples.benchmarks.problem import Problem
from examples.benchmarks.problems import PROBLEMS
from examples.benchmarks.quality import available
from examples.benchmarks.quality import evaluate
from optuna_misowild import StopWhenNotWorthIt


PATIENCE = 3
# A stop was wrong if the regret was this much higher there than in the end.
WRONG = 1e-3


class Stop(NamedTuple):
    """Regret where a study would have stopped, regret in the end, share of the budget saved."""

    there: float
    end: float
    saved: float


def run(problem: Problem, seed: int, max_trials: int = 200) -> Stop:
    """Run a study to the end of its budget."""
    method = METHODS["robust"]
    study = method.study(problem.budget, len(problem.sources), seed)
    rng = np.random.default_rng(seed)
    callback = StopWhenNotWorthIt()
    spent, best, regret, in_a_row, stop = 0.0, np.inf, 1.0, 0, None
    for _ in range(max_trials):
        trial = study.ask()
        e = evaluate(problem, method, trial, rng)
        if spent + e.cost > problem.budget:
            break
        spent += e.cost
        if e.source == 0 and e.value < best:
            best, regret = e.value, float(problem.regret(e.x))
        trial.set_user_attr("cost", e.cost)
        study.tell(trial, e.value)
        if stop is None:
            in_a_row = 0 if callback.is_worth_it(study) else in_a_row + 1
            if in_a_row == PATIENCE:
                stop = regret, 1.0 - spent / problem.budget
    there, saved = (regret, 0.0) if stop is None else stop
    return Stop(there, regret, saved)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=3, help="run the seeds 0 … SEEDS - 1")
    parser.add_argument("--max-trials", type=int, default=200, help="per run")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print("| problem | regret at the stop | in the end | saved | wrong stops |")
    print("|---|---|---|---|---|")
    for name in available(args.problems, PROBLEMS):
        runs = [run(PROBLEMS[name], seed, args.max_trials) for seed in range(args.seeds)]
        there, end, saved = np.median(runs, axis=0)
        wrong = sum(stop.there - stop.end > WRONG for stop in runs)
        print(
            f"| `{name}` | {there:.4f} | {end:.4f} | {saved:.0%} | {wrong} of {len(runs)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
