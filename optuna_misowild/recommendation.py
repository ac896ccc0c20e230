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
from optuna.trial import TrialState

from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.study.attributes import is_feasible
from optuna_misowild.study_sampler import view_of


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.methods.base import Incumbent
    from optuna_misowild.study.snapshot import StudyView


@dataclass(frozen=True)
class Recommendation:
    """The parameters that a method recommends.

    Example:

        .. code-block:: python

            best = recommend(study)
            if not best.verified:  # Observed on cheaper sources only.
                study.enqueue_trial(best.to_enqueue())
                study.optimize(objective, n_trials=1)

    Attributes:
        params: The parameters, without the source.
        source: The source that they were observed on: the preferred one if verified; the step, if
            steps are the sources. None for a study with one source.
        value: Observed on the preferred source if verified, else ``mean``; in the sense of the
            study.
        std: Standard deviation about ``mean``, not about an observed value: how well the model
            knows the preferred source there, without noise. It is not the error of another
            evaluation, nor of how parameters do on other data, and it trusts the noise that the
            model has fitted: where that is close to 0, it is too.
        trial: The trial that they come from.
        verified: Whether they were observed on the preferred source.
        mean: What the model expects of the preferred source there; in the sense of the study. The
            robust method recommends the trial where that is best: a verified one, once the
            preferred source has six values. With noise, the best observed value of a study is
            better than this, by luck.
        feasible: Whether it meets the constraints of the user: as observed if verified, else
            whether the model holds that for more likely than not. Something infeasible is
            recommended only while nothing else is known.
        probability: How likely another query of the preferred source is to meet them there and
            not to fail, by the model.
    """

    params: dict[str, Any]
    source: Any
    value: float
    std: float
    trial: FrozenTrial = field(repr=False)  # It alone would fill a screen.
    verified: bool
    mean: float
    feasible: bool = True
    probability: float = 1.0
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
    Parameters that meet the constraints of the user are preferred to all others.

    Example:

        .. code-block:: python

            best = recommend(study)
            print(best.params, best.value, "as observed" if best.verified else "as predicted")

    Args:
        study: A study with at least one finished trial that has a value.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source;
            if no trial that the method learns from has finished with a value. Cost-cooling learns
            from the preferred source only.
    """
    return recommend_from(*view_of(study, sampler))


def recommend_from(sampler: MethodSampler, view: StudyView) -> Recommendation:
    """Return what a sampler's method recommends by the trials of a view; see :func:`recommend`."""
    seen, trials = view.observations, {t.number: t for t in view.trials}

    def is_met(incumbent: Incumbent) -> bool:
        trial = trials[int(seen.trial[incumbent.index])]
        observed = not incumbent.verified or is_feasible(trial, view.sources.name)
        return incumbent.feasible and observed

    def is_finite(trial: FrozenTrial) -> bool:
        return trial.value is None or math.isfinite(trial.value)

    with single_blas_thread():
        incumbent = sampler.method.recommend(seen, view.domain)
        # An infinite value counts as the worst finite one, which may be the best one as well. And
        # a method need not know of constraints, nor of values of them that cannot be read.
        if incumbent is not None:
            number = int(seen.trial[incumbent.index])
            if not (is_finite(trials[number]) and is_met(incumbent)):
                good = [
                    is_finite(trials[n]) and is_feasible(trials[n], view.sources.name)
                    for n in seen.trial.tolist()
                ]
                good_only = replace(seen, y=np.where(good, seen.y, np.nan))
                incumbent = sampler.method.recommend(good_only, view.domain) or incumbent
    if incumbent is None:
        raise ValueError(
            f"There is nothing to recommend yet: none of the study's {len(view.trials)} trials, "
            f"as far as {type(sampler.method).__name__} learns from them, has finished with a "
            "value."
        )
    sources = view.sources
    trial = trials[int(seen.trial[incumbent.index])]
    sign = -1.0 if view.study.direction == StudyDirection.MAXIMIZE else 1.0
    observed = sign * float(seen.y[incumbent.index])
    if trial.state == TrialState.COMPLETE and trial.value is not None:  # As it was returned.
        observed = trial.value
    mean = sign * incumbent.mean
    return Recommendation(
        params={name: value for name, value in trial.params.items() if name != sources.name},
        source=sources.choices[seen.source[incumbent.index]],
        value=observed if incumbent.verified else mean,
        std=incumbent.std,
        trial=trial,
        verified=incumbent.verified,
        mean=mean,
        feasible=is_met(incumbent),
        probability=incumbent.probability,
        _source_param=None if sources.distribution is None else sources.name,
        _preferred_source=sources.choices[0],
    )
