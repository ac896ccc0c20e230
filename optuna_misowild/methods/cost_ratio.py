"""Whether a source is cheap enough to be queried, as far as its costs so far can tell.

A cost may be the time on a noisy clock, so that one reading decides nothing but the obvious.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.cost import log_costs
from optuna_misowild.cost import typical_cost


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.observations import Observations


# The error of a clock: costs that differ by a tenth are the same to it.
_CLOCK = 0.1
# By chance alone, a ratio at the limit would exceed it once in forty times: the usual bound of
# two standard errors.
_LEVEL = 0.975


@dataclass(frozen=True)
class CostRatio:
    """What a source costs relative to the preferred one, by several readings of log(z_s/z_1).

    Attributes:
        log_mean: Their mean; NaN if there are none.
        n: Their number.
        squares: The sum of the squares of their deviations from the mean.
    """

    log_mean: float
    n: int
    squares: float

    def exceeds(self, limit: float) -> bool:
        """Whether the ratio surely exceeds a limit."""
        return self.log_mean - math.log(limit) > margin(self.n, self.squares)

    def seems_to_exceed(self, limit: float) -> bool:
        """Whether the mean exceeds a limit, by more than the error of a clock."""
        return self.log_mean - math.log(limit) > _CLOCK


def margin(n: float, squares: float) -> float:
    """Return by how much the mean of n log ratios must exceed a limit to do so surely.

    The tolerance of a clock, and the quantile of Student's t distribution for the mean, where
    the variance has a prior that is worth one reading: that of two clocks.

    Args:
        n: Number of readings.
        squares: Sum of the squares of their deviations from the mean.
    """
    from scipy.special import stdtrit

    if n == 0:
        return math.inf
    return _CLOCK + float(stdtrit(n, _LEVEL)) * math.sqrt(2.0 * _CLOCK**2 + squares) / n


def cost_ratio(observations: Observations, source: int) -> CostRatio:
    """Compare the costs of a source with those of the preferred one at the rows that both have."""
    default = typical_cost(observations.cost)
    by_row = []
    for s in (0, source):
        known = observations.costed(s)
        logs = log_costs(observations.cost[known], default=default)
        rows = observations.row[known]
        by_row.append({int(row): z for row, z in zip(rows, logs, strict=True) if row >= 0})
    first, other = by_row
    ratios = np.array([other[row] - first[row] for row in sorted(first.keys() & other.keys())])
    n = len(ratios)
    if n == 0:
        return CostRatio(math.nan, 0, 0.0)
    return CostRatio(float(ratios.mean()), n, float(n * ratios.var()))


def log_ratio_limits(
    observations: Observations, noise: NDArray[np.float64], limit: float
) -> NDArray[np.float64]:
    """Return by what a predicted log(c_s(x)/c_1(x)) surely exceeds the limit, shape (S,).

    With as many readings as the source of fewer costs has, at the noise of both.

    Args:
        observations: The trials.
        noise: The noise of the log costs of each source, shape (S,).
        limit: The largest ratio.
    """
    n = [len(observations.costed(s)) for s in range(observations.n_sources)]
    n_ratios = [min(n[0], n_s) for n_s in n]
    margins = [
        margin(m, m * (noise[0] + noise_s)) for m, noise_s in zip(n_ratios, noise, strict=True)
    ]
    return math.log(limit) + np.array(margins)
