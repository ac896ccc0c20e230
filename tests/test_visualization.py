from __future__ import annotations

from collections.abc import Callable
import json
import math
import sys
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
import plotly.graph_objects as go
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import visualization
from optuna_misowild.visualization import plot_acquisition
from optuna_misowild.visualization import plot_cost_history
from optuna_misowild.visualization import plot_cost_model
from optuna_misowild.visualization import plot_discrepancy
from optuna_misowild.visualization import plot_objective_model
from optuna_misowild.visualization import plot_source_usage
from optuna_misowild.visualization import plot_source_worth


SOURCES = ("full", "half", "tenth")
OF_PARAMS = [plot_acquisition, plot_cost_model, plot_discrepancy, plot_objective_model]
ALL = [plot_cost_history, plot_source_usage, plot_source_worth, *OF_PARAMS]


def one_d(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0)


def two_d(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + 0.1 * math.log10(
        trial.suggest_float("y", 1e-3, 1e3, log=True)
    )


def with_category(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + (trial.suggest_categorical("k", "ab") == "a")


def six_d(trial: optuna.Trial) -> float:
    value = two_d(trial)
    value += 0.1 * trial.suggest_int("n", 1, 8) + 0.001 * trial.suggest_int("m", 1, 99, log=True)
    value += trial.suggest_float("step", 0.0, 1.0, step=0.25)
    return value + 0.5 * (trial.suggest_categorical("kind", ["a", None, True]) == "a")


def study_of(
    n_trials: int,
    space: Callable[[optuna.Trial], float] = one_d,
    *,
    sources: tuple[str, ...] = SOURCES,
    direction: str = "minimize",
    sampler: optuna.samplers.BaseSampler | None = None,
    costs: bool = True,
) -> optuna.Study:
    """A study as it is when it is loaded to be looked at: with a sampler that is not ours."""

    def objective(trial: optuna.Trial) -> float:
        source = 0
        if sources:
            source = sources.index(trial.suggest_categorical("source", sources))
        value = space(trial)
        if costs:
            trial.set_user_attr("cost", (1.0 + trial.params["x"]) / 10.0**source)
        if trial.number % 7 == 5:
            raise optuna.TrialPruned
        if trial.number % 7 == 6:
            raise RuntimeError
        value = math.sin(5.0 * value) + 0.05 * source
        return -value if direction == "maximize" else value

    sampler = optuna.samplers.RandomSampler(seed=0) if sampler is None else sampler
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(objective, n_trials=n_trials, catch=RuntimeError)
    return study


def running(study: optuna.Study) -> optuna.Study:
    """The same study with another trial that has just begun, and one with its parameters."""
    study.ask()
    study.ask(dict(study.trials[0].distributions))
    study.enqueue_trial({"x": 0.5})
    return study


def added() -> optuna.Study:
    """A study of trials that no sampler has seen."""
    study = optuna.create_study()
    distribution = optuna.distributions.FloatDistribution(0.0, 1.0)
    for x in (0.1, 0.4, 0.9):
        study.add_trial(
            optuna.create_trial(params={"x": x}, distributions={"x": distribution}, value=x**2)
        )
    return study


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
    "infinite": lambda: _with_value(study_of(10), math.inf),
    "huge": lambda: _with_value(study_of(10), 1e30),
    "constant": lambda: study_of(10, lambda trial: 0.0 * one_d(trial)),
    "no parameter": lambda: _without_parameters(),
    "cost-cooling": lambda: study_of(12, sampler=CarboCoolingSampler(alpha=1.0, seed=0)),
    "paper": lambda: study_of(15, two_d, sampler=MisoWildSampler(method="paper", seed=0)),
}


def _only_running() -> optuna.Study:
    study = optuna.create_study()
    study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    return study


def _with_value(study: optuna.Study, value: float) -> optuna.Study:
    trial = study.trials[0]
    study.add_trial(
        optuna.create_trial(params=trial.params, distributions=trial.distributions, value=value)
    )
    return study


def _without_parameters() -> optuna.Study:
    study = optuna.create_study()
    study.optimize(lambda trial: 1.0, n_trials=3)
    return study


def traces(figure: go.Figure, name: str, mode: str | None = None) -> list[Any]:
    return [t for t in figure.data if t.name == name and (mode is None or t.mode == mode)]


@pytest.mark.parametrize("kind", STUDIES)
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


@pytest.mark.parametrize("plot", ALL)
def test_without_a_value_it_says_so(plot: Any, caplog: pytest.LogCaptureFixture) -> None:
    figure = plot(optuna.create_study())
    assert not figure.data
    assert "yet" in figure.layout.annotations[0].text
    assert "does not have any" in caplog.text


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_line_of_the_history_is_the_best_on_the_preferred_source(direction: str) -> None:
    study = study_of(30, direction=direction)
    (line,) = traces(plot_cost_history(study), "Best on full")
    best = math.inf if direction == "minimize" else -math.inf
    spent, x, y = 0.0, [], []
    for trial in study.trials:
        spent += trial.user_attrs["cost"]
        if trial.state == TrialState.COMPLETE and trial.params["source"] == "full":
            assert trial.value is not None
            if (trial.value < best) if direction == "minimize" else (trial.value > best):
                best = trial.value
                x.append(spent)
                y.append(best)
    np.testing.assert_allclose(line.x, [*x, cumulated_cost(study)])
    np.testing.assert_allclose(line.y, [*y, best])


def test_a_lucky_value_of_a_cheap_source_is_no_result() -> None:
    study = study_of(10)
    distributions = study.trials[0].distributions
    params = {"source": "tenth", "x": 0.5}
    study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=-9.0))
    figure = plot_cost_history(study)
    (line,) = traces(figure, "Best on full")
    assert min(line.y) > -2.0
    (points,) = traces(figure, "tenth")
    assert -9.0 in points.y


