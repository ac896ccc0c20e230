"""What the next query may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.optim.maximize import Maximum


# Locations that are about as cheap as the cheapest are found more easily than that one alone.
_ABOUT = 1.1


def spending_limit(
    observations: Observations, pending_cost: float, asked: NDArray[np.float64]
) -> float:
    """Return what the next query may cost, in the unit of the costs; inf if cost is no criterion.

    That is what finished and pending queries have left of the budget. Where it is less than any
    query of the preferred source costs, the budget is exceeded by a typical one, the median, and
    by no more than that in all, whoever else is at it: who comes later pays about as little as can
    be paid. Without a budget cost is no criterion, nor once finished queries have spent it and
    the study goes on all the same.

    Args:
        observations: The trials so far.
        pending_cost: What those that are running will have cost, by prediction.
        asked: Predicted costs of the preferred source where it has a value, shape (n,). While
            there are none, cost is no criterion yet.
    """
    budget, spent = observations.budget, observations.spent
    if budget is None or spent >= budget or not len(asked):
        return np.inf
    left, cheapest = budget - spent - pending_cost, float(asked.min())
    if left >= cheapest:
        return left
    return max(float(np.median(asked)) + min(left, 0.0), _ABOUT * cheapest)


def best_payable(
    find: Callable[[float, NDArray[np.float64]], Maximum],
    left: float,
    *,
    starts: NDArray[np.float64],
    cheapest: NDArray[np.float64],
) -> tuple[Maximum, float]:
    """Return the best query that costs no more than is left, and the limit that it keeps.

    What can be paid may be a small part of the space, around the cheapest location: it is looked
    for there as well. Where nothing can be paid of what is fixed, the limit is lifted, inf.

    Args:
        find: Maximises an acquisition, given the limit and the starts, shape (k, d); the value is
            −inf if nothing can be paid.
        left: The limit.
        starts: The promising locations, shape (k, d).
        cheapest: Locations that can be paid, shape (k, d).
    """
    found = find(left, starts)
    if found.value == -np.inf and left < np.inf:
        found = find(left, cheapest)
    if found.value == -np.inf and left < np.inf:
        left = np.inf
        found = find(left, starts)
    return found, left


def payable_first(
    pairs: list[tuple[int, int]], observations: Observations
) -> list[tuple[int, int]]:
    """Return the (source, row) pairs of an initial design, first those that can be paid.

    As long as any can. A query is taken to cost the mean of its source, or nothing while no cost
    of it is known.
    """
    budget, spent = observations.budget, observations.spent
    if budget is None or spent >= budget:
        return pairs
    cost = np.zeros(observations.n_sources)
    for s in range(observations.n_sources):
        known = observations.cost[observations.costed(s)]
        cost[s] = known.mean() if len(known) else 0.0
    left = budget - spent - cost[observations.source[observations.pending]].sum()
    return sorted(pairs, key=lambda pair: cost[pair[0]] > left)
