"""A parameter as an axis of a figure."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_misowild.space import from_unit
from optuna_misowild.space import n_values


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution

    from optuna_misowild.visualization.look import Look


# Of the width of an axis, at both ends.
_PADDING = 0.03


@dataclass(frozen=True)
class Axis:
    """A parameter as an axis.

    Attributes:
        name: Name of the parameter.
        distribution: Its distribution.
    """

    name: str
    distribution: BaseDistribution

    @property
    def is_categorical(self) -> bool:
        """Whether its values have no order."""
        return isinstance(self.distribution, CategoricalDistribution)

    def values(self, limit: int) -> list[Any]:
        """Return at most ``limit`` values over the whole range; all choices of a category."""
        count = n_values(self.distribution)
        if self.is_categorical or (count is not None and count <= limit):
            assert count is not None
            limit = count
        if count is None:
            units = np.linspace(0.0, 1.0, limit)
        else:  # Each value has an equal share of the range.
            units = (np.arange(limit) + 0.5) / limit
        return list(dict.fromkeys(from_unit(self.distribution, u) for u in units))

    def place(self, value: Any) -> Any:
        """Return where a value is on the axis, as exactly as can be seen."""
        if self.is_categorical:
            return str(value)
        return float(f"{value:.6g}") if isinstance(value, float) else value

    def layout(self) -> dict[str, Any]:
        """Return the properties of the axis in plotly's layout."""
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            categories = [str(choice) for choice in distribution.choices]
            return {
                "title_text": self.name,
                "type": "category",
                "categoryorder": "array",
                "categoryarray": categories,
                "range": [-0.5, len(categories) - 0.5],
            }
        assert isinstance(distribution, (FloatDistribution, IntDistribution))
        low, high = float(distribution.low), float(distribution.high)
        if distribution.log:
            low, high = math.log10(low), math.log10(high)
        padding = _PADDING * (high - low)
        return {
            "title_text": self.name,
            "type": "log" if distribution.log else "linear",
            "range": [low - padding, high + padding],
            # Powers of ten only, where there is little room.
            **({"dtick": max(1, math.ceil((high - low) / 5.0))} if distribution.log else {}),
        }


def chosen_axes(look: Look, params: Sequence[str] | None) -> list[Axis]:
    """Return the axes for the parameters that a user asks for; None for all.

    Raises:
        TypeError: If ``params`` is no list of names.
        ValueError: If a name is no parameter that all completed trials have.
    """
    space = look.view.space
    if params is None:
        names = sorted(space)
    elif isinstance(params, str) or not all(isinstance(name, str) for name in params):
        raise TypeError(f"`params` must be a list of names of parameters, but got {params!r}.")
    else:
        names = list(dict.fromkeys(params))
    if not names:
        raise ValueError("`params` must not be empty; leave it out to show all parameters.")
    for name in names:
        if name not in space:
            raise ValueError(
                f"`params` has {name!r}, which is no parameter of more than one value that all "
                f"completed trials have. Those are {sorted(space)}."
            )
    return [Axis(name, space[name]) for name in names]
