"""The adapter for carps, on one of its own stub problems; skipped where carps is not installed."""

from __future__ import annotations

from typing import Any

import pytest


pytest.importorskip("carps")

from carps.objective_functions.dummy_problem import DummyObjectiveFunction  # noqa: E402
from carps.utils.task import FidelitySpace  # noqa: E402
from carps.utils.task import InputSpace  # noqa: E402
from carps.utils.task import OptimizationResources  # noqa: E402
from carps.utils.task import OutputSpace  # noqa: E402
from carps.utils.task import Task  # noqa: E402
from carps.utils.task import TaskMetadata  # noqa: E402
from carps.utils.trials import StatusType  # noqa: E402
from carps.utils.trials import TrialInfo  # noqa: E402
from carps.utils.trials import TrialValue  # noqa: E402
from ConfigSpace import ConfigurationSpace  # noqa: E402

from examples.benchmarks.outside import carps_adapter  # noqa: E402
from optuna_misowild import cumulated_cost  # noqa: E402


class Bowl(DummyObjectiveFunction):  # type: ignore[misc]
    """carps' stub with a value: what is short looks better."""

    def _evaluate(self, trial_info: TrialInfo) -> TrialValue:
        budget = trial_info.budget or 9
        return TrialValue(
            (trial_info.config["a"] - 0.3) ** 2 - 1.0 / budget, virtual_time=2.0 * budget
        )


def task(fidelities: FidelitySpace, **resources: Any) -> Task:
    space = ConfigurationSpace({"a": (-1.0, 1.0), "n": (1, 4), "kind": ["p", "q"]})
    return Task(
        "bowl",
        Bowl(configuration_space=space),
        InputSpace(space, fidelities),
        OutputSpace(),
        OptimizationResources(**resources),
        TaskMetadata(),
    )


EPOCHS = FidelitySpace(True, "epochs", 1, 9)


def test_rungs_are_whole_where_the_fidelity_is() -> None:
    assert carps_adapter.rungs(EPOCHS) == (9, 3, 1)
    assert carps_adapter.rungs(FidelitySpace(True, "epochs", 5, 52)) == (52, 17, 6)
    assert carps_adapter.rungs(FidelitySpace(True, "part", 0.1, 0.9)) == (0.9, 0.3, 0.1)


def test_run_of_carps_asks_rungs_and_recommends_at_the_highest() -> None:
    optimizer = carps_adapter.MisoWildOptimizer(task(EPOCHS, n_trials=6), seed=0)
    info, value = optimizer.run()
    trials = optimizer.solver.trials
    assert {t.params[carps_adapter.SOURCE] for t in trials} == {1, 3, 9}
    assert 6.0 <= optimizer.trial_counter < 7.0
    assert cumulated_cost(optimizer.solver) == pytest.approx(optimizer.trial_counter)
    assert info.budget == 9
    assert value.cost == optimizer.solver.best_value > -1.0 / 9 - 1e-12  # cheap ones are lower


def test_seconds_are_the_cost_where_carps_counts_them() -> None:
    optimizer = carps_adapter.MisoWildOptimizer(task(EPOCHS, time_budget=0.5), seed=0)
    optimizer.run()
    spent = cumulated_cost(optimizer.solver)
    assert spent == pytest.approx(optimizer.virtual_time_elapsed_seconds)


def test_without_fidelity_there_is_one_source_and_a_crash_is_kept() -> None:
    optimizer = carps_adapter.MisoWildOptimizer(task(FidelitySpace(), n_trials=3), seed=0)
    optimizer.setup_optimizer()
    assert optimizer.get_current_incumbent() is None
    optimizer.tell(optimizer.ask(), TrialValue(0.0, status=StatusType.CRASHED))
    assert optimizer.get_current_incumbent() is None
    info, _ = optimizer.run()
    assert info.budget is None
    assert [t.state.name for t in optimizer.solver.trials] == ["FAIL"] + 3 * ["COMPLETE"]
    assert cumulated_cost(optimizer.solver) == 4.0
