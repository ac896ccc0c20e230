"""The paper's Tables 1 and 2 with ours beside them, in Markdown and CSV, and the figures.

    python -m examples.paper.report

reports on the runs in the storage that are finished. ``examples.paper.run`` does so at its end.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Sequence
import csv
from pathlib import Path
import sys

import numpy as np
import optuna

from examples.figures import write_figures
from examples.paper import plots
from examples.paper.data import SPECS
from examples.paper.results import VISIBLE
from examples.paper.results import Comparison
from examples.paper.results import Result
from examples.paper.results import compare
from examples.paper.results import paired_p
from examples.paper.results import published
from examples.paper.results import read
from examples.paper.tables import TABLES
from examples.paper.tasks import CLASSIFIERS
from examples.paper.tasks import SOURCES


COOLING = "carbo"  # what the others are compared with
OURS = ("paper", "robust")  # the methods with several sources
TITLES = {"svc": "C-SVC", "rf": "RF"}
TOLERANCE = 0.002  # of an error, to be as good as another

JUDGEMENT = (
    "An error or a cost is called higher or lower below if p < 0.05 and, for an error, if the "
    f"means differ by at least {VISIBLE}, which Table 1 would show."
)

Runs = dict[str, list[Result]]  # by method


def write(storage: Path, output: Path, *, tables: Path = TABLES) -> None:
    """Write the report on a storage's finished runs, and say where it is.

    Args:
        storage: File of the studies.
        output: Folder for ``report.md``, CSV files and figures.
        tables: Folder of the recorded tables, for Figures 1 and 2.
    """
    results = read(storage)
    if not results:
        print(f"{storage} has no finished run to report on.", file=sys.stderr)
        return
    output.mkdir(parents=True, exist_ok=True)
    (output / "report.md").write_text(markdown(results), encoding="utf-8")
    write_csv(output / "runs.csv", run_rows(results))
    write_csv(output / "tables.csv", table_rows(results))
    write_figures(plots.figures(results, tables), output)
    print(f"The report is {output / 'report.md'}, with CSV files and figures beside it.")


def tasks_of(results: Iterable[Result]) -> dict[tuple[str, str, str], Runs]:
    """Return the runs by mode, classifier and dataset, in the paper's order, and by method."""
    tasks: dict[tuple[str, str, str], Runs] = {}
    for mode in ("replay", "live"):
        for classifier in CLASSIFIERS:
            for dataset in SPECS:
                key = (mode, classifier, dataset)
                for run in results:
                    if (run.mode, run.classifier, run.dataset) == key:
                        tasks.setdefault(key, {}).setdefault(run.method, []).append(run)
    return tasks


def markdown(results: Sequence[Result]) -> str:
    """Return the whole report."""
    tasks = tasks_of(results)
    parts = ["# The paper's experiments, repeated"]
    for mode, heading in (("replay", "Replayed from recordings"), ("live", "Trained live")):
        of_mode = {key[1:]: runs for key, runs in tasks.items() if key[0] == mode}
        if of_mode:
            parts.append(f"## {heading}")
            parts.append(_settings(of_mode))
            parts.append("### Table 1: errors and cumulated costs\n\n" + _table_1(of_mode))
            parts.append("### Table 2: beside cost-cooling\n\n" + _table_2(of_mode))
            parts.append("### In words\n\n" + _words(of_mode))
            parts.append("### All methods\n\n" + _all_methods(of_mode))
    both = _live_and_replay(tasks)
    if both:
        parts.append("## Live and replayed, the same seeds\n\n" + both)
    return "\n\n".join(parts) + "\n"


def _settings(tasks: dict[tuple[str, str], Runs]) -> str:
    runs = [run for of_task in tasks.values() for some in of_task.values() for run in some]
    seeds = len({run.seed for run in runs})
    evaluations = " or ".join(map(str, sorted({run.evaluations for run in runs})))
    return (
        f"{seeds} runs of {evaluations} evaluations each; mean ± standard deviation. Costs are "
        "seconds of the processor here, and seconds on another machine and in R in the paper."
    )


