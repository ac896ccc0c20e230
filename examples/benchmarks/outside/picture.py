"""Regret against cost on the learning curves, and a diagram of critical differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np

from examples.benchmarks.outside.ranks import Ranks
from examples.benchmarks.outside.ranks import on_all_tasks
from examples.benchmarks.outside.ranks import rank
from examples.benchmarks.outside.ranks import table
from examples.benchmarks.outside.results import KEPT
from examples.benchmarks.outside.results import Result
from examples.benchmarks.outside.tools import TOOLS
from examples.benchmarks.report import geometric_mean


matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


# Okabe and Ito (2008): told apart by those who see few colours.
STYLES = {
    "ours-steps": ("#d55e00", "-", 2.6),
    "ours-sources": ("#d55e00", "--", 1.6),
    "gp": ("#000000", "--", 1.4),
    "tpe-hyperband": ("#cc79a7", "-", 1.4),
    "smac+c": ("#0072b2", "-", 1.4),
    "neps+c": ("#0072b2", "--", 1.4),
    "blendsearch+c": ("#009e73", "-", 1.4),
    "cfo+c": ("#009e73", "--", 1.4),
    "dehb+c": ("#e69f00", "-", 1.4),
    "asha": ("#56b4e9", "-", 1.4),
    "bohb": ("#56b4e9", "--", 1.4),
    "hebo": ("#f0e442", "--", 1.4),
    "random": ("#999999", ":", 1.4),
}


def draw(results: Sequence[Result], folder: Path) -> None:
    """Write lcbench.png and ranks.png."""
    mine = on_all_tasks(
        [r for r in results if r.task.startswith("lcbench-") and r.workers == 1 and not r.failed]
    )
    regret_figure(mine, folder / "lcbench.png")
    tools = list(dict.fromkeys(r.tool for r in mine))
    rank_figure(rank(mine, tools, 1.0), folder / "ranks.png")


def regret_figure(results: Sequence[Result], path: Path) -> None:
    """Draw the geometric mean over the tasks of the medians over the seeds."""
    figure, axes = plt.subplots(figsize=(7.2, 4.2), dpi=150, layout="constrained")
    tools = {r.tool for r in results}
    for tool, (colour, dashes, width) in STYLES.items():
        if tool not in tools:
            continue
        means = [float(geometric_mean(table(results, [tool], s)[0])[0]) for s in KEPT]
        axes.plot(KEPT, means, dashes, color=colour, linewidth=width, label=TOOLS[tool].label)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="y", which="minor", labelsize=7)
    axes.set_xlabel("share of the budget of 20 trainings that is spent")
    axes.set_ylabel("regret")
    axes.set_xlim(0.0, 1.0)
    axes.grid(alpha=0.25, which="both")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    figure.savefig(path)
    plt.close(figure)


def rank_figure(ranks: Ranks, path: Path) -> None:
    """Draw mean ranks; bars join tools whose difference is less than the critical one."""
    k = len(ranks.tools)
    figure, axes = plt.subplots(figsize=(7.2, 0.26 * k + 0.9), dpi=150, layout="constrained")
    axes.scatter(ranks.mean, np.arange(k), color="#333333", s=18, zorder=3)
    for row, tool in enumerate(ranks.tools):
        is_ours = tool.startswith("ours")
        axes.text(
            ranks.mean[row] + 0.25,
            row,
            TOOLS[tool].label,
            va="center",
            fontsize=8,
            color="#d55e00" if is_ours else "#333333",
        )
    for i, (first, last) in enumerate(ranks.cliques()):
        x = 0.4 - 0.18 * i
        axes.plot([x, x], [first, last], color="#0072b2", linewidth=2)
    axes.set_ylim(k - 0.5, -0.5)
    axes.set_xlim(-0.5, k + 2.0)
    axes.set_yticks([])
    axes.set_xlabel(f"mean rank of {k} in the end, {ranks.n_tasks} tasks (1 is best)")
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    figure.savefig(path)
    plt.close(figure)
