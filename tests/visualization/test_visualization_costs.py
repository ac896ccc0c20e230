"""The figures of what was spent: the history of costs, and the use of sources."""

from __future__ import annotations

from datetime import datetime
from datetime import timedelta
import math

import numpy as np
import optuna
from optuna.trial import TrialState
import pytest
from studies_to_see import SOURCES
from studies_to_see import infeasible_best
from studies_to_see import study_of
from studies_to_see import told
from studies_to_see import traces
from studies_to_see import with_value

from optuna_misowild import cumulated_cost
from optuna_misowild.visualization import plot_cost_history
from optuna_misowild.visualization import plot_source_usage


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
    assert line.line.shape == "hv"  # No value that was never had.


def test_a_lucky_value_of_a_cheap_source_is_no_result() -> None:
    study = study_of(10)
    distributions = study.trials[0].distributions
    params = {"source": "tenth", "x": 0.5}
    study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=-9.0))
    figure = plot_cost_history(study)
    (line,) = traces(figure, "Best on full")
    assert min(line.y) > -2.0
    (points,) = traces(figure, "tenth")
    assert points.y == tuple(
        t.value for t in study.trials if t.params["source"] == "tenth" and t.value is not None
    )
    assert any("value: -9<br>" in text for text in points.text)
    assert points.marker.size < traces(figure, "full")[0].marker.size


def test_the_history_compares_studies_by_name() -> None:
    studies = {"a": study_of(10), "b": study_of(20)}
    figure = plot_cost_history(studies)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [line.name for line in lines] == ["a", "b"]
    for line, study in zip(lines, studies.values(), strict=True):
        assert line.x[-1] == pytest.approx(cumulated_cost(study))
    assert len({line.line.color for line in lines}) == 2
    for points, line, study in zip(figure.data[::2], lines, studies.values(), strict=True):
        assert points.marker.color == line.line.color
        full = [trial.value for trial in study.trials if trial.params["source"] == "full"]
        assert points.y == tuple(value for value in full if value is not None)
    assert len(plot_cost_history([*studies.values()]).data) == 4


def test_a_comparison_leaves_out_what_is_no_result(caplog: pytest.LogCaptureFixture) -> None:
    one, other = infeasible_best(), told([("half", 0.5, 1.0, 1.0)])
    figure = plot_cost_history({"one": one, "other": other})
    assert [trace.name for trace in figure.data] == ["one", "one"]
    assert min(figure.data[0].y) > -2.0
    assert "The study 'other' has no value of its preferred source yet." in caplog.text
    empty = plot_cost_history([other])
    assert "No study has a value" in empty.layout.annotations[0].text


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bad_first_values_do_not_flatten_a_comparison(sign: float) -> None:
    def study(values: list[float]) -> optuna.Study:
        study = optuna.create_study(direction="minimize" if sign > 0.0 else "maximize")
        for value in values:
            study.add_trial(optuna.create_trial(value=sign * value, user_attrs={"cost": 1.0}))
        return study

    # Ten trials: the tenth of the money is the first trial; twenty: the first two.
    studies = [study([9.0, 5.0] + [4.0] * 8), study([1e6, 8.0, 3.0] + [7.0] * 17)]
    bounds = plot_cost_history(studies).layout.yaxis.range
    # 3 is the best value, 9 the worst after the beginning, with 6 % of the difference around.
    assert sorted(sign * bound for bound in bounds) == pytest.approx([2.64, 9.36])


def test_studies_that_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="must all minimise or all maximise"):
        plot_cost_history([study_of(3), study_of(3, direction="maximize")])
    with pytest.raises(ValueError, match="at least one"):
        plot_cost_history([])