def _table_1(tasks: dict[tuple[str, str], Runs]) -> str:
    theirs = published()
    rows = []
    for (classifier, dataset), runs in tasks.items():
        p = theirs[classifier, dataset]
        names = [TITLES[classifier], SPECS[dataset].title]
        numbers = [_error(*p.error_wild), _error(*p.error_cooling), ""]
        numbers += [_cost(*p.cost_wild), _cost(*p.cost_cooling), ""]
        rows.append([*names, "the paper", *numbers])
        errors, costs = [], []
        for method in ("paper", COOLING, "robust"):
            of_method = runs.get(method, [])
            errors.append(_error(*_spread(run.error for run in of_method)))
            costs.append(_cost(*_spread(run.cost for run in of_method)))
        rows.append([*names, "here", *errors, *costs])
    header = ["Classifier", "Dataset", "", "mce-wild", "mce-cooling", "mce-robust"]
    return _table([*header, "cost-wild [s]", "cost-cooling [s]", "cost-robust [s]"], rows)


def _table_2(tasks: dict[tuple[str, str], Runs]) -> str:
    theirs = published()
    rows = []
    for (classifier, dataset), runs in tasks.items():
        p = theirs[classifier, dataset]
        names = [TITLES[classifier], SPECS[dataset].title]
        rows.append([*names, "the paper", _error(*p.delta), _share(*p.share), "", ""])
        for method in OURS:
            c = compare(runs.get(method, []), runs.get(COOLING, []))
            if c is not None:
                delta, share = _error(*_spread(c.delta)), _share(*_spread(c.share))
                ps = [f"{c.p_error:.3f}", f"{c.p_cost:.3f}"]
                rows.append([*names, f"here, `{method}`", delta, share, *ps])
    table = _table(
        ["Classifier", "Dataset", "", "delta mce", "%cost", "p (mce)", "p (cost)"], rows
    )
    return f"{table}\n\n{_tests(tasks)}"


def _tests(tasks: dict[tuple[str, str], Runs]) -> str:
    """Say what the tests are, and give that over all tasks."""
    text = "p: Wilcoxon's signed-rank test for paired samples, two-sided, of runs with one seed."
    for method in OURS:
        costs = [
            (run.cost, by_seed[run.seed].cost)
            for runs in tasks.values()
            for by_seed in [{run.seed: run for run in runs.get(COOLING, [])}]
            for run in runs.get(method, [])
            if run.seed in by_seed
        ]
        if costs:
            p = paired_p(*np.array(costs).T)
            text += f" Of the costs of all tasks together, `{method}`: p = {p:.2g}."
    return f"{text}\n\n{JUDGEMENT}"


def _words(tasks: dict[tuple[str, str], Runs]) -> str:
    lines = []
    for (classifier, dataset), runs in tasks.items():
        pairs = {method: compare(runs.get(method, []), runs.get(COOLING, [])) for method in OURS}
        known = {method: c for method, c in pairs.items() if c is not None}
        sentences = []
        if not known:
            sentences.append(f"No runs of `{COOLING}` and of another method to compare.")
        elif not all(c.is_testable for c in known.values()):
            sentences.append("Too few runs for a test: no difference could be significant.")
        else:
            if "paper" in known:
                sentences.append(_agreement(classifier, dataset, known["paper"]))
            if "robust" in known:
                c = known["robust"]
                sentences.append(
                    f"The default method, `robust`: error {c.error_is}{_than(c.error_is)} "
                    f"cost-cooling's ({c.delta.mean():+.4f}), for {c.share.mean():.0f} % of its "
                    "cost."
                )
        title = f"{TITLES[classifier]} on {SPECS[dataset].title}"
        lines.append(f"- **{title}.** " + " ".join(sentences))
    return "\n".join(lines)


