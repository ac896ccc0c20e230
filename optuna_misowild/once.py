"""Saying something once per study."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from optuna.study import Study


class OncePerStudy:
    """Remembers what has been said about which study."""

    def __init__(self) -> None:
        self._said: dict[tuple[int, str, str], object] = {}

    def is_said(self, study: Study, topic: str) -> bool:
        """Whether a topic is done with."""
        return self._key(study, topic) in self._said

    def first(self, study: Study, topic: str) -> bool:
        """Return whether a topic is new, once: not to two threads at the same time either."""
        token = object()
        return self._said.setdefault(self._key(study, topic), token) is token

    @staticmethod
    def _key(study: Study, topic: str) -> tuple[int, str, str]:
        # With the name: a new storage may be where one that is gone was in memory.
        return id(study._storage), study.study_name, topic
