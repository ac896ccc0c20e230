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

    That is, whether a query of it has told more of the preferred source for the money than one
    of the preferred source would: over all places where it was asked. It does not say whether
    the study has found better parameters by it, which only a study without it can show.

    It is what the figure :func:`~optuna_misowild.visualization.plot_source_worth` says, which
    explains how it is told, and needs no plotly.

    Args:
        study: A study, finished or running.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A verdict by the choice of the source parameter; by its ``repr`` if it is a list, a dict
        or anything else that cannot be a key: ``{"[64]": "worth its cost"}``. Empty while there
        are no models, or if there is one source only.

        - ``"worth its cost"``, ``"not worth its cost"`` or, where the values can be taken for
          either, ``"cannot be told"``.
        - ``"too few values to tell"``: the source has less than five; ``"too few preferred
          values to tell"``: the preferred source has; ``"too few values of both to tell"``.
        - ``"dropped: hardly cheaper"``: it was not asked often enough for a verdict, since it
          surely costs more than ``RobustMethod(max_cost_ratio=...)`` times the preferred source.
        - ``"no value"``: all of its trials have failed or were pruned.
        - ``"never asked"``.
    """
    look = Look(study, sampler)
    if not look.valued or look.model is None:
        return {}
    worths = source_worths(look)
    verdicts, unhashable = {}, []
    for source, worth in worths.items():
        if source == 0:
            continue
        try:
            verdicts[look.choice(source)] = worth.verdict
        except TypeError:
            unhashable.append((repr(look.choice(source)), worth.verdict))
    for key, verdict in unhashable:
        while key in verdicts:  # Beside [64], a choice may be "[64]".
            key = repr(key)
        verdicts[key] = verdict
    return verdicts
