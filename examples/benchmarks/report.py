"""What ``quality.py`` has recorded, as numbers and as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
import csv
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Problem


CURVE = tuple(k / 20 for k in range(1, 21))  # shares of the budget at which a user may stop
CHECKPOINTS = (0.25, 0.5, 1.0)  # those in the tables

RATIO_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)

# A method has reached another's result when it is this close: regrets, and differences of error.
TOLERANCE, ERROR_TOLERANCE = 1e-3, 2e-3

OURS = "robust"

Row = Mapping[str, Any]
Runs = dict[str, dict[str, dict[int, list[Row]]]]  # by problem, method and seed


@dataclass(frozen=True)
class Summary:
    """What all runs of a method on a problem have given.

    Attributes:
        problem: Its name.
        method: Its name.
        runs: Number of runs.
        failed: How many of them have ended with an exception; they are in none of the others.
        quarter_low: First quartile of the regret of the recommendation when a quarter of the
            budget is spent; likewise the following, for half and all of it.
        worst: Largest regret when all is spent.
        goal: The lowest median at the end of all methods but ``robust``, and the tolerance.
        cost_to_goal: Median cost at which the regret on the preferred source is down to this.
        reached_goal: How many runs get there.
        trials: Median number of trials.
        seconds: Mean of what the sampler thinks per trial.
        polished: Median share of the money that went to queries of the preferred source near its
            best location which improved on it by less than a thousandth of the spread.
    """

    problem: str
    method: str
    runs: int
    failed: int
    quarter_low: float = np.nan
    quarter: float = np.nan
    quarter_high: float = np.nan
    half_low: float = np.nan
    half: float = np.nan
    half_high: float = np.nan
    end_low: float = np.nan
    end: float = np.nan
    end_high: float = np.nan
    worst: float = np.nan
    goal: float = np.nan
    cost_to_goal: float = np.nan
    reached_goal: int = 0
    trials: float = np.nan
    seconds: float = np.nan
    polished: float = np.nan


def group(rows: Sequence[Row]) -> Runs:
    """Return the trials of each run, by problem, method and seed."""
    runs: Runs = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        runs[row["problem"]][row["method"]].setdefault(int(row["seed"]), []).append(row)
    return runs


def finished(by_seed: Mapping[int, list[Row]]) -> list[list[Row]]:
    """Return the runs that have not failed."""
    return [trials for trials in by_seed.values() if not trials[-1]["failure"]]


def regrets(
    trials: Sequence[Row], budget: float, shares: Sequence[float] = CHECKPOINTS
) -> list[float]:
    """Regret of one run's recommendation at shares of the budget; 1 if it could pay for none."""
    result = []
    for share in shares:
        paid = [row for row in trials if float(row["spent"]) <= share * budget]
        result.append(float(paid[-1]["recommended"]) if paid else 1.0)
    return result


def cost_to_reach(trials: Sequence[Row], regret: float) -> float:
    """Cost at which one run had observed this regret on the preferred source, or inf."""
    return next((float(row["spent"]) for row in trials if float(row["regret"]) <= regret), np.inf)


def summarise(rows: Sequence[Row], problems: Mapping[str, Problem]) -> list[Summary]:
    """Return a summary per problem and method, in the order of the problems."""
    runs = group(rows)
    return [
        summary
        for name in problems
        if name in runs
        for summary in _summarise_problem(problems[name], runs[name])
    ]


def _summarise_problem(
    problem: Problem, runs: Mapping[str, Mapping[int, list[Row]]]
) -> list[Summary]:
    results = {
        method: np.array([regrets(trials, problem.budget) for trials in finished(by_seed)])
        for method, by_seed in runs.items()
    }
    ends = {method: np.median(r[:, -1]) for method, r in results.items() if len(r)}
    others = [end for method, end in ends.items() if method != OURS]
    goal = min(others or ends.values(), default=np.nan)
    goal += TOLERANCE if problem.normalised else ERROR_TOLERANCE
    return [
        _summarise_method(problem.name, method, by_seed, results[method], float(goal))
        for method, by_seed in runs.items()
    ]


