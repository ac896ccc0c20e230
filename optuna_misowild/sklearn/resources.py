"""The sources of a search: parts of the rows, or smaller values of a parameter.

The first source is all rows, or the estimator's own value of the parameter: the preferred one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
import math
from numbers import Integral
from numbers import Real
from typing import TYPE_CHECKING
from typing import Any
import warnings

import numpy as np
from sklearn.base import is_classifier

from optuna_misowild.datasets import stratified_sources


if TYPE_CHECKING:
    from numpy.typing import NDArray


Splits = list[tuple[Any, Any]]

ROWS = "n_samples"
AUTO_FRACTIONS = (1.0, 0.2, 0.05)
# On fewer rows than this, scores say next to nothing of how parameters rank on all of them.
_FEWEST_ROWS = 30


@dataclass(frozen=True)
class Source:
    """What an evaluation uses.

    Attributes:
        choice: What the study calls it.
        n_resources: Rows of the data, or the value of the parameter.
        splits: Rows to fit and rows to score, for every fold.
        params: Parameters of the estimator that belong to the source.
    """

    choice: str | int
    n_resources: int
    splits: Splits = field(repr=False)
    params: dict[str, Any] = field(default_factory=dict)


def sources_of(
    estimator: Any,
    resource: str,
    fractions: Any,
    *,
    y: Any,
    groups: Any,
    splits: Splits,
    n_samples: int,
) -> list[Source]:
    """Return the sources of a search, the preferred one first.

    Args:
        estimator: The estimator of the search.
        resource: ``"n_samples"``, or the name of an integer parameter.
        fractions: Parts of the resource, 1 among them, or ``"auto"``.
        y: Target, or None.
        groups: Group of each row, or None. No group is split.
        splits: The folds on all of the data.
        n_samples: Number of rows.

    Raises:
        ValueError: If the estimator has no such parameter, or its value is no positive integer;
            if fractions are none; if one of them has no row.
    """
    parts = _parts(fractions)
    if resource == ROWS:
        is_auto = isinstance(fractions, str)
        return _parts_of_rows(estimator, parts, is_auto, y, groups, splits, n_samples)
    return _values(estimator, resource, parts, splits)


def _parts(fractions: Any) -> list[float]:
    """Return the fractions, the largest first."""
    if isinstance(fractions, str):
        return list(AUTO_FRACTIONS)
    given = fractions.tolist() if isinstance(fractions, np.ndarray) else fractions
    are_numbers = isinstance(given, Sequence) and all(isinstance(f, Real) for f in given)
    numbers = [float(f) for f in given] if are_numbers else []
    if 1.0 not in numbers or not all(0.0 < number <= 1.0 for number in numbers):
        raise ValueError(
            "fractions must be 'auto' or a list of numbers above 0 and up to 1, with 1 among "
            f"them, got {fractions!r} instead."
        )
    return sorted(set(numbers), reverse=True)


def _values(estimator: Any, resource: str, parts: list[float], splits: Splits) -> list[Source]:
    params = estimator.get_params()
    name = type(estimator).__name__
    if resource not in params:
        raise ValueError(
            f"Cannot use resource={resource!r} which is not supported by estimator {name}."
        )
    most = params[resource]
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 1:
        raise ValueError(
            f"Cannot use resource={resource!r}: its value in estimator {name} is the most that an "
            f"evaluation uses and must be a positive integer, got {most!r}."
        )
    values = sorted({math.ceil(int(most) * part) for part in parts}, reverse=True)
    return [Source(value, value, splits, {resource: value}) for value in values]


def _parts_of_rows(
    estimator: Any,
    parts: list[float],
    is_auto: bool,
    y: Any,
    groups: Any,
    splits: Splits,
    n_samples: int,
) -> list[Source]:
    n_fitted = min(len(train) for train, _ in splits)
    if is_auto:
        parts = [part for part in parts if part == 1.0 or part * n_fitted >= _FEWEST_ROWS]
    if parts == [1.0]:
        return [_of_rows(1.0, n_samples, splits)]
    strata = _strata(y, n_samples, are_classes=is_classifier(estimator))
    of_folds = [(_nested(strata, groups, train, parts, is_auto), test) for train, test in splits]
    return [
        _of_rows(part, n_samples, [(rows[part], test) for rows, test in of_folds])
        for part in parts
        if all(part in rows for rows, _ in of_folds)
    ]


def _of_rows(part: float, n_samples: int, splits: Splits) -> Source:
    return Source(f"{100.0 * part:.6g}%", round(part * n_samples), splits)


def _strata(y: Any, n_samples: int, *, are_classes: bool) -> NDArray[Any]:
    """Return what each part is to have its share of: classes, or ranges of values.

    What is no number is of a class, also where the estimator is no classifier: clusters and
    outliers have names, too.
    """
    try:
        target = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    except ValueError:  # Rows of several lengths.
        target = None
    if target is None or target.ndim == 0:
        return np.zeros(n_samples, dtype=int)
    if target.ndim > 1 and target.shape[1] == 1:
        target = target[:, 0]
    if not are_classes:
        try:
            return np.asarray(target if target.ndim == 1 else target[:, 0], dtype=float)
        except (TypeError, ValueError):
            pass
    if target.ndim > 1 or target.dtype == object:  # NumPy neither sorts rows of objects nor None.
        target = target.astype(str)
    codes = np.unique(target, axis=0 if target.ndim > 1 else None, return_inverse=True)[1]
    # As text: numbers of many classes would be taken for values.
    text: NDArray[Any] = codes.reshape(n_samples).astype(str)
    return text


def _nested(
    strata: NDArray[Any], groups: Any, train: NDArray[np.int_], parts: list[float], is_auto: bool
) -> dict[float, NDArray[np.int_]]:
    """Return the rows of each part of a fold, each inside the larger ones."""
    of_fold = None if groups is None else np.asarray(groups)[train]
    for n_parts in range(len(parts), 1, -1):
        try:
            with warnings.catch_warnings():
                # What a part lacks fails or scores badly there, and only there.
                warnings.simplefilter("ignore")
                rows = stratified_sources(
                    strata[train], parts[:n_parts], nested=True, groups=of_fold
                )
        except ValueError as error:
            if not is_auto:
                raise ValueError(f"Cannot make parts of the rows: {error}") from error
        else:
            return {part: train[index] for part, index in zip(parts, rows, strict=False)}
    return {1.0: train}
