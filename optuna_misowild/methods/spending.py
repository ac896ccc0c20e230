"""What the next query may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.optim.maximize import Maximum


# Locations that are about as cheap as the cheapest are found more easily than that one alone.
_ABOUT = 1.1


@dataclass(frozen=True)
class SpendingLimit:
    """What the next query may cost.

    Attributes:
        cost: The limit, in the unit of the costs; inf if cost is no criterion.
        reserves: Whether enough must remain after a query of another source to query the
            preferred one where it has been.
    """

    cost: float
    reserves: bool = True


def spending_limit(
    observations: Observations,
    pending_cost: float,
    *,
    preferred: NDArray[np.float64],
    cheapest: float,
) -> SpendingLimit:
    """Return what the next query may cost.

    That is the budget without what finished and pending queries cost. Where it is less than any
    query of the preferred source costs, the budget is exceeded by a typical one, the median, and
    by no more than that in all, whoever else is at it: who comes later pays about as little as can
    be paid, on any source. Without a budget cost is no criterion, nor once finished queries have
    spent it and the study goes on all the same.

    Args:
        observations: The trials so far. Those that have begun and not chosen yet count as typical
            queries.
        pending_cost: What those that are running will have cost, by prediction.
        preferred: Predicted costs of the preferred source where it has a value, shape (n,). While
            there are none, cost is no criterion yet.
        cheapest: The lowest predicted cost of any source where it has been queried.
    """
    budget, spent = observations.budget, observations.spent
    if budget is None or spent >= budget or not len(preferred):
        return SpendingLimit(np.inf)
    typical = float(np.median(preferred))
    rest = budget - spent - pending_cost - observations.n_undecided * typical
    if rest >= preferred.min():
        return SpendingLimit(rest)
    if rest >= 0.0:
        return SpendingLimit(typical)
    return SpendingLimit(max(typical + rest, _ABOUT * cheapest), reserves=False)


def best_payable(
    find: Callable[[SpendingLimit, NDArray[np.float64]], Maximum],
    limit: SpendingLimit,
    *,
    starts: NDArray[np.float64],
    queried: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> tuple[Maximum, SpendingLimit]:
    """Return the best query within a spending limit, and the limit that it keeps.

    What can be paid may be a small part of the space, around the cheapest location: it is looked
    for there as well. Of sources that all cost more, about the cheapest query is payable. Where
    nothing is payable of what is fixed, the limit is lifted, inf.

    Args:
        find: Maximises an acquisition, given the limit and the starts, shape (k, d); the value is
            −inf if nothing can be paid.
        limit: The limit.
        starts: The promising locations, shape (k, d).
        queried: All locations that have been queried, shape (n, d).
        cost: The lowest predicted cost there of a source that may be chosen, shape (n,).
    """
    if len(cost) and limit.cost < np.inf:
        limit = SpendingLimit(max(limit.cost, _ABOUT * float(cost.min())), limit.reserves)
    found = find(limit, starts)
    if found.value == -np.inf and limit.cost < np.inf:
        found = find(limit, queried[np.argsort(cost)[:1]])
    if found.value == -np.inf and limit.cost < np.inf:
        limit = SpendingLimit(np.inf)
        found = find(limit, starts)
    return found, limit