def _summarise_method(
    problem: str, method: str, by_seed: Mapping[int, list[Row]], results: np.ndarray, goal: float
) -> Summary:
    whole = finished(by_seed)
    n_failed = len(by_seed) - len(whole)
    if not whole:
        return Summary(problem, method, len(by_seed), n_failed)
    costs = np.array([cost_to_reach(trials, goal) for trials in whole])
    return Summary(
        problem,
        method,
        len(by_seed),
        n_failed,
        *np.quantile(results, [0.25, 0.5, 0.75], axis=0).T.ravel().tolist(),
        worst=float(results[:, -1].max()),
        goal=goal,
        # Quantiles between a number and inf are inf, not NaN.
        cost_to_goal=float(np.quantile(costs, 0.5, method="higher")),
        reached_goal=int(np.isfinite(costs).sum()),
        trials=float(np.median([len(trials) for trials in whole])),
        seconds=float(np.mean([float(row["seconds"]) for run in whole for row in run])),
        polished=float(np.median([_polished(run) for run in whole])),
    )


def _polished(trials: Sequence[Row]) -> float:
    """Return which share of what a run has spent went to polishing."""
    cost = sum(float(row["cost"]) for row in trials if int(row["polishing"]))
    return cost / float(trials[-1]["spent"])


def geometric_mean(values: Array, floor: float = 1e-4) -> Array:
    """Geometric mean over tasks (tasks, …), of values not below a floor: a logarithm has no 0."""
    return np.exp(np.log(np.maximum(values, floor)).mean(axis=0))


def ratios(rows: Sequence[Row], problems: Mapping[str, Problem]) -> dict[str, np.ndarray]:
    """Return the regret of ``robust`` as a part of that of each other method, at RATIO_SHARES.

    A ratio is that of the geometric means, over the problems that all methods have run, of the
    medians over the seeds. ``best`` is whichever other method is best on a problem at a share.
    """
    medians: dict[str, list[np.ndarray]] = defaultdict(list)
    runs = group(rows)
    methods = list(dict.fromkeys(method for of in runs.values() for method in of))
    for name, of in runs.items():
        whole = {method: finished(of.get(method, {})) for method in methods}
        if all(whole.values()):
            for method, trials in whole.items():
                by_seed = [regrets(t, problems[name].budget, RATIO_SHARES) for t in trials]
                medians[method].append(np.median(by_seed, axis=0))
    if OURS not in medians or len(medians) == 1:
        return {}
    others = {method: np.array(medians[method]) for method in methods if method != OURS}
    others["best"] = np.min(list(others.values()), axis=0)
    ours = geometric_mean(np.array(medians[OURS]))
    return {method: ours / geometric_mean(theirs) for method, theirs in others.items()}


def ratio_table(by_method: Mapping[str, np.ndarray]) -> str:
    """Return what :func:`ratios` gives as a table; nothing if it is empty."""
    if not by_method:
        return ""
    lines = [
        f"\n### Regret of `{OURS}` as a part of that of others, geometric mean of the problems\n",
        f"| at | {' | '.join(f'{share:g}' for share in RATIO_SHARES)} |",
        "|---" + "|--:" * len(RATIO_SHARES) + "|",
    ]
    for method, values in by_method.items():
        cells = " | ".join(f"{value:.2f}".removeprefix("0") for value in values)
        lines.append(f"| `{method}` | {cells} |")
    return "\n".join(lines)


