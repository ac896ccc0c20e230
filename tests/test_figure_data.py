"""What all figures share: whose settings count, and what the models have seen."""

from __future__ import annotations

from collections.abc import Callable
import re
from typing import Any

from curve_studies import STEPS
from curve_studies import study_of as trainings
import numpy as np
import optuna
import pytest
from studies_to_see import SOURCES
from studies_to_see import study_of
from studies_to_see import told
from studies_to_see import traces
from studies_to_see import two_d

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import figure_data
from optuna_misowild import recommend
from optuna_misowild.figure_data import FigureData
from optuna_misowild.study.attributes import RUNG_KEY
from optuna_misowild.visualization import plot_acquisition
from optuna_misowild.visualization import plot_cost_history
from optuna_misowild.visualization import plot_cost_model
from optuna_misowild.visualization import plot_discrepancy
from optuna_misowild.visualization import plot_objective_model
from optuna_misowild.visualization import plot_source_usage
from optuna_misowild.visualization import plot_source_worth


FIGURES = [
    plot_acquisition,
    plot_cost_history,
    plot_cost_model,
    plot_discrepancy,
    plot_objective_model,
    plot_source_usage,
    plot_source_worth,
]


def test_the_settings_of_the_sampler_that_is_given_count() -> None:
    study = study_of(12)
    sampler = MisoWildSampler(method="paper", preferred_source="half")
    data = FigureData(study, sampler)
    assert data.labels == ("half", "full", "tenth")
    assert data.recommendation is not None
    assert data.recommendation.params == recommend(study, sampler=sampler).params
    assert data.recommendation.to_enqueue()["source"] == "half"
    assert hasattr(data.model, "inducing")  # The paper's.


def test_cost_cooling_shows_the_only_source_it_learns_from() -> None:
    values = [0.1 * i for i in range(9)]
    rows = [("full", x, x, 1.0) for x in values] + [("half", x, 99.0 * x, 1.0) for x in values]
    study = told([*rows, ("full", 0.95, 1e6, 1.0), ("half", 0.95, 1e6, 1.0)])
    alone = told([*rows[:9], ("full", 0.95, 1e6, 1.0)], sources=("full",))
    figures = [
        plot_objective_model(one, sampler=CarboCoolingSampler(alpha=1.0)) for one in (study, alone)
    ]
    assert {trace.name for trace in figures[0].data} == {"full", "Recommended"}
    # How far an outlier is moved in follows from the values of this source alone.
    points = [traces(figure, "full", "markers")[0] for figure in figures]
    assert points[0].y == points[1].y
    assert 1.0 < max(points[0].y) < 20.0
    assert "full: 1 to" in figures[0].layout.title.text
    both = plot_objective_model(study, sampler=MisoWildSampler()).layout.title.text
    assert re.search(r": full: 1 to \d\S+; half: 1 to \d\S+</sup>$", both)
    history = plot_cost_history(study, sampler=CarboCoolingSampler(alpha=1.0))
    assert "for the model: " in traces(history, "full")[0].text[-1]
    assert "for the model: " not in traces(history, "half")[0].text[-1]


def test_of_a_training_it_shows_what_the_models_have_seen_of_its_last_step() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(steps=STEPS))
    for trial in trainings().trials:
        # One to the end; of two that have ended at the first step, one was meant to go on.
        if trial.number in (1, 9, 10):
            trial.intermediate_values[STEPS[0]] = 1e6
        if trial.number == 9:
            trial.system_attrs[RUNG_KEY] = [STEPS[-1], *STEPS]
        study.add_trial(trial)
    data = FigureData(study)
    hovers = {query.trial.number: data.hover(query) for query in data.queries}
    assert {n for n, text in hovers.items() if "for the model" in text} == {9, 10}
    figure = plot_objective_model(study, ["x"])
    (points,) = traces(figure, "step 18", "markers")
    assert list(points.y) == [query.value for query in data.queries if query.source == 0]
    (points,) = traces(figure, "step 2", "markers")
    assert 1.0 < max(points.y) < 100.0
    assert re.search(r"shown so: step 2: 2 to [\d.]+\. ", figure.layout.title.text)


@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_values_whose_squares_overflow_are_shown_as_they_are() -> None:
    values = [1e98 * i for i in range(9)] + [1e160, 1e300]
    study = told([("full", 0.09 * i, y, 1.0) for i, y in enumerate(values)], sources=("full",))
    figure = plot_objective_model(study)
    (points,) = traces(figure, "full", "markers")
    assert points.y[:-2] == pytest.approx(values[:-2])
    # Of the two that count as 1e100 the order is lost.
    _, line = traces(figure, "full", "lines")
    assert 1e98 < np.abs(line.y).max() < 1e101


def test_without_a_recommendation_slices_go_through_the_middle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(*args: object) -> None:
        raise ValueError

    monkeypatch.setattr(figure_data, "recommend_from", nothing)
    study = study_of(8, two_d)
    sampler = MisoWildSampler()
    figure = plot_objective_model(study, ["x"], sampler=sampler)
    assert not traces(figure, "Recommended")
    for name in SOURCES:
        _, line = traces(figure, name, "lines")
        params: list[dict[str, Any]] = [{"x": x, "y": 1.0} for x in line.x]
        expected, _ = sampler.model(study).predict(params, name)
        np.testing.assert_allclose(line.y, expected, atol=2e-3)


def test_costs_in_seconds_say_so() -> None:
    figure = plot_cost_model(study_of(10, costs=False))
    assert figure.layout.yaxis.title.text == "Cost (s)"
    assert plot_cost_model(study_of(10)).layout.yaxis.title.text == "Cost"
    sampler = MisoWildSampler(n_startup_trials=1)
    next_one = plot_acquisition(study_of(10, costs=False, sources=()), sampler=sampler)
    assert re.search(r"cost \S+ s</sup>$", next_one.layout.title.text)


@pytest.mark.parametrize("plot", FIGURES)
@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_figure_is_of_one_moment(
    plot: Callable[..., Any], is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while other workers add trials: here, one whenever the trials are read."""
    study = study_of(12)
    if is_loaded:
        study.sampler = optuna.samplers.RandomSampler()
    expected = plot(study).to_json()
    read = study._storage.get_all_trials
    n_reads = 0

    def read_and_add(*args: Any, **kwargs: Any) -> Any:
        nonlocal n_reads
        n_reads += 1
        trials = read(*args, **kwargs)
        study.add_trial(trials[n_reads])
        return trials

    monkeypatch.setattr(study._storage, "get_all_trials", read_and_add)
    assert plot(study).to_json() == expected
    assert n_reads == 1


def test_a_recommendation_is_of_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(12)
    study.sampler = optuna.samplers.RandomSampler()
    read = study._storage.get_all_trials
    reads = []
    monkeypatch.setattr(
        study._storage, "get_all_trials", lambda *a, **k: reads.append(1) or read(*a, **k)
    )
    recommend(study)
    assert len(reads) == 1
