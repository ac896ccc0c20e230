"""A parameter as an axis of a figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_misowild.figure_data import distinct
from optuna_misowild.figure_data import shorten
from optuna_misowild.study.space import distinct_choices
from optuna_misowild.study.space import from_unit


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution

    from optuna_misowild.figure_data import FigureData


# Of the width of an axis, at both ends.
_PADDING = 0.03
# Of the width of a narrow axis, at both ends: a label there would stick out.
_END = 0.1


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

    @property
    def title(self) -> str:
        """What stands beside it."""
        return shorten(self.name)

    @cached_property
    def _categories(self) -> dict[int, str]:
        """The names of the choices that differ to Optuna, by the indices it records."""
        assert isinstance(self.distribution, CategoricalDistribution)
        indices, choices = distinct_choices(self.distribution), self.distribution.choices
        return dict(zip(indices, distinct([str(choices[i]) for i in indices]), strict=True))

    def values(self, limit: int) -> list[Any]:
        """Return at most ``limit`` values over the whole range; all choices of a category."""
        if isinstance(self.distribution, CategoricalDistribution):
            return [self.distribution.choices[i] for i in self._categories]
        units = np.linspace(0.0, 1.0, limit)
        return list(dict.fromkeys(from_unit(self.distribution, u) for u in units))

    def place(self, value: Any) -> Any:
        """Return where a value is on the axis, as exactly as can be seen."""
        if isinstance(self.distribution, CategoricalDistribution):
            index = self.distribution.to_internal_repr(value)
            return self._categories[int(index)]
        return float(f"{value:.6g}") if isinstance(value, float) else value

    def layout(self, *, narrow: bool = False) -> dict[str, Any]:
        """Return the properties of the axis in plotly's layout.

        Args:
            narrow: Whether it lies beside others, so that its labels must not meet theirs.
        """
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            categories = list(self._categories.values())
            return {
                "title_text": self.title,
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
        properties: dict[str, Any] = {
            "title_text": self.title,
            "type": "log" if distribution.log else "linear",
            "range": [low - padding, high + padding],
        }
        if narrow:
            properties |= {"tickangle": 0, "ticklabeloverflow": "hide past domain"}
        if distribution.log:
            properties |= _numbers(low, high, narrow=narrow)
        return properties


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks between powers of ten: these, with 2 and 5 between them where there is room.

    Args:
        low: Logarithm to base ten of the least value shown.
        high: Of the largest.
    """
    steps = (1,) if high - low > 4.0 else (1, 2, 5)
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [step * 10.0**power for power in powers for step in steps]


def log_axis(values: NDArray[np.float64], *, most: int = 12) -> dict[str, Any]:
    """Return the properties of a logarithmic axis that ends on ticks and shows all values.

    Args:
        values: What it has to show; what is not positive is excluded.
        most: So many ticks there is room for.
    """
    shown = values[np.isfinite(values) & (values > 0.0)]
    if len(shown) == 0:
        return {"type": "log"}
    low, high = math.log10(shown.min()), math.log10(shown.max())
    first, last = math.floor(low + 1e-9), math.ceil(high - 1e-9)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)]
    below = max(i for i, tick in enumerate(ticks) if math.log10(tick) <= low + 1e-9)
    above = min(i for i, tick in enumerate(ticks) if math.log10(tick) >= high - 1e-9)
    below, above = (max(below - 1, 0), above + 1) if below == above else (below, above)
    ticks = ticks[below : above + 1]
    if len(ticks) > most:
        stride = math.ceil((last - first) / (most - 1))
        ticks = [10.0**power for power in range(first, last + stride, stride)]
    return {
        "type": "log",
        "range": [math.log10(ticks[0]), math.log10(ticks[-1])],
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def _numbers(low: float, high: float, *, narrow: bool) -> dict[str, Any]:
    """Return where a logarithmic axis has numbers: at powers of ten, if it has at least two.

    About five of them, or three inside a narrow axis, which else has two other numbers.
    """
    end = _END * (high - low) if narrow else 0.0
    n_powers = math.floor(high - end) - math.ceil(low + end) + 1
    if n_powers > 1:
        step = math.ceil(n_powers / 3 if narrow else (high - low) / 5.0)
        first = step * math.ceil((low + end) / step - 1e-9)
        shown = list(range(first, math.floor(high - end + 1e-9) + 1, step))
        if len(shown) == 1:
            shown = [math.ceil(low + end), math.floor(high - end)]
        # Plotly's own powers are in larger letters than all other numbers.
        return {"tickvals": [10.0**power for power in shown], "ticktext": list(map(_power, shown))}
    powers = range(math.floor(low), math.ceil(high) + 1)
    ticks = [d * 10.0**power for power in powers for d in (range(1, 10) if narrow else (1, 2, 5))]
    # These labels are longer, so that they stick out a little.
    reach = (high - low) / 2.0 - 1.5 * end + 1e-9
    ticks = [tick for tick in ticks if abs(math.log10(tick) - (low + high) / 2.0) < reach]
    if len(ticks) < 2:
        return {"nticks": 2 if narrow else 5}  # Those that plotly chooses.
    if narrow:
        ticks = [ticks[0], ticks[-1]]
    texts = [f"{tick:g}".replace("e-0", "e-") for tick in ticks]
    return {"tickvals": ticks, "ticktext": texts, "ticklabeloverflow": "allow"}


def _power(exponent: int) -> str:
    return f"{10**exponent}" if 0 <= exponent <= 1 else f"10<sup>{exponent}</sup>"


def chosen_axes(data: FigureData, params: Sequence[str] | None) -> list[Axis]:
    """Return the axes for the parameters that a user wants; None for all.

    Raises:
        TypeError: If ``params`` is no list of names.
        ValueError: If a name is no parameter that all completed trials have.
    """
    space = data.view.space
    if params is None:
        names = sorted(space)
    elif (
        isinstance(params, str)
        or not isinstance(params, Iterable)
        or not all(isinstance(name, str) for name in params)
    ):
        raise TypeError(f"`params` must be a list of names of parameters, but got {params!r}.")
    else:
        names = list(dict.fromkeys(params))
    if not names:
        raise ValueError("`params` must not be empty; omit it to show all parameters.")
    for name in names:
        if name not in space:
            raise ValueError(
                f"`params` has {name!r}, which is no parameter of more than one value that all "
                f"completed trials have. Those are {sorted(space)}."
            )
    return [Axis(name, space[name]) for name in names]
