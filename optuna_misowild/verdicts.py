"""Which sources were worth their cost, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from optuna_misowild.visualization.look import Look
from optuna_misowild.visualization.source_worth import source_worths


if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler


def source_verdicts(study: Study, *, sampler: MethodSampler | None = None) -> dict[Any, str]:
    """Return of each source but the preferred one whether it was worth its cost.

    It is what the figure :func:`~optuna_misowild.visualization.plot_source_worth` says, which
    explains how it is told, and needs no plotly.

    Args:
        study: A study, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A verdict by the choice of the source parameter: ``"worth its cost"``, ``"not worth its
        cost"``, ``"cannot be told"``, ``"too few to tell"`` or ``"never asked"``. Empty while
        there are no models, or if there is one source only.
    """
    look = Look(study, sampler)
    if not look.valued or look.model is None:
        return {}
    worths = source_worths(look)
    return {look.choice(source): worth.verdict for source, worth in worths.items() if source > 0}
