"""The figures and a note on a study's page in optuna-dashboard."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from optuna_misowild.methods import arguments
from optuna_misowild.note import note_of
from optuna_misowild.study.attributes import logger
from optuna_misowild.visualization import is_available
from optuna_misowild.visualization.acquisition import acquisition_figure
from optuna_misowild.visualization.cost_history import cost_history_figure
from optuna_misowild.visualization.cost_model import cost_model_figure
from optuna_misowild.visualization.discrepancy import discrepancy_figure
from optuna_misowild.visualization.feasibility import feasibility_figure
from optuna_misowild.visualization.look import Look
from optuna_misowild.visualization.objective_model import objective_model_figure
from optuna_misowild.visualization.source_usage import source_usage_figure
from optuna_misowild.visualization.source_worth import source_worth_figure


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler


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

    Args:
        study: A study, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Raises:
        ImportError: If plotly or optuna-dashboard is not installed.
    """
    _require()
    import optuna_dashboard

    look = Look(study, sampler)
    for name, figure_of in FIGURES.items():
        # The page gives each figure a frame, and cuts off what is larger.
        figure = figure_of(look).update_layout(width=None, height=None)
        optuna_dashboard.save_plotly_graph_object(study, figure, graph_object_id=name)
    note = note_of(look, before=optuna_dashboard.get_note(study))
    optuna_dashboard.save_note(study, note)


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