def test_the_history_compares_studies_by_name() -> None:
    studies = {"a": study_of(10), "b": study_of(20)}
    figure = plot_cost_history(studies)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [line.name for line in lines] == ["a", "b"]
    for line, study in zip(lines, studies.values(), strict=True):
        assert line.x[-1] == pytest.approx(cumulated_cost(study))
    assert len(plot_cost_history([*studies.values()]).data) == 4


def test_studies_that_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="must all minimise or all maximise"):
        plot_cost_history([study_of(3), study_of(3, direction="maximize")])
    with pytest.raises(ValueError, match="at least one"):
        plot_cost_history([])


def test_an_extreme_value_does_not_flatten_the_history() -> None:
    study = _with_value(study_of(20), 1e30)
    low, high = plot_cost_history(study).layout.yaxis.range
    assert low < study.best_value < high < 10.0
    assert plot_cost_history(study_of(20)).layout.yaxis.range is None


def test_usage_counts_queries_and_costs() -> None:
    study = study_of(30)
    figure = plot_source_usage(study)
    total = 0.0
    for source in SOURCES:
        own = [trial for trial in study.trials if trial.params["source"] == source]
        points, area, queries, costs = sorted(
            traces(figure, source), key=lambda t: (t.type == "bar", t.yaxis)
        )
        assert len(points.x) == len(own) == queries.x[0]
        assert points.x == tuple(trial.number + 1 for trial in own)
        cost = sum(trial.user_attrs["cost"] for trial in own)
        assert area.y[-1] == pytest.approx(cost)
        assert costs.y[0] == pytest.approx(cost)
        total += area.y[-1]
    assert total == pytest.approx(cumulated_cost(study))


def test_usage_shows_how_trials_ended() -> None:
    study = study_of(21, sources=())
    symbols = plot_source_usage(study).data[0].marker.symbol
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.FAIL) == symbols.count("x") == 3
    assert states.count(TrialState.PRUNED) == symbols.count("circle-open") == 3


