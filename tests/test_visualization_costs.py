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
from studies_to_see import study_of
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
    assert -9.0 in points.y
    assert points.marker.size < traces(figure, "full")[0].marker.size


def test_the_history_compares_studies_by_name() -> None:
    studies = {"a": study_of(10), "b": study_of(20)}
    figure = plot_cost_history(studies)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [line.name for line in lines] == ["a", "b"]
    for line, study in zip(lines, studies.values(), strict=True):
        assert line.x[-1] == pytest.approx(cumulated_cost(study))
    assert len(plot_cost_history([*studies.values()]).data) == 4


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
    assert -99.0 not in traces(figure, "full")[0].y


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
    assert figure.layout.yaxis.range == (2.5, -0.5)  # The preferred source is at the top.


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
    study = study_of(21, sources=())
    symbols = plot_source_usage(study).data[0].marker.symbol
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.FAIL) == symbols.count("x") == 3
    assert states.count(TrialState.PRUNED) == symbols.count("circle-open") == 3


def test_unit_of_costs() -> None:
    assert plot_cost_history(study_of(5)).layout.xaxis.title.text == "Cumulated Cost"
    timed = plot_cost_history(study_of(5, costs=False))
    assert timed.layout.xaxis.title.text == "Cumulated Cost (s)"
