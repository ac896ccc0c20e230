"""One run: a method tunes a classifier on a dataset, in an Optuna study that can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from examples.benchmarks.methods import METHODS
from examples.benchmarks.methods import Use
from examples.paper.data import SPECS
from examples.paper.data import load
from examples.paper.replay import Replay
from examples.paper.tables import TABLES
from examples.paper.tasks import CLASSIFIERS
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Live
from examples.paper.tasks import Objective
from optuna_misowild import recommend


# Those that either know of the sources or ask the first alone.
METHOD_NAMES = tuple(name for name, method in METHODS.items() if method.use != Use.RUNGS)


@dataclass(frozen=True)
class Task:
    """A classifier on a dataset, trained live or replayed from a table.

    Attributes:
        tables: Folder of the tables.
        data_dir: Folder of the datasets, for training live.
    """

    classifier: str
    dataset: str
    live: bool = False
    tables: Path = TABLES
    data_dir: Path | None = None

    @property
    def table(self) -> Path:
        return self.tables / f"{self.classifier}_{self.dataset}.csv"


@dataclass(frozen=True)
class Run:
    """One run of a method on a task.

    Attributes:
        budget: What cost-cooling plans with; the other methods plan with none.
        evaluations: After how many evaluations the run ends.
    """

    task: Task
    method: str
    seed: int
    evaluations: int
    budget: float | None = None

    @property
    def name(self) -> str:
        mode = "live" if self.task.live else "replay"
        return f"{self.task.classifier}-{self.task.dataset}-{mode}-{self.method}-{self.seed}"


def replay(task: Task) -> Replay:
    """Return a task's recorded evaluations."""
    return Replay(CLASSIFIERS[task.classifier](SPECS[task.dataset].n_features), task.table)


@cache  # Reading the file takes longer the more it holds.
def open_storage(path: Path) -> JournalStorage:
    """Return Optuna's storage in a file, which is far faster than SQLite for many short trials."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return JournalStorage(JournalFileBackend(str(path)))


@cache  # A process has many runs of the same task.
def _measure(task: Task) -> Live | Replay:
    if not task.live:
        return replay(task)
    dataset = load(task.dataset, task.data_dir)
    return Live(CLASSIFIERS[task.classifier](dataset.X.shape[1]), dataset)


def execute(run: Run, storage: JournalStorage, on_evaluation: Callable[[], None]) -> None:
    """Run, or go on with, a study to its end, and note its result.

    Args:
        run: What to run.
        storage: Where its study is.
        on_evaluation: Called after each evaluation.

    Raises:
        ValueError: If the storage has this run with other settings.
    """
    method = METHODS[run.method]
    all_sources = method.use == Use.CHOSEN
    measure = _measure(run.task)
    objective = Objective(measure.classifier, measure, SOURCES if all_sources else SOURCES[:1])
    study = optuna.create_study(study_name=run.name, storage=storage, load_if_exists=True)
    _settle(study, run)
    if "error" in study.user_attrs:
        return
    n_done = _n_evaluations(study)
    # Samplers that draw random numbers would repeat their first ones when they go on.
    seed = run.seed if n_done == 0 or all_sources else run.seed + 1000 * n_done
    study.sampler = method.sampler(run.budget if run.method == "carbo" else None, seed)
    study.optimize(
        objective, run.evaluations - n_done, callbacks=[lambda study, trial: on_evaluation()]
    )
    _conclude(study, objective, all_sources)


def _settle(study: optuna.Study, run: Run) -> None:
    """Note a study's settings, or compare them; and give up trials of an interrupted run."""
    settings = {
        "classifier": run.task.classifier,
        "dataset": run.task.dataset,
        "mode": "live" if run.task.live else "replay",
        "method": run.method,
        "seed": run.seed,
        "evaluations": run.evaluations,
        "budget": run.budget,
    }
    for key, value in settings.items():
        known = study.user_attrs.get(key, value)
        if known != value:
            raise ValueError(
                f"The storage has the run {run.name} with {key} {known}, not {value}: use another "
                "--storage, or the same settings."
            )
    if not settings.keys() <= study.user_attrs.keys():
        for key, value in settings.items():
            study.set_user_attr(key, value)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(trial.number, state=TrialState.FAIL)


def _n_evaluations(study: optuna.Study) -> int:
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))


def _conclude(study: optuna.Study, objective: Objective, all_sources: bool) -> None:
    """Note the error of what the method recommends, on all the data.

    As in the paper, it is evaluated there at the end if it was not before.
    """
    if not all_sources:
        study.set_user_attr("verified_at_end", False)
        study.set_user_attr("params", study.best_params)
        study.set_user_attr("error", study.best_value)
        return
    best = recommend(study)
    error = best.value
    if not best.verified:
        study.enqueue_trial(best.to_enqueue())
        study.optimize(objective, n_trials=1)
        error = study.trials[-1].value
    study.set_user_attr("verified_at_end", not best.verified)
    study.set_user_attr("params", best.params)
    study.set_user_attr("error", error)
