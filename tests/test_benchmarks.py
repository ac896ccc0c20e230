"""The problems under examples/benchmarks, and the runs over them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from optuna.samplers import RandomSampler
import pytest
from scipy.optimize import minimize

from examples.benchmarks import quality
from examples.benchmarks import report
from examples.benchmarks.methods import Method
from examples.benchmarks.problem import Problem
from examples.benchmarks.problems import FORRESTER
from examples.benchmarks.problems import PROBLEMS
from examples.paper.tables import TABLES


each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
RANDOM = Method(lambda budget, seed: RandomSampler(seed=seed))


@each_problem
def test_minimum_is_attained_and_never_undercut(problem: Problem) -> None:
    f = problem.sources[0].value
    values = f(problem.sample)
    assert values.min() >= problem.minimum

    bounds = [(p.low, p.high) for p in problem.parameters]
    if any(p.log for p in problem.parameters):  # a table: the minimum is at a recorded point
        grid = np.stack(
            np.meshgrid(10 ** np.arange(-2, 2.1, 0.5), 10 ** np.arange(-4, 4.1, 0.25)), -1
        )
        assert_allclose(f(grid).min(), problem.minimum, rtol=1e-12)
        return
    width = np.array([high - low for low, high in bounds])
    low = np.array([low for low, _ in bounds])
    best = min(
        minimize(
            lambda u: float(f(low + u * width)),
            (problem.sample[i] - low) / width,
            bounds=[(0.0, 1.0)] * len(bounds),
            tol=1e-14,
        ).fun
        for i in np.argsort(values)[:10]
    )
    assert_allclose(best, problem.minimum, rtol=1e-7, atol=1e-7)


@each_problem
def test_sources_are_vectorised_and_cost_something(problem: Problem) -> None:
    X = problem.sample[:6].reshape(2, 3, -1)
    for source in range(len(problem.sources)):
        values, costs = problem.evaluate(source, X)
        assert values.shape == costs.shape == (2, 3)
        assert np.isfinite(values).all()
        assert (costs > 0).all()
        assert_allclose(problem.evaluate(source, X[1, 2]), (values[1, 2], costs[1, 2]))


@each_problem
def test_regret_is_the_distance_to_the_minimum_in_the_stated_unit(problem: Problem) -> None:
    regrets = problem.regret(problem.sample)
    if problem.normalised:
        assert_allclose(np.median(regrets), 1.0)
    else:
        assert_allclose(regrets, problem.sources[0].value(problem.sample) - problem.minimum)


@pytest.mark.parametrize("dataset", ["splice", "svmguide1"])
def test_replay_gives_back_the_table_and_the_middle_between_its_rows(dataset: str) -> None:
    problem = PROBLEMS[f"svc-{dataset}"]
    with (TABLES / f"svc_{dataset}.csv").open(newline="") as file:
        table = {
            (int(r["source"]), float(r["log10_c"]), float(r["log10_gamma"])): (
                float(r["mce"]),
                float(r["cpu_s"]),
            )
            for r in csv.DictReader(file)
        }
    for (source, log_c, log_gamma), recorded in list(table.items())[::50]:
        x = 10.0 ** np.array([log_c, log_gamma])
        assert_allclose(problem.evaluate(source - 1, x), recorded, rtol=1e-9)

    (error_a, seconds_a), (error_b, seconds_b) = table[1, 1.0, 0.5], table[1, 1.0, 0.75]
    between = problem.evaluate(0, 10.0 ** np.array([1.0, 0.625]))
    assert_allclose(between, ((error_a + error_b) / 2, np.sqrt(seconds_a * seconds_b)))


def test_run_keeps_the_budget_and_recommends_at_each_checkpoint() -> None:
    rows = quality.run(FORRESTER, RANDOM, seed=0, max_trials=100)
    spent = np.cumsum([row["cost"] for row in rows])
    assert_allclose([row["spent"] for row in rows], spent)
    assert spent[-1] <= FORRESTER.budget
    assert len(rows) < 100

    best = np.minimum.accumulate([row["value"] for row in rows])
    for fraction in report.CHECKPOINTS:
        last = np.flatnonzero(spent <= fraction * FORRESTER.budget)[-1]
        scale = FORRESTER.regret(np.array([0.5])) / (0.9092974268256817 - FORRESTER.minimum)
        assert_allclose(rows[last]["recommended"], scale * (best[last] - FORRESTER.minimum))
        assert_allclose(rows[last]["recommended"], rows[last]["regret"])


def test_run_that_fails_says_why() -> None:
    class Broken(RandomSampler):
        def sample_independent(self, *args: object) -> float:
            raise RuntimeError("out of order")

    (row,) = quality.run(FORRESTER, Method(lambda budget, seed: Broken()), seed=0, max_trials=9)
    assert row == {"failure": "RuntimeError: out of order"}


def test_report_of_recorded_runs(tmp_path: Path) -> None:
    path = tmp_path / "new" / "quality.csv"
    for seed in (0, 1):
        rows = quality.run(FORRESTER, RANDOM, seed, max_trials=100)
        quality.append(
            path,
            [{"problem": "forrester", "method": "random", "seed": seed} | row for row in rows],
        )
    failed = {"problem": "forrester", "method": "robust", "seed": 0, "failure": "E: x"}
    quality.append(path, [failed])

    table = report.markdown(quality.read(path), PROBLEMS)
    assert "### forrester" in table
    (random,) = [line for line in table.splitlines() if line.startswith("| random")]
    assert random.endswith("| 0 of 2 |")
    (robust,) = [line for line in table.splitlines() if line.startswith("| robust")]
    assert robust.endswith("| 1 of 1 |")


def test_regret_before_anything_could_be_paid_is_that_of_a_guess() -> None:
    trials = [{"spent": "0.6", "regret": "0.5", "recommended": "0.5"}]
    assert report.regrets(trials, budget=1.0) == [1.0, 1.0, 0.5]
    assert report.cost_to_reach(trials, 0.5) == 0.6
    assert report.cost_to_reach(trials, 0.4) == np.inf
