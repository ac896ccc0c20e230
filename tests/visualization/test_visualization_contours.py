"""Contours: which panel has what, and in which colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
from plotly import colors
import pytest
from studies_to_see import SOURCES
from studies_to_see import maps
from studies_to_see import study_of
from studies_to_see import traces
from studies_to_see import two_d

from optuna_misowild import MisoWildSampler
from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization.axes import Axis
from optuna_misowild.visualization.contours import contour_figure
from optuna_misowild.visualization.cost_model import cost_model_figure
from optuna_misowild.visualization.discrepancy import discrepancy_figure
from optuna_misowild.visualization.objective_model import objective_model_figure
from optuna_misowild.visualization.quantity import Mark
from optuna_misowild.visualization.quantity import Quantity


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    return study_of(20, two_d)


@pytest.fixture(scope="module")
def figures(study: optuna.Study) -> dict[str, Any]:
    data = FigureData(study, MisoWildSampler())  # One for all: the models are fitted once.
    return {
        "objective": objective_model_figure(data, ["y", "x"]),
        "cost": cost_model_figure(data, ["y", "x"]),
        "discrepancy": discrepancy_figure(data),
    }


def points(figure: Any) -> list[Any]:
    return [t for t in figure.data if t.type == "scatter" and t.name is None]


@pytest.mark.parametrize("name", ["objective", "cost"])
def test_each_panel_has_the_observations_of_its_source(
    study: optuna.Study, figures: dict[str, Any], name: str
) -> None:
    shown = points(figures[name])
    assert [trace.xaxis for trace in shown] == ["x", "x2", "x3"]
    for trace, source in zip(shown, SOURCES, strict=True):
        own = [trial for trial in study.trials if trial.params["source"] == source]
        # A pruned trial has cost something, too. Failed ones are crosses.
        states = [TrialState.COMPLETE, TrialState.PRUNED][: 1 + (name == "cost")]
        own = [t for t in own if t.state in states]
        assert len(own) > 1
        np.testing.assert_allclose(trace.x, [trial.params["y"] for trial in own], rtol=1e-5)
        np.testing.assert_allclose(trace.y, [trial.params["x"] for trial in own], rtol=1e-5)
        observed = [math.log10(t.user_attrs["cost"]) if name == "cost" else t.value for t in own]
        np.testing.assert_allclose(trace.marker.color, observed, atol=2e-3)
        assert trace.marker.coloraxis == "coloraxis"
        assert [text.split("<br>")[0] for text in trace.text] == [
            f"<b>Trial {trial.number}</b>" for trial in own
        ]


def test_axes_are_named_as_asked_for(figures: dict[str, Any]) -> None:
    layout = figures["objective"].layout
    assert [layout[f"xaxis{i}"].title.text for i in (4, 5, 6)] == ["y"] * 3
    assert [layout[f"yaxis{i}"].title.text for i in ("", 4)] == ["x"] * 2
    assert layout.xaxis.title.text is layout.yaxis2.title.text is None
    for trace in maps(figures["objective"], "contour"):
        assert trace.hovertemplate.startswith("y: %{x}<br>x: %{y}<br>%{z")


@pytest.mark.parametrize("name, title", [("objective", "Std"), ("cost", "Relative Std")])
def test_standard_deviations_have_colours_of_their_own(
    figures: dict[str, Any], name: str, title: str
) -> None:
    figure = figures[name]
    contours = maps(figure, "contour")
    assert [trace.coloraxis for trace in contours] == ["coloraxis"] * 3 + ["coloraxis2"] * 3
    largest = max(np.max(trace.z) for trace in contours[3:])
    axis = figure.layout.coloraxis2
    assert (axis.cmin, axis.cmax) == (0.0, pytest.approx(largest, rel=1e-2))
    assert axis.colorbar.title.text == title
    above = [annotation.text for annotation in figure.layout.annotations]
    assert above == [*SOURCES, *(f"{source} (std)" for source in SOURCES)]


@pytest.mark.parametrize("name, dark", [("objective", 0), ("cost", -1)])
def test_good_values_and_high_costs_are_dark(
    figures: dict[str, Any], name: str, dark: int
) -> None:
    axis = figures[name].layout.coloraxis
    light = [sum(colors.unlabel_rgb(color)) for _, color in axis.colorscale]
    light = light[::-1] if axis.reversescale else light
    assert light[dark] == min(light) < max(light)


def test_each_panel_has_the_star_and_the_legend_has_it_once(figures: dict[str, Any]) -> None:
    stars = traces(figures["objective"], "Recommended")
    assert [star.xaxis for star in stars] == ["x", "x2", "x3"]
    assert [star.showlegend for star in stars] == [True, False, False]


def test_where_a_discrepancy_was_asked_is_white(
    study: optuna.Study, figures: dict[str, Any]
) -> None:
    crosses = {t.xaxis: t for t in traces(figures["discrepancy"], "Failed Trial")}
    for trace, source in zip(points(figures["discrepancy"]), SOURCES[1:], strict=True):
        shown = [trace, *([crosses[trace.xaxis]] if trace.xaxis in crosses else [])]
        assert {one.marker.color for one in shown} == {"white"}
        n_own = sum(trial.params["source"] == source for trial in study.trials)
        assert sum(len(one.x) for one in shown) == n_own


def test_many_sources_and_values_next_to_nothing() -> None:
    names = tuple(f"s{i}" for i in range(7))
    data = FigureData(study_of(20, two_d, sources=names))

    def predict(params: list[dict[str, Any]], source: int) -> Any:
        x = np.array([one["x"] for one in params])
        return np.where(x < 0.5, -1e6, source + x), np.full(len(x), 0.1 + source)

    quantity = Quantity(
        title="Zeal",
        predict=predict,
        sources=range(7),
        captions=[f"{name}<br>caption" for name in names],
        centre=data.centre,
        marks=[Mark("Next", "star", data.centre, source=6)],
        depth=10.0,
    )
    x, y = (Axis(name, data.view.space[name]) for name in "xy")
    figure = contour_figure(data, x, y, quantity, "Zeal Plot")
    # Two rows of four and three, and below them as many for the standard deviation.
    rows = [f"{trace.yaxis}" for trace in figure.data if trace.type == "contour"]
    assert [int(row[1:] or 1) for row in rows] == [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15]
    above = {a.text: (a.x, a.y) for a in figure.layout.annotations if a.text}
    assert set(above) == {f"{n}<br>caption" for n in names} | {f"{n} (std)" for n in names}
    assert above["s0 (std)"][0] == above["s0<br>caption"][0]
    assert above["s6 (std)"][1] < above["s0 (std)"][1] < above["s6<br>caption"][1]
    # Nothing is more than ten below the highest, 7, and the colours and lines are for the rest.
    axis = figure.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-3.0, 7.0)
    assert axis.colorbar.title.text == "Zeal"
    first = figure.data[0]
    assert np.min(first.z) == first.contours.start == -3.0
    assert first.contours.end == 7.0
    # What belongs to a source is in its panel only.
    (star,) = traces(figure, "Next")
    assert star.xaxis == "x7"
