"""What finished runs have found and cost, and what the paper reports."""

from __future__ import annotations

from collections.abc import Sequence
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
from scipy.stats import wilcoxon

from examples.paper.experiment import open_storage
from examples.paper.tasks import SOURCES


ALPHA = 0.05  # level of significance
VISIBLE = 0.0005  # difference of errors that tables of three digits show
PUBLISHED = Path(__file__).resolve().parent / "published.csv"


@dataclass(frozen=True)
class Result:
    """A finished run.

    Attributes:
        name: Name of its study.
        error: Error on all the data of what the method recommends at the end.
        verified_at_end: Whether that needed an evaluation of its own, after the last one.
        values: Error of each evaluation, on its source.
        costs: Seconds of each evaluation.
        on_all_data: Whether each evaluation was one on all the data.
    """

    name: str
    classifier: str
    dataset: str
    mode: str
    method: str
    seed: int
    evaluations: int
    error: float
    verified_at_end: bool
    values: np.ndarray
    costs: np.ndarray
    on_all_data: np.ndarray

    @property
    def cost(self) -> float:
        """Cumulated cost of all evaluations."""
        return float(self.costs.sum())

    @property
    def best_verified(self) -> np.ndarray:
        """Lowest error on all the data so far, per evaluation; inf before the first."""
        return np.minimum.accumulate(np.where(self.on_all_data, self.values, np.inf))

    def cost_to_reach(self, error: float) -> float:
        """Cumulated cost when an error this low was first verified; inf if it never was."""
        reached = self.best_verified <= error + 1e-12
        return float(self.costs.cumsum()[reached.argmax()]) if reached.any() else np.inf


def read(storage: Path) -> list[Result]:
    """Return the finished runs in a storage file."""
    studies = optuna.get_all_study_summaries(open_storage(storage), include_best_trial=False)
    return [
        _result(storage, summary.study_name, summary.user_attrs)
        for summary in sorted(studies, key=lambda summary: summary.study_name)
        if "error" in summary.user_attrs
    ]


def _result(storage: Path, name: str, attrs: dict[str, Any]) -> Result:
    study = optuna.load_study(study_name=name, storage=open_storage(storage))
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return Result(
        name=name,
        classifier=attrs["classifier"],
        dataset=attrs["dataset"],
        mode=attrs["mode"],
        method=attrs["method"],
        seed=attrs["seed"],
        evaluations=attrs["evaluations"],
        error=attrs["error"],
        verified_at_end=attrs["verified_at_end"],
        values=np.array([trial.value for trial in trials]),
        costs=np.array([trial.user_attrs["cost"] for trial in trials]),
        on_all_data=np.array([trial.params["source"] == SOURCES[0] for trial in trials]),
    )


@dataclass(frozen=True)
class Published:
    """What the paper reports of a task: of each number, mean and standard deviation.

    Attributes:
        delta: Error of its method minus that of cost-cooling.
        share: Cost of its method in per cent of that of cost-cooling.
        error_is: How it says that the two errors compare.
    """

    error_wild: tuple[float, float]
    error_cooling: tuple[float, float]
    cost_wild: tuple[float, float]
    cost_cooling: tuple[float, float]
    delta: tuple[float, float]
    share: tuple[float, float]
    error_is: str


def published() -> dict[tuple[str, str], Published]:
    """Return the paper's numbers by classifier and dataset."""
    names = ("error_wild", "error_cooling", "cost_wild", "cost_cooling", "delta", "share")
    with PUBLISHED.open(newline="") as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            (line["classifier"], line["dataset"]): Published(
                *((float(line[name]), float(line[f"{name}_sd"])) for name in names),
                error_is=line["error_is"],
            )
            for line in lines
        }


@dataclass(frozen=True)
class Comparison:
    """A method beside cost-cooling, run by run: those of the same seed belong together.

    Attributes:
        delta: Differences of the errors.
        share: Costs in per cent of cost-cooling's.
        p_error: p-value of Wilcoxon's signed-rank test of the errors, two-sided.
        p_cost: The same of the costs.
    """

    delta: np.ndarray
    share: np.ndarray
    p_error: float
    p_cost: float

    @property
    def is_testable(self) -> bool:
        """Whether there are enough runs for the test to find any difference significant."""
        return 2.0 ** (1 - len(self.delta)) < ALPHA

    @property
    def error_is(self) -> str:
        """How the errors compare: a difference counts if significant and visible."""
        mean = float(self.delta.mean())
        if self.p_error >= ALPHA or abs(mean) < VISIBLE:
            return "the same"
        return "higher" if mean > 0 else "lower"

    @property
    def cost_is(self) -> str:
        """How the costs compare."""
        if self.p_cost >= ALPHA:
            return "the same"
        return "higher" if np.mean(self.share) > 100 else "lower"


def compare(runs: Sequence[Result], cooling: Sequence[Result]) -> Comparison | None:
    """Return the comparison over the seeds that both have; None if there is none."""
    by_seed = {run.seed: run for run in cooling}
    pairs = [(run, by_seed[run.seed]) for run in runs if run.seed in by_seed]
    if not pairs:
        return None
    errors = np.array([[a.error, b.error] for a, b in pairs])
    costs = np.array([[a.cost, b.cost] for a, b in pairs])
    return Comparison(
        delta=errors[:, 0] - errors[:, 1],
        share=100 * costs[:, 0] / costs[:, 1],
        p_error=paired_p(errors[:, 0], errors[:, 1]),
        p_cost=paired_p(costs[:, 0], costs[:, 1]),
    )


def paired_p(a: np.ndarray, b: np.ndarray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; 1 if all pairs are equal."""
    difference = np.round(a - b, 12)  # Equal errors may differ in their last bit.
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference).pvalue)
