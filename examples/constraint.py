"""The reactor of simulator.py with a catalyst that must not get too hot: a constraint.

The profit is the higher the hotter the gas, but above 385 K the catalyst ages. The objective says
by how much the hottest place exceeds that, which is at most 0 where all is well. Coarse grids
smear the hot spot, so that they get the constraint slightly wrong as well: the sampler learns
from each source what it says of the fine grid's. If the solver gives up, the trial fails, and the
sampler keeps away from there, too.

It needs Optuna 5, for `trial.set_constraint`.

    python examples/constraint.py [--budget 20] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse

import optuna
from report import print_summary
from report import print_trial
from simulator import CELLS
from simulator import profit
from simulator import simulate

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend


HOTTEST = 385.0  # K, what the catalyst bears


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", list(CELLS))  # the first is the preferred one
    inlet = trial.suggest_float("inlet", 320.0, 400.0)
    wall = trial.suggest_float("wall", 300.0, 400.0)
    velocity = trial.suggest_float("velocity", 0.05, 5.0, log=True)
    tube = simulate(inlet, wall, velocity, CELLS[source])
    trial.set_constraint("hot spot", tube[:, 2].max() - HOTTEST)
    return profit(tube, velocity)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=float, default=20.0, help="in seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="20 trials on smaller grids")
    args = parser.parse_args()
    if args.short:
        CELLS.update(fine=400, medium=100, coarse=25)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = MisoWildSampler(budget=args.budget, seed=args.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(
        objective,
        n_trials=20 if args.short else None,
        callbacks=[print_trial, CostBudgetCallback(args.budget)],
        catch=(RuntimeError,),
    )
    print_summary(study)

    best = recommend(study)
    above = best.trial.constraints["hot spot"]
    print(
        f"Its hot spot has {HOTTEST + above:.2f} K"
        f" ({'feasible' if best.feasible else 'too hot'}, another query with probability "
        f"{best.probability:.2f})"
    )
    n_hot = sum(trial.constraints.get("hot spot", 0.0) > 0.0 for trial in study.trials)
    print(f"Trials that got too hot: {n_hot} of {len(study.trials)}")


if __name__ == "__main__":
    main()
