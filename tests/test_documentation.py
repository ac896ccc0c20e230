"""The Python of the README and of the documentation does what it says: it is run."""

from __future__ import annotations

import dataclasses
import inspect
import math
from pathlib import Path
import re
import textwrap
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
import pytest

import optuna_misowild
from optuna_misowild import CostCooling
from optuna_misowild import PaperMethod
from optuna_misowild import RobustMethod
from optuna_misowild import cumulated_cost


pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def blocks(page: Path) -> list[str]:
    """Return the fenced blocks of Python in a page, with seconds of a search where it has many."""
    text = page.read_text().replace("    budget=20,\n", "    budget=1,\n")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def simulate(x: float, y: float, grid: str) -> float:
    return (x - 1.0) ** 2 + 0.1 * (y - 1.0) ** 2 / (1.0 + y**2) + 0.1 * (grid == "coarse")


class Network:
    """One that learns the faster the closer its rate is to 0.01."""

    def __init__(self, rate: float, width: int = 32) -> None:
        self.epoch, self.final = 0, abs(math.log10(rate) + 2.0) / 2.0 + 1.0 / width

    def train_one_epoch(self) -> float:
        self.epoch += 1
        return self.final + 1.0 / self.epoch


def simulate_and_meter(x: float, grid: str) -> tuple[float, float]:
    return simulate(x, 1.0, grid), 5.0 if grid == "fine" else 0.5


def run(page: Path, namespace: dict[str, Any], *, with_failures: bool = False) -> None:
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}[{number}]", "exec"), namespace)
        if with_failures:  # A trial may fail before it has suggested anything.
            namespace["study"].add_trial(optuna.create_trial(state=TrialState.FAIL))


@pytest.fixture
def namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)  # For the files of its storages.
    last_month = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    last_month.optimize(
        lambda trial: simulate(
            trial.suggest_float("x", -3.0, 3.0), trial.suggest_float("y", 1e-3, 1e3, log=True), ""
        ),
        n_trials=5,
    )
    return {
        "Network": Network,
        "simulate": simulate,
        "simulate_and_meter": simulate_and_meter,
        "labels": [0, 1] * 50,
        "last_month": last_month,
    }


def test_the_readme(namespace: dict[str, Any]) -> None:
    run(ROOT / "README.md", namespace)
    study = namespace["study"]
    assert 100.0 <= cumulated_cost(study) <= 110.0  # The budget, one trial over, one verifying.
    assert study.best_params["source"] == "fine"
    assert study.best_value < 0.01
    assert namespace["best"].params["x"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda p: p.stem)
def test_the_documentation(page: Path, namespace: dict[str, Any]) -> None:
    run(ROOT / "docs" / "index.md", namespace, with_failures=True)
    if page.stem != "index":
        if page.stem == "sklearn":
            pytest.importorskip("plotly")
        run(page, namespace, with_failures=True)
    states = {trial.state for trial in namespace["study"].trials if trial.params}
    assert states == {TrialState.COMPLETE}


@pytest.mark.parametrize("method", [PaperMethod, CostCooling, RobustMethod])
def test_docstrings_of_the_methods_name_their_constants(method: type) -> None:
    arguments = (method.__doc__ or "").split("Args:")[1].split("Raises:")[0]
    named = re.findall(r"^        (\w+): ", arguments, flags=re.MULTILINE)
    assert named == [field.name for field in dataclasses.fields(method)]


PUBLIC = [name for name in optuna_misowild.__all__ if name != "visualization"]


def example_of(public: Any) -> str:
    """Return the example in a docstring, of few trials; the figures are tested with theirs."""
    text = inspect.cleandoc(public.__doc__) + "\n\nEnd"
    (block,) = re.findall(r"\.\. code-block:: python\n\n(.*?)\n+(?=\S)", text, re.DOTALL)
    return re.sub(r"n_trials=\d+", "n_trials=6", textwrap.dedent(block))


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_in_a_docstring_runs(name: str, namespace: dict[str, Any]) -> None:
    def evaluate(x: float, *part: Any) -> float:
        return (x - 1.0) ** 2 + 0.1 * len(part)

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["full", "10%"])
        trial.set_user_attr("cost", 600.0 if source == "full" else 60.0)
        return evaluate(trial.suggest_float("x", -10.0, 10.0), *[source] * (source == "10%"))

    study = optuna.create_study(sampler=optuna_misowild.MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=8)
    saved: dict[int, Network] = {}
    namespace |= {public: getattr(optuna_misowild, public) for public in PUBLIC}
    namespace |= {
        "build": Network,
        "data": np.arange(100.0),
        "evaluate": evaluate,
        "load": saved.__getitem__,
        "objective": objective,
        "optuna": optuna,
        "save": lambda model, number: saved.update({number: model}),
        "study": study,
        "y": np.arange(100) % 2,
    }
    exec(example_of(getattr(optuna_misowild, name)), namespace)
    assert namespace["study"].get_trials(states=[TrialState.COMPLETE])
    if namespace["objective"] is not objective:  # An objective that the example defines.
        steps = (2, 6, 17, 52) if name in ("MisoWildPruner", "continued_from") else None
        sampler = optuna_misowild.MisoWildSampler(steps=steps, checkpoints=steps is not None)
        again = optuna.create_study(sampler=sampler, pruner=optuna_misowild.MisoWildPruner())
        again.optimize(namespace["objective"], n_trials=12)


def test_the_example_of_the_search_runs() -> None:
    pytest.importorskip("sklearn")
    from scipy.stats import loguniform
    from sklearn.datasets import load_iris
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from optuna_misowild.sklearn import MisoWildSearchCV

    X, y = load_iris(return_X_y=True)
    namespace = {
        "MisoWildSearchCV": MisoWildSearchCV,
        "SVC": SVC,
        "StandardScaler": StandardScaler,
        "X": X,
        "loguniform": loguniform,
        "make_pipeline": make_pipeline,
        "y": y,
    }
    exec(example_of(MisoWildSearchCV).replace("budget=60", "budget=1"), namespace)
    assert namespace["search"].best_score_ > 0.9
