"""What is remembered of a study while its storage is in use: above all, what has been said."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import Generic
from typing import TypeVar
from weakref import WeakKeyDictionary

from optuna_misowild.study.optuna_private import storage_of


if TYPE_CHECKING:
    from collections.abc import Callable

    from optuna.storages import BaseStorage
    from optuna.study import Study


T = TypeVar("T")


class PerStudy(Generic[T]):
    """Something for each study, gone with the study's storage. Copies and pickles start anew.

    Args:
        new: Returns it for a study that is new.
    """

    def __init__(self, new: Callable[[], T]) -> None:
        self._new = new
        self._of: WeakKeyDictionary[BaseStorage, dict[str, T]] = WeakKeyDictionary()

    def of(self, study: Study) -> T:
        """Return what there is for a study."""
        named = self._of.setdefault(storage_of(study), {})
        return named.setdefault(study.study_name, self._new())

    def __reduce__(self) -> Any:
        return type(self), (self._new,)


class OncePerStudy:
    """Remembers what has been said about which study."""

    def __init__(self) -> None:
        self._said: PerStudy[dict[str, object]] = PerStudy(dict)

    def is_said(self, study: Study, topic: str) -> bool:
        """Whether a topic is done with."""
        return topic in self._said.of(study)

    def first(self, study: Study, topic: str) -> bool:
        """Return whether a topic is new, once: not to two threads at the same time either."""
        token = object()
        return self._said.of(study).setdefault(topic, token) is token


class UncheckedTrials:
    """The trials of a study that are still to be checked: as many as are not finished, or so."""

    def __init__(self) -> None:
        self._n_seen = 0
        self._left: set[int] = set()

    def __contains__(self, number: int) -> bool:
        if number >= self._n_seen:
            self._left.update(range(self._n_seen, number + 1))
            self._n_seen = number + 1
        return number in self._left

    def __len__(self) -> int:
        return len(self._left)

    def discard(self, number: int) -> None:
        """Take a trial as checked."""
        self._left.discard(number)
