"""What a parameter is drawn from: SciPy's distributions, lists and Optuna's, all as Optuna's."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
import math
from numbers import Real
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


# Beyond these quantiles a distribution without a bound is not searched.
_TAIL = 1e-3
# Two distributions hardly agree at so many quantiles.
_N_MEANINGS = 9
# A longer text is no name for a choice.
_LONGEST_LABEL = 60


@dataclass(frozen=True)
class Parameter:
    """A parameter of the estimator in the study.

    Attributes:
        name: What the study calls it. It says so where the study's values are not the estimator's.
        distribution: The study's distribution.
        decode: From a value in the study to one for the estimator.
        meanings: What some values in the study stand for, by which a change is noticed. Empty if
            they stand for themselves.
    """

    name: str
    distribution: BaseDistribution
    decode: Callable[[Any], Any]
    meanings: Sequence[Any] = ()


def parameters_of(param_distributions: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a search, by their names in the estimator.

    Optuna's distributions are used as they are. SciPy's ``uniform``, ``loguniform`` and
    ``randint`` have a counterpart among them; of any other frozen distribution the quantile is
    searched. A list of numbers that ascend or descend is searched by the index, so that neighbours
    are near each other; of any other list the items are categories.

    Args:
        param_distributions: For each parameter a distribution or a list.

    Raises:
        TypeError: If something is neither.
        ValueError: If there are no parameters, or an empty list.
    """
    if not param_distributions:
        raise ValueError("Parameter distributions are empty: there is nothing to search.")
    return {name: _parameter(name, given) for name, given in param_distributions.items()}


def _parameter(name: str, given: Any) -> Parameter:
    if isinstance(given, BaseDistribution):
        return Parameter(name, given, _unchanged)
    if all(hasattr(given, method) for method in ("ppf", "support", "dist")):
        return _of_scipy(name, given)
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        return _of_list(name, [_plain(item) for item in given])
    raise TypeError(
        f"Parameter distribution for parameter ({name!r}) is neither a list, nor one of SciPy's "
        f"frozen distributions, nor one of Optuna's (value={given!r})."
    )


def _unchanged(value: Any) -> Any:
    return value


def _plain(item: Any) -> Any:
    """Return one of NumPy's scalars as Python's own, and anything else as it is."""
    return item.item() if isinstance(item, np.generic) else item


def _of_scipy(name: str, given: Any) -> Parameter:
    low, high = given.support()
    is_discrete = hasattr(given, "pmf")
    family = given.dist.name
    if family == "randint":
        return Parameter(name, IntDistribution(int(low), int(high)), _unchanged)
    if family == "uniform":
        return Parameter(name, FloatDistribution(float(low), float(high)), _unchanged)
    if family in ("loguniform", "reciprocal") and low > 0.0:
        # With a shift it is no longer uniform in the logarithm.
        if math.isclose(given.median(), math.sqrt(low * high)):
            distribution = FloatDistribution(float(low), float(high), log=True)
            return Parameter(name, distribution, _unchanged)
    quantiles = FloatDistribution(
        0.0 if math.isfinite(low) else _TAIL, 1.0 if math.isfinite(high) else 1.0 - _TAIL
    )

    def decode(quantile: float) -> Any:
        # SciPy's discrete ones begin below their support.
        value = max(given.ppf(quantile), low)
        return int(value) if is_discrete else float(value)

    some = np.linspace(quantiles.low, quantiles.high, _N_MEANINGS)
    # They are the same with another version of SciPy, which may be exact to another digit.
    meanings = [f"{decode(quantile):.6g}" for quantile in some]
    return Parameter(f"{name} (quantile)", quantiles, decode, meanings)


def _of_list(name: str, items: list[Any]) -> Parameter:
    if not items:
        raise ValueError(
            f"Parameter list for parameter ({name!r}) need to be a non-empty sequence, got: []."
        )
    if len(items) > 2 and all(isinstance(i, Real) and not isinstance(i, bool) for i in items):
        steps = np.diff(items)
        if (steps > 0.0).all() or (steps < 0.0).all():
            indices = IntDistribution(0, len(items) - 1)
            return Parameter(f"{name} (index)", indices, items.__getitem__, items)
    labels = [_label(i, item) for i, item in enumerate(items)]
    if len(set(labels)) < len(labels):  # 1 is 1.0 and True, too.
        labels = [f"{label} [{i}]" for i, label in enumerate(labels)]
    of_label = dict(zip(labels, items, strict=True))
    choices = CategoricalDistribution(tuple(of_label))
    return Parameter(name, choices, of_label.__getitem__, items)


def _label(index: int, item: Any) -> None | bool | int | float | str:
    """Return what the study calls an item: the same in every process, so that it can resume."""
    # NaN is named by its text: a storage returns another NaN, which is not equal.
    if item is None or (isinstance(item, (bool, int, float, str)) and item == item):
        return item
    text = " ".join(repr(item).split())
    if len(text) <= _LONGEST_LABEL and " at 0x" not in text:
        return text
    return f"{type(item).__name__} [{index}]"
