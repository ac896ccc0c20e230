"""What the next query may cost, and that several workers keep the budget by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import heapq
import math

import numpy as np
import optuna
import pytest
from robust_observations import observe

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild.base_sampler import MethodSampler
from optuna_misowild.methods.base import Method
from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.carbo import CostCooling
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.spending import SpendingLimit
from optuna_misowild.methods.spending import spending_limit
from optuna_misowild.optim.domain import Domain


def spent(amount: float, budget: float | None = 100.0) -> Observations:
    return observe(np.zeros((1, 1)), [0], [0.0], [1.0], spent=amount, budget=budget)


@pytest.mark.parametrize(
    ("finished", "pending", "limit"),
    [
        (50.0, 0.0, 50.0),
        (50.0, 30.0, 20.0),
        (97.0, 0.0, 3.0),
        (98.5, 0.0, 10.0),  # Less than anything costs: a typical query exceeds the budget,
        (58.5, 40.0, 10.0),  # whoever has the rest,
        (60.0, 44.0, 6.0),  # and all that exceed it together cost no more than it.
        (60.0, 49.8, 0.55),  # Then what is about as cheap as can be, of any source.
        (60.0, 1e6, 0.55),
        (100.0, 0.0, math.inf),  # It is spent, and the study goes on.
        (120.0, 30.0, math.inf),
    ],
)
def test_the_spending_limit_by_hand(finished: float, pending: float, limit: float) -> None:
    preferred = np.array([2.0, 10.0, 30.0])

    def found(seen: Observations, pending: float, preferred: np.ndarray) -> SpendingLimit:
        return spending_limit(seen, pending, preferred=preferred, cheapest=0.5)

    assert found(spent(finished), pending, preferred).cost == pytest.approx(limit)
    # Only what exceeds the budget leaves nothing for the preferred source.
    assert found(spent(finished), pending, preferred).reserves == (
        finished >= 100.0 or finished + pending <= 100.0
    )
    assert found(spent(finished, None), pending, preferred).cost == math.inf
    assert found(spent(finished), pending, preferred[:0]).cost == math.inf
    # Those that have begun and not chosen yet count as typical queries.
    if pending >= 10.0:
        undecided = replace(spent(finished), n_undecided=1)
        assert found(undecided, pending - 10.0, preferred) == found(
            spent(finished), pending, preferred
        )


@pytest.mark.parametrize("method", [RobustMethod(), CostCooling()])
def test_what_can_be_paid_is_found_in_a_small_part_of_the_space(method: Method) -> None:
    # The costs of six parameters rise from 1 to 400, and 1.6 can be paid: in a corner.
    X = np.random.default_rng(0).random((40, 6))
    X[0] = 0.02
    cost = np.exp(6.0 * X.mean(axis=1))
    observations = observe(X, [0] * 40, -X.sum(axis=1), cost, spent=1e4, budget=1e4 + 1.6)
    domain = Domain.continuous(6)
    model = method.fit(observations, domain)
    assert model.limit.cost == pytest.approx(1.6)
    for seed in range(3):
        x = method.propose(observations, domain, rng=np.random.default_rng(seed)).x
        assert np.exp(6.0 * x.mean()) < 1.8


def begin(trial: optuna.Trial) -> tuple[float, float]:
    """Return cost and value of a query."""
    source = trial.suggest_categorical("source", ["full", "10%"])
    x = trial.suggest_float("x", 0.0, 1.0)
    return (1.0 + 30.0 * x**2) * (1.0 if source == "full" else 0.1), (x - 0.9) ** 2


def run(sampler: MethodSampler, budget: float, n_workers: int, **callback: str) -> optuna.Study:
    """Workers that take as long as their trials cost."""
    study = optuna.create_study(sampler=sampler)
    enough = CostBudgetCallback(budget, **callback)
    clock, running = 0.0, list[tuple[float, int, float, float]]()
    while True:
        while len(running) < n_workers and not enough.is_spent(study):
            trial = study.ask()
            cost, value = begin(trial)
            heapq.heappush(running, (clock + cost, trial.number, cost, value))
        if not running:
            return study
        clock, number, cost, value = heapq.heappop(running)
        study._storage.set_trial_user_attr(study.trials[number]._trial_id, "cost", cost)
        study.tell(number, value)


@pytest.mark.parametrize("n_workers", [1, 4])
@pytest.mark.parametrize(
    "make",
    [
        lambda: MisoWildSampler(budget=200.0, seed=3),
        lambda: CarboCoolingSampler(200.0, seed=3),
    ],
)
def test_workers_exceed_the_budget_by_no_more_than_a_typical_query(
    make: Callable[[], MethodSampler], n_workers: int
) -> None:
    study = run(make(), 200.0, n_workers)
    full = [t.user_attrs["cost"] for t in study.trials if t.params["source"] == "full"]
    assert 190.0 < cumulated_cost(study) < 200.0 + 1.1 * np.median(full)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MisoWildSampler(budget=200.0, seed=3),
        lambda: CarboCoolingSampler(200.0, seed=3),
    ],
)
def test_workers_that_go_on_while_others_run_pay_as_little_as_can_be(
    make: Callable[[], MethodSampler],
) -> None:
    study = run(make(), 200.0, 4, running="ignore")
    # One query near the optimum costs 25; without a limit all four workers are at one.
    assert 200.0 < cumulated_cost(study) < 200.0 + 2.5 * 25.0
