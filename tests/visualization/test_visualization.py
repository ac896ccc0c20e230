"""Every figure of every kind of study, and what is no study or sampler."""

from __future__ import annotations

from collections.abc import Callable
import inspect
import json
import math
from pathlib import Path
import re
import sys
import textwrap
from typing import Any

import optuna
import plotly.graph_objects as go
import pytest
from studies_to_see import added
from studies_to_see import one_d
from studies_to_see import running
from studies_to_see import six_d
from studies_to_see import study_of
from studies_to_see import two_d
from studies_to_see import with_category
from studies_to_see import with_value

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostCooling
from optuna_misowild import MisoWildSampler
from optuna_misowild import dashboard
from optuna_misowild import recommend
from optuna_misowild import visualization
from optuna_misowild.visualization import plot_acquisition
from optuna_misowild.visualization import plot_cost_history
from optuna_misowild.visualization import plot_cost_model
from optuna_misowild.visualization import plot_discrepancy
from optuna_misowild.visualization import plot_objective_model
from optuna_misowild.visualization import plot_source_usage
from optuna_misowild.visualization import plot_source_worth


OF_PARAMS = [plot_acquisition, plot_cost_model, plot_discrepancy, plot_objective_model]


ALL = [plot_cost_history, plot_source_usage, plot_source_worth, *OF_PARAMS]


STUDIES: dict[str, Callable[[], optuna.Study]] = {
    "empty": optuna.create_study,
    "only running": lambda: _only_running(),
    "one trial": lambda: study_of(1),
    "three trials": lambda: running(study_of(3)),
    "1-D": lambda: running(study_of(20)),
    "2-D": lambda: running(study_of(20, two_d)),
    "2-D with a category": lambda: study_of(20, with_category),
    "6-D": lambda: running(study_of(20, six_d)),
    "one source": lambda: study_of(10, sources=()),
    "one choice": lambda: study_of(10, sources=("only",)),
    "twelve sources": lambda: study_of(30, two_d, sources=tuple(f"s{i}" for i in range(12))),
    "no cost": lambda: study_of(10, costs=False),
    "maximised": lambda: study_of(20, two_d, direction="maximize"),
    "added": added,
    "infinite": lambda: with_value(study_of(10), math.inf),
    "huge": lambda: with_value(study_of(10), 1e30),
    "constant": lambda: study_of(10, lambda trial: 0.0 * one_d(trial)),
    "no parameter": lambda: _without_parameters(),
    "cost-cooling": lambda: study_of(12, sampler=CarboCoolingSampler(alpha=1.0, seed=0)),
    "cost-cooling among sources": lambda: study_of(12, sampler=cooling_among_sources()),
    "paper": lambda: study_of(15, two_d, sampler=MisoWildSampler(method="paper", seed=0)),
}


def cooling_among_sources() -> MisoWildSampler:
    return MisoWildSampler(method=CostCooling(alpha=1.0), seed=0)


def _only_running() -> optuna.Study:
    study = optuna.create_study()
    study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    return study


def _without_parameters() -> optuna.Study:
    study = optuna.create_study()
    study.optimize(lambda trial: 1.0, n_trials=3)
    return study


@pytest.mark.parametrize(
    "kind",
    [
        kind
        if kind in ("empty", "1-D", "6-D", "paper", "cost-cooling among sources")
        else pytest.param(kind, marks=pytest.mark.slow)
        for kind in STUDIES
    ],
)
def test_every_figure_can_be_drawn_of_every_study(kind: str) -> None:
    study = STUDIES[kind]()
    n_trials = len(study.trials)
    for plot in ALL:
        figure = plot(study)
        assert isinstance(figure, go.Figure)
        assert figure.layout.title.text.split("<br>")[0].endswith(" Plot")
        assert figure.data or figure.layout.annotations[0].text.endswith(".")
        json.loads(figure.to_json())
        assert "bdata" not in figure.to_json()  # Older plotly.js cannot read it.
    assert len(study.trials) == n_trials  # Looking changes nothing.
    assert "misowild:seed" not in study._storage.get_study_system_attrs(study._study_id)


