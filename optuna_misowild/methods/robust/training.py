"""Whether a training that has reached a rung goes on.

A training that is meant for more stops where it disappoints: where it is improbable that the
preferred source improves there on what is expected where it is best. One that has got to its rung
goes on beyond it where that is the best query there is, at its remaining cost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.base import Verdict
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.methods.spending import SpendingLimit


if TYPE_CHECKING:
    from optuna_misowild.methods.base import Training
    from optuna_misowild.methods.robust.model import RobustModel


# The rest of a training costs no less than this part of what it has cost: the costs of two rungs
# are predicted, and their difference may be nothing but error.
_LEAST_REST = 0.01


def judge(model: RobustModel, training: Training, *, min_probability: float) -> Verdict:
    """Return whether a training goes on.

    Args:
        model: The models, which know what the training has told so far. Their spending limit
            counts what it has cost as spent, and not the rest of it.
        training: The training.
        min_probability: Where an improvement is less probable, it stops before its rung.
    """
    if training.reached == training.meant:
        return beyond(model, training)
    may_improve = probability_of_improvement(model, training) >= min_probability
    is_payable = remaining_cost(model, training, training.meant) <= model.limit.cost
    return Verdict(training.meant if may_improve and is_payable else None)


def beyond(model: RobustModel, training: Training) -> Verdict:
    """Return the rung beyond its own up to which a training goes on, if to any."""
    best = Verdict(None)
    for source in training.further:
        cost = remaining_cost(model, training, source)
        if cost > model.limit.cost:
            continue
        index = index_of_going_on(model, training, source, cost)
        if np.isnan(best.index) or index > best.index:
            best = Verdict(source, index)
    # NaN, where no other query is known: then nothing tells that this one is better.
    return best if best.index > training.other else Verdict(None, best.index)


def index_of_going_on(model: RobustModel, training: Training, source: int, cost: float) -> float:
    """Return the acquisition of a source where the training is, at the cost of the rest of it."""
    # What can be paid is a question of the rest, not of the whole.
    unlimited = replace(model, limit=SpendingLimit(np.inf))
    acquisition = RobustAcquisition(unlimited, (source,))
    value = acquisition.values(training.x[None], [source])[0, 0]
    whole = model.cost.gp.means(training.x[None], [source])[0][0, 0]
    return float(value + model.alpha * (whole - np.log(cost)))


def remaining_cost(model: RobustModel, training: Training, source: int) -> float:
    """Return what it costs to go on to a source: (ĉ_s(x)/ĉ_r(x) − 1)·c, from r at the cost c.

    The model tells the ratio of the costs of two rungs; how expensive the training is, it tells
    itself. While its cost is not known, that is ĉ_r(x).
    """
    here, there = model.cost.gp.means(training.x[None], [training.reached, source])[0][0]
    paid = training.paid if training.paid > 0.0 else float(np.exp(here))
    return paid * max(float(np.expm1(there - here)), _LEAST_REST)


def probability_of_improvement(model: RobustModel, training: Training) -> float:
    """Return P(f_1(x) < m_1), by both models as they are trusted; 1 while there is no m_1."""
    from scipy.special import ndtr

    if not np.isfinite(model.best):
        return 1.0
    total = 0.0
    for gp, share in model.experts:
        mean, variance = gp.predict(training.x[None])
        deviation = max(float(np.sqrt(variance[0])), np.finfo(float).tiny)
        total += share * float(ndtr((model.best - mean[0]) / deviation))
    return total
