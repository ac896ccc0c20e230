"""Tables of what ``quality.py`` has recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from examples.benchmarks.problem import Problem


CHECKPOINTS = (0.25, 0.5, 1.0)  # shares of the budget

# A method has reached another's result when it is this close: regrets, and differences of error.
TOLERANCE, ERROR_TOLERANCE = 1e-3, 2e-3

Row = Mapping[str, Any]


def regrets(trials: Sequence[Row], budget: float) -> list[float]:
    """Regret of one run's recommendation at each checkpoint; 1 if it could not pay for any."""
    result = []
    for fraction in CHECKPOINTS:
        paid = [row for row in trials if float(row["spent"]) <= fraction * budget]
        result.append(float(paid[-1]["recommended"]) if paid else 1.0)
    return result


def cost_to_reach(trials: Sequence[Row], regret: float) -> float:
    """Cost at which one run had observed this regret on the preferred source, or inf."""
    return next((float(row["spent"]) for row in trials if float(row["regret"]) <= regret), np.inf)


def markdown(rows: Sequence[Row], problems: Mapping[str, Problem]) -> str:
    """Return a table per problem: regrets at the checkpoints, and the cost to reach the best.

    The best is the lowest median, at the whole budget, of all methods but ``robust``.
    """
    runs: dict[str, dict[str, dict[int, list[Row]]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        runs[row["problem"]][row["method"]].setdefault(int(row["seed"]), []).append(row)
    return "\n".join(
        _problem_table(problems[name], runs[name]) for name in problems if name in runs
    )


def _problem_table(problem: Problem, runs: Mapping[str, Mapping[int, Sequence[Row]]]) -> str:
    finished = {
        method: [trials for trials in by_seed.values() if not trials[-1]["failure"]]
        for method, by_seed in runs.items()
    }
    results = {
        method: np.array([regrets(trials, problem.budget) for trials in all_trials])
        for method, all_trials in finished.items()
        if all_trials
    }
    others = {method: result for method, result in results.items() if method != "robust"}
    goal = min(float(np.median(result[:, -1])) for result in (others or results).values())
    goal += TOLERANCE if problem.normalised else ERROR_TOLERANCE

    unit = "regret" if problem.normalised else "excess error"
    lines = [
        f"\n### {problem.name}: {unit}, budget {problem.budget:.4g}\n",
        "| method | at 1/4 | at 1/2 | at the end: median (quartiles) | worst "
        f"| cost to reach {goal:.4f} (runs that do) | trials | seconds per trial | failed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for method, by_seed in runs.items():
        n_failed = len(by_seed) - len(finished[method])
        if method not in results:
            lines.append(f"| {method} | | | | | | | | {n_failed} of {len(by_seed)} |")
            continue
        quarter, half, _ = np.median(results[method], axis=0)
        low, middle, high = np.quantile(results[method][:, -1], [0.25, 0.5, 0.75])
        costs = np.array([cost_to_reach(trials, goal) for trials in finished[method]])
        # Quantiles between a number and inf are inf, not NaN.
        cost = np.quantile(costs, 0.5, method="higher")
        reached = f"{cost:.4g}" if np.isfinite(cost) else "—"
        trials = np.median([len(trials) for trials in finished[method]])
        seconds = np.mean([float(row["seconds"]) for run in finished[method] for row in run])
        lines.append(
            f"| {method} | {quarter:.4f} | {half:.4f} | {middle:.4f} ({low:.4f}–{high:.4f}) "
            f"| {results[method][:, -1].max():.4f} "
            f"| {reached} ({np.isfinite(costs).sum()} of {len(costs)}) "
            f"| {trials:.0f} | {seconds:.3f} | {n_failed} of {len(by_seed)} |"
        )
    return "\n".join(lines)
