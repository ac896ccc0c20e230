"""SMAC3's multi-fidelity facade: random forests, and Hyperband for the fidelities.

Its documentation: "Multi-Fidelity and Multi-Instances", by ask and tell.
"""

from __future__ import annotations

import logging
from pathlib import Path
import tempfile

from smac import MultiFidelityFacade
from smac import Scenario
from smac.runhistory.dataclasses import TrialValue

from examples.benchmarks.outside.harness import Job
from examples.benchmarks.outside.harness import Query
from examples.benchmarks.outside.tasks import REDUCTION
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.outside.tools import configspace


class Smac:
    """One run of SMAC3."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            configspace.space(task, seed),
            deterministic=True,
            n_trials=10_000,  # the money ends it
            min_budget=task.lowest,
            max_budget=task.highest,
            seed=seed,
            output_directory=Path(self.folder.name),
        )
        self.smac = MultiFidelityFacade(
            scenario,
            lambda config, seed=0, budget=0.0: 0.0,  # not called: we ask and tell
            # By default its initial design is a share of n_trials, which says nothing here.
            initial_design=MultiFidelityFacade.get_initial_design(
                scenario, n_configs=max(5, len(task.parameters))
            ),
            intensifier=MultiFidelityFacade.get_intensifier(scenario, eta=REDUCTION),
            overwrite=True,
            logging_level=logging.ERROR,
        )

    def job(self) -> Job:
        """One trial."""
        info = self.smac.ask()
        config = configspace.config(self.task, info.config)
        answer = yield Query(config, float(info.budget))
        self.smac.tell(info, TrialValue(cost=answer.value, time=answer.cost), save=False)
