"""What a figure shows over the parameters, for each source: as slices or as contours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.figure_data import Query


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.figure_data import FigureData


_DIGITS = 4  # More than those a picture does not show.

Parameters = dict[str, Any]
# Parameter sets and a source -> the mean and the standard deviation of the quantity, or None.
Prediction = Callable[
    [list[Parameters], int], "tuple[NDArray[np.float64], NDArray[np.float64] | None]"
]


@dataclass(frozen=True)
class Mark:
    """A place to point at.

    Attributes:
        label: What it is.
        symbol: Plotly's name of the marker.
        params: Its parameters.
        source: The source that it belongs to; None for all.
    """

    label: str
    symbol: str
    params: Parameters
    source: int | None = None


@dataclass(frozen=True)
class Quantity:
    """What a figure shows over the parameters.

    Attributes:
        title: Title of its axis.
        predict: The quantity by the model.
        sources: The sources to show.
        captions: What stands above the panel of each of them, or in the legend.
        centre: The parameters that slices go through.
        observed: What a query has observed of it; None if it cannot be observed.
        marks: Places to point at.
        is_log: Whether it is shown on a logarithmic scale.
        colorscale: The colours of contours, or plotly's name of them.
        low_is_dark: Whether these run from dark to light.
        midpoint: The value in the middle of the colours, if there is one.
        cut: This part of the lowest values has one colour.
        depth: So have values that are more than this below the highest one.
        is_feasibility: Whether it is itself how likely a query is to be feasible; else it is grey
            where it probably is not.
        centre_is_said: Whether the text of the figure says already what slices go through.
    """

    title: str
    predict: Prediction
    sources: Sequence[int]
    captions: Sequence[str]
    centre: Parameters
    observed: Callable[[Query], float] | None = None
    marks: Sequence[Mark] = field(default=())
    is_log: bool = False
    colorscale: str | Sequence[tuple[float, str]] = "Blues"
    low_is_dark: bool = False
    midpoint: float | None = None
    cut: float = 0.0
    depth: float = math.inf
    is_feasibility: bool = False
    centre_is_said: bool = False

    def observation(self, query: Query) -> float:
        """Return what a query has observed, NaN if nothing that can be shown."""
        value = math.nan if self.observed is None else self.observed(query)
        return math.nan if self.is_log and value <= 0.0 else value

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what colours show: the logarithm to base ten, where the scale is logarithmic."""
        if not self.is_log:
            return values
        return np.log10(np.where(values > 0.0, values, np.nan))

    def floor(self, shown: NDArray[np.float64]) -> float:
        """Return what all lower values are shown as, given all that are shown."""
        shown = shown[np.isfinite(shown)]
        if len(shown) == 0:
            return -math.inf
        lowest = np.quantile(shown, self.cut) if self.cut else -math.inf
        return max(float(lowest), float(shown.max()) - self.depth)

    def band(
        self, mean: NDArray[np.float64], std: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds that are a standard deviation away from the mean."""
        if not self.is_log:
            return mean - std, mean + std
        # By factors, as a lognormal has it.
        factor = np.exp(np.sqrt(np.log1p((std / np.abs(mean)) ** 2)))
        return mean / factor, mean * factor


def recommended(data: FigureData) -> list[Mark]:
    """Return the mark of the recommended parameters, if there are any."""
    if data.recommendation is None:
        return []
    return [Mark("Recommended", "star", data.centre)]


def compact(values: NDArray[np.float64]) -> list[float | None]:
    """Return values with as many digits as a picture can show, NaN as None.

    Figures are stored as text, for the dashboard in pieces of two kilobytes.
    """
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return [None] * len(values)
    spread = float(np.ptp(finite)) or float(np.abs(finite).max()) or 1.0
    decimals = _DIGITS - 1 - math.floor(math.log10(spread))
    return [round(float(v), decimals) if math.isfinite(v) else None for v in values]
