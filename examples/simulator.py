"""Tune a simulated reactor on a fine grid, with two coarse grids as cheaper sources.

A feed A enters a tube and reacts to the product B, which goes on to worthless C; both reactions
give heat, and the tube's wall cools. Warm and slow, all of A ends as C; cold and fast, it leaves
as it came; in between, the gas may run away in a hot spot. Found are the inlet's and the wall's
temperatures and the flow's velocity of the highest profit.

The equations of balance (advection, reaction, heat) are solved by finite volumes until the flow
is steady. Coarse grids smear the hot spot, so they are wrong most where it is sharp; and what a
simulation costs, the seconds that it takes, depends on how stiff the parameters make it.

    python examples/simulator.py [--budget 20] [--seed 0] [--short]
"""

from __future__ import annotations

import argparse

import numpy as np
import optuna
from report import print_summary
from report import print_trial
from scipy.integrate import solve_ivp

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler


CELLS = {"fine": 1600, "medium": 400, "coarse": 100}  # the first is the preferred one

FEED_COST = 0.5  # of a unit of A, where one of B is worth 1
HEAT_AB, HEAT_BC = 90.0, 100.0  # K of warming by a unit of conversion
COOLING = 5.0  # 1/s, heat exchange with the wall


def simulate(inlet: float, wall: float, velocity: float, n_cells: int) -> np.ndarray:
    """Simulate a tube of unit length until it is steady.

    Args:
        inlet: Temperature of the feed, in K.
        wall: Temperature of the wall, in K.
        velocity: Velocity of the flow, in tube lengths per second.
        n_cells: Number of cells of the grid.

    Returns:
        The concentrations of A and B, and the temperature, along the tube, shape (n_cells, 3).
    """
    entry = np.array([1.0, 0.0, inlet])  # concentrations of A and B, temperature

    def derivative(_: float, state: np.ndarray) -> np.ndarray:
        cells = state.reshape(n_cells, 3)
        a, b, temperature = cells.T
        to_b = np.exp(20.0 - 7000.0 / temperature) * a
        to_c = np.exp(27.0 - 10500.0 / temperature) * b
        change = -velocity * n_cells * np.diff(cells, axis=0, prepend=entry[None])  # upwind
        change[:, 0] -= to_b
        change[:, 1] += to_b - to_c
        change[:, 2] += HEAT_AB * to_b + HEAT_BC * to_c + COOLING * (wall - temperature)
        return change.ravel()

    steady = 4.0 / velocity + 1.0
    start = np.tile([0.0, 0.0, inlet], n_cells)
    solution = solve_ivp(
        derivative, (0.0, steady), start, method="LSODA", lband=3, uband=3, rtol=1e-5, atol=1e-7
    )
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y[:, -1].reshape(n_cells, 3)


def profit(tube: np.ndarray, velocity: float) -> float:
    """Return the profit per second of a steady flow."""
    return float(velocity * (tube[-1, 1] - FEED_COST))


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", list(CELLS))
    inlet = trial.suggest_float("inlet", 320.0, 400.0)
    wall = trial.suggest_float("wall", 300.0, 400.0)
    velocity = trial.suggest_float("velocity", 0.05, 5.0, log=True)
    tube = simulate(inlet, wall, velocity, CELLS[source])  # the trial's cost: its seconds
    return profit(tube, velocity)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=float, default=20.0, help="in seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="10 seconds on smaller grids")
    args = parser.parse_args()
    if args.short:
        CELLS.update(fine=400, medium=100, coarse=25)
        args.budget = 10.0

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Knowing the budget, the sampler keeps enough of it to verify its best on the fine grid.
    sampler = MisoWildSampler(budget=args.budget, seed=args.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, callbacks=[print_trial, CostBudgetCallback(args.budget)])
    print_summary(study)


if __name__ == "__main__":
    main()