def test_unit_of_costs() -> None:
    assert plot_cost_history(study_of(5)).layout.xaxis.title.text == "Cumulated Cost"
    timed = plot_cost_history(study_of(5, costs=False))
    assert timed.layout.xaxis.title.text == "Cumulated Cost (s)"


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
    contours = [trace for trace in figure.data if trace.type == "contour"]
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
    contour = [trace for trace in figure.data if trace.type == "contour"][2]
    params = [{"x": x, "y": y} for y in contour.y for x in contour.x]
    expected, _ = sampler.model(study).predict_cost(params, "tenth")
    np.testing.assert_allclose(10.0 ** np.ravel(contour.z).astype(float), expected, rtol=0.02)
    ticks = figure.layout.coloraxis.colorbar
    assert ticks.ticktext[ticks.tickvals.index(-1.0)] == "0.1"


def test_a_category_makes_a_heat_map() -> None:
    figure = plot_objective_model(study_of(20, with_category))
    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(maps) == 6
    assert maps[0].x == ("a", "b")


def misleading_study() -> optuna.Study:
    """A study with a source that is right, and one that is about something else."""

    def objective(trial: optuna.Trial) -> float:
        source = ("full", "right", "wrong")[trial.number % 3]
        trial.suggest_categorical("source", ["full", "right", "wrong"])
        x = (trial.number // 3 + 0.5) / 10.0
        trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        value = math.sin(6.0 * x)
        return {"full": value, "right": value + 3.0, "wrong": math.cos(9.0 * x)}[source]

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler())
    for i in range(30):
        x = (i // 3 + 0.5) / 10.0
        study.enqueue_trial({"source": ("full", "right", "wrong")[i % 3], "x": x})
    study.optimize(objective, n_trials=30)
    return study


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_worth_tells_a_source_that_misleads_from_one_that_helps(method: str) -> None:
    figure = plot_source_worth(misleading_study(), sampler=MisoWildSampler(method=method))
    (full,), (right,), (wrong,) = (traces(figure, name) for name in ("full", "right", "wrong"))
    assert (full.x[0], full.y[0]) == (1.0, 1.0)
    assert right.x[0] == pytest.approx(0.1, rel=0.05)
    assert right.y[0] > 0.9
    assert abs(wrong.y[0]) < 0.6
    assert "10 queries" in right.text[0]


def test_discrepancy_takes_out_what_is_the_same_everywhere() -> None:
    figure = plot_discrepancy(misleading_study())
    right = next(t for t in figure.data if t.name.startswith("right: ") and t.line.width)
    wrong = next(t for t in figure.data if t.name.startswith("wrong: ") and t.line.width)
    assert right.name == "right: ρ = 1, +3"
    assert np.abs(right.y).max() < 0.1
    assert np.abs(wrong.y).max() > 0.5


def test_discrepancy_of_a_single_source() -> None:
    figure = plot_discrepancy(study_of(10, sources=()))
    assert "no other source" in figure.layout.annotations[0].text


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


def test_what_the_user_has_constrained_is_no_result() -> None:
    study = study_of(10)
    trial = study.trials[0]
    key = "constraints:mine" if hasattr(optuna.Trial, "set_constraint") else "constraints"
    value = 1.0 if key != "constraints" else [1.0, 0.0]
    study.add_trial(
        optuna.create_trial(
            params={**trial.params, "source": "full"},
            distributions=trial.distributions,
            value=-99.0,
            system_attrs={key: value},
        )
    )
    figure = plot_cost_history(study)
    assert min(traces(figure, "Best on full")[0].y) > -2.0
    assert traces(figure, "Infeasible Trial")[0].y == (-99.0,)


def test_without_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert visualization.is_available()
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    assert not visualization.is_available()
    with pytest.raises(ImportError, match=r'pip install "optuna-misowild\[visualization\]"'):
        plot_cost_history(study_of(3))
