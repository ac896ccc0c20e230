"""The figure of the acquisition: what would be asked next, and how much each source is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies_to_see import misleading_study
from studies_to_see import six_d
from studies_to_see import study_of
from studies_to_see import told
from studies_to_see import traces
from studies_to_see import two_d

from optuna_misowild import MisoWildSampler
from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization import plot_acquisition
from optuna_misowild.visualization.sample import highest


def test_an_acquisition_next_to_nothing_does_not_flatten_the_rest() -> None:
    figure = plot_acquisition(misleading_study(), sampler=MisoWildSampler(seed=0))
    shown = [y for trace in figure.data if trace.mode == "lines" for y in trace.y if y is not None]
    assert max(shown) - min(shown) <= 20.1  # e^20 times less for the money is nothing.


def test_acquisition_points_at_what_the_sampler_would_ask() -> None:
    sampler = MisoWildSampler(seed=0)
    study = misleading_study()
    figure = plot_acquisition(study, sampler=sampler)
    assert figure.layout.title.text.split("<br>")[1].startswith("<sup>Next: ")
    (star,) = traces(figure, "Next")
    study.sampler = sampler
    trial = study.ask(dict(study.trials[0].distributions))
    assert f"Next: {trial.params['source']} at x = " in figure.layout.title.text
    assert star.x[0] == pytest.approx(trial.params["x"], abs=0.02)


def test_acquisition_during_the_initial_design() -> None:
    sampler = MisoWildSampler(seed=0)
    study = study_of(1, sampler=sampler)
    figure = plot_acquisition(study)
    assert "by the initial design" in figure.layout.title.text
    assert not traces(figure, "Next")
    trial = study.ask(dict(study.trials[0].distributions))
    assert f"Next: {trial.params['source']}, by" in figure.layout.title.text


def test_only_what_may_be_asked_has_an_acquisition() -> None:
    study = study_of(20, two_d)
    figure = plot_acquisition(study, sampler=MisoWildSampler(query_sources=["full", "tenth"]))
    captions = [annotation.text.split(":")[0] for annotation in figure.layout.annotations]
    assert captions == ["full", "tenth"]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_title_says_what_is_expected_there(direction: str) -> None:
    study = study_of(20, direction=direction)
    sampler = MisoWildSampler(seed=0)
    figure = plot_acquisition(study, sampler=sampler)
    (star,) = traces(figure, "Next")
    model = sampler.model(study)
    value, std = model.predict({"x": star.x[0]}, "tenth")
    cost, _ = model.predict_cost({"x": star.x[0]}, "tenth")
    value = -value if direction == "maximize" else value
    assert figure.layout.title.text.split("<sup>")[1] == (
        f"Next: tenth at x = {star.x[0]:.4g}; predicted value {value:.4g} ± {std:.2g}, "
        f"cost {cost:.3g}</sup>"
    )
    # The star lies on the line of its source.
    assert star.y[0] == pytest.approx(model.acquisition({"x": star.x[0]}, "tenth"), rel=1e-3)


def test_slices_go_through_what_would_be_asked() -> None:
    study = study_of(20, two_d)
    sampler = MisoWildSampler(n_startup_trials=2)
    figure = plot_acquisition(study, ["x"], sampler=sampler)
    y = float(figure.layout.title.text.split(" y = ")[1].split(";")[0])
    for trace in figure.data:
        if trace.mode == "lines":
            source = trace.name.split(":")[0]
            params = [{"x": x, "y": y} for x in trace.x]
            expected = sampler.model(study).acquisition(params, source)
            # But for the lowest quarter, which has one height.
            np.testing.assert_allclose(trace.y, np.maximum(expected, min(trace.y)), atol=2e-2)


def test_a_source_that_is_hardly_cheaper_is_excluded() -> None:
    x = [0.05 + 0.1 * i for i in range(10)]
    costs = {"full": 1.0, "half": 0.7, "tenth": 0.1}
    study = told([(s, v, (v - 0.3) ** 2, cost) for v in x for s, cost in costs.items()])
    figure = plot_acquisition(study, sampler=MisoWildSampler())
    lines = {t.name.split(": ")[0]: t for t in figure.data if t.mode == "lines"}
    assert lines["half"].name == "half: excluded"
    assert set(lines["half"].y) == {None}
    for source in ("full", "tenth"):
        assert float(lines[source].name.split(": ")[1]) == pytest.approx(
            max(lines[source].y), abs=0.1
        )


def test_an_acquisition_that_is_no_logarithm_is_cut_at_its_lowest_quarter_only() -> None:
    x = [0.05 + 0.1 * i for i in range(10)]
    study = told([("full", v, 1e6 * (v - 0.3) ** 2, 1e-9) for v in x], sources=("full", "half"))
    sampler = MisoWildSampler(method="paper", query_sources=["full"])
    figure = plot_acquisition(study, sampler=sampler)
    (line,) = (trace for trace in figure.data if trace.mode == "lines")
    expected = sampler.model(study).acquisition([{"x": x} for x in line.x], "full")
    assert np.ptp(expected) > 1e4
    least = np.quantile(expected, 0.25)
    np.testing.assert_allclose(line.y, np.maximum(expected, least), atol=1e-3 * np.ptp(expected))


def test_no_acquisition_is_higher_than_said() -> None:
    sampler = MisoWildSampler(n_startup_trials=1)
    figure = plot_acquisition(study_of(20, six_d), ["x"], sampler=sampler)
    (star,) = traces(figure, "Next")
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    highest_of = {line.name.split(": ")[0]: float(line.name.split(": ")[1]) for line in lines}
    # In six dimensions, the best place would hardly be met by chance.
    source = figure.layout.title.text.split("Next: ")[1].split(" at ")[0]
    assert highest_of[source] == pytest.approx(star.y[0], rel=5e-3)


def test_the_highest_acquisition_is_found() -> None:
    view = FigureData(study_of(5, two_d)).view

    def peak(params: list[dict[str, Any]]) -> Any:
        values = np.array([-abs(p["x"] - 0.3) - abs(np.log10(p["y"])) for p in params])
        return np.where(values > -0.5, values, -np.inf)  # Excluded elsewhere.

    assert -0.02 < highest(view, peak, []) < 0.0
    assert highest(view, peak, [{"x": 0.3, "y": 1.0}]) == 0.0
    assert highest(view, lambda params: np.full(len(params), -np.inf), []) == -np.inf
