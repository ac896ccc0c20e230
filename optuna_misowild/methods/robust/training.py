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
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Training
    from optuna_misowild.methods.robust.model import RobustModel


# The rest of a training costs no less than this part of what it has cost: the costs of two rungs
# are predicted, and their difference may be nothing but error.
_LEAST_REST = 0.01


def judge(model: RobustModel, training: Training, *, min_probability: float) -> Verdict:
    """Return whether a training goes on.

    Args:
        model: The models, which know what the training has reported so far. Their spending limit
            counts what it has cost as spent, and not the rest of it.
        training: The training.
        min_probability: Where an improvement is less probable, it stops before its rung.
    """
    if training.reached == training.meant:
        return beyond(model, [training])[0]
    may_improve = probability_of_improvement(model, training) >= min_probability
    is_payable = remaining_costs(model, [training], training.meant)[0] <= model.limit.cost
    return Verdict(training.meant if may_improve and is_payable else None)


def beyond(model: RobustModel, trainings: Sequence[Training]) -> list[Verdict]:
    """Return of each training the rung beyond its own up to which it goes on, if to any."""
    best = [Verdict(None)] * len(trainings)
    for source in sorted({s for training in trainings for s in training.further}):
        which = [i for i, training in enumerate(trainings) if source in training.further]
        going = [trainings[i] for i in which]
        costs = remaining_costs(model, going, source)
        indices = indices_of_going_on(model, going, source, costs)
        for i, cost, index in zip(which, costs, indices, strict=True):
            if cost <= model.limit.cost and not index <= best[i].index:
                best[i] = Verdict(source, float(index))
    return [
        # NaN, where no other query is known: then nothing shows that this one is better.
        verdict if verdict.index > training.other else Verdict(None, verdict.index)
        for verdict, training in zip(best, trainings, strict=True)
    ]


def indices_of_going_on(
    model: RobustModel, trainings: Sequence[Training], source: int, costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the acquisition of a source where trainings are, at the costs of their rests."""
    X = _locations(trainings)
    # What can be paid is a question of the rest, not of the whole.
    unlimited = replace(model, limit=SpendingLimit(np.inf))
    values = RobustAcquisition(unlimited, (source,)).values(X, [source])[:, 0]
    wholes = model.cost.gp.means(X, [source])[0][:, 0]
    indices: NDArray[np.float64] = values + model.alpha * (wholes - np.log(costs))
    return indices


def remaining_costs(
    model: RobustModel, trainings: Sequence[Training], source: int
) -> NDArray[np.float64]:
    """Return what it costs to go on to a source: (ĉ_s(x)/ĉ_r(x) − 1)·c, from r at the cost c.

    The ratio of the costs of two rungs is the model's; c is what the training itself has cost.
    While that is not known, it is ĉ_r(x).
    """
    log_costs = model.cost.gp.means(_locations(trainings), range(model.joint.n_sources))[0]
    here = log_costs[np.arange(len(trainings)), [training.reached for training in trainings]]
    paid = np.array([training.paid for training in trainings])
    rest = np.maximum(np.expm1(log_costs[:, source] - here), _LEAST_REST)
    costs: NDArray[np.float64] = np.where(paid > 0.0, paid, np.exp(here)) * rest
    return costs


def _locations(trainings: Sequence[Training]) -> NDArray[np.float64]:
    return np.stack([training.x for training in trainings])


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
