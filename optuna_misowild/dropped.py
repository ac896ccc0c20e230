"""The sources that are not asked again, since they are hardly cheaper than the preferred one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_misowild.methods.cost_ratio import CostRatio
from optuna_misowild.methods.cost_ratio import cost_ratio
from optuna_misowild.methods.robust import RobustMethod


if TYPE_CHECKING:
    from optuna_misowild.methods import Method
    from optuna_misowild.study_view import StudyView


def dropped_sources(view: StudyView, method: Method) -> dict[int, CostRatio]:
    """Return the sources that a method does not ask now, with their cost relative to source 0's.

    Later costs may say otherwise. The other methods drop none.
    """
    if not isinstance(method, RobustMethod):
        return {}
    observations = view.design_observations
    ratios = {s: cost_ratio(observations, s) for s in observations.queryable if s > 0}
    return {s: ratio for s, ratio in ratios.items() if ratio.exceeds(method.max_cost_ratio)}
