"""Parameter sets spread over a search space, to see all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.study.space import decode
from optuna_misowild.study.space import encode


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.study.snapshot import StudyView


_LOG2_SIZE = 9
# The steps by which the best places are improved, in the unit cube, and how many of each.
_STEPS = (0.05, 0.01, 0.002)
_N_STEPS = 64


def spread_params(view: StudyView) -> list[dict[str, Any]]:
    """Return 512 parameter sets, evenly spread and the same at every call."""
    return _spread(view, 1)[0]


def spread_pairs(view: StudyView) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return 512 pairs of parameter sets, evenly spread and the same at every call.

    The two of a pair are independent: together they are one point of a sequence in twice as many
    dimensions. Two points of one sequence are not, whichever they are.
    """
    first, second = _spread(view, 2)
    return first, second


def _spread(view: StudyView, n: int) -> list[list[dict[str, Any]]]:
    from scipy.stats.qmc import Sobol

    U = Sobol(n * len(view.space), seed=0).random_base2(_LOG2_SIZE)
    return [[decode(view.space, u) for u in part] for part in np.split(U, n, axis=1)]


def highest(
    view: StudyView,
    function: Callable[[list[dict[str, Any]]], NDArray[np.float64]],
    candidates: Sequence[dict[str, Any]],
) -> float:
    """Return about the highest value of a function: exact enough to be read, not to be queried.

    Args:
        view: The study, for its search space.
        function: Takes parameter sets to values; −inf where there is none.
        candidates: Places that may be the best, beside those spread evenly.
    """
    rng = np.random.default_rng(0)
    places = [*candidates, *spread_params(view)]
    values = function(places)
    best, value = places[int(np.argmax(values))], float(np.max(values))
    for step in _STEPS:
        U = encode(view.space, [best]) + step * rng.standard_normal((_N_STEPS, len(view.space)))
        places = [decode(view.space, u) for u in U]
        values = function(places)
        if np.max(values) > value:
            best, value = places[int(np.argmax(values))], float(np.max(values))
    return value