def _agreement(classifier: str, dataset: str, c: Comparison) -> str:
    """Say where the method of the paper, beside cost-cooling, does as the paper says."""
    p = published()[classifier, dataset]
    share = c.share.mean()
    if c.cost_is != "lower":
        verdict = "we do not agree that it is lower"
    elif share > 1.5 * p.share[0]:
        verdict = "we agree that it is lower, but by less"
    elif share < p.share[0] / 1.5:
        verdict = "we agree that it is lower, here by more"
    else:
        verdict = "we agree that it is lower, by about as much"
    return (
        f"The paper's method beside cost-cooling: error {c.error_is} here "
        f"({c.delta.mean():+.4f}), {p.error_is} in the paper ({p.delta[0]:+.3f}): "
        f"{'we agree' if c.error_is == p.error_is else 'we do not agree'}. "
        f"Its cost is {share:.0f} % of cost-cooling's here, {p.share[0]:.0f} % in the paper: "
        f"{verdict}."
    )


def _than(relation: str) -> str:
    return " as" if relation == "the same" else " than"


def _all_methods(tasks: dict[tuple[str, str], Runs]) -> str:
    rows = []
    for (classifier, dataset), runs in tasks.items():
        for method, of_method in runs.items():
            rows.append(
                [
                    TITLES[classifier],
                    SPECS[dataset].title,
                    f"`{method}`",
                    str(len(of_method)),
                    _error(*_spread(run.error for run in of_method), 4),
                    _cost(*_spread(run.cost for run in of_method)),
                    _cost_to_reach(of_method, runs.get(COOLING, [])),
                    f"{np.mean([run.on_all_data.sum() for run in of_method]):.1f}",
                    str(sum(run.verified_at_end for run in of_method)),
                ]
            )
    header = ["Classifier", "Dataset", "method", "runs", "mce", "cost [s]", "% of cost to reach"]
    header += [f"evaluations on {SOURCES[0]}", "verified at the end"]
    return _table(header, rows) + (
        "\n\n% of cost to reach: the cumulated cost at which a run has verified an error at most "
        f"{TOLERANCE} above cost-cooling's median at its end, in per cent of cost-cooling's mean "
        "cost: the median, and how many runs get there. Verified at the end: runs whose "
        "recommendation had not been evaluated on all the data and then was, as in the paper, by "
        "one more evaluation."
    )


def _cost_to_reach(runs: Sequence[Result], cooling: Sequence[Result]) -> str:
    if not cooling:
        return ""
    goal = float(np.median([run.error for run in cooling])) + TOLERANCE
    costs = np.array([run.cost_to_reach(goal) for run in runs])
    share = 100 * costs / np.mean([run.cost for run in cooling])
    # A quantile between a number and inf is inf, not NaN.
    median = np.quantile(share, 0.5, method="higher")
    text = f"{median:.0f} %" if np.isfinite(median) else "—"
    return f"{text} ({np.isfinite(costs).sum()} of {len(runs)})"


def _live_and_replay(tasks: dict[tuple[str, str, str], Runs]) -> str:
    rows = []
    for (mode, classifier, dataset), runs in tasks.items():
        replayed = tasks.get(("replay", classifier, dataset), {})
        for method, of_method in runs.items() if mode == "live" else ():
            by_seed = {run.seed: run for run in replayed.get(method, [])}
            live = [run for run in of_method if run.seed in by_seed]
            if live:
                pair = (live, [by_seed[run.seed] for run in live])
                errors = [_error(*_spread(run.error for run in some), 4) for some in pair]
                costs = [_cost(*_spread(run.cost for run in some)) for some in pair]
                names = [TITLES[classifier], SPECS[dataset].title, f"`{method}`", str(len(live))]
                rows.append([*names, *errors, *costs])
    header = ["Classifier", "Dataset", "method", "runs", "mce live", "mce replayed"]
    return _table([*header, "cost live [s]", "cost replayed [s]"], rows) if rows else ""


