"""How far each training went, and why it stopped there."""

from __future__ import annotations

from collections import Counter
import math
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.figure_data import FigureData
from optuna_misowild.study.attributes import logger
from optuna_misowild.study.attributes import params_of
from optuna_misowild.study.readings import ended_on
from optuna_misowild.study.steps import meant_for
from optuna_misowild.study.steps import visit_of
from optuna_misowild.visualization._figure import empty_figure
from optuna_misowild.visualization._figure import joined
from optuna_misowild.visualization._figure import titled
from optuna_misowild.visualization._figure import value_title
from optuna_misowild.visualization._plotly import colors
from optuna_misowild.visualization._plotly import go


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler


_TITLE = "Learning Curves Plot"
TO_THE_END, AT_RUNG, EARLY = "Trained to the End", "Stopped at Its Rung", "Stopped Early"
RUNNING, OTHERWISE = "Running", "Ended Otherwise"
_SYMBOLS = {
    TO_THE_END: "circle",
    AT_RUNG: "circle-open",
    EARLY: "triangle-down-open",
    RUNNING: "diamond",
    OTHERWISE: "x",
}
# Of the trainings that ended before the last step, so many show what is predicted of them.
_N_PREDICTED = 5
_CONFIDENCE = 1.96  # Standard deviations of a normal distribution: 95 %.
# Beside the last step and each other, in parts of it.
_APART = 0.05
# What lies above this quantile of the ends by more than the range below it is out of the picture.
_USUAL = 0.9


def plot_learning_curves(study: Study, *, sampler: MethodSampler | None = None) -> go.Figure:
    """Plot what each training has reported, how far it went, and why it stopped there.

    A line for each trial goes through what it has reported, over the steps. Its end says what
    became of it: trained to the end, stopped at the rung that it was meant for, stopped before
    that since it disappointed, still running, or ended otherwise (it failed, or another pruner
    stopped it). Dotted lines are the rungs. Point at an end to see how much it promised to go on
    there, against the best other query, both as logarithms of the acquisition.

    Diamonds with a bar, beside the last step, are what the models expect of trainings that have
    not got there, and the range in which they lie with 95 %: of those that run, and of the five
    most promising of the others.

    How to read it: where lines that are low early end low, short trainings show which parameters
    are good. Where they cross, only long ones do.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_learning_curves

            figure = plot_learning_curves(study)
            figure.write_html("learning-curves.html")

    Args:
        study: A study whose objective reports values, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the steps
            that the trials record.

    Returns:
        A :class:`plotly.graph_objects.Figure`.

    Raises:
        ImportError: If plotly is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source.
    """
    return learning_curves_figure(FigureData(study, sampler))


def learning_curves_figure(data: FigureData) -> go.Figure:
    """Return the figure of :func:`plot_learning_curves`."""
    if not data.view.sources.are_rungs:
        logger.warning("The sources of your study are no steps: there are no rungs to show.")
        return empty_figure(_TITLE, "The sources of this study are no reported steps.")
    trials = [trial for trial in data.view.trials if _points(trial)]
    if not trials:
        logger.warning("Your study does not have any trial that has reported a value.")
        return empty_figure(_TITLE, "No trial has reported a value yet.")
    figure = go.Figure()
    for (outcome, symbol), color in zip(_SYMBOLS.items(), colors.qualitative.D3, strict=False):
        own = [trial for trial in trials if _outcome(data, trial) == outcome]
        if own:
            figure.add_traces(_curves(data, own, outcome, symbol, color))
    _add_predictions(figure, data, trials)
    for step in data.view.sources.steps:
        figure.add_vline(x=step, line={"dash": "dot", "width": 1, "color": "Grey"})
    begins_with_0 = any(0 in trial.intermediate_values for trial in trials)
    figure.update_layout(title=titled(_TITLE, _answer(data, trials)), hovermode="closest")
    figure.update_xaxes(title_text="Step", type="linear" if begins_with_0 else "log")
    figure.update_xaxes(tickvals=list(data.view.sources.steps))
    figure.update_yaxes(title_text=value_title(data))
    _keep_extremes_out(figure, data, trials)
    return figure


def _points(trial: FrozenTrial) -> list[tuple[int, float]]:
    """Return the steps and the values that a trial has reported, those that are finite."""
    return [(s, v) for s, v in sorted(trial.intermediate_values.items()) if math.isfinite(v)]


def _outcome(data: FigureData, trial: FrozenTrial) -> str:
    sources = data.view.sources
    if trial.state == TrialState.RUNNING:
        return RUNNING
    is_complete = trial.state == TrialState.COMPLETE
    source = ended_on(trial, sources, is_complete=is_complete)
    if is_complete and source == 0:
        return TO_THE_END
    visit = visit_of(trial, sources.steps[source])
    if visit is None or not visit.stops:
        return OTHERWISE
    return AT_RUNG if source <= meant_for(trial, sources) else EARLY


