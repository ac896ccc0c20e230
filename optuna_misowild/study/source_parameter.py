"""The sources and their order, 0 being the preferred one: choices of a parameter, or steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
import math
import re
from typing import TYPE_CHECKING
from typing import Any

from optuna.distributions import CategoricalDistribution

from optuna_misowild.study.space import choice_index
from optuna_misowild.study.space import distinct_choices
from optuna_misowild.study.space import plain_indices


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


class _Default(Enum):
    """Stands for "the first choice", as ``None`` may be a choice itself."""

    FIRST = "the first choice"

    def __repr__(self) -> str:
        return f"<{self.value}>"


FIRST = _Default.FIRST


@dataclass(frozen=True)
class Sources:
    """The sources of a study.

    Attributes:
        name: Name of the categorical parameter.
        distribution: Its distribution, or None for a study without it, which has one source.
        order: Indices of the choices, the preferred one first. Of choices that are the same to
            Optuna, such as 1 and True, only the first is a source.
        queryable: Indices into ``order`` of the sources that may be queried.
        steps: The step at which ``trial.report`` has the value of each source, if it does; see
            :mod:`optuna_misowild.study.steps`. Without a distribution, they are the sources.
    """

    name: str
    distribution: CategoricalDistribution | None
    order: tuple[int, ...]
    queryable: tuple[int, ...]
    steps: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.order)

    @property
    def are_rungs(self) -> bool:
        """Whether they are steps of a training, with no parameter that names them."""
        return self.distribution is None and len(self.steps) > 0

    @property
    def lengths(self) -> tuple[float, ...]:
        """How long a training to each rung is, relative to the last; empty if they are none."""
        return tuple(step / self.steps[0] for step in self.steps) if self.are_rungs else ()

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """The size of each source relative to the preferred one; empty if they have none.

        Steps have one, and so do choices that all are numbers, or all per cents ("10%"), if the
        preferred one is the largest of them.
        """
        known = [_size(choice) for choice in self.choices]
        if len({unit for _, unit in known}) != 1 or known[0][1] is None:
            return ()
        sizes = tuple(size / known[0][0] for size, _ in known)
        return sizes if len(sizes) > 1 and max(sizes[1:]) < 1.0 else ()

    @property
    def choices(self) -> tuple[Any, ...]:
        """The choices or rungs, the preferred one first; (None,) if there is but one source."""
        if self.distribution is None:
            return self.steps or (None,)
        return tuple(self.distribution.choices[i] for i in self.order)

    def index_of(self, choice: Any) -> int:
        """Return the source index of a choice.

        Raises:
            ValueError: If it is not a choice.
        """
        if self.distribution is None:
            return self.steps.index(choice) if self.steps else 0
        return self.order.index(choice_index(self.distribution, self._plain_indices, choice))

    @cached_property
    def _plain_indices(self) -> dict[Any, int]:
        """Made once: choices are looked up for every trial."""
        assert self.distribution is not None
        return plain_indices(self.distribution)

    def of_trial(self, params: Mapping[str, Any]) -> int | None:
        """Return the source index of a trial's parameters.

        A trial without the parameter is a full evaluation, of source 0; for that of a rung see
        :func:`~optuna_misowild.study.steps.meant_for`. None means that its choice is none of the
        present ones.
        """
        if self.distribution is None or self.name not in params:
            return 0
        try:
            return self.index_of(params[self.name])
        except ValueError:
            return None


def sources_of(
    name: str,
    distribution: BaseDistribution | None,
    preferred_source: Any,
    query_sources: Sequence[Any] | None,
) -> Sources:
    """Return the sources that a parameter defines.

    Args:
        name: Name of the parameter.
        distribution: Its distribution, or None if no trial has it.
        preferred_source: The preferred choice; ``FIRST`` for the first one, and so is None
            where it is no choice.
        query_sources: The choices that may be queried; None for all.

    Raises:
        ValueError: If the parameter is not categorical, or a named source is not a choice.
    """
    if distribution is None:
        return Sources(name, None, (0,), (0,))
    if not isinstance(distribution, CategoricalDistribution):
        raise ValueError(
            f"The source parameter {name!r} must be suggested with `suggest_categorical`, but "
            f"its distribution is {distribution}. Rename the parameter, or give the name of the "
            "categorical one with `source=...`."
        )

    def position(argument: str, choice: Any) -> int:
        try:
            return int(distribution.to_internal_repr(choice))
        except ValueError:
            raise ValueError(
                f"`{argument}` has {choice!r}, which is not a choice of the source parameter "
                f"{name!r}: {list(distribution.choices)}."
            ) from None

    if preferred_source is None and None not in distribution.choices:
        preferred_source = FIRST
    preferred = 0 if preferred_source is FIRST else position("preferred_source", preferred_source)
    order = (preferred, *(i for i in distinct_choices(distribution) if i != preferred))
    if query_sources is None:
        return Sources(name, distribution, order, tuple(range(len(order))))
    allowed = {position("query_sources", choice) for choice in query_sources}
    if preferred not in allowed:
        raise ValueError(
            f"`query_sources` must contain the preferred source "
            f"{distribution.choices[preferred]!r}, but got {list(query_sources)}."
        )
    return Sources(
        name, distribution, order, tuple(i for i, k in enumerate(order) if k in allowed)
    )


def latest_distribution(name: str, trials: Sequence[FrozenTrial]) -> BaseDistribution | None:
    """Return the distribution of the source parameter in the latest trial that has it."""
    for trial in reversed(trials):
        if name in trial.distributions:
            return trial.distributions[name]
    return None


def _size(choice: Any) -> tuple[float, str | None]:
    """Return the size that a choice names, and its unit; None if it is none."""
    if isinstance(choice, str):
        number = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", choice)
        return (float(number[1]), "%") if number and float(number[1]) > 0.0 else (0.0, None)
    if isinstance(choice, bool) or not isinstance(choice, (int, float)):
        return 0.0, None
    return (float(choice), "") if 0.0 < choice < math.inf else (0.0, None)