def test_an_extreme_value_does_not_flatten_the_history() -> None:
    study = with_value(study_of(20), 1e30)
    figure = plot_cost_history(study)
    low, high = figure.layout.yaxis.range
    assert low < study.best_value < high < 10.0
    assert "2 worse values lie outside" in figure.layout.title.text
    values = [1.0, 2.0, 3.0, 2.5, 1.5, 1e30]
    figure = plot_cost_history(told([("full", 0.1, value, 1.0) for value in values]))
    assert "<sup>1 worse value lies outside;" in figure.layout.title.text
    assert plot_cost_history(study_of(20)).layout.yaxis.range is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_line_that_falls_by_little_is_seen_to_fall(sign: float) -> None:
    study = optuna.create_study(direction="minimize" if sign > 0.0 else "maximize")
    for value in [0.9, 0.04, *[0.8, 0.7, 0.6, 0.5] * 4, 0.035, 0.03]:
        study.add_trial(optuna.create_trial(value=sign * value, user_attrs={"cost": 1.0}))
    figure = plot_cost_history(study)
    # From 0.03, twenty times what the line falls after a tenth of the money, and a tenth around.
    assert sorted(sign * bound for bound in figure.layout.yaxis.range) == pytest.approx(
        [0.01, 0.25]
    )
    assert "17 worse values lie outside; a double click" in figure.layout.title.text


def test_what_the_user_has_constrained_is_no_result() -> None:
    figure = plot_cost_history(infeasible_best())
    assert min(traces(figure, "Best on full")[0].y) > -2.0
    assert traces(figure, "Infeasible Trial")[0].y == (-99.0,)
    assert -99.0 not in traces(figure, "full")[0].y
    colors = {name: traces(figure, name)[0].marker.color for name in SOURCES}
    assert len({*colors.values()}) == 3
    assert traces(figure, "Infeasible Trial")[0].marker.color == (colors["full"],)
    assert traces(figure, "Infeasible Trial")[0].marker.symbol == "circle-open"
    assert traces(figure, "Best on full")[0].line.color == traces(figure, "full")[0].marker.color


def test_usage_counts_queries_and_costs() -> None:
    study = study_of(30)
    figure = plot_source_usage(study)
    total, seen = 0.0, []
    for source in SOURCES:
        own = [trial for trial in study.trials if trial.params["source"] == source]
        points, area, queries, costs = sorted(
            traces(figure, source), key=lambda t: (t.type == "bar", t.yaxis)
        )
        assert len(points.x) == len(own) == queries.x[0]
        assert points.x == tuple(trial.number + 1 for trial in own)
        paid = [(trial in own) * trial.user_attrs["cost"] for trial in study.trials]
        assert area.x == tuple(range(1, 31))
        np.testing.assert_allclose(area.y, np.cumsum(paid))
        assert costs.y[0] == pytest.approx(sum(paid))
        total += area.y[-1]
        # What a trial has cost is paid at once, on top of what the other sources have cost.
        assert (area.line.shape, area.stackgroup) == ("hv", "cost")
        share = f"{sum(paid) / cumulated_cost(study):.0%}"
        assert costs.text == (f"{sum(paid):.3g}<br>{share}",)
        assert queries.text == (str(len(own)),)
        colors = [points.marker.color, area.line.color, queries.marker.color, costs.marker.color]
        assert len(set(colors)) == 1
        seen.append(colors[0])
        assert [text.split("<br>")[0] for text in points.text] == [
            f"<b>Trial {trial.number}</b>" for trial in own
        ]
    assert len(set(seen)) == 3
    assert total == pytest.approx(cumulated_cost(study))
    layout = figure.layout
    assert layout.yaxis.range == (2.5, -0.5)  # The preferred source is at the top.
    assert layout.xaxis4.categoryarray == SOURCES  # And to the left.
    assert layout.xaxis.range == (0, 31)
    assert layout.yaxis3.range[1] > total
    assert layout.yaxis3.title.text == "Cumulated Cost"


def test_each_of_many_sources_has_its_own_colour() -> None:
    figure = plot_source_usage(study_of(30, sources=tuple(f"s{i}" for i in range(12))))
    assert len({trace.marker.color for trace in figure.data if trace.type == "bar"}) == 12


def test_trials_stand_where_the_money_was_when_they_finished() -> None:
    study = optuna.create_study()
    begin = datetime(2026, 1, 1)
    # The first trial ends last, and nobody knows what the second has cost.
    for seconds, cost in ((9, 4.0), (5, math.nan), (7, 2.0)):
        study.add_trial(
            optuna.trial.FrozenTrial(
                number=0,
                state=TrialState.COMPLETE,
                value=float(seconds),
                datetime_start=begin,
                datetime_complete=begin + timedelta(seconds=seconds),
                params={"x": 0.5},
                distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
                user_attrs={"cost": cost},
                system_attrs={},
                intermediate_values={},
                trial_id=0,
            )
        )
    (points,) = traces(plot_cost_history(study), "objective")
    assert points.y == (5.0, 7.0, 9.0)
    assert points.x == (0.0, 2.0, 6.0)
    assert points.text[0] == (
        "<b>Trial 1</b><br>source: objective<br>value: 5<br>cost: unknown<br>x: 0.5"
    )


