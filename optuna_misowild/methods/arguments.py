"""Checks of constructor arguments: what is wrong is said at once, with the value given."""

from __future__ import annotations

from collections.abc import Sequence
import math
from numbers import Integral
from numbers import Real
import reprlib
from typing import Any


def text(name: str, value: Any) -> str:
    """Return a non-empty string."""
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a string, but got {value!r}.")
    if not value:
        raise ValueError(f"`{name}` must not be empty.")
    return value


def flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"`{name}` must be True or False, but got {value!r}.")
    return value


def number(name: str, value: Any, *, positive: bool) -> float:
    """Return a finite number that is positive, or at least 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number, but got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # Of an integer that no float is as large as.
        number = math.inf
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        wanted = "positive" if positive else "0 or more"
        raise ValueError(f"`{name}` must be finite and {wanted}, but got {reprlib.repr(value)}.")
    return number


def integer(name: str, value: Any, *, least: int) -> int:
    """Return an integer that is at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"`{name}` must be an integer, but got {value!r}.")
    if value < least:
        raise ValueError(f"`{name}` must be at least {least}, but got {value!r}.")
    return int(value)


def choices(name: str, value: Any) -> tuple[Any, ...]:
    """Return a non-empty sequence of choices."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(
            f"`{name}` must be a list of choices of the source parameter, but got {value!r}."
        )
    if not value:
        raise ValueError(f"`{name}` must not be empty; omit it to query every source.")
    return tuple(value)
