"""What is infeasible, and what has failed, looks different in the figures."""

from __future__ import annotations

import math
from typing import Any

import optuna
from optuna.trial import TrialState
import plotly.graph_objects as go
import pytest
from studies_to_see import study_of
from studies_to_see import traces

from optuna_misowild import MisoWildSampler
from optuna_misowild.dashboard import note_of
from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization import plot_acquisition
from optuna_misowild.visualization import plot_cost_history
from optuna_misowild.visualization import plot_feasibility
from optuna_misowild.visualization import plot_objective_model


HAS_NAMES = hasattr(optuna.Trial, "set_constraint")


def objective(trial: optuna.Trial) -> float:
    """Feasible from x = 0.5 on; below y = 0.25, it fails."""
    source = trial.suggest_categorical("source", ["full", "tenth"])
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
    if y < 0.25:
        return math.nan
    if HAS_NAMES:
        trial.set_constraint("right", 0.5 - x)
    else:
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [0.5 - x])
    return (x - 0.3) ** 2 + (y - 0.5) ** 2


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    study = optuna.create_study(sampler=MisoWildSampler(seed=1))
    study.optimize(objective, n_trials=24)
    return study


def numbers(shown: list[Any]) -> set[int]:
    return {int(t.split("</b>")[0].split()[-1]) for trace in shown for t in trace.text}


def expected(study: optuna.Study) -> dict[str, set[int]]:
    failed = {t.number for t in study.trials if t.state == TrialState.FAIL}
    infeasible = {t.number for t in study.trials if t.params["x"] < 0.5} - failed
    assert failed and infeasible
    return {"Failed Trial": failed, "Infeasible Trial": infeasible}


@pytest.mark.parametrize(
    "plot, params, symbol",
    [
        (plot_cost_history, None, "circle-open"),
        (plot_objective_model, ["x", "y"], "circle-x"),
        (plot_acquisition, ["x", "y"], "circle-x"),
        (plot_feasibility, ["x", "y"], "circle-x"),
        (plot_objective_model, ["x"], "circle-open"),
        (plot_feasibility, ["y"], "circle-open"),
    ],
)
def test_failed_and_infeasible_trials_have_signs_of_their_own(
    study: optuna.Study, plot: Any, params: list[str] | None, symbol: str
) -> None:
    figure = plot(study) if params is None else plot(study, params)
    for name, own in expected(study).items():
        shown = traces(figure, name)
        assert numbers(shown) == own
        assert {t.marker.symbol for t in shown} == {"x" if name == "Failed Trial" else symbol}
        assert sum(t.showlegend is not False for t in shown) == 1
    others = [t for t in figure.data if t.mode == "markers" and t.text] if params is None else []
    well = numbers([t for t in others if t.name in ("full", "tenth")])
    assert not well & set.union(*expected(study).values())


@pytest.mark.parametrize("plot", [plot_cost_history, plot_objective_model])
def test_what_has_failed_lies_at_the_bottom_where_there_are_values(
    study: optuna.Study, plot: Any
) -> None:
    figure = plot(study) if plot is plot_cost_history else plot(study, ["x"])
    for trace in traces(figure, "Failed Trial"):
        axis = figure.layout[trace.yaxis.replace("y", "yaxis")]
        assert axis.overlaying == "y" and axis.range == (0.0, 1.0)
        assert set(trace.y) == {trace.y[0]} and 0.0 < trace.y[0] < 0.1


def test_contours_are_grey_where_they_are_probably_infeasible(study: optuna.Study) -> None:
    figure = plot_objective_model(study, ["x", "y"])
    shades = traces(figure, "Probably Infeasible")
    assert [shade.xaxis for shade in shades] == ["x", "x2"]
    model = study.sampler.model(study)  # type: ignore[attr-defined]
    for shade, source in zip(shades, ("full", "tenth"), strict=True):
        grid = [{"x": x, "y": y} for y in shade.y for x in shade.x]
        hidden = model.probability_of_feasibility(grid, source) < 0.5
        assert [bool(z) for row in shade.z for z in row] == hidden.tolist()
        assert 0 < hidden.sum() < len(hidden)
    assert not traces(plot_feasibility(study, ["x", "y"]), "Probably Infeasible")


def test_slices_are_grey_where_the_preferred_source_is_probably_infeasible(
    study: optuna.Study,
) -> None:
    figure = plot_objective_model(study, ["x"])
    spans = [(shape.x0, shape.x1) for shape in figure.layout.shapes]
    model = study.sampler.model(study)  # type: ignore[attr-defined]
    centre = FigureData(study).centre
    places = [i / 100 for i in range(101)]
    grid = [{**centre, "x": x} for x in places]
    hidden = [
        x for x, p in zip(places, model.probability_of_feasibility(grid), strict=True) if p < 0.5
    ]
    assert hidden
    assert hidden == [x for x in places if any(a <= x <= b for a, b in spans)]


def test_the_probability_is_that_of_the_model(study: optuna.Study) -> None:
    figure = plot_feasibility(study, ["x", "y"])
    model = study.sampler.model(study)  # type: ignore[attr-defined]
    contours = [t for t in figure.data if isinstance(t, go.Contour)]
    assert len(contours) == 2
    for contour, source in zip(contours, ("full", "tenth"), strict=True):
        grid = [{"x": x, "y": y} for y in contour.y for x in contour.x]
        shown = [z for row in contour.z for z in row]
        assert shown == pytest.approx(model.probability_of_feasibility(grid, source), abs=2e-3)
    own = expected(study)
    n_failed = sum(study.trials[n].params["source"] == "full" for n in own["Failed Trial"])
    assert f"full: {n_failed} failed, " in figure.layout.title.text


def test_where_nothing_has_failed_and_nothing_is_forbidden_all_is_as_ever() -> None:
    study = study_of(5, sources=("full",))
    (note,) = plot_feasibility(study).layout.annotations
    assert note.text == "No trial has failed, and none has a constraint."
    figure = plot_objective_model(study)
    assert not figure.layout.shapes and "yaxis1001" not in figure.layout
    for name in ("Failed Trial", "Infeasible Trial", "Probably Infeasible"):
        assert not traces(figure, name)


def test_the_note_counts_what_is_infeasible(study: optuna.Study) -> None:
    own = expected(study)
    note = note_of(FigureData(study))
    n_infeasible = len(own["Infeasible Trial"])
    assert f"{len(own['Failed Trial'])} fail trials. {n_infeasible} of them broke a" in note
    assert "it breaks a constraint" not in note


def test_the_note_says_so_if_only_the_infeasible_can_be_recommended() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=1))
    for x in (0.1, 0.2, 0.3):
        study.enqueue_trial({"source": "full", "x": x, "y": 0.6})
    study.optimize(objective, n_trials=3)
    assert "**but it breaks a constraint of yours**" in note_of(FigureData(study))