def write_csv(path: Path, summaries: Sequence[Summary]) -> None:
    """Write a row per problem and method."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Summary)])
        writer.writeheader()
        writer.writerows(asdict(summary) for summary in summaries)


def markdown(summaries: Sequence[Summary], problems: Mapping[str, Problem]) -> str:
    """Return a table of all problems, one of what it costs to get there, and one for each."""
    by_problem: dict[str, dict[str, Summary]] = defaultdict(dict)
    for summary in summaries:
        by_problem[summary.problem][summary.method] = summary
    parts = [_overview(by_problem), _comparison(by_problem)]
    parts += [_details(problems[name], of.values()) for name, of in by_problem.items()]
    return "\n".join(parts)


def _overview(by_problem: Mapping[str, Mapping[str, Summary]]) -> str:
    methods = list(dict.fromkeys(method for of in by_problem.values() for method in of))
    lines = [
        "\n### Medians of the regret at half and at all of the budget\n",
        f"| problem | {' | '.join(f'`{method}`' for method in methods)} |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for problem, of in by_problem.items():
        cells = [f"{_short(of[m].half)}, {_short(of[m].end)}" if m in of else "" for m in methods]
        lines.append(f"| `{problem}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _comparison(by_problem: Mapping[str, Mapping[str, Summary]]) -> str:
    """Return what ``robust`` and the best of the others pay for the same result, losses first."""
    entries = []
    for problem, of in by_problem.items():
        others = [s for method, s in of.items() if method != OURS and s.failed < s.runs]
        if OURS not in of or of[OURS].failed == of[OURS].runs or not others:
            continue
        ours, best = of[OURS], min(others, key=lambda s: (s.end, s.cost_to_goal))
        reached = np.isfinite(ours.cost_to_goal), np.isfinite(best.cost_to_goal)
        if all(reached):
            ratio = ours.cost_to_goal / best.cost_to_goal
        else:  # Who gets there has won; if neither does, who ends better.
            ratio = 0.0 if reached[0] or not any(reached) and ours.end <= best.end else np.inf
        entries.append(
            (
                -ratio,
                f"| `{problem}` | `{best.method}` | {_short(best.end)} | {_short(ours.end)} "
                f"| {_cost(best)} | {_cost(ours)} | {f'{ratio:.2f}' if all(reached) else '—'} |",
            )
        )
    lines = [
        f"\n### `{OURS}` and the method that ends best of the others, losses first\n",
        f"| problem | best other | its regret | {OURS}'s | its cost to get there (runs that do) "
        f"| {OURS}'s | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [line for _, line in sorted(entries, key=lambda e: e[0])])


def _details(problem: Problem, summaries: Sequence[Summary]) -> str:
    unit = "regret" if problem.normalised else "excess error"
    goal = min(s.goal for s in summaries)
    lines = [
        f"\n### {problem.name}: {unit}, budget {problem.budget:.4g}\n",
        "| method | at 1/4: median (quartiles) | at 1/2 | at the end | worst "
        f"| cost to reach {goal:.4f} (runs that do) | trials | polished | seconds per trial "
        "| failed |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for s in summaries:
        failed = f"{s.failed} of {s.runs}"
        if s.failed == s.runs:
            lines.append(f"| {s.method} | | | | | | | | | {failed} |")
            continue
        lines.append(
            f"| {s.method} "
            f"| {s.quarter:.4f} ({s.quarter_low:.4f}–{s.quarter_high:.4f}) "
            f"| {s.half:.4f} ({s.half_low:.4f}–{s.half_high:.4f}) "
            f"| {s.end:.4f} ({s.end_low:.4f}–{s.end_high:.4f}) "
            f"| {s.worst:.4f} | {_cost(s)} | {s.trials:.0f} | {s.polished:.0%} "
            f"| {s.seconds:.3f} | {failed} |"
        )
    return "\n".join(lines)


def _short(regret: float) -> str:
    return f"{regret:.4f}".removeprefix("0")


def _cost(s: Summary) -> str:
    cost = f"{s.cost_to_goal:.4g}" if np.isfinite(s.cost_to_goal) else "—"
    return f"{cost} ({s.reached_goal} of {s.runs - s.failed})"