def test_names_that_begin_alike_stay_apart() -> None:
    long = "a_name_of_sixty_letters_that_a_machine_has_made_for_a_config"
    sources = (f"{long}.full", f"{long}.half", "a_name_of_another_config.half", "short")

    choices = [f"{long}.a", f"{long}.b", None, "None"]

    def space(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical(f"{long}.kind", choices)
        return trial.suggest_float("x", 0.0, 1.0) + (kind is None)

    study = study_of(20, space, sources=sources)
    labels = ("a_name_of…onfig.full", "a_name_of…onfig.half", "a_name_of…onfig.half (2)", "short")
    usage = plot_source_usage(study)
    assert usage.layout.yaxis.categoryarray == labels
    queries = {trace.y[0]: trace.x[0] for trace in usage.data if trace.orientation == "h"}
    assert queries == {
        label: sum(trial.params["source"] == source for trial in study.trials)
        for label, source in zip(labels, sources, strict=True)
    }
    model = plot_objective_model(study, ["x", f"{long}.kind"])
    kinds = ("a_name_of…a_config.a", "a_name_of…a_config.b", "None", "None (2)")
    assert model.layout.yaxis.title.text == "a_name_of…onfig.kind"
    assert model.layout.yaxis.categoryarray == kinds
    best = recommend(study, sampler=MisoWildSampler()).params[f"{long}.kind"]
    stars = {trace.y[0] for trace in model.data if trace.name == "Recommended"}
    assert stars == {kinds[choices.index(best)]}


@pytest.mark.parametrize("plot", ALL)
def test_without_a_value_it_says_so(plot: Any, caplog: pytest.LogCaptureFixture) -> None:
    figure = plot(optuna.create_study())
    assert not figure.data
    assert "yet" in figure.layout.annotations[0].text
    assert "does not have any" in caplog.text


@pytest.mark.parametrize("plot", OF_PARAMS)
def test_params_that_do_not_exist(plot: Any) -> None:
    study = study_of(10, two_d)
    with pytest.raises(ValueError, match=r"'z', which is no parameter .* \['x', 'y'\]"):
        plot(study, ["z"])
    with pytest.raises(ValueError, match="must not be empty"):
        plot(study, [])
    with pytest.raises(TypeError, match="list of names"):
        plot(study, "x")


@pytest.mark.parametrize("plot", ALL)
def test_what_is_no_sampler_of_ours(plot: Any) -> None:
    with pytest.raises(TypeError, match="`sampler` must be a MisoWildSampler"):
        plot(study_of(1), sampler=optuna.samplers.RandomSampler())


def test_a_study_with_several_objectives() -> None:
    with pytest.raises(ValueError, match="multi-objective"):
        plot_source_usage(optuna.create_study(directions=["minimize", "minimize"]))


def test_without_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert visualization.is_available()
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    assert not visualization.is_available()
    with pytest.raises(ImportError, match=r'pip install "optuna-misowild\[visualization\]"'):
        plot_cost_history(study_of(3))


def test_the_example_of_every_figure_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(go.Figure, "write_html", lambda figure, path: Path(path).touch())
    study = study_of(4, two_d, sources=("full", "half"))
    studies = {"study": study, "earlier": study}
    names = [name for name in visualization.__all__ if name.startswith("plot_")]
    for module, name in [*((visualization, name) for name in names), (dashboard, "publish")]:
        text = inspect.cleandoc(getattr(module, name).__doc__)
        (block,) = re.findall(r"\.\. code-block:: python\n\n(.*?)\n\n\S", text, re.DOTALL)
        exec(textwrap.dedent(block), dict(studies))
    pages = sorted(path.stem.replace("-", "_") for path in tmp_path.glob("*.html"))
    assert pages == sorted(name.removeprefix("plot_") for name in names)
