"""What the robust method recommends, by its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.hyperparameters import NOISE_BOUNDS
from optuna_misowild.methods.base import Incumbent


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.robust.model import RobustModel


def best_evaluation(
    model: RobustModel, observations: Observations, candidates: NDArray[np.bool_]
) -> Incumbent:
    """Return the feasible evaluation of the preferred source that promises most.

    Of evaluations with noise, the one with the lowest value has had the most luck. So what
    counts is the posterior mean of f_1, by both models as they are trusted; without noise it
    is the value.

    The mean is over all that share the location. Where a trial has parameters besides, its own
    value counts.

    While the preferred source has too few values to check the joint model, the best of them
    is the best of few. Then what is expected to be better than all that it has shown is
    recommended, not verified; later it would have been verified. While nothing is known to be
    feasible, that is the most probable location, x⁺.

    Args:
        model: The models, fitted to the observations.
        observations: The trials so far, some of which have a value.
        candidates: Which of them may be the incumbent, shape (n,).
    """
    X, y, source = observations.X, observations.y, observations.source
    first = observations.valued(0)
    rows = first[observations.feasible[first]]
    if model.single is None or not len(rows):
        others = np.flatnonzero(candidates & observations.has_value & (source > 0))
        better = others[model.expected(X[others]) < y[rows].min(initial=np.inf)]
        rows = better if len(better) else rows
    if not len(rows):
        rows = np.flatnonzero(np.all(X == model.x_plus, axis=1) & observations.has_value)
    is_known = observations.hidden[rows] & (source[rows] == 0)
    means = np.where(is_known, y[rows], model.expected(X[rows]))
    # Closer means count as equal, as the noise has a floor. Then their values decide.
    tolerance = np.sqrt(NOISE_BOUNDS[0]) * model.joint.scale
    promising = rows[means <= means.min() + tolerance]
    best = promising[np.lexsort((y[promising], source[promising]))[0]]
    same = np.flatnonzero(np.all(X == X[best], axis=1) & observations.has_value)
    index = int(best if source[best] == 0 else same[np.argmin(source[same])])
    x = X[[index]]
    mean, variance = model.joint.predict(x)
    return Incumbent(
        index,
        bool(source[index] == 0),
        float(mean[0]),
        float(np.sqrt(variance[0])),
        feasible=not model.is_seeking,
        probability=float(np.exp(model.log_probability(x, 0)[0])),
    )
