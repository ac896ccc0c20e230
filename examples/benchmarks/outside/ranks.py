"""Mean ranks over tasks, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from examples.benchmarks.outside.results import Result
from examples.benchmarks.problem import Array


@dataclass(frozen=True)
class Ranks:
    """How tools rank on tasks.

    Attributes:
        tools: Their names, the lowest mean rank first.
        mean: Mean rank of each, shape (tools,).
        critical: Nemenyi's critical difference at the level of 5 %: mean ranks that differ by less
            may do so by chance.
        p_value: Friedman's: how probable such differences are among equal tools.
        n_tasks: On how many tasks.
    """

    tools: tuple[str, ...]
    mean: Array
    critical: float
    p_value: float
    n_tasks: int

    def cliques(self) -> list[tuple[int, int]]:
        """Return the longest ranges (first, last) whose mean ranks do not differ critically."""
        ranges: list[tuple[int, int]] = []
        for first in range(len(self.tools)):
            close = np.flatnonzero(self.mean - self.mean[first] < self.critical)
            last = int(close.max())
            if last > first and (not ranges or last > ranges[-1][1]):
                ranges.append((first, last))
        return ranges


def table(
    results: Sequence[Result], tools: Sequence[str], share: float
) -> tuple[Array, list[str]]:
    """Return the median over the seeds by task and tool, and the tasks that all tools have run.

    Shape (tasks, tools).
    """
    by: dict[tuple[str, str], list[float]] = {}
    for r in results:
        by.setdefault((r.task, r.tool), []).append(r.regrets[share])
    names = list(dict.fromkeys(r.task for r in results))
    whole = [task for task in names if all((task, tool) in by for tool in tools)]
    medians = [[np.median(by[task, tool]) for tool in tools] for task in whole]
    return np.array(medians).reshape(len(whole), len(tools)), whole


def on_all_tasks(results: Sequence[Result]) -> list[Result]:
    """Return the runs of those tools that have run on as many tasks as any."""
    tasks: dict[str, set[str]] = {}
    for r in results:
        tasks.setdefault(r.tool, set()).add(r.task)
    most = max(map(len, tasks.values()), default=0)
    return [r for r in results if len(tasks[r.tool]) == most]


def rank(results: Sequence[Result], tools: Sequence[str], share: float) -> Ranks:
    """Rank tools by the medians over the seeds, on all tasks that each has run.

    Demšar (2006), Statistical comparisons of classifiers over multiple data sets. Seeds are not
    counted as further tasks: they are not independent of each other.
    """
    regrets, tasks = table(results, tools, share)
    ranks = stats.rankdata(regrets, axis=1) if len(tasks) else np.full((1, len(tools)), np.nan)
    mean = ranks.mean(axis=0)
    order = np.argsort(mean, kind="stable")
    k, n = len(tools), len(tasks)
    p_value, critical = np.nan, np.nan
    if k > 2 and n > 1:
        p_value = float(stats.friedmanchisquare(*regrets.T).pvalue)
        quantile = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2.0)
        critical = float(quantile * np.sqrt(k * (k + 1) / (6.0 * n)))
    return Ranks(tuple(tools[i] for i in order), mean[order], critical, p_value, n)


def reached(
    results: Sequence[Result], share: float, goals: Sequence[float]
) -> Mapping[float, float]:
    """Return which share of runs is at each of the regrets or below, at a share of the budget."""
    regrets = np.array([r.regrets[share] for r in results])
    return {goal: float(np.mean(regrets <= goal)) for goal in goals}
