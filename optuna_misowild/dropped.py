"""The sources that are not asked again, since they are hardly cheaper than the preferred one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.robust_design import compared_costs
from optuna_misowild.methods.robust_design import is_cheap


if TYPE_CHECKING:
    from optuna_misowild.methods import Method
    from optuna_misowild.study_view import StudyView


def dropped_sources(view: StudyView, method: Method) -> dict[int, float]:
    """Return the sources that a method has dropped, with their cost relative to the preferred one.

    It is infinite where the preferred source was free. The other methods drop none.
    """
    if not isinstance(method, RobustMethod):
        return {}
    observations = view.design_observations
    dropped = {}
    for source in observations.queryable:
        costs = None if source == 0 else compared_costs(observations, source)
        if costs is not None and not is_cheap(observations, source, method.max_cost_ratio):
            dropped[source] = costs[0] / costs[1] if costs[1] > 0.0 else math.inf
    return dropped
