"""The figures of what was fitted, over the parameters."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from studies_to_see import SOURCES
from studies_to_see import maps
from studies_to_see import misleading_study
from studies_to_see import six_d
from studies_to_see import study_of
from studies_to_see import traces
from studies_to_see import two_d
from studies_to_see import with_category
from studies_to_see import with_value

from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend
from optuna_misowild.visualization import plot_cost_model
from optuna_misowild.visualization import plot_discrepancy
from optuna_misowild.visualization import plot_objective_model


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_slices_show_what_the_model_predicts(direction: str) -> None:
    study = study_of(20, direction=direction)
    sampler = MisoWildSampler()
    model = sampler.model(study)
    sign = -1.0 if direction == "maximize" else 1.0
    figure = plot_objective_model(study, sampler=sampler)
    assert figure.layout.xaxis.type == "linear"
    for source in SOURCES:
        band, line = traces(figure, source, "lines")
        params = [{"x": x} for x in line.x]
        mean, std = model.predict(params, source)
        np.testing.assert_allclose(line.y, sign * mean, atol=2e-3)
        n = len(line.x)
        np.testing.assert_allclose(band.y[:n], sign * mean + std, atol=2e-3)
        np.testing.assert_allclose(band.y[n:][::-1], sign * mean - std, atol=2e-3)
        (points,) = traces(figure, source, "markers")
        observed = [t.value for t in study.trials if t.params["source"] == source if t.value]
        assert sorted(points.y) == sorted(observed)


def test_slices_go_through_the_recommended_parameters() -> None:
    study = study_of(20, six_d)
    sampler = MisoWildSampler()
    figure = plot_cost_model(study, ["y", "kind", "n"], sampler=sampler)
    assert [figure.layout[f"xaxis{i}"].type for i in ("", 2, 3)] == ["log", "category", "linear"]
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.xaxis2.categoryarray == ("a", "None", "True")
    params = recommend(study, sampler=sampler).params
    said = " ".join(line[5:-6] for line in figure.layout.title.text.split("<br>")[1:])
    for name, value in params.items():  # Where the slices cut, also along what is not shown.
        text = f"{value:.3g}" if isinstance(value, float) else str(value)
        assert f"{name} = {text}" in said
    stars = traces(figure, "Recommended")
    assert stars[0].x[0] == pytest.approx(params["y"], rel=1e-5)
    assert stars[1].x[0] == str(params["kind"])
    line = [t for t in traces(figure, "half", "lines") if t.xaxis == "x" and len(t.x) == 101][0]
    expected, _ = sampler.model(study).predict_cost([{**params, "y": y} for y in line.x], "half")
    np.testing.assert_allclose(line.y, expected, rtol=0.02)
    assert list(traces(figure, "half", "lines")[-1].x) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_contours_show_what_the_model_predicts() -> None:
    study = study_of(20, two_d)
    sampler = MisoWildSampler()
    figure = plot_objective_model(study, ["y", "x"], sampler=sampler)
    contours = maps(figure, "contour")
    assert len(contours) == 6  # The mean and the standard deviation of each source.
    model = sampler.model(study)
    for source, mean, std in zip(SOURCES, contours[:3], contours[3:], strict=True):
        params = [{"y": y, "x": x} for x in mean.y for y in mean.x]
        expected = model.predict(params, source)
        np.testing.assert_allclose(np.ravel(mean.z), expected[0], atol=3e-3)
        np.testing.assert_allclose(np.ravel(std.z), expected[1], atol=3e-3)
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.yaxis.type == "linear"
    assert figure.layout.coloraxis.reversescale  # Good is dark.
    assert [a.text for a in figure.layout.annotations[:3]] == list(SOURCES)


def test_contours_of_costs_are_logarithms() -> None:
    study = study_of(20, two_d)
    sampler = MisoWildSampler()
    figure = plot_cost_model(study, sampler=sampler)
    contour = maps(figure, "contour")[2]
    params = [{"x": x, "y": y} for y in contour.y for x in contour.x]
    expected, _ = sampler.model(study).predict_cost(params, "tenth")
    np.testing.assert_allclose(10.0 ** np.ravel(contour.z).astype(float), expected, rtol=0.02)
    spread = maps(figure, "contour")[5]
    mean, std = sampler.model(study).predict_cost(params, "tenth")
    np.testing.assert_allclose(np.ravel(spread.z).astype(float), std / mean, atol=1e-3)
    ticks = figure.layout.coloraxis.colorbar
    assert ticks.ticktext[ticks.tickvals.index(-1.0)] == "0.1"


def test_bands_of_costs_are_those_of_a_lognormal() -> None:
    study = study_of(20)
    sampler = MisoWildSampler()
    figure = plot_cost_model(study, sampler=sampler)
    for source in SOURCES:
        band, line = traces(figure, source, "lines")
        mean, std = sampler.model(study).predict_cost([{"x": x} for x in line.x], source)
        factor = np.exp(np.sqrt(np.log(1.0 + (std / mean) ** 2)))
        n = len(line.x)
        np.testing.assert_allclose(band.y[:n], mean * factor, rtol=1e-3)
        np.testing.assert_allclose(band.y[n:][::-1], mean / factor, rtol=1e-3)


def test_costs_of_nothing_are_not_on_a_logarithmic_axis() -> None:
    study = study_of(20, sources=())
    free = optuna.create_trial(
        params={"x": 0.5},
        distributions=study.trials[0].distributions,
        value=1.0,
        user_attrs={"cost": 0.0},
    )
    study.add_trial(free)
    figure = plot_cost_model(study)
    (points,), (failed,) = traces(figure, "objective", "markers"), traces(figure, "Failed Trial")
    shown = [*points.y, *failed.y]
    assert min(shown) > 0.0
    assert len(shown) == sum(trial.state.is_finished() for trial in study.trials) - 1


def test_good_is_dark_in_a_study_that_maximises_too() -> None:
    study = study_of(20, two_d, direction="maximize")
    assert not plot_objective_model(study).layout.coloraxis.reversescale


def test_colours_of_discrepancies_have_zero_in_the_middle() -> None:
    studies = [study_of(20, two_d, direction=direction) for direction in ("minimize", "maximize")]
    axes = [plot_discrepancy(study).layout.coloraxis for study in studies]
    # Whichever end is the farther one.
    assert axes[0].cmin == -axes[0].cmax == pytest.approx(-axes[1].cmax)
    assert axes[1].cmin == -axes[1].cmax < 0.0
    # Low values flatter in a study that minimises, high ones in one that maximises.
    assert [axis.reversescale for axis in axes] == [False, True]


def test_a_category_makes_a_heat_map() -> None:
    figure = plot_objective_model(study_of(20, with_category))
    found = maps(figure, "heatmap")
    assert len(found) == 6
    assert found[0].x == ("a", "b")


def test_discrepancy_takes_out_what_is_the_same_everywhere() -> None:
    sampler = MisoWildSampler()
    rho = sampler.model(misleading_study()).rho
    figure = plot_discrepancy(misleading_study(), sampler=sampler)
    right = next(t for t in figure.data if t.name.startswith("right<br>") and t.line.width)
    wrong = next(t for t in figure.data if t.name.startswith("wrong<br>") and t.line.width)
    assert right.name == "right<br><sup>scale 1</sup><br><sup>mean +3</sup>"
    assert wrong.name.startswith(f"wrong<br><sup>scale {rho[2]:.2g}</sup><br>")
    assert figure.layout.yaxis.title.text == "Discrepancy"
    assert [shape.y0 for shape in figure.layout.shapes] == [0.0]
    assert np.abs(right.y).max() < 0.1
    assert np.abs(wrong.y).max() > 0.5


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_discrepancy_at_the_star_is_that_of_the_model(direction: str) -> None:
    study = study_of(30, two_d, direction=direction)
    sampler = MisoWildSampler()
    title = plot_discrepancy(study, sampler=sampler).layout.title.text.replace("\u00a0", " ")
    params = recommend(study, sampler=sampler).params
    for source in SOURCES[1:]:
        mean, std = sampler.model(study).discrepancy(params, source)
        mean = -mean if direction == "maximize" else mean
        assert f"{source} {mean:+.3g} ± {std:.2g}" in title


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("method", ["robust", "paper"])
def test_outliers_are_shown_as_the_model_saw_them(direction: str, method: str) -> None:
    sign = -1.0 if direction == "maximize" else 1.0
    study = with_value(study_of(20, sources=(), direction=direction), sign * 1e6)
    figure = plot_objective_model(study, sampler=MisoWildSampler(method=method))
    (points,) = traces(figure, "objective", "markers")
    if method == "paper":
        assert sign * 1e6 in points.y
        assert figure.layout.title.text == "Objective Model Plot"
        return
    worst = max(sign * value for value in points.y)
    assert 1.0 < worst < 100.0
    assert f"objective: 1 to {sign * worst:.3g}" in figure.layout.title.text
    assert any("value: " in t and f"for the model: {sign * worst:.6g}" in t for t in points.text)


def test_a_long_text_below_the_title_is_broken_and_has_room() -> None:
    study = study_of(30, two_d, sources=tuple(f"s{i}" for i in range(12)))
    figure = plot_discrepancy(study)
    first, *lines = figure.layout.title.text.split("<br>")
    assert first == "Discrepancy Plot"
    assert len(lines) > 1
    assert all(line.startswith("<sup>") and len(line) < 132 for line in lines)
    assert figure.layout.margin.t == 84 + 25 * (len(lines) + 1)  # Captions have three lines.


def test_discrepancy_of_a_single_source() -> None:
    figure = plot_discrepancy(study_of(10, sources=()))
    assert "no other source" in figure.layout.annotations[0].text


def test_discrepancy_of_the_paper_is_a_distance() -> None:
    study = study_of(20)
    sampler = MisoWildSampler(method="paper")
    figure = plot_discrepancy(study, sampler=sampler)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [line.name for line in lines] == list(SOURCES[1:])
    for line in lines:
        expected = sampler.model(study).discrepancy([{"x": x} for x in line.x], line.name)
        np.testing.assert_allclose(line.y, expected, atol=2e-3)
    assert figure.layout.yaxis.title.text == "Discrepancy"
    assert figure.layout.title.text == "Discrepancy Plot"
