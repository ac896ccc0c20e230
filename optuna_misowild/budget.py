"""The total cost of a study, and stopping when it is spent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from optuna_misowild.records import costs


if TYPE_CHECKING:
    from optuna.study import Study


def cumulated_cost(study: Study, *, cost_attr: str = "cost") -> float:
    """Return the total cost of a study so far.

    All finished trials count, whatever their state: failed and pruned ones have paid too. Trials
    of unknown cost count as 0.

    Args:
        study: The study.
        cost_attr: User attribute of a trial that holds its cost. Where no objective sets it, the
            cost is the wall-clock time in seconds.
    """
    known = costs(study.get_trials(deepcopy=False), cost_attr)
    return math.fsum(cost for cost in known if math.isfinite(cost))
