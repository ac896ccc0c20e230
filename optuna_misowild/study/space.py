"""Optuna's distributions to and from the unit cube."""

from __future__ import annotations

from functools import lru_cache
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution

from optuna_misowild.optim.domain import Domain


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


# A range, or a parameter, has settled when so many completed trials in a row have it.
_N_SETTLED = 3
# Of a numerical grid with more values than this, the methods see so many of them, evenly spread:
# their distance is then smaller than anything that the models resolve.
MAX_GRID_SIZE = 2**14
# The kinds of choices that Optuna can store everywhere.
_PLAIN = (str, int, float, type(None))


def distinct_choices(distribution: CategoricalDistribution) -> tuple[int, ...]:
    """Return the indices of the choices that differ from all earlier ones.

    Optuna records a choice as the index of the first one that is equal to it, and 1 == True.
    """
    try:
        return _distinct_choices(distribution)
    except TypeError:  # Choices such as lists cannot be hashed.
        return _distinct_choices.__wrapped__(distribution)


@lru_cache(maxsize=256)
def _distinct_choices(distribution: CategoricalDistribution) -> tuple[int, ...]:
    recorded = [int(distribution.to_internal_repr(choice)) for choice in distribution.choices]
    return tuple(sorted(set(recorded)))


def plain_indices(distribution: CategoricalDistribution) -> dict[Any, int]:
    """Return the indices that Optuna records the plain choices by, for :func:`choice_index`."""
    choices = distribution.choices
    return {
        choices[i]: i for i in distinct_choices(distribution) if isinstance(choices[i], _PLAIN)
    }


def choice_index(
    distribution: CategoricalDistribution, known: Mapping[Any, int], choice: Any
) -> int:
    """Return the index that Optuna records a choice by.

    That is ``to_internal_repr``, which searches: for every trial, that takes long.

    Args:
        distribution: The distribution of the parameter.
        known: What :func:`plain_indices` returns of it.
        choice: A choice.

    Raises:
        ValueError: If it is not a choice.
    """
    try:
        return known[choice]
    except (KeyError, TypeError):  # NaN, another kind of choice, or none.
        return int(distribution.to_internal_repr(choice))


def n_values(distribution: BaseDistribution) -> int | None:
    """Return how many values a distribution has, or None if it is continuous."""
    if isinstance(distribution, CategoricalDistribution):
        return len(distinct_choices(distribution))
    if isinstance(distribution, IntDistribution):
        return (distribution.high - distribution.low) // distribution.step + 1
    assert isinstance(distribution, FloatDistribution)
    if distribution.step is None:
        return None
    return round((distribution.high - distribution.low) / distribution.step) + 1


def is_within(distribution: BaseDistribution, value: Any) -> bool:
    """Return whether a parameter value lies in the range of a numerical distribution.

    Between two values of a grid counts as within; for a categorical one the answer is yes.
    """
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        return bool(distribution.low <= value <= distribution.high)
    return True


