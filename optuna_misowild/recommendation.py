"""What to take away from a study: the best parameters on the preferred source."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.study import StudyDirection

from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.study.attributes import is_feasible
from optuna_misowild.study_sampler import view_of


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.study.snapshot import StudyView


@dataclass(frozen=True)
class Recommendation:
    """The parameters that a method recommends.

    Attributes:
        params: The parameters, without the source.
        source: The source that they were observed on: the preferred one if verified. None for a
            study without a source parameter.
        value: Observed on the preferred source if verified, else ``mean``; in the sense of the
            study.
        std: Standard deviation about ``mean``, not about an observed value: how well the model
            knows the preferred source there, without noise. It is not the error of another
            evaluation, nor of how parameters do on other data, and it trusts the noise that the
            model has fitted: where that is close to 0, it is too.
        trial: The trial that they come from.
        verified: Whether they were observed on the preferred source.
        mean: What the model expects of the preferred source there; in the sense of the study. With
            noise, the best observed value is better than this.
    """

    params: dict[str, Any]
    source: Any
    value: float
    std: float
    trial: FrozenTrial | None = field(repr=False)  # It alone would fill a screen.
    verified: bool
    mean: float
    _source_param: str | None = field(default=None, repr=False)
    _preferred_source: Any = field(default=None, repr=False)

    def to_enqueue(self) -> dict[str, Any]:
        """Return the parameters for ``study.enqueue_trial``, with the preferred source."""
        if self._source_param is None:
            return dict(self.params)
        return {**self.params, self._source_param: self._preferred_source}


def recommend(study: Study, *, sampler: MethodSampler | None = None) -> Recommendation:
    """Return the parameters that a method recommends, and whether they are verified.

    If they are not, evaluate them once: ``study.enqueue_trial(recommendation.to_enqueue())``.

    Args:
        study: A study with at least one finished trial that has a value.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If no trial that the method learns from has finished with a value;
            cost-cooling learns from the preferred source only.
    """
    return recommend_from(*view_of(study, sampler))


def recommend_from(sampler: MethodSampler, view: StudyView) -> Recommendation:
    """Return what a sampler's method recommends by the trials of a view; see :func:`recommend`."""
    feasible = {t.number for t in view.trials if is_feasible(t, view.sources.name)}
    seen = view.observations
    seen = replace(seen, y=np.where(np.isin(seen.trial, list(feasible)), seen.y, np.nan))
    with single_blas_thread():
        incumbent = sampler.method.recommend(seen, view.domain)
        # An infinite value counts as the worst finite one, which may be the best one as well.
        infinite = {t.number for t in view.trials if t.value is not None and math.isinf(t.value)}
        if incumbent is not None and int(seen.trial[incumbent.index]) in infinite:
            finite = ~np.isin(seen.trial, list(infinite))
            finite_only = replace(seen, y=np.where(finite, seen.y, np.nan))
            incumbent = sampler.method.recommend(finite_only, view.domain) or incumbent
    if incumbent is None:
        raise ValueError(
            f"There is nothing to recommend yet: none of the study's {len(view.trials)} trials, "
            f"as far as {type(sampler.method).__name__} learns from them, has finished with a "
            "value and meets its constraints."
        )
    sources = view.sources
    number = int(view.observations.trial[incumbent.index])
    trial = next(t for t in view.trials if t.number == number)
    sign = -1.0 if view.study.direction == StudyDirection.MAXIMIZE else 1.0
    assert trial.value is not None
    mean = sign * incumbent.mean
    return Recommendation(
        params={name: value for name, value in trial.params.items() if name != sources.name},
        source=sources.choices[view.observations.source[incumbent.index]],
        value=trial.value if incumbent.verified else mean,
        std=incumbent.std,
        trial=trial,
        verified=incumbent.verified,
        mean=mean,
        _source_param=None if sources.distribution is None else sources.name,
        _preferred_source=sources.choices[0],
    )
