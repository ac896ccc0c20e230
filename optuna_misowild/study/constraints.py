"""The constraints of the user, g_k ≤ 0: as trials record them, and as the methods see them.

Each has a name (``Trial.set_constraint`` of Optuna 5) or a position in the list that a
``constraints_func`` returns. Trials may have different ones.
"""

from __future__ import annotations

from collections import Counter
import math
from numbers import Real
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


# Optuna's: one list of unnamed constraints, and before the name of each that has one.
CONSTRAINTS_KEY = "constraints"
NAMED_CONSTRAINT = f"{CONSTRAINTS_KEY}:"

# Each takes models of its own.
MAX_CONSTRAINTS = 10
_LARGEST = 1e100  # Their squares must not overflow.


def as_number(value: Any) -> float:
    """Return the value of a constraint, within ±1e100; NaN for what is no number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    if value <= -_LARGEST:
        return -_LARGEST
    return float(value) if value <= _LARGEST or value != value else _LARGEST


def unreadable_constraints(system_attrs: Mapping[str, Any]) -> list[str]:
    """Return the system attributes of a trial that are constraints with a value that is none."""
    return [
        key
        for key, value in system_attrs.items()
        if (key == CONSTRAINTS_KEY and not _is_list_of_numbers(value))
        or (key.startswith(NAMED_CONSTRAINT) and math.isnan(as_number(value)))
    ]


def _is_list_of_numbers(value: Any) -> bool:
    if value is None:  # What Optuna records where a `constraints_func` has raised.
        return True
    is_list = isinstance(value, (list, tuple))
    return is_list and not any(math.isnan(as_number(number)) for number in value)


def constraint_names(trials: Sequence[Mapping[str, float]]) -> tuple[list[str], list[str]]:
    """Return the constraints that are learnt from, and those that are too many.

    Args:
        trials: The constraints of each trial by their names.

    Returns:
        The names of at most ten, which most trials have a value of; and the others.
    """
    count = Counter(name for one in trials for name, g in one.items() if not math.isnan(g))
    # The order in which a storage has them differs from one to the next.
    names = sorted(count, key=lambda name: (-count[name], name))
    return sorted(names[:MAX_CONSTRAINTS]), sorted(names[MAX_CONSTRAINTS:])