def test_the_mouse_shows_the_source_once() -> None:
    (points,) = traces(plot_cost_history(study_of(10)), "full")
    assert points.text[0].count("full") == points.text[0].count("source") == 1


def test_a_value_that_is_only_twice_as_bad_is_shown() -> None:
    study = optuna.create_study()
    for value in [2.0, *np.linspace(1.0, 0.1, 10).tolist()]:
        study.add_trial(optuna.create_trial(value=value, user_attrs={"cost": 1.0}))
    assert plot_cost_history(study).layout.yaxis.range is None


def test_usage_shows_how_trials_ended() -> None:
    study = study_of(21)
    for source in SOURCES:
        own = [trial for trial in study.trials if trial.params["source"] == source]
        (points,) = traces(plot_source_usage(study), source, "markers")
        symbols = {"COMPLETE": "circle", "PRUNED": "circle-open", "FAIL": "x"}
        assert points.marker.symbol == tuple(symbols[trial.state.name] for trial in own)
        for text, trial in zip(points.text, own, strict=True):
            value = trial.value
            ended = f"state: {trial.state.name}" if value is None else f"value: {value:.6g}"
            assert f"<br>{ended}<br>" in text
            assert f"cost: {trial.user_attrs['cost']:.4g}" in text


def test_usage_of_what_is_running_or_has_an_unknown_cost() -> None:
    study = told([("full", 0.1, 1.0, 2.0), ("half", 0.2, 1.0, None), ("half", 0.3, None, 0.5)])
    study.ask(dict(study.trials[0].distributions))
    figure = plot_source_usage(study)
    half = sorted(traces(figure, "half"), key=lambda trace: (trace.type == "bar", trace.yaxis))
    assert half[0].x == (2, 3)
    assert half[1].y == (0.0, 0.0, 0.5)
    assert half[3].text == ("0.5<br>20%",)


def test_what_a_pruned_trial_has_reported_is_no_result() -> None:
    study = optuna.create_study()

    def objective(trial: optuna.Trial) -> float:
        trial.report(-9.0, 1)
        raise optuna.TrialPruned

    study.add_trial(optuna.create_trial(value=1.0))
    study.optimize(objective, n_trials=1)
    assert study.trials[1].value == -9.0
    assert [trace.y for trace in plot_cost_history(study).data] == [(1.0,), (1.0, 1.0)]


def test_unit_of_costs() -> None:
    own, timed = study_of(5), study_of(5, costs=False)
    unknown = told([("full", 0.5, 1.0, None)])
    for study, title in (
        (own, "Cumulated Cost"),
        (timed, "Cumulated Cost (s)"),
        (unknown, "Cumulated Cost"),
        ({"own": own, "timed": timed}, "Cumulated Cost"),
        ({"timed": timed, "again": timed}, "Cumulated Cost (s)"),
    ):
        axis = plot_cost_history(study).layout.xaxis
        assert (axis.title.text, axis.rangemode) == (title, "tozero")
    assert plot_source_usage(timed).layout.yaxis3.title.text == "Cumulated Cost (s)"


def test_the_titles_answer_what_was_found_and_what_it_took() -> None:
    rows = [("full", 0.1, 2.0, 4.0), ("half", 0.2, 0.5, 1.0), ("full", 0.3, 1.0, 4.0)]
    study = told([*rows, ("half", 0.4, 3.0, 1.0), ("half", 0.5, 3.0, None)])
    history, usage = plot_cost_history(study), plot_source_usage(study)
    assert (
        "The best on full, 1, was found by trial 2, with 90% of the cost"
        in history.layout.title.text
    )
    assert "Most of the cost on full: 80%; 3 of 5 queries on half" in usage.layout.title.text
    study.set_metric_names(["log-loss"])
    assert plot_cost_history(study).layout.yaxis.title.text == "log-loss"