def _spread(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation; NaN where there are too few values."""
    x = np.array(list(values), dtype=float)
    mean = float(x.mean()) if len(x) else np.nan
    return mean, float(x.std(ddof=1)) if len(x) > 1 else np.nan


def _number(mean: float, sd: float, digits: int, unit: str = "") -> str:
    if np.isnan(mean):
        return "—"
    text = f"{mean:.{digits}f}{unit}"
    return text if np.isnan(sd) else f"{text} ± {sd:.{digits}f}{unit}"


def _error(mean: float, sd: float, digits: int = 3) -> str:
    return _number(mean, sd, digits)


def _cost(mean: float, sd: float) -> str:
    return _number(mean, sd, 1)


def _share(mean: float, sd: float) -> str:
    return _number(mean, sd, 1, " %")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def run_rows(results: Iterable[Result]) -> list[dict[str, object]]:
    """Return a row per run, for ``runs.csv``."""
    return [
        {
            "mode": run.mode,
            "classifier": run.classifier,
            "dataset": run.dataset,
            "method": run.method,
            "seed": run.seed,
            "evaluations": run.evaluations,
            "mce": run.error,
            "cost": round(run.cost, 4),
            "on_all_data": int(run.on_all_data.sum()),
            "verified_at_end": run.verified_at_end,
        }
        for run in results
    ]


def table_rows(results: Iterable[Result]) -> list[dict[str, object]]:
    """Return a row per task and method, ours and the paper's, for ``tables.csv``."""
    rows: list[dict[str, object]] = []
    theirs = published()
    for (mode, classifier, dataset), runs in tasks_of(results).items():
        task = {"mode": mode, "classifier": classifier, "dataset": dataset}
        for method, of_method in runs.items():
            row = {**task, "origin": "here", "method": method, "runs": len(of_method)}
            row |= _mean_and_sd("mce", _spread(run.error for run in of_method))
            row |= _mean_and_sd("cost", _spread(run.cost for run in of_method))
            c = None if method == COOLING else compare(of_method, runs.get(COOLING, []))
            if c is not None:
                row |= _mean_and_sd("delta_mce", _spread(c.delta))
                row |= _mean_and_sd("percent_cost", _spread(c.share))
                row |= {"p_mce": c.p_error, "p_cost": c.p_cost}
            rows.append(row)
        p = theirs[classifier, dataset]
        task |= {"origin": "the paper", "runs": 10}
        rows.append(
            {**task, "method": "paper"}
            | _mean_and_sd("mce", p.error_wild)
            | _mean_and_sd("cost", p.cost_wild)
            | _mean_and_sd("delta_mce", p.delta)
            | _mean_and_sd("percent_cost", p.share)
        )
        rows.append(
            {**task, "method": COOLING}
            | _mean_and_sd("mce", p.error_cooling)
            | _mean_and_sd("cost", p.cost_cooling)
        )
    return rows


def _mean_and_sd(name: str, numbers: tuple[float, float]) -> dict[str, object]:
    return {name: numbers[0], f"{name}_sd": numbers[1]}


def write_csv(path: Path, rows: Sequence[dict[str, object]]) -> None:
    fields = list(dict.fromkeys(field for row in rows for field in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--storage", type=Path, default=Path("results/paper/studies.log"))
    parser.add_argument("--output", type=Path, default=Path("results/paper"), help="folder")
    parser.add_argument("--tables", type=Path, default=TABLES, help="folder of the recordings")
    args = parser.parse_args()
    if not args.storage.exists():
        sys.exit(f"There is no storage {args.storage}: python -m examples.paper.run makes one.")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    write(args.storage.resolve(), args.output, tables=args.tables)


if __name__ == "__main__":
    main()
