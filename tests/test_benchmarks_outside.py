"""The benchmarks of others: what is paid, who is ahead, and what the report says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import subprocess
import sys

import numpy as np
from numpy.testing import assert_allclose
import pytest

from examples.benchmarks.outside import harness
from examples.benchmarks.outside import mfhartmann
from examples.benchmarks.outside import ranks
from examples.benchmarks.outside import report
from examples.benchmarks.outside import results
from examples.benchmarks.outside import run as command
from examples.benchmarks.outside import tasks
from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Ledger
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.outside.tools import TOOLS
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Real


STAND_IN = Path(__file__).parent / "yahpo_stand_in"


def bowl(**changes: object) -> Task:
    """Return a task of nine epochs, each of which costs 1; what is short looks better."""
    task = Task(
        "bowl",
        (Real("x", 0.0, 1.0), Integer("n", 1, 4), Choice("kind", ("a", "b"))),
        highest=9,
        value=lambda x, epoch: (x[..., 0] - 0.3) ** 2 + x[..., 2] - 1.0 / epoch + 1.0 / 9.0,
        cost=lambda x, epoch: np.zeros(x.shape[:-1]) + epoch,
        minimum=0.0,
        integer=True,
        resumable=True,
        evaluations=4,
        n_rungs=3,
    )
    return replace(task, **changes)  # type: ignore[arg-type]


def config(x: float) -> tasks.Config:
    return {"x": x, "n": 2, "kind": "a"}


class Script:
    """A tool whose jobs are lists of what they ask: (x, fidelity, training)."""

    def __init__(self, *jobs: list[tuple[float, float, int | None]]) -> None:
        self.jobs = list(jobs)
        self.told: list[float] = []

    def job(self) -> Job:
        for x, fidelity, training in self.jobs.pop(0):
            answer = yield Query(config(x), fidelity, training)
            self.told.append(answer.value)


def costs(ledger: Ledger, *asked: tuple[float, float, int | None]) -> list[float]:
    return [ledger.evaluate(Query(config(x), f, t))[2].cost for x, f, t in asked]


def test_fidelities_are_a_factor_of_three_apart_and_whole() -> None:
    task = bowl()
    assert task.rungs == (1, 3, 9)
    assert task.steps == tuple(range(1, 10))
    assert task.rounded(2.6) == 3
    assert bowl(resumable=False).steps == task.rungs


@pytest.mark.parametrize("problem", tasks.PHYSICS, ids=lambda problem: problem.name)
def test_fidelities_of_our_problems_are_their_sources_in_order_of_cost(problem: Problem) -> None:
    task = tasks.tasks(None)[f"physics-{problem.name}"]()
    x = task.location(tasks.random_config(task, np.random.default_rng(0)))
    assert len(task.rungs) == len(problem.sources)
    for fidelity, source in zip(task.rungs, problem.cheapest_first, strict=True):
        value, cost = problem.evaluate(source, x)
        assert (task.value(x, fidelity), task.cost(x, fidelity)) == (value, cost)
    assert task.rungs[-1] == task.highest
    assert task.budget == problem.budget


def test_tasks_need_neither_optuna_nor_scikit_learn() -> None:
    # The environments of the other tools have neither.
    program = (
        "import sys; sys.modules['optuna'] = sys.modules['sklearn'] = None\n"
        "from examples.benchmarks.outside.tasks import tasks\n"
        "from pathlib import Path\n"
        "for folder in (None, Path('.')):\n"
        "    tasks(folder)\n"
        "tasks(None)['physics-branin']().budget"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=STAND_IN.parents[1])


def test_higher_fidelity_is_paid_in_full_without_checkpoints() -> None:
    asked = ((0.1, 3, None), (0.1, 9, None), (0.1, 9, None))
    assert costs(Ledger(bowl()), *asked) == [3.0, 9.0, 9.0]


def test_checkpoints_pay_an_epoch_once() -> None:
    asked = ((0.1, 3, None), (0.1, 9, None), (0.2, 3, None), (0.1, 9, None))
    assert costs(Ledger(bowl(), checkpoints=True), *asked) == [3.0, 6.0, 3.0, 0.0]


def test_training_in_progress_pays_an_epoch_once() -> None:
    asked = ((0.1, 1, 7), (0.1, 2, 7), (0.1, 9, 7), (0.1, 9, 8))
    assert costs(Ledger(bowl()), *asked) == [1.0, 1.0, 7.0, 9.0]
    # Another configuration under the same number is another training.
    assert costs(Ledger(bowl()), (0.1, 3, 7), (0.2, 3, 7)) == [3.0, 3.0]


def test_trainings_side_by_side_compute_their_curves_once() -> None:
    asked: list[int] = []

    def value(x: np.ndarray, epoch: float) -> np.ndarray:
        asked.append(np.size(epoch))
        return x[..., 0] - 1.0 / np.asarray(epoch)

    ledger = Ledger(bowl(value=value))
    for epoch in (1, 2, 3):
        for training in range(16):
            costs(ledger, (training / 16, epoch, training))
    assert len(asked) == 16
    for training in range(harness.MAX_CURVES + 1):
        costs(ledger, (training / 100, 1, 100 + training))
    assert len(ledger._curves) == harness.MAX_CURVES


def test_where_nothing_goes_on_all_is_paid_in_full() -> None:
    ledger = Ledger(bowl(resumable=False), checkpoints=True)
    assert costs(ledger, (0.1, 3, 1), (0.1, 9, 1)) == [3.0, 9.0]


def test_run_ends_before_the_budget_is_exceeded() -> None:
    tool = Script(*[[(0.1 * k, 9, None)] for k in range(6)])
    result = harness.run(bowl(evaluations=4.5), tool)
    assert len(result.evaluations) == 4
    assert len(tool.told) == 4  # the fifth was asked for, could not be paid, and was not told
    assert result.evaluations[-1].end == pytest.approx(36.0)


def test_recommended_is_the_best_at_the_highest_fidelity_so_far() -> None:
    tool = Script([(0.3, 1, None)], [(0.9, 9, None)], [(0.5, 9, None)], [(0.3, 9, None)])
    task = bowl()
    result = harness.run(task, tool)
    regret = {x: task.regret(task.location(config(x))) for x in (0.3, 0.5, 0.9)}
    # After 1, 10, 19 and 28 of 36, at twentieths of the budget, which are 1.8 each.
    assert result.recommended[0] == pytest.approx(regret[0.3])  # nothing better than 1 epoch
    assert_allclose(result.recommended[5:10], regret[0.9])
    assert_allclose(result.recommended[10:15], regret[0.5])
    assert result.recommended[-1] == pytest.approx(0.0, abs=1e-12)


def test_nothing_paid_has_regret_1() -> None:
    result = harness.run(bowl(evaluations=0.5), Script([(0.3, 9, None)]))
    assert result.recommended == [1.0] * len(harness.SHARES)


def test_failing_tool_keeps_what_it_had() -> None:
    result = harness.run(bowl(), Script([(0.3, 9, None)]))
    assert "IndexError" in result.failure
    assert len(result.evaluations) == 1
    assert len(result.recommended) == len(harness.SHARES)


def test_workers_are_told_in_the_order_in_which_they_end() -> None:
    tool = Script([(0.1, 9, None)], [(0.2, 3, None)], [(0.4, 3, None)], [(0.6, 9, None)])
    result = harness.run(bowl(evaluations=3), tool, workers=2)
    assert [e.end for e in result.evaluations] == [3.0, 6.0, 9.0, 15.0]
    assert "IndexError" in result.failure  # There is no fifth job: what was running is kept.
    assert_allclose([e.x[0] for e in result.evaluations], [0.2, 0.4, 0.1, 0.6])


def test_hartmann_is_its_own_at_the_highest_fidelity_and_keeps_its_noise() -> None:
    x = np.array([[0.114614, 0.555649, 0.852547], [0.5, 0.5, 0.5]])
    assert mfhartmann.value(x, z=100)[0] == pytest.approx(-3.86278, abs=1e-5)
    low = mfhartmann.value(x, z=10, preset="bad")
    assert_allclose(low, mfhartmann.value(x, z=10, preset="bad"))
    assert low[1] == mfhartmann.value(x[1], z=10, preset="bad")
    # At a tenth of the logarithmic scale's range the weights lack half of the bias.
    exponents = np.sum(mfhartmann.PRECISION[3] * (x[1] - mfhartmann.CENTRES[3]) ** 2, axis=-1)
    smooth = -np.exp(-exponents) @ (mfhartmann.WEIGHTS - 3.5 / 2)
    assert 0.0 < low[1] - smooth < 4.0 / 2 * 6
    assert_allclose(mfhartmann.cost(x, z=50), 0.05 + 0.95 / 4)


def test_tasks_were_neither_developed_on_nor_kept_aside() -> None:
    aside = {"3945", "146212", "168329", "168330", "189354", "189909"}
    assert not set(tasks.LCBENCH) & (aside | set(tasks.DEVELOPED))
    assert len(tasks.LCBENCH) == 8
    made = tasks.tasks(STAND_IN)
    developed = {f"developed-lcbench-{name}" for name in tasks.DEVELOPED}
    assert developed <= made.keys()
    # Their results are not among those of the others.
    families = [
        {report.family(n) for n in names} for names in (developed, made.keys() - developed)
    ]
    assert not set.intersection(*families)
    assert len(tasks.XGBOOST) == 5


def test_training_of_the_stand_in_pays_what_the_model_says() -> None:
    pytest.importorskip("onnxruntime")
    task = replace(
        tasks.tasks(STAND_IN)["mfh3"](), name="unused"
    )  # a task without the folder is made as well
    assert task.rungs == (4, 11, 33, 100)
    task = tasks.of_yahpo(tasks.yahpo.LCBENCH, STAND_IN, "34539")
    rng = np.random.default_rng(0)
    where = tasks.random_config(task, rng)
    ledger = Ledger(task)
    paid = [ledger.evaluate(Query(where, epoch, 0))[2] for epoch in (1, 2, 17, 52)]
    # The stand-in takes the epochs as seconds, plus the number of the task.
    assert_allclose([a.cost for a in paid], [1 + 3, 1, 15, 35])
    assert_allclose(ledger.evaluate(Query(where, 17.4))[2].cost, 17 + 3)


# What "ours-steps" does, "ours-steps+c" does as well; HEBO takes seconds a trial.
@pytest.mark.parametrize("name", [n for n in TOOLS if n not in ("ours-steps", "hebo")])
def test_every_tool_spends_its_budget(name: str) -> None:
    use = TOOLS[name]
    task = bowl(evaluations=0.6 if name.startswith("ours") else 6)
    try:
        tool = use.make(task, 0)
    except ImportError as error:
        pytest.skip(f"needs {error.name}")
    result = harness.run(task, tool, checkpoints=use.checkpoints)
    assert result.failure == ""
    spent = sum(e.cost for e in result.evaluations)
    assert task.budget - 9.0 - 1e-9 < spent <= task.budget
    assert len(result.recommended) == len(harness.SHARES)


def made_up(tool: str, task: str, seed: int, regret: float, workers: int = 1) -> results.Result:
    return results.Result(
        tool=tool,
        task=task,
        seed=seed,
        workers=workers,
        evaluations=12,
        full=3,
        seconds=1.25,
        failed=False,
        regrets=dict.fromkeys(results.KEPT, regret),
        clock=dict.fromkeys(results.CLOCK, regret),
        end=1.0 / workers,
        wall=dict.fromkeys(results.WALL, regret),
    )


def four_tools() -> list[results.Result]:
    order = ("gp", "random", "tpe", "ours-steps")
    return [
        made_up(tool, f"lcbench-{task}", seed, 0.1 * (k + 1) + 0.01 * seed)
        for task in range(6)
        for k, tool in enumerate(order)
        for seed in range(3)
    ]


def test_ranks_and_their_critical_difference() -> None:
    order = ("gp", "random", "tpe", "ours-steps")
    found = ranks.rank(four_tools(), order[::-1], 1.0)
    assert found.tools == order
    assert_allclose(found.mean, [1, 2, 3, 4])
    # Demšar (2006), table 5: 2.569 for four classifiers, times sqrt(k (k + 1) / 6 N).
    assert found.critical == pytest.approx(2.569 * np.sqrt(20 / 36), rel=1e-3)
    assert found.p_value < 0.001
    assert found.cliques() == [(0, 1), (1, 2), (2, 3)]


def test_tasks_that_a_tool_has_not_run_are_left_out_of_the_ranks() -> None:
    runs = [r for r in four_tools() if (r.tool, r.task) != ("gp", "lcbench-0")]
    assert ranks.rank(runs, ("gp", "tpe", "random"), 1.0).n_tasks == 5


def test_tools_that_lack_a_task_are_left_out_of_the_tables() -> None:
    runs = [r for r in four_tools() if (r.tool, r.task) != ("gp", "lcbench-0")]
    assert {r.tool for r in ranks.on_all_tasks(runs)} == {"random", "tpe", "ours-steps"}
    assert "GPSampler" not in report.markdown(runs)
    assert ranks.on_all_tasks([]) == []


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = [made_up("gp", "mfh3", seed, 0.123) for seed in range(2)]
    results.write(runs, tmp_path)
    results.write([made_up("gp", "mfh3", 1, 1.5), made_up("tpe", "mfh3", 0, 0.0)], tmp_path)
    assert results.read(tmp_path) == [
        runs[0],
        made_up("gp", "mfh3", 1, 1.5),
        made_up("tpe", "mfh3", 0, 0.0),
    ]


def test_thinking_counts_by_the_clock() -> None:
    # Two evaluations of cost 5 out of 10; each second one was thought about for 3.
    row = {
        "tool": "gp",
        "task": "t",
        "seed": 0,
        "workers": 1,
        "seconds": 6.0,
        "failure": "",
        "recommended": [1.0] * 9 + [0.5] * 10 + [0.25],
        "evaluations": [[[0.0], 9, 0.0, 5.0, 3.0, 5.0], [[0.0], 9, 0.0, 5.0, 3.0, 10.0]],
    }
    kept = results.result(row, 9, 10.0)
    assert kept.clock == {0.25: 1.0, 0.5: 1.0, 1.0: 0.5}
    assert kept.regrets[1.0] == 0.25
    assert kept.full == 2


def test_workers_are_compared_at_the_same_time() -> None:
    # Two workers, 5 + 5 out of 20 each: half of the money is spent after a quarter of the time.
    row = {
        "tool": "gp",
        "task": "t",
        "seed": 0,
        "workers": 2,
        "seconds": 0.0,
        "failure": "",
        "recommended": [1.0] * 9 + [0.5] * 10 + [0.25],
        "evaluations": [[[0.0], 9, 0.0, 5.0, 0.0, end] for end in (5.0, 5.0, 10.0, 10.0)],
    }
    kept = results.result(row, 9, 20.0)
    assert kept.end == 0.5
    assert kept.wall == {1 / 16: 1.0, 1 / 4: 0.5}
    runs = [made_up("gp", "lcbench-1", seed, 0.2, workers=n) for seed in (0, 1) for n in (1, 4)]
    some = [made_up("tpe", "lcbench-1", 0, 0.2, workers=4), made_up("gp", "lcbench-1", 2, 0.9)]
    text = report.with_workers([*runs, *some])
    assert "TPE" not in text  # not run with one worker
    # The third seed was not run with four workers.
    assert "| Optuna GPSampler | 2 | .200, .200 | .200, .200 | .200, .200 | 1.000, .250 |" in text


def test_report_says_losses_first_and_replaces_only_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    runs = four_tools() + [made_up("gp", "lcbench-1", 0, 0.2, workers=4)]
    results.write(runs, tmp_path / "results")
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    monkeypatch.setattr(report, "README", readme)
    monkeypatch.setattr("sys.argv", ["report", "--results", str(tmp_path / "results")])
    report.main()
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "Simulated workers" in text
    for name in ("lcbench.png", "ranks.png"):
        assert (tmp_path / name).exists()


def test_tables_have_the_numbers_and_the_losses_in_order() -> None:
    runs = [
        *[made_up("ours-steps", f"lcbench-{k}", s, 0.2) for k in range(2) for s in range(3)],
        *[made_up("gp", f"lcbench-{k}", s, (0.1, 0.4)[k]) for k in range(2) for s in range(3)],
    ]
    text = report.markdown(runs)
    assert "| ours, reported steps | 3 | .200, .200, .200, .200, .200 |" in text
    assert text.index("`lcbench-0` | Optuna GPSampler") < text.index("`lcbench-1` | Optuna")
    assert "| ours, reported steps | ours, reported steps / best other |" in text
    assert "| .200 (.200–.200) | 2.00 |" in text
    assert "0 of 12 runs failed." in text


def test_runs_that_are_in_the_file_are_not_repeated(tmp_path: Path) -> None:
    path = command.path_of(tmp_path, "random", 1)
    made = {"bowl": bowl}
    command.complete(path, "random", made, range(2))
    first = path.read_text()
    command.complete(path, "random", made, range(3))
    assert path.read_text().startswith(first)
    assert command.done(path) == {("bowl", 0), ("bowl", 1), ("bowl", 2)}
