"""Which sources were worth their cost: what their queries have shown, and a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.figure_data import FigureData
from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.methods.outliers import clip_outliers
from optuna_misowild.study.space import decode


if TYPE_CHECKING:
    from optuna.study import Study

    from optuna_misowild.base_sampler import MethodSampler


WORTH, NOT_WORTH = "worth its cost", "not worth its cost"
UNDECIDED, TOO_FEW = "undecided", "too few values"
# Below that many queries, of the source or of the preferred one, no correlation is worth a word.
_FEWEST = 5
_CONFIDENCE = 1.96  # Standard deviations of a normal distribution: 95 %.


@dataclass(frozen=True)
class Worth:
    """What the queries of a source have shown, compared with the preferred one.

    Attributes:
        n_values: How often it has given a value.
        share: Its part of what the study has cost.
        cost: Cost of a query relative to the preferred source, the geometric mean over where it
            was queried; NaN if it never was, or has cost nothing.
        correlation: Of its values with the preferred source; NaN if there are too few.
        low: Lower end of the 95 % interval of the correlation; −1 if there are too few.
        high: Its upper end; 1 if there are too few.
        n_finished: How many of its trials have finished, with a value or without.
        n_preferred: How often the preferred source has given a value.
        is_dropped: Whether it is not queried again, since it is hardly cheaper.
    """

    n_values: int
    share: float
    cost: float
    correlation: float = math.nan
    low: float = -1.0
    high: float = 1.0
    n_finished: int = 0
    n_preferred: int = 0
    is_dropped: bool = False

    @property
    def break_even(self) -> float:
        """The correlation from which on a query says more for the money than a preferred one.

        For what has cost nothing, any positive one is enough.
        """
        return math.sqrt(self.cost) if math.isfinite(self.cost) else 0.0

    @property
    def verdict(self) -> str:
        """What can be said of it, of a source that is not the preferred one."""
        if math.isfinite(self.correlation):
            if self.low > self.break_even:
                return WORTH
            return NOT_WORTH if self.high < self.break_even else UNDECIDED
        if self.is_dropped:
            return "dropped: hardly cheaper"
        if self.n_values == 0:
            return "no value" if self.n_finished else "never queried"
        if self.n_values >= _FEWEST:
            return "too few preferred values"
        return TOO_FEW if self.n_preferred >= _FEWEST else f"{TOO_FEW} of both"


def source_verdicts(study: Study, *, sampler: MethodSampler | None = None) -> dict[Any, str]:
    """Return of each source but the preferred one whether it was worth its cost.

    That is, whether a query of it has said more of the preferred source for the money than one
    of the preferred source would: over all places where it was queried. It does not say whether
    the study has found better parameters by it, which only a study without it can show.

    The figure :func:`~optuna_misowild.visualization.plot_source_worth` shows the same, and
    explains how it is decided. No plotly is needed here.

    Example:

        .. code-block:: python

            for source, verdict in source_verdicts(study).items():
                print(source, verdict)  # 10% worth its cost

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
          either, ``"undecided"``.
        - ``"too few values"``: the source has less than five; ``"too few preferred values"``:
          the preferred source has; ``"too few values of both"``.
        - ``"dropped: hardly cheaper"``: it was not queried often enough for a verdict, since it
          surely costs more than ``RobustMethod(max_cost_ratio=...)`` times the preferred source.
        - ``"no value"``: all of its trials have failed or were pruned.
        - ``"never queried"``.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source.
    """
    data = FigureData(study, sampler)
    if not data.valued or data.model is None:
        return {}
    worths = source_worths(data)
    verdicts, unhashable = {}, []
    for source, worth in worths.items():
        if source == 0:
            continue
        try:
            verdicts[data.choice(source)] = worth.verdict
        except TypeError:
            unhashable.append((repr(data.choice(source)), worth.verdict))
    for key, verdict in unhashable:
        while key in verdicts:  # Beside [64], a choice may be "[64]".
            key = repr(key)
        verdicts[key] = verdict
    return verdicts


def source_worths(data: FigureData) -> dict[int, Worth]:
    """Return what is known of each source that the method has a model of."""
    seen = data.view.observations
    first = seen.valued(0)
    total = data.queries[-1].spent
    result = {}
    dropped = data.sampler.method.too_expensive(seen, data.view.domain)
    for source in data.modelled:
        rows = seen.valued(source)
        own = [query.paid for query in data.queries if query.source == source]
        spent = math.fsum(own)
        share = spent / total if total > 0.0 else math.nan
        cost = 1.0 if source == 0 else _relative_cost(data, source)
        interval = (1.0, 1.0, 1.0) if source == 0 else (math.nan, -1.0, 1.0)
        if source > 0 and min(len(rows), len(first)) >= _FEWEST:
            interval = _correlation(data, source)
        result[source] = Worth(
            len(rows), share, cost, *interval, len(own), len(first), source in dropped
        )
    return result


def _relative_cost(data: FigureData, source: int) -> float:
    """Return the geometric mean of the relative cost over where a source was queried.

    Over the places that the models see, where both are predicted to cost anything; NaN if there
    is none, or if only the source has no cost at all, as one whose trials were added.
    """
    model, space = data.model, data.view.space
    assert model is not None
    seen = data.view.observations
    has_cost = [len(seen.costed(s)) > 0 for s in (source, 0)]
    if has_cost == [False, True]:
        return math.nan
    places = [decode(space, x) for x in seen.X[seen.valued(source)]]
    if not places:
        return math.nan
    costs = np.stack([np.abs(model.predict_cost(places, data.choice(s))[0]) for s in (source, 0)])
    costs = costs[:, (costs > 0.0).all(axis=0)]
    if not costs.size:
        return math.nan
    return float(np.exp(np.mean(np.log(costs[0]) - np.log(costs[1]))))


def _correlation(data: FigureData, source: int) -> tuple[float, float, float]:
    """Return the correlation of a source with the preferred one, and its 95 % interval.

    Of its values with what the models that have never seen one of them expect of the preferred
    source at the same places.
    """
    seen = data.view.observations
    rows = seen.valued(source)
    with_value = np.flatnonzero(seen.has_value)
    y = seen.y.copy()
    y[with_value] = clip_outliers(y[with_value], seen.source[with_value])
    y, X = y[rows], seen.X[rows]
    others = seen.only(seen.source != source)
    with single_blas_thread():
        mean, std = data.sampler.method.fit(others, data.view.domain).predict(X, 0)
    total = math.sqrt(float(mean.var() + np.mean(std**2)) * float(y.var()))
    r = float(np.mean((mean - mean.mean()) * (y - y.mean()))) / total if total > 0.0 else 0.0
    r = min(max(r, -0.9999), 0.9999)
    reach = _CONFIDENCE / math.sqrt(len(rows) - 3)
    return r, math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
