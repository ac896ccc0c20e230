"""One evaluation: the estimator with some parameters, fitted and scored on every fold."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import delayed

from optuna_misowild.sklearn.sklearn_private import fit_and_score
from optuna_misowild.sklearn.sklearn_private import insert_error_scores


if TYPE_CHECKING:
    from collections.abc import Container
    from collections.abc import Sequence

    from optuna_misowild.sklearn.resources import Source
    from optuna_misowild.sklearn.stages import Stages


@dataclass(frozen=True)
class Evaluation:
    """Fits and scores an estimator on the folds of a source.

    Attributes:
        estimator: The estimator, which is cloned.
        X: All rows.
        y: Their target, or None.
        scorer: A scorer, or several as scikit-learn's searches have them.
        metric: Name of the score that is optimised, if there are several.
        parallel: What runs the folds.
        settings: Further arguments of scikit-learn's evaluation of one fold.
        error_score: Score of a fold whose fit fails, or ``"raise"``.
        stages: How it is fitted in stages, or None if every fit begins anew.
    """

    estimator: Any
    X: Any
    y: Any
    scorer: Any
    metric: Any
    parallel: Any
    settings: dict[str, Any]
    error_score: float | str
    stages: Stages | None = None

    def __call__(
        self,
        source: Source,
        params: dict[str, Any],
        *,
        is_preferred: bool,
        before: Sequence[dict[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        """Return times, scores and errors of each fold.

        A fit that fails on less than the preferred source never raises.

        Args:
            source: The source.
            params: The estimator's parameters, without those of the source.
            is_preferred: Whether it is the preferred source.
            before: What was returned for the stage before, if it is fitted in stages. A fit that
                has failed there begins anew. One that has ended there has its score here, too.
        """
        error_score = self.error_score
        if error_score == "raise" and not is_preferred:
            error_score = math.nan
        n_splits = len(source.splits)
        nothing: list[dict[str, Any] | None] = [None] * n_splits
        earlier = before or nothing
        ended = [self._ended(fold) for fold in earlier]
        fitted = self.parallel(
            delayed(fit_and_score)(
                self._begun(earlier[split]),
                self.X,
                self.y,
                scorer=self.scorer,
                train=train,
                test=test,
                parameters={**params, **source.params},
                split_progress=(split, n_splits),
                error_score=error_score,
                return_times=True,
                return_estimator=self.stages is not None,
                **self.settings,
            )
            for split, (train, test) in enumerate(source.splits)
            if ended[split] is None
        )
        rest = iter(fitted)
        folds = [next(rest) if fold is None else fold for fold in ended]
        insert_error_scores(folds, error_score)
        return folds

    def _begun(self, earlier: dict[str, Any] | None) -> Any:
        """Return the estimator that is to be fitted, after what an earlier stage has returned."""
        if self.stages is None:
            return clone(self.estimator)
        if earlier is None or earlier["fit_error"] is not None:
            return self.stages.begin()
        return earlier["estimator"]

    def _ended(self, earlier: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return what a fit gives that has ended in an earlier stage; None if it goes on."""
        if self.stages is None or earlier is None or earlier["fit_error"] is not None:
            return None
        if not self.stages.has_ended(earlier["estimator"]):
            return None
        return {**earlier, "fit_time": 0.0, "score_time": 0.0}

    def value(self, folds: Sequence[dict[str, Any]]) -> float:
        """Return the mean score that is optimised; NaN if a fit or a score has failed."""
        if any(fold["fit_error"] is not None for fold in folds):
            return math.nan
        scores = [fold["test_scores"] for fold in folds]
        if isinstance(scores[0], dict):
            check_metric(self.metric, scores[0])
            scores = [score[self.metric] for score in scores]
        mean = float(np.mean(scores))
        return mean if math.isfinite(mean) else math.nan


def check_metric(refit: Any, metrics: Container[str]) -> None:
    """Refuse several metrics of which none is named to be optimised.

    Args:
        refit: The search's argument.
        metrics: The names of the metrics.

    Raises:
        ValueError: If it is not the name of one of them.
    """
    if not isinstance(refit, str) or refit not in metrics:
        raise ValueError(
            "For multi-metric scoring, the parameter refit must be set to a scorer key: that "
            f"metric is optimised. {refit!r} was passed."
        )
