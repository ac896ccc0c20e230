"""What cheaper sources save: the default sampler against Optuna's GPSampler, for the same cost.

Tuning a support vector classifier on MAGIC, replayed from recorded measurements, each sampler with
a budget of twenty mean evaluations on all the data. Writes the figures that the documentation
shows: the comparison, and those of the study with cheaper sources, beginning with "subsets".

    python -m examples.savings [--seed 0] [--figures DIR]

GPSampler needs PyTorch, which comes with the extra "benchmarks".
"""

from __future__ import annotations

import argparse

import optuna
from optuna.samplers import GPSampler

from examples.benchmarks.replay import svc
from examples.figures import figures_of
from examples.figures import write_figures
from examples.report import print_comparison
from examples.report import print_files
from examples.report import print_summary
from examples.report import require
from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild.visualization import plot_cost_history


SOURCES = ["100%", "40%", "30%", "20%", "10%"]  # the first is the preferred one
MAGIC = svc("magic", evaluations=20)


def run(sampler: optuna.samplers.BaseSampler, sources: list[str]) -> optuna.Study:
    """Return a study that may ask some of the sources until the budget is spent."""

    def objective(trial: optuna.Trial) -> float:
        source = SOURCES.index(trial.suggest_categorical("source", sources))
        error, seconds = MAGIC.evaluate(source, MAGIC.suggest(trial))
        trial.set_user_attr("cost", float(seconds))  # as recorded, not those of the replay
        return float(error)

    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, callbacks=[CostBudgetCallback(MAGIC.budget)])
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figures", metavar="DIR", help="a folder for the figures")
    args = parser.parse_args()
    require("torch", "benchmarks")

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ours = run(MisoWildSampler(budget=MAGIC.budget, seed=args.seed), SOURCES)
    print_summary(ours)
    theirs = run(GPSampler(seed=args.seed), SOURCES[:1])
    studies = {"MisoWildSampler, five sources": ours, "GPSampler, all the data": theirs}
    print_comparison(studies, SOURCES[0])

    if args.figures:
        comparison = plot_cost_history(studies)
        comparison.update_layout(width=900, height=420, margin={"t": 70, "b": 60})
        figures = {"cost-history": comparison}
        figures |= {f"subsets-{name}": figure for name, figure in figures_of(ours).items()}
        print_files(write_figures(figures, args.figures, scale=1.0))


if __name__ == "__main__":
    main()
