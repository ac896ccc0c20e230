"""The figure of worth: what the queries of each source have shown."""

from __future__ import annotations

import math
from typing import Any

import optuna
import plotly.graph_objects as go
import pytest
from studies_to_see import misleading_study
from studies_to_see import told

from optuna_misowild import MisoWildSampler
from optuna_misowild import RobustMethod
from optuna_misowild import source_verdicts
from optuna_misowild.dashboard import note_of
from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization import plot_source_worth
from optuna_misowild.visualization._figure import source_colors
from optuna_misowild.worth import Worth


def point(figure: go.Figure, source: str) -> go.Scatter:
    (found,) = (t for t in figure.data if t.name is not None and t.name.startswith(f"{source}: "))
    return found


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_worth_tells_a_source_that_misleads_from_one_that_helps(method: str) -> None:
    figure = plot_source_worth(misleading_study(), sampler=MisoWildSampler(method=method))
    full, right, wrong = (point(figure, name) for name in ("full", "right", "wrong"))
    assert (full.x[0], full.y[0]) == (1.0, 1.0)
    assert right.x[0] == pytest.approx(0.1, rel=0.05)
    assert right.y[0] > 0.99
    assert right.name == "right: 10 values, 8% of the cost<br>   worth its cost"
    assert right.marker.color != "white"
    assert wrong.y[0] < 0.3
    assert wrong.name.endswith("   not worth its cost")
    assert wrong.y[0] + wrong.error_y.array[0] < 1.0


def test_a_source_that_was_hardly_asked_is_not_taken_for_a_good_one() -> None:
    study = misleading_study(n_right=4)
    figure = plot_source_worth(study, sampler=MisoWildSampler())
    right = point(figure, "right")
    assert right.name == "right: 4 values, 4% of the cost<br>   too few values"
    assert (right.marker.color, right.error_y.visible) == ("white", False)
    # Below the axis of correlations, at a tick of its own.
    ticks = dict(zip(figure.layout.yaxis.ticktext, figure.layout.yaxis.tickvals, strict=True))
    assert right.y[0] == ticks.pop("too few<br>values") < min(ticks.values())
    answer = figure.layout.title.text.split("<br>")[1]
    assert (
        answer
        == "<sup>wrong was not worth its cost; right was observed too rarely for a verdict</sup>"
    )
    full = point(plot_source_worth(study, sampler=MisoWildSampler()), "full")
    assert right.marker.line.color not in {
        full.marker.line.color,
        *source_colors(FigureData(study)),
    }
    once = plot_source_worth(misleading_study(n_right=1), sampler=MisoWildSampler())
    assert point(once, "right").name.startswith("right: 1 value, ")


def test_nor_is_one_where_the_preferred_source_was_hardly_asked() -> None:
    few = [("full", 0.2 * i, 0.2 * i, 1.0) for i in range(4)]
    study = told([*few, *(("half", 0.1 * i, 0.1 * i, 0.1) for i in range(10))])
    half = point(plot_source_worth(study, sampler=MisoWildSampler()), "half")
    assert half.name == "half: 10 values, 20% of the cost<br>   too few preferred values"
    assert half.y[0] < -0.1


def test_values_that_diverge_leave_a_correlation() -> None:
    bad = {3: 1e3, 6: 1e30}
    rows = [
        (source, 0.1 * i, bad.get(i, math.sin(0.6 * i)), cost)
        for source, cost in (("full", 1.0), ("half", 0.1))
        for i in range(10)
    ]
    half = point(plot_source_worth(told(rows), sampler=MisoWildSampler()), "half")
    assert half.y[0] > 0.95


def test_a_relative_cost_is_the_geometric_mean_over_where_the_source_was_asked() -> None:
    rows = [("full", 0.1 * i, 0.1 * i, 1.0) for i in range(10)]
    # A tenth in the middle, a thousandth at the end, and there only.
    rows += [("half", x, x, 10.0 ** (3.0 - 8.0 * x)) for x in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75)]
    study = told([*rows, ("half", 0.5, None, None)])
    figure = plot_source_worth(study, sampler=MisoWildSampler())
    half = point(figure, "half")
    assert half.x[0] == pytest.approx(10.0**-2.0, rel=0.1)
    assert f"relative cost: {half.x[0]:.3g}<br>correlation: 1.000" in half.hovertemplate
    assert half.name.startswith("half: 6 values, 2% of the cost")
    low, high = figure.layout.xaxis.range
    assert low < math.log10(half.x[0]) < 0.0 < high


