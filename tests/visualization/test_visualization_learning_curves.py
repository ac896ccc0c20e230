"""The figure of the learning curves, and the others where the sources are steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest

from optuna_misowild import MisoWildSampler
from optuna_misowild.dashboard import figures_of
from optuna_misowild.figure_data import FigureData
from optuna_misowild.study.attributes import RUNG_KEY
from optuna_misowild.visualization import plot_cost_history
from optuna_misowild.visualization import plot_learning_curves
from optuna_misowild.visualization import plot_source_usage


STEPS = (2, 6, 18)
# How far each training goes, how far it was meant to, and how it ends.
TRAININGS = [
    (18, 18, TrialState.COMPLETE),
    (18, 18, TrialState.COMPLETE),
    (18, 2, TrialState.COMPLETE),
    (2, 2, TrialState.PRUNED),
    (2, 2, TrialState.PRUNED),
    (6, 6, TrialState.PRUNED),
    (2, 18, TrialState.PRUNED),
    (4, 18, TrialState.FAIL),
    (3, 18, TrialState.RUNNING),
]


def study_of(sign: float = 1.0, first: int = 1) -> optuna.Study:
    study = optuna.create_study(
        direction="minimize" if sign > 0 else "maximize",
        sampler=MisoWildSampler(steps=STEPS, seed=0),
    )
    for i, (last, meant, state) in enumerate(TRAININGS):
        x = (0.1 + 0.618 * i) % 1.0
        reports = {t: sign * ((x - 0.3) ** 2 + 1.0 / (t + 1)) for t in range(first, last + 1)}
        visits: dict[str, Any] = {}
        for step in STEPS:
            if step <= last and state != TrialState.FAIL:
                stops = step == last and state == TrialState.PRUNED
                known = [-3.0, -2.0] if stops and meant == last else [None, None]
                visits[f"{RUNG_KEY}:{step}"] = [float(step), False, stops, *known]
        study.add_trial(
            optuna.create_trial(
                state=state,
                value=reports[last] if state == TrialState.COMPLETE else None,
                params={"x": x},
                distributions={"x": FloatDistribution(0.0, 1.0)},
                intermediate_values=reports,
                user_attrs={"cost": float(last)},
                system_attrs={RUNG_KEY: [max(meant, last if meant == 2 else 0), *STEPS], **visits},
            )
        )
    return study


def ends(figure: Any) -> dict[str, int]:
    return {t.name: len(t.x) for t in figure.data if t.mode == "markers"}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_training_ends_as_it_did(sign: float) -> None:
    figure = plot_learning_curves(study_of(sign))
    assert ends(figure) == {
        "Trained to the End": 3,
        "Stopped at Its Rung": 3,
        "Stopped Early": 1,
        "Ended Otherwise": 1,
        "Running": 1,
        "Predicted End": 6,  # Of the one that runs, and of five.
    }
    answer = (
        "3 trained to the end, 3 stopped at their rung, 1 stopped early, 1 running and 1 ended"
    )
    assert f"Of 9 trainings: {answer} otherwise" in figure.layout.title.text
    assert {shape.x0 for shape in figure.layout.shapes} == set(STEPS)
    (at_rung,) = [t for t in figure.data if t.name == "Stopped at Its Rung" and t.text]
    assert all("going on -3.00, best other -2.00" in text for text in at_rung.text)
    (predicted,) = [t for t in figure.data if t.name == "Predicted End"]
    assert min(predicted.x) > 18 and len(set(predicted.x)) == 6  # Side by side.
    assert (np.array(predicted.error_y.array) > 0.0).all()
    assert predicted.text[0].startswith("Trial 8: ")
    lines = [t for t in figure.data if t.mode == "lines"]
    assert sum(x is None for line in lines for x in line.x) == len(TRAININGS)


def test_steps_from_0_have_a_linear_axis() -> None:
    assert plot_learning_curves(study_of()).layout.xaxis.type == "log"
    assert plot_learning_curves(study_of(first=0)).layout.xaxis.type == "linear"


def test_it_says_why_it_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(steps=STEPS))
    (said,) = plot_learning_curves(study).layout.annotations
    assert said.text == "No trial has reported a value yet."
    (said,) = plot_learning_curves(optuna.create_study()).layout.annotations
    assert said.text == "The sources of this study are no reported steps."
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 2


def test_other_figures_have_the_rungs_as_sources_and_count_an_epoch_once() -> None:
    study = study_of()
    usage = plot_source_usage(study)
    (queries,) = [t for t in usage.data if t.type == "bar" and t.orientation == "h"][:1]
    assert list(queries.y) == ["step 18"]
    counts = {t.y[0]: t.x[0] for t in usage.data if t.type == "bar" and t.orientation == "h"}
    assert counts == {
        "step 18": 3,
        "step 6": 1,
        "step 2": 4,
    }  # The one that failed at 4 had reached 2.
    costs = {t.x[0]: t.y[0] for t in usage.data if t.type == "bar" and t.orientation != "h"}
    assert costs == {"step 18": 54.0, "step 6": 6.0, "step 2": 10.0}
    history = plot_cost_history(study)
    (points,) = [t for t in history.data if t.name == "step 2" and t.mode == "markers"]
    assert len(points.x) == 4
    (line,) = [t for t in history.data if t.name == "Best on step 18"]
    assert line.y[-1] == study.best_value


def test_the_dashboard_has_it_where_there_are_curves() -> None:
    name = "misowild-learning-curves"
    assert name in figures_of(FigureData(study_of()))
    assert name not in figures_of(FigureData(optuna.create_study(sampler=MisoWildSampler())))
