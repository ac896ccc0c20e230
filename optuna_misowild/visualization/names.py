"""Names that users have given, short enough for a figure, and still different."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence


_LONGEST = 20


def shorten(name: str) -> str:
    """Return a name of at most twenty letters; a longer one keeps its beginning and its end."""
    if len(name) <= _LONGEST:
        return name
    end = _LONGEST // 2
    return f"{name[: _LONGEST - end - 1]}…{name[-end:]}"


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names shortened; those that are then the same get a number."""
    result: list[str] = []
    for name in names:
        label, number = shorten(name), 1
        while label in result:
            number += 1
            label = f"{shorten(name)} ({number})"
        result.append(label)
    return tuple(result)