def test_a_source_below_the_line_of_even_worth_is_in_the_picture() -> None:
    rows = [("full", 0.1 * i, 0.1 * i, 1.0) for i in range(10)]
    rows += [("half", 0.1 * i, -0.1 * i, 30.0) for i in range(10)]
    figure = plot_source_worth(told(rows), sampler=MisoWildSampler())
    half = point(figure, "half")
    layout = figure.layout
    assert half.y[0] < -0.9
    assert layout.yaxis.range[0] < half.y[0] - half.error_y.arrayminus[0]
    assert layout.xaxis.type == "log"
    assert math.log10(half.x[0]) < layout.xaxis.range[1]
    labels = dict(zip(layout.xaxis.ticktext, layout.xaxis.tickvals, strict=True))
    assert labels["0.1"] == pytest.approx(0.1)
    area, line = figure.data[:2]
    assert line.y == pytest.approx([math.sqrt(x) for x in line.x])
    assert (line.x[-1], area.y[-1]) == (1.0, 1.0)  # The area is above the line.


def test_points_tell_how_often_and_names_keep_apart() -> None:
    figure = plot_source_worth(misleading_study(n_right=4), sampler=MisoWildSampler())
    full, right, wrong = (point(figure, name) for name in ("full", "right", "wrong"))
    assert wrong.marker.size == full.marker.size == 36.0
    assert right.marker.size == pytest.approx(9.0 + 27.0 * math.sqrt(0.4))
    assert not full.error_y.visible
    assert [trace.legendrank for trace in (full, right, wrong)] == [0, 1, 2]
    figure = plot_source_worth(misleading_study(), sampler=MisoWildSampler())
    sides = [point(figure, name).textposition for name in ("right", "wrong")]
    assert sorted(sides) == ["middle left", "middle right"]


def test_what_all_values_have_in_common_is_no_correlation() -> None:
    rows = [("full", 0.1 * i, 9.0 + 0.1 * i, 1.0) for i in range(10)]
    rows += [("half", 0.1 * i, 9.0 + (-1.0) ** i, 0.1) for i in range(10)]
    half = point(plot_source_worth(told(rows), sampler=MisoWildSampler()), "half")
    assert abs(half.y[0]) < 0.3


def test_many_sources_have_room_in_the_legend() -> None:
    names = tuple(f"s{i}" for i in range(9))
    study = told([(name, 0.1 * i, 0.1 * i, None) for i, name in enumerate(names)], sources=names)
    figure = plot_source_worth(study)
    assert figure.layout.height == 180 + 36 * 9  # Two lines each.
    assert (
        point(figure, "s8").name == "s8: 1 value<br>   too few values of both"
    )  # Nothing was paid.


def test_the_interval_is_that_of_so_many_pairs() -> None:
    wrong = point(plot_source_worth(misleading_study(), sampler=MisoWildSampler()), "wrong")
    r = wrong.y[0]
    expected = math.tanh(math.atanh(r) + 1.96 / math.sqrt(10 - 3))  # Fisher's, of ten pairs
    assert r + wrong.error_y.array[0] == pytest.approx(expected)
    expected = math.tanh(math.atanh(r) - 1.96 / math.sqrt(10 - 3))
    assert r - wrong.error_y.arrayminus[0] == pytest.approx(expected)


def test_no_source_vouches_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    fit = RobustMethod.fit

    def spy(self: RobustMethod, observations: Any, domain: Any) -> Any:
        seen.append(set(observations.source.tolist()))
        return fit(self, observations, domain)

    monkeypatch.setattr(RobustMethod, "fit", spy)
    plot_source_worth(misleading_study(), sampler=MisoWildSampler())
    assert {0, 2} in seen and {0, 1} in seen


def test_a_source_that_was_never_asked() -> None:
    study = misleading_study(n_right=0)
    right = point(plot_source_worth(study, sampler=MisoWildSampler()), "right")
    assert right.name == "right: 0 values, 0% of the cost<br>   never queried"
    assert right.x == (None,)


@pytest.mark.parametrize(
    "n_values, n_preferred, n_finished, is_dropped, verdict",
    [
        (4, 5, 4, False, "too few values"),
        (5, 4, 5, False, "too few preferred values"),
        (4, 4, 4, False, "too few values of both"),
        (0, 5, 2, False, "no value"),
        (0, 5, 0, False, "never queried"),
        (1, 3, 1, True, "dropped: hardly cheaper"),
        (0, 3, 1, True, "dropped: hardly cheaper"),
    ],
)
def test_without_a_verdict_it_is_said_why(
    n_values: int, n_preferred: int, n_finished: int, is_dropped: bool, verdict: str
) -> None:
    worth = Worth(
        n_values, 0.1, 0.25, n_finished=n_finished, n_preferred=n_preferred, is_dropped=is_dropped
    )
    assert worth.verdict == verdict