def common_space(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return the parameters that the latest evaluations share, ordered by name.

    A parameter belongs to the space, as the latest trial has it, if the last three have it
    with the same range and the earlier ones have it with any, or if it is new: see
    :func:`_is_new`. A parameter whose range changes from trial to trial is excluded, and so is
    one under a condition that only some trials meet. Trials without any parameter, such as a value
    to compare with that was added by hand, do not count.

    Args:
        trials: The trials that have a value, in the order in which they ran.
    """
    completed = [trial for trial in trials if trial.distributions]
    seen = [trial.distributions for trial in completed]
    space = {}
    for name in sorted(seen[-1]) if seen else ():
        distribution = seen[-1][name]
        if any(own.get(name) != distribution for own in seen[-_N_SETTLED:]):
            continue
        if all(name in own for own in seen) or _is_new(name, completed):
            space[name] = distribution
    return space


def _is_new(name: str, trials: Sequence[FrozenTrial]) -> bool:
    """Whether a parameter has come with a change of the objective, rather than by a condition.

    It is new if it came once and has stayed: the trials that have it, at least three, follow
    upon all that lack it. And if no other parameter separates the two, as the one that a condition
    looks at does: by its choices, or by being larger or smaller. Where less than three trials lack
    it, this is not examined.
    """
    first = next(i for i, trial in enumerate(trials) if name in trial.distributions)
    lacking, having = trials[:first], trials[first:]
    if len(having) < _N_SETTLED or any(name not in t.distributions for t in having):
        return False
    if len(lacking) < _N_SETTLED:
        return True
    return not any(
        _are_disjoint(lacking, having, other, distribution)
        for other, distribution in having[-1].distributions.items()
        if other != name
    )


def _are_disjoint(
    one: Sequence[FrozenTrial],
    other: Sequence[FrozenTrial],
    name: str,
    distribution: BaseDistribution,
) -> bool:
    """Whether the values of a parameter in some trials and in others have nothing in common.

    Not if some of them lack it, or have it with another distribution.
    """
    if any(trial.distributions.get(name) != distribution for trial in (*one, *other)):
        return False
    first, second = ([trial.params[name] for trial in trials] for trials in (one, other))
    if isinstance(distribution, CategoricalDistribution):
        return not any(value in second for value in first)
    return bool(max(first) < min(second) or max(second) < min(first))


def coordinate(distribution: BaseDistribution) -> Callable[[Any], float]:
    """Return the function from the values of a parameter to their coordinates in [0, 1].

    Values on a grid are padded by half a step at both ends, so that each takes an equal share
    of [0, 1] (of the logarithmic range, if the scale is logarithmic). Values outside the range
    are clipped into it.

    Args:
        distribution: The distribution of the parameter.

    Returns:
        A function of a value in Optuna's external representation. It raises a ``ValueError`` if
        a categorical value is not one of the choices.
    """
    if isinstance(distribution, CategoricalDistribution):
        distinct, known = distinct_choices(distribution), plain_indices(distribution)
        return lambda value: (
            (distinct.index(choice_index(distribution, known, value)) + 0.5) / len(distinct)
        )
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    low, high, step = distribution.low, distribution.high, distribution.step
    count = n_values(distribution)
    if distribution.log:
        log_low, log_high = _log_bounds(distribution)
        if log_high == log_low:
            return lambda value: 0.5
        return lambda value: float(
            (math.log(min(max(value, low), high)) - log_low) / (log_high - log_low)
        )
    if count is None:
        # Halves, since high − low overflows for the widest ranges.
        width = high / 2 - low / 2
        if width == 0.0:
            return lambda value: 0.5
        return lambda value: float((min(max(value, low), high) / 2 - low / 2) / width)

    def on_grid(value: Any) -> float:
        index = int(round((min(max(value, low), high) - low) / step))
        return (min(index, count - 1) + 0.5) / count

    return on_grid


def to_unit(distribution: BaseDistribution, value: Any) -> float:
    """Return the coordinate in [0, 1] of a parameter value, see :func:`coordinate`."""
    return coordinate(distribution)(value)


def from_unit(distribution: BaseDistribution, u: float) -> Any:
    """Return the parameter value, in Optuna's external representation, at a coordinate.

    The inverse of :func:`to_unit`; the result is always inside the distribution and a plain
    Python object.

    Args:
        distribution: The distribution of the parameter.
        u: The coordinate, in [0, 1].
    """
    u = min(max(float(u), 0.0), 1.0)
    count = n_values(distribution)
    if isinstance(distribution, CategoricalDistribution):
        assert count is not None
        return distribution.choices[distinct_choices(distribution)[min(int(u * count), count - 1)]]
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    value: float
    if distribution.log:
        low, high = _log_bounds(distribution)
        value = math.exp(low + u * (high - low))
        if isinstance(distribution, IntDistribution):
            value = round(value)
    elif count is None:
        value = distribution.low * (1.0 - u) + distribution.high * u
    else:
        assert distribution.step is not None
        value = distribution.low + min(int(u * count), count - 1) * distribution.step
    value = min(max(value, distribution.low), distribution.high)
    return int(value) if isinstance(distribution, IntDistribution) else float(value)


def _log_bounds(distribution: FloatDistribution | IntDistribution) -> tuple[float, float]:
    padding = 0.5 if isinstance(distribution, IntDistribution) else 0.0
    return math.log(distribution.low - padding), math.log(distribution.high + padding)


def encode(
    space: Mapping[str, BaseDistribution], params: Sequence[Mapping[str, Any]]
) -> NDArray[np.float64]:
    """Return the locations of parameter sets in the unit cube, shape (n, d).

    The columns follow the order of ``space``.
    """
    X = np.empty((len(params), len(space)))
    for i, values in enumerate(params):
        for j, (name, distribution) in enumerate(space.items()):
            X[i, j] = to_unit(distribution, values[name])
    return X


def encode_known(
    space: Mapping[str, BaseDistribution], params: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Return the coordinates of the parameters that are given, NaN for the others, shape (d,).

    A value that makes no sense is none: Optuna says so when an objective suggests it.
    """

    def coordinate(name: str, distribution: BaseDistribution) -> float:
        try:
            return to_unit(distribution, params[name])
        except (KeyError, TypeError, ValueError, OverflowError):
            return math.nan

    return np.array([coordinate(name, distribution) for name, distribution in space.items()])


def decode(space: Mapping[str, BaseDistribution], x: NDArray[np.float64]) -> dict[str, Any]:
    """Return the parameters at a location of the unit cube, the inverse of :func:`encode`."""
    return {name: from_unit(dist, u) for (name, dist), u in zip(space.items(), x, strict=True)}


def domain_of(space: Mapping[str, BaseDistribution]) -> Domain:
    """Return the search space as the numerical layer sees it."""
    return Domain(
        grids=tuple(
            _even_grid(len(distinct_choices(distribution)))
            if isinstance(distribution, CategoricalDistribution)
            else _grid(distribution)
            for distribution in space.values()
        ),
        categorical=np.array(
            [isinstance(dist, CategoricalDistribution) for dist in space.values()], dtype=bool
        ),
    )


def _even_grid(count: int) -> NDArray[np.float64]:
    grid: NDArray[np.float64] = (np.arange(count) + 0.5) / count
    return grid


@lru_cache(maxsize=256)
def _grid(distribution: BaseDistribution) -> NDArray[np.float64] | None:
    count = n_values(distribution)
    if count is None:
        return None
    even = _even_grid(min(count, MAX_GRID_SIZE))
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if count <= MAX_GRID_SIZE and not distribution.log:
        return even
    if count <= MAX_GRID_SIZE:
        assert isinstance(distribution, IntDistribution)
        values: list[Any] = list(range(distribution.low, distribution.high + 1))
    else:
        values = [from_unit(distribution, u) for u in even]
    # At the low end of a logarithmic scale, many of these are the same value.
    return np.unique([to_unit(distribution, value) for value in values])