def _answer(data: FigureData, trials: list[FrozenTrial]) -> str:
    """Say how the trainings ended."""
    ends = Counter(_outcome(data, trial) for trial in trials)
    said = {outcome: outcome.lower().replace(" its ", " their ") for outcome in _SYMBOLS}
    text = joined([f"{ends[outcome]} {said[outcome]}" for outcome in _SYMBOLS if ends[outcome]])
    return f"Of {len(trials)} trainings: {text}"


def _curves(
    data: FigureData, trials: list[FrozenTrial], outcome: str, symbol: str, color: str
) -> list[go.Scatter]:
    """Return the lines of some trials, as one trace, and their ends."""
    x: list[float | None] = []
    y: list[float | None] = []
    for trial in trials:
        steps, values = zip(*_points(trial), strict=True)
        x += [*steps, None]
        y += [*values, None]
    lines = go.Scatter(x=x, y=y, mode="lines", hoverinfo="skip")
    lines.update(line={"width": 1, "color": color}, opacity=0.5)
    last = [_points(trial)[-1] for trial in trials]
    ends = go.Scatter(
        x=[step for step, _ in last],
        y=[value for _, value in last],
        mode="markers",
        marker={"symbol": symbol, "color": color, "size": 8},
        hovertemplate="%{text}<extra></extra>",
        text=[_hover(data, trial) for trial in trials],
    )
    lines.update(name=outcome, legendgroup=outcome, showlegend=False)
    return [lines, ends.update(name=outcome, legendgroup=outcome)]


def _hover(data: FigureData, trial: FrozenTrial) -> str:
    sources = data.view.sources
    step, value = _points(trial)[-1]
    lines = [f"<b>Trial {trial.number}</b>", f"{value:.6g} at step {step}"]
    lines.append(f"meant for step {sources.steps[meant_for(trial, sources)]}")
    for rung in reversed(sources.steps):
        visit = visit_of(trial, rung)
        if visit is not None and not math.isnan(visit.index):
            did = "stopped" if visit.stops else "went on"
            lines.append(
                f"{did} at {rung}: going on {visit.index:.2f}, best other {visit.other:.2f}"
            )
        elif visit is not None and visit.stops:
            lines.append(f"stopped at {rung}")
    params = {name: _shown(value) for name, value in trial.params.items()}
    return "<br>".join([*lines, *(f"{name}: {value}" for name, value in params.items())])


def _shown(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _add_predictions(figure: go.Figure, data: FigureData, trials: list[FrozenTrial]) -> None:
    """Add what is expected of trainings that have not got to the last step."""
    space = data.view.space
    params = [params_of(trial, space) for trial in trials]
    short = [
        i
        for i, trial in enumerate(trials)
        if _outcome(data, trial) != TO_THE_END and space.keys() <= params[i].keys()
    ]
    if not short or data.model is None:
        return
    mean, std = data.model.predict([params[i] for i in short])
    is_running = np.array([trials[i].state == TrialState.RUNNING for i in short])
    order = np.argsort(np.where(is_running, -np.inf, mean), kind="stable")
    shown = order[: int(is_running.sum()) + _N_PREDICTED]
    last = data.view.sources.steps[0]
    figure.add_trace(
        go.Scatter(
            x=[last * (1.0 + _APART * (k + 1)) for k in range(len(shown))],
            y=data.sign * mean[shown],
            error_y={"type": "data", "array": _CONFIDENCE * std[shown], "width": 4},
            mode="markers",
            marker={"symbol": "diamond-open", "color": "Grey", "size": 7},
            name="Predicted End",
            hovertemplate="%{text}<extra></extra>",
            text=[
                f"Trial {trials[short[k]].number}: {data.sign * mean[k]:.6g} ± "
                f"{_CONFIDENCE * std[k]:.2g} predicted at step {last}"
                for k in shown
            ],
        )
    )


def _keep_extremes_out(figure: go.Figure, data: FigureData, trials: list[FrozenTrial]) -> None:
    """Let no bad beginning flatten the rest; a double click still shows all."""
    values = data.sign * np.array([v for trial in trials for _, v in _points(trial)])
    ends = data.sign * np.array([_points(trial)[-1][1] for trial in trials])
    low, usual = float(values.min()), float(np.quantile(ends, _USUAL))
    high = usual + (usual - low)
    if high < values.max():
        bounds = (data.sign * (low - 0.1 * (high - low)), data.sign * high)
        figure.update_yaxes(range=sorted(bounds))
        text = "A double click shows all values"
        figure.update_layout(title=titled(_TITLE, _answer(data, trials), text))
