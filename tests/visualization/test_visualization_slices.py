"""Slices and axes: lines, bands, bars and points, where and in which colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
import pytest
from studies_to_see import SOURCES
from studies_to_see import one_d
from studies_to_see import six_d
from studies_to_see import study_of
from studies_to_see import traces
from studies_to_see import two_d

from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization._figure import source_colors
from optuna_misowild.visualization.axes import Axis
from optuna_misowild.visualization.axes import log_axis
from optuna_misowild.visualization.axes import log_ticks
from optuna_misowild.visualization.quantity import Mark
from optuna_misowild.visualization.quantity import Quantity
from optuna_misowild.visualization.slices import slice_figure


def sliced(data: FigureData, names: list[str], **kwargs: Any) -> Any:
    """The figure of a quantity that is 1 on the preferred source, 2 on the next one, ..."""

    def predict(params: list[dict[str, Any]], source: int) -> Any:
        return np.full(len(params), 1.0 + source), np.full(len(params), 0.5)

    quantity = Quantity(
        **{
            "title": "Zeal",
            "predict": predict,
            "sources": data.modelled,
            "captions": data.labels,
            "centre": data.centre,
            "observed": lambda query: query.value,
            **kwargs,
        }
    )
    axes = [Axis(name, data.view.space[name]) for name in names]
    return slice_figure(data, axes, quantity, "Zeal Plot")


@pytest.fixture(scope="module")
def data() -> FigureData:
    return FigureData(study_of(20, six_d))


def test_panels_stand_in_the_order_of_the_names(data: FigureData) -> None:
    figure = sliced(data, ["y", "kind", "n", "x", "step"])
    axes = [figure.layout[f"xaxis{i}"] for i in ("", 2, 3, 4, 5)]
    assert [axis.title.text for axis in axes] == ["y", "kind", "n", "x", "step"]
    assert axes[0].domain[0] < axes[1].domain[0] < axes[2].domain[0]
    assert axes[0].domain[0] == axes[3].domain[0]  # Below it.
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis4.domain[1]
    assert [figure.layout[f"yaxis{i}"].title.text for i in ("", 4)] == ["Zeal"] * 2
    assert [figure.layout[f"yaxis{i}"].matches for i in ("", 2, 3, 5)] == ["y4"] * 4  # One scale.
    shown = [trace for trace in figure.data if trace.showlegend]
    # Each once, not once per panel.
    assert [trace.name for trace in shown if trace.mode == "lines"] == [*SOURCES]
    assert [trace.name for trace in shown if trace.mode == "markers"] == ["Failed Trial"]


def test_each_source_has_its_colour_and_the_preferred_one_is_the_strongest(
    data: FigureData,
) -> None:
    figure = sliced(data, ["x"])
    lines = [traces(figure, source, "lines")[1].line for source in SOURCES]
    points = [traces(figure, source, "markers")[0] for source in SOURCES]
    assert [line.color for line in lines] == list(source_colors(data))
    for trace, color in zip(points, source_colors(data), strict=True):
        assert set(trace.marker.color) <= {color, "#aaaaaa"}
    assert lines[0].width > lines[1].width == lines[2].width
    assert points[0].marker.size > points[1].marker.size == points[2].marker.size
    for trace, source in zip(points, SOURCES, strict=True):
        own = [t for t in data.study.trials if t.params["source"] == source and t.value]
        assert trace.x == pytest.approx([trial.params["x"] for trial in own], rel=1e-5)
        assert trace.y == pytest.approx([trial.value for trial in own])
        assert [text.split("<br>")[0] for text in trace.text] == [
            f"<b>Trial {trial.number}</b>" for trial in own
        ]


def test_what_lies_far_from_the_slice_is_grey_and_faint() -> None:
    study = study_of(20, two_d)
    data = FigureData(study)
    points = traces(sliced(data, ["x"]), "full", "markers")[0]
    own = [t for t in study.trials if t.params["source"] == "full" and t.value]
    middle = math.log10(data.centre["y"])
    near = [abs(math.log10(t.params["y"]) - middle) / 6.0 <= 0.25 for t in own]
    assert {True, False} == set(near)
    color = source_colors(data)[0]
    assert list(points.marker.color) == [color if there else "#aaaaaa" for there in near]
    assert [opacity == 1.0 for opacity in points.marker.opacity] == near
    points = traces(sliced(FigureData(study_of(5, one_d)), ["x"]), "full", "markers")[0]
    assert set(points.marker.opacity) == {1.0}


def test_a_logarithmic_axis_ends_on_ticks() -> None:
    layout = log_axis(np.array([0.03, 7.0, math.nan, 0.0]))
    assert layout["range"] == pytest.approx([math.log10(0.02), 1.0])
    assert layout["ticktext"][0] == "0.02" and layout["ticktext"][-1] == "10"
    assert log_axis(np.array([2.0, 2.0]))["range"] == pytest.approx([0.0, math.log10(5.0)])
    assert log_axis(np.array([0.0])) == {"type": "log"}
    for low, high in ((1e-3, 40.0), (2e-7, 3e6), (0.9, 1.1), (0.3, 2000.0)):
        layout = log_axis(np.array([low, high]), most=5)
        ends = np.log10([layout["tickvals"][0], layout["tickvals"][-1]])
        assert layout["range"] == pytest.approx(ends)
        assert ends[0] <= math.log10(low) < math.log10(high) <= ends[1]
        assert 2 <= len(layout["tickvals"]) <= 5


def test_categories_have_bars_with_both_ends(data: FigureData) -> None:
    figure = sliced(data, ["kind"], is_log=True)
    (bars, _) = traces(figure, "half", "markers")
    assert bars.x == ("a", "None", "True")
    assert bars.error_y.visible
    factor = math.exp(math.sqrt(math.log(1.0 + 0.25**2)))  # Of a lognormal, 2 ± 0.5.
    np.testing.assert_allclose(bars.error_y.array, 2.0 * factor - 2.0, rtol=1e-3)
    np.testing.assert_allclose(bars.error_y.arrayminus, 2.0 - 2.0 / factor, rtol=1e-3)
    assert figure.layout.xaxis.range == (-0.5, 2.5)
    assert figure.layout.yaxis.type == "log"


def test_a_mark_lies_on_the_line_of_its_source(data: FigureData) -> None:
    def predict(params: list[dict[str, Any]], source: int) -> Any:
        return np.array([one["x"] + source for one in params]), None

    params = {**data.centre, "x": 0.125}
    marks = [Mark("Next", "star", params, source=2), Mark("Best", "star", params)]
    figure = sliced(data, ["x", "y"], predict=predict, marks=marks, centre=params)
    for name, height in (("Next", 2.125), ("Best", 0.125)):
        stars = traces(figure, name)
        assert [star.y for star in stars] == [(height,)] * 2
        assert [star.showlegend for star in stars] == [True, False]
        assert stars[0].x == (0.125,)
    elsewhere = sliced(data, ["x"], predict=predict, marks=marks, centre=data.centre)
    assert traces(elsewhere, "Best")[0].y == (0.125,)


def test_the_middle_of_colours_is_a_line(data: FigureData) -> None:
    def lines(figure: Any) -> list[float]:
        return [shape.y0 for shape in figure.layout.shapes if shape.y0 == shape.y1]

    assert lines(sliced(data, ["x", "y"], midpoint=0.25)) == [0.25, 0.25]
    assert lines(sliced(data, ["x"])) == []


def test_where_nothing_is_predicted_there_is_no_band(data: FigureData) -> None:
    def predict(params: list[dict[str, Any]], source: int) -> Any:
        mean = np.array([one["x"] - 0.5 for one in params])  # What has no logarithm.
        return mean, np.full(len(params), 0.1)

    figure = sliced(data, ["x"], predict=predict, is_log=True)
    band, line = traces(figure, "full", "lines")
    assert [y is None for y in line.y] == [x <= 0.5 for x in line.x]
    assert None not in band.y
    assert min(band.x) > 0.5


def test_small_differences_of_large_values_are_seen(data: FigureData) -> None:
    def predict(params: list[dict[str, Any]], source: int) -> Any:
        return np.array([1e6 + one["x"] for one in params]), None

    line = traces(sliced(data, ["x"], predict=predict), "full", "lines")[0]
    np.testing.assert_allclose(line.y, 1e6 + np.array(line.x), atol=1e-3, rtol=0.0)


def test_a_study_whose_failed_trials_lack_a_parameter() -> None:
    study = study_of(10, sources=())
    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.FAIL, params={}))
    figure = sliced(FigureData(study), ["x"], observed=lambda query: query.spent)
    (points,) = traces(figure, "objective", "markers")
    (failed,) = traces(figure, "Failed Trial")
    assert len(points.x) + len(failed.x) == len(study.trials) - 1


@pytest.mark.parametrize(
    "distribution",
    [
        IntDistribution(1, 8),
        IntDistribution(1, 8, log=True),
        IntDistribution(0, 100, step=5),
        FloatDistribution(0.0, 1.0, step=0.25),
        CategoricalDistribution([str(i) for i in range(40)]),
    ],
)
def test_every_value_of_a_few_is_shown(distribution: BaseDistribution) -> None:
    if isinstance(distribution, CategoricalDistribution):
        expected: list[Any] = list(distribution.choices)
    else:
        assert isinstance(distribution, (IntDistribution, FloatDistribution))
        step = distribution.step or 1
        n_steps = round((distribution.high - distribution.low) / step)
        expected = [distribution.low + step * i for i in range(n_steps + 1)]
    assert Axis("p", distribution).values(24) == expected


@pytest.mark.parametrize(
    "distribution", [IntDistribution(1, 1000), IntDistribution(1, 99, log=True)]
)
def test_of_many_values_the_first_and_the_last_are_shown(distribution: IntDistribution) -> None:
    values = Axis("p", distribution).values(24)
    assert (values[0], values[-1]) == (1, distribution.high)
    assert values == sorted(set(values))
    assert len(values) <= 24


def test_axes_have_room_at_both_ends_and_readable_numbers() -> None:
    linear = Axis("p", FloatDistribution(-1.0, 1.0)).layout()
    assert linear["type"] == "linear"
    assert linear["range"] == pytest.approx([-1.06, 1.06])
    log = Axis("p", FloatDistribution(1e-3, 1e7, log=True))
    assert log.layout()["type"] == "log"
    assert log.layout()["range"] == pytest.approx([-3.3, 7.3])
    exponents = ("-2", "0", "2", "4", "6"), ("0", "3", "6")
    for powers, shown in zip(exponents, (log.layout(), log.layout(narrow=True)), strict=True):
        assert shown["tickvals"] == pytest.approx([10.0 ** int(power) for power in powers])
        texts = [{"0": "1", "1": "10"}.get(power, f"10<sup>{power}</sup>") for power in powers]
        assert shown["ticktext"] == texts
    assert log.place(1.23456789) == 1.23457
    assert log_ticks(-1.0, 0.5) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50])
    assert log_ticks(-1.0, 4.0) == pytest.approx([0.1, 1, 10, 100, 1000, 10000])


def test_an_axis_with_hardly_a_power_of_ten_has_other_numbers() -> None:
    for low, high, ticks, few in (
        (2.0, 8.0, ("2", "5"), ("3", "6")),
        (1.0, 30.0, ("1", "10"), ("2", "10")),
        (2e-5, 8e-5, ("2e-5", "5e-5"), ("3e-5", "6e-5")),
        (3e-3, 2e-2, ("0.005", "0.01", "0.02"), ("0.004", "0.01")),
        (0.31, 0.38, None, None),
    ):
        axis = Axis("p", FloatDistribution(low, high, log=True))
        for expected, layout in ((ticks, axis.layout()), (few, axis.layout(narrow=True))):
            if expected is None:
                assert "tickvals" not in layout
            else:
                assert tuple(layout["ticktext"]) == expected
                assert layout["tickvals"] == pytest.approx([float(tick) for tick in expected])
