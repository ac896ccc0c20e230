"""Whether a source is cheap enough to be observed, as far as the costs so far show it.

A cost may be the time on a noisy clock: what it decides is decided anew with every further cost.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.cost import log_costs
from optuna_misowild.gp.cost import typical_cost


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations


# The error of a clock: costs that differ by a tenth are the same to it.
_CLOCK = 0.1
# A single reading decides nothing but the obvious, that a source is not cheaper at all: how noisy
# it is cannot be known.
MIN_READINGS = 2


def log_ratio_limits(
    observations: Observations, noise: NDArray[np.float64], limit: float
) -> NDArray[np.float64]:
    """Return what a predicted log(c_s(x)/c_1(x)) exceeds if the ratio is surely above a limit.

    The logarithm of the limit, the error of a clock, and two standard errors of the ratio: those
    of n_s and n_1 readings, whose noise is the larger one of the two, as one clock takes both.

    Args:
        observations: The trials so far.
        noise: Fitted variance of the noise of the log costs of each source, shape (S,).
        limit: The largest ratio.

    Returns:
        An array of shape (S,).
    """
    n = np.array([len(observations.costed(s)) for s in range(observations.n_sources)], dtype=float)
    variance = _CLOCK**2 + np.maximum(noise, noise[0])
    error = np.sqrt(variance / max(n[0], 1.0) + variance / np.maximum(n, 1.0))
    log_limit = math.log(limit)
    limits: NDArray[np.float64] = _CLOCK + np.where(
        n < MIN_READINGS, max(log_limit, 0.0), log_limit + 2.0 * error
    )
    return limits


def seems_cheap(observations: Observations, source: int, limit: float) -> bool:
    """Whether a source has cost no more than a limit allows, relative to the preferred one.

    By :func:`log_cost_ratio`, up to the error of a clock. True while either has no known cost.
    """
    ratio = log_cost_ratio(observations, source, 0)
    return math.isnan(ratio) or ratio <= math.log(limit) + _CLOCK


def log_cost_ratio(observations: Observations, source: int, other: int) -> float:
    """Return by how much the costs of two sources differ, on the log scale.

    The mean at the rows of the initial design that both have, else of all costs; NaN while either
    has no known cost.
    """
    default = typical_cost(observations.cost)
    known = [observations.costed(s) for s in (source, other)]
    logs = [log_costs(observations.cost[index], default=default) for index in known]
    if not len(logs[0]) or not len(logs[1]):
        return math.nan
    first, second = (
        {
            int(row): z
            for row, z in zip(observations.design_row[index], log, strict=True)
            if row >= 0
        }
        for index, log in zip(known, logs, strict=True)
    )
    paired = [first[row] - second[row] for row in first.keys() & second.keys()]
    return float(np.mean(paired) if paired else logs[0].mean() - logs[1].mean())


def seems_cheap_by_size(
    observations: Observations, source: int, smallest: Sequence[int], limit: float
) -> bool:
    """Whether a source is expected to cost no more than a limit allows, by its size.

    By :func:`cost_ratio_by_size`, up to the error of a clock.
    """
    ratio = cost_ratio_by_size(observations, source, smallest)
    return math.log(ratio) <= math.log(limit) + _CLOCK


def cost_ratio_by_size(observations: Observations, source: int, smallest: Sequence[int]) -> float:
    """Return the cost of a source relative to the preferred one, as expected by its size.

    Costs grow with the size as a power of it, or where that is less than in proportion, along a
    straight line: what each part of the data costs, and what every query costs besides. It goes
    through the smallest source and the preferred one; through the next larger one while no cost of
    the preferred source is known. 1 while neither is.

    Args:
        observations: The trials so far, of sources that differ in size.
        source: The source.
        smallest: The smallest source and, if there is one, the next larger.
    """
    sizes, first = observations.sizes, smallest[0]
    for known in (0, *smallest[1:]):
        growth = log_cost_ratio(observations, known, first)
        if sizes[known] > sizes[first] and not math.isnan(growth):
            break
    else:
        return 1.0
    exponent = growth / math.log(sizes[known] / sizes[first])
    if exponent >= 1.0:  # Between sizes close together it may be so high that the power vanishes.
        return float(max(sizes[source] ** exponent, sys.float_info.min))
    slope = max(math.expm1(growth), 0.0) / (sizes[known] - sizes[first])

    def cost(s: int) -> float:
        return float(1.0 + slope * (sizes[s] - sizes[first]))

    return cost(source) / cost(0)
