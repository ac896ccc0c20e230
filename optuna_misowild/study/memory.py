"""What is kept in memory about a study, while its storage is in use: never as truth."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from weakref import WeakKeyDictionary

from optuna_misowild.study.optuna_private import storage_of


if TYPE_CHECKING:
    from collections.abc import Hashable

    from optuna.storages import BaseStorage
    from optuna.study import Study


class PerStudy:
    """A dict for each study. Copies and pickles start anew."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[BaseStorage, dict[str, dict[Hashable, Any]]] = (
            WeakKeyDictionary()
        )

    def of(self, study: Study) -> dict[Hashable, Any]:
        """Return what is kept of a study; several threads get the same."""
        kept = self._kept.setdefault(storage_of(study), {})
        return kept.setdefault(study.study_name, {})

    def __len__(self) -> int:
        """Return the number of storages in use that anything is kept of."""
        return len(self._kept)

    def __reduce__(self) -> Any:
        return type(self), ()
