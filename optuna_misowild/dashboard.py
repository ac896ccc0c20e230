"""The figures and a note on a study's page in optuna-dashboard.

The note says in words, as Markdown, what the sources have given and cost, and what is recommended.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.figure_data import FigureData
from optuna_misowild.methods import arguments
from optuna_misowild.study.attributes import logger
from optuna_misowild.visualization import is_available
from optuna_misowild.visualization.acquisition import acquisition_figure
from optuna_misowild.visualization.cost_history import cost_history_figure
from optuna_misowild.visualization.cost_model import cost_model_figure
from optuna_misowild.visualization.discrepancy import discrepancy_figure
from optuna_misowild.visualization.feasibility import feasibility_figure
from optuna_misowild.visualization.learning_curves import learning_curves_figure
from optuna_misowild.visualization.objective_model import objective_model_figure
from optuna_misowild.visualization.sample import spread_pairs
from optuna_misowild.visualization.source_usage import source_usage_figure
from optuna_misowild.visualization.source_worth import source_worth_figure
from optuna_misowild.worth import source_worths


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.visualization._plotly import go


__all__ = ["DashboardCallback", "publish"]

HEADING = "## Sources and costs"
FIGURES = {
    "misowild-cost-history": cost_history_figure,
    "misowild-source-worth": source_worth_figure,
    "misowild-source-usage": source_usage_figure,
    "misowild-objective-model": objective_model_figure,
    "misowild-cost-model": cost_model_figure,
    "misowild-discrepancy": discrepancy_figure,
    "misowild-feasibility": feasibility_figure,
    "misowild-acquisition": acquisition_figure,
}


def publish(study: Study, *, sampler: MethodSampler | None = None) -> None:
    """Put all figures and a note on the study's page in optuna-dashboard.

    They replace those of an earlier call. In the note, what stands above our heading is kept.
    The study's storage must be one that the dashboard can read, such as SQLite.

    Example:

        .. code-block:: python

            from optuna_misowild import MisoWildSampler
            from optuna_misowild.dashboard import publish

            publish(study, sampler=MisoWildSampler(budget=3600))  # Its settings, for the note.

    Args:
        study: A study, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Raises:
        ImportError: If plotly or optuna-dashboard is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source.
    """
    _require()
    import optuna_dashboard

    data = FigureData(study, sampler)
    for name, figure_of in figures_of(data).items():
        # The page gives each figure a frame, and cuts off what is larger.
        figure = figure_of(data).update_layout(width=None, height=None)
        optuna_dashboard.save_plotly_graph_object(study, figure, graph_object_id=name)
    note = note_of(data, before=optuna_dashboard.get_note(study))
    optuna_dashboard.save_note(study, note)


def figures_of(data: FigureData) -> dict[str, Callable[[FigureData], go.Figure]]:
    """Return the figures of a study by their names; the learning curves, if there are any."""
    curves = {"misowild-learning-curves": learning_curves_figure}
    return {**FIGURES, **(curves if data.view.sources.are_rungs else {})}


class DashboardCallback:
    """Callback that keeps the figures and the note on the study's page up to date.

    See :func:`publish`. A failure to write them is logged, and the study goes on: the trials are
    worth more. Drawing takes about as long as a few suggestions, and some hundred kilobytes in
    the storage; with several workers, give the callback to one of them.

    Example:

        .. code-block:: python

            study.optimize(objective, n_trials=50, callbacks=[DashboardCallback()])
            publish(study)  # What came after the last tenth trial.

    Args:
        every: How many trials lie between two updates.
        sampler: The sampler whose method and settings count; by default the study's.

    Raises:
        ImportError: If plotly or optuna-dashboard is not installed.
        TypeError: If ``every`` is no integer.
        ValueError: If ``every`` is less than 1.
    """

    def __init__(self, every: int = 10, *, sampler: MethodSampler | None = None) -> None:
        _require()
        self._every = arguments.integer("every", every, least=1)
        self._sampler = sampler

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if (trial.number + 1) % self._every != 0:
            return
        try:
            publish(study, sampler=self._sampler)
        except Exception as error:
            logger.warning(
                f"Publishing on the dashboard after trial {trial.number} failed with {error!r}. "
                "The study goes on."
            )


def _require() -> None:
    missing = [] if is_available() else ["plotly"]
    try:
        import_module("optuna_dashboard")
    except ImportError:
        missing.append("optuna-dashboard")
    if missing:
        raise ImportError(
            f"The dashboard needs {' and '.join(missing)}, which cannot be imported. Install with "
            '`pip install "optuna-misowild[dashboard]"`.'
        )


# The note.


def note_of(data: FigureData, *, before: str = "") -> str:
    """Return the note on a study.

    Args:
        data: The study.
        before: The note that it has; what stands above our heading is kept.
    """
    kept = before.split(HEADING)[0].rstrip()
    parts = [kept] if kept else []
    parts += [HEADING, _sources(data), _spent(data), _recommendation(data), _best(data)]
    parts += _importance(data)
    parts.append("*Written by optuna_misowild. What you write above the heading is kept.*")
    return "\n\n".join(parts) + "\n"


def _sources(data: FigureData) -> str:
    lines = ["| source | queries | cost | share | best value | verdict |"]
    lines.append("|---|--:|--:|--:|--:|---|")
    worths = source_worths(data) if data.valued and data.model is not None else {}
    best_of = max if data.is_maximised else min
    for source, label in enumerate(data.labels):
        own = [query for query in data.queries if query.source == source]
        cost = math.fsum(query.paid for query in own)
        share = f"{cost / data.view.spent:.0%}" if data.view.spent > 0.0 else ""
        values = [q.value for q in own if math.isfinite(q.value) and q.feasible]
        best = f"{best_of(values):.6g}" if values else ""
        verdict = worths[source].verdict if source > 0 and source in worths else ""
        name = f"**{_escape(label)}** (preferred)" if source == 0 else _escape(label)
        lines.append(f"| {name} | {len(own)} | {cost:.4g} | {share} | {best} | {verdict} |")
    return "\n".join(lines)


def _spent(data: FigureData) -> str:
    states = Counter(trial.state for trial in data.view.trials)
    counts = ", ".join(f"{states[s]} {s.name.lower()}" for s in TrialState if states[s])
    budget = data.view.settings.budget
    of_budget = f" of {budget:g} ({data.view.spent / budget:.0%})" if budget is not None else ""
    n_infeasible = sum(not query.feasible for query in data.queries)
    infeasible = f" {n_infeasible} of them broke a constraint of yours." if n_infeasible else ""
    return (
        f"**Spent:** {data.view.spent:.4g}{of_budget}{data.cost_unit} by {counts or 'no'} trials."
        f"{infeasible}"
    )


def _recommendation(data: FigureData) -> str:
    recommendation = data.recommendation
    if recommendation is None:
        return "**Recommended:** nothing yet."
    params = _text(recommendation.params)
    preferred = _escape(data.labels[0])
    if recommendation.verified:
        how = f"verified on {preferred}: {recommendation.value:.6g}"
        how += "" if recommendation.feasible else ", **but it breaks a constraint of yours**"
    else:
        how = f"not verified on {preferred} yet"
        if recommendation.probability < 1.0:
            how += f", feasible with probability {recommendation.probability:.2g}"
    expected = f"the model expects {recommendation.mean:.6g} ± {recommendation.std:.2g} there"
    return f"**Recommended:** {params}; {how}; {expected}."


def _best(data: FigureData) -> str:
    preferred = _escape(data.labels[0])
    if not data.best_verified:
        return f"**Best verified:** nothing on {preferred} yet."
    best = data.best_verified[-1]
    params = {k: v for k, v in best.trial.params.items() if k != data.view.sources.name}
    return (
        f"**Best verified:** {best.value:.6g} on {preferred}, by trial {best.trial.number}: "
        f"{_text(params)}."
    )


def _importance(data: FigureData) -> list[str]:
    """Return how much each parameter matters on the preferred source, by the model of it.

    The part of the variance of the predicted mean that goes with a parameter and all of its
    interactions (total effects, by Jansen's estimator), over the whole space, as a share of their
    sum. The dashboard's own figure of importances knows no sources: it takes the values of all of
    them for one objective.
    """
    if data.model is None or len(data.view.space) < 2:
        return []
    params, others = spread_pairs(data.view)
    mean, _ = data.model.predict(params)
    shares = {}
    for name in data.view.space:
        changed = [{**one, name: other[name]} for one, other in zip(params, others, strict=True)]
        moved, _ = data.model.predict(changed)
        shares[name] = float(np.mean((moved - mean) ** 2)) / 2.0
    total = math.fsum(shares.values())
    if not total > 0.0:
        return []
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    text = ", ".join(f"{_escape(name)} {share / total:.0%}" for name, share in ranked)
    return [f"**Importance on {_escape(data.labels[0])}, by the model:** {text}."]


def _text(params: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{_escape(name)} = {value:.5g}"
        if isinstance(value, float)
        # Whatever else a parameter can be.
        else f"{_escape(name)} = {_escape(str(value))}"
        for name, value in params.items()
    )


def _escape(text: str) -> str:
    """Keep Markdown from reading a name as its own signs."""
    for sign in "\\`*_|<>[]~#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")