def test_a_source_that_was_asked_in_vain_was_asked() -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["full", "broken", "half"])
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        x = trial.suggest_float("x", 0.0, 1.0)
        return math.nan if source == "broken" else x

    study = optuna.create_study(sampler=MisoWildSampler(query_sources=["full", "broken"], seed=0))
    study.optimize(objective, n_trials=8)
    assert source_verdicts(study) == {"broken": "no value", "half": "never queried"}


@pytest.mark.parametrize("n_right, verdict", [(10, "worth its cost"), (4, "too few values")])
def test_the_verdicts_by_the_choices_are_those_of_the_figure(n_right: int, verdict: str) -> None:
    study = misleading_study(n_right=n_right)
    sampler = MisoWildSampler()
    verdicts = source_verdicts(study, sampler=sampler)
    assert verdicts == {"right": verdict, "wrong": "not worth its cost"}
    figure = plot_source_worth(study, sampler=sampler)
    for source, said in verdicts.items():
        assert point(figure, source).name.endswith(f"   {said}")


def test_there_are_no_verdicts_without_values_or_other_sources() -> None:
    study = optuna.create_study(sampler=MisoWildSampler())
    assert source_verdicts(study) == {}
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert source_verdicts(study) == {}


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.6, 0.9, "worth its cost"), (0.1, 0.4, "not worth its cost"), (0.3, 0.8, "undecided")],
)
def test_the_whole_interval_decides(low: float, high: float, verdict: str) -> None:
    # At a quarter of the cost, a correlation of a half breaks even.
    assert Worth(10, 0.1, 0.25, 0.45, low, high).verdict == verdict


@pytest.mark.parametrize("helps, verdict", [(True, "worth its cost"), (False, "undecided")])
def test_a_source_that_was_paid_elsewhere_is_worth_what_it_tells(
    helps: bool, verdict: str
) -> None:
    values = [math.sin(0.6 * i) for i in range(10)]
    other = values if helps else [0.1 * (-1) ** i for i in range(10)]
    rows = [("full", 0.1 * i, values[i], 1.0) for i in range(10)]
    study = told([*rows, *(("half", 0.1 * i, other[i], None) for i in range(10))])
    sampler = MisoWildSampler()
    assert source_verdicts(study, sampler=sampler) == {"half": verdict, "tenth": "never queried"}
    half = point(plot_source_worth(study, sampler=sampler), "half")
    assert half.x == (None,)
    assert half.name == f"half: 10 values, 0% of the cost<br>   {verdict}"


def test_what_the_models_do_not_know_is_no_agreement() -> None:
    def study(lowest: float) -> optuna.Study:
        """The preferred source asked from 0 to 1/2 only, the other one from ``lowest`` on."""
        places = [
            one
            for i in range(10)
            for one in (("full", 0.05 * i, 1.0), ("half", lowest + 0.05 * i, 0.1))
        ]
        return told([(source, x, math.sin(9.0 * x), cost) for source, x, cost in places])

    near, far = (
        point(plot_source_worth(study(lowest), sampler=MisoWildSampler()), "half").y[0]
        for lowest in (0.0, 0.5)
    )
    assert near > 0.95
    assert abs(far) < 0.5


def test_a_parameter_may_have_been_added() -> None:
    study = optuna.create_study()
    choices = optuna.distributions.CategoricalDistribution(["full", "half"])
    unit = optuna.distributions.FloatDistribution(0.0, 1.0)
    for i in range(32):
        source, place = ("full", "half")[i % 2], {"x": (0.618 * i) % 1.0, "y": (0.755 * i) % 1.0}
        names = "x" if i < 12 else "xy"
        params = {"source": source} | {name: place[name] for name in names}
        trial = optuna.create_trial(
            params=params,
            distributions={"source": choices} | dict.fromkeys(names, unit),
            value=math.sin(3.0 * place["x"]) + place["y"] ** 2,
            user_attrs={"cost": 1.0 if source == "full" else 0.1},
        )
        study.add_trial(trial)
    sampler = MisoWildSampler()
    assert source_verdicts(study, sampler=sampler) == {"half": "worth its cost"}
    half = point(plot_source_worth(study, sampler=sampler), "half")
    assert half.name.startswith("half: 10 values, ")  # Those that the models see.
    assert half.x[0] == pytest.approx(0.1, rel=0.05)
    assert "| half | 16 |" in note_of(FigureData(study, sampler))
