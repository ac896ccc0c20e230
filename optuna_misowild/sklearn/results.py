"""What evaluations have given: kept in their trials, and read back as ``cv_results_``.

The trials alone hold it, so that a search that resumes has it all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
import warnings

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial


COST_ATTR = "cost"
# A longer list does not fit into an attribute of a relational storage.
_MOST_VALUES = 64
_FURTHER = ", from fold "
_TIMES = ("fit_time", "score_time")
_SCORES = ("test", "train")
_ERROR = "fit_error"
_LONGEST_ERROR = 500


@dataclass(frozen=True)
class Row:
    """An evaluation in ``cv_results_``: what its trial has recorded, and what it stands for."""

    attrs: Mapping[str, Any]
    params: dict[str, Any]
    source: Any
    n_resources: int
    is_preferred: bool


def record(
    trial: Trial, folds: Sequence[dict[str, Any]], cost: float, stage: int | None = None
) -> None:
    """Keep the times and scores of all folds in user attributes named as in ``cv_results_``.

    Args:
        trial: The trial.
        folds: What scikit-learn returns for each fold.
        cost: What the evaluation has cost, in seconds.
        stage: Which stage of the trial it is, if there are several.
    """
    columns = {name: [fold[name] for fold in folds] for name in _TIMES}
    for kind in _SCORES:
        for fold in folds:
            scores = fold.get(f"{kind}_scores", {})
            named = scores if isinstance(scores, dict) else {"score": scores}
            for metric, value in named.items():
                columns.setdefault(f"{kind}_{metric}", []).append(value)
    prefix = _prefix(stage)
    for name, values in columns.items():
        for i in range(0, len(values), _MOST_VALUES):
            chunk = [float(value) for value in values[i : i + _MOST_VALUES]]
            trial.set_user_attr(prefix + _chunk(name, i), chunk)
    errors = [fold[_ERROR] for fold in folds if fold[_ERROR] is not None]
    if errors:
        trial.set_user_attr(prefix + _ERROR, errors[0].strip().splitlines()[-1][:_LONGEST_ERROR])
    trial.set_user_attr(prefix + COST_ATTR, cost)  # Last: then all is there.


def recorded(trial: FrozenTrial, stage: int | None = None) -> dict[str, Any]:
    """Return what :func:`record` has kept of a stage of a trial; empty if nothing."""
    prefix = _prefix(stage)
    attrs = {
        name.removeprefix(prefix): value
        for name, value in trial.user_attrs.items()
        if name.startswith(prefix)
    }
    return attrs if _TIMES[0] in attrs and COST_ATTR in attrs else {}


def _prefix(stage: int | None) -> str:
    return "" if stage is None else f"stage {stage}: "


def tabulate(
    rows: Sequence[Row],
    n_splits: int,
    format_results: Callable[..., dict[str, Any]],
    *,
    error_score: float,
) -> tuple[dict[str, Any], dict[str, Any], NDArray[np.int_]]:
    """Return the table of all rows, that of the preferred source's alone, and where these are.

    Args:
        rows: The evaluations; at least one is of the preferred source.
        n_splits: Number of folds.
        format_results: What makes scikit-learn's table of candidates and scores.
        error_score: Score where a fit has failed and no score is known.
    """
    metrics = {kind: _metrics(rows, kind) for kind in _SCORES}

    def table(some: Sequence[Row]) -> dict[str, Any]:
        folds = [
            fold
            for row in some
            for fold in _folds(row.attrs, n_splits, metrics, error_score=error_score)
        ]
        more = {
            "source": [row.source for row in some],
            "n_resources": [row.n_resources for row in some],
            "cost": [row.attrs[COST_ATTR] for row in some],
        }
        return format_results([row.params for row in some], n_splits, folds, more)

    is_preferred = np.array([row.is_preferred for row in rows])
    with warnings.catch_warnings():
        # What a part of the resource lacks says nothing of all of it.
        warnings.filterwarnings("ignore", message="One or more of the .* are non-finite")
        everything = table(rows)
    preferred = table([row for row in rows if row.is_preferred])
    for name in [name for name in everything if name.startswith("rank_test_")]:
        ranks = np.zeros(len(rows), dtype=preferred[name].dtype)
        ranks[is_preferred] = preferred[name]
        everything[name] = np.ma.MaskedArray(ranks, mask=~is_preferred)
    return everything, preferred, np.flatnonzero(is_preferred)


def _metrics(rows: Iterable[Row], kind: str) -> list[str]:
    """Return the names of the scores, in their order.

    Where nothing succeeded, a scorer that returns several has not told their names.
    """
    names: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for row in rows:
        found = {
            name.removeprefix(f"{kind}_"): None
            for name in row.attrs
            if name.startswith(f"{kind}_") and _FURTHER not in name
        }
        names[_ERROR in row.attrs] |= found
    return list(names[False] or names[True])


def _folds(
    attrs: Mapping[str, Any], n_splits: int, metrics: dict[str, list[str]], *, error_score: float
) -> list[dict[str, Any]]:
    """Return what scikit-learn has returned for each fold."""
    times = {name: _values(attrs, name) for name in _TIMES}
    folds: list[dict[str, Any]] = [
        {name: values[i] for name, values in times.items()} for i in range(n_splits)
    ]
    for kind, names in metrics.items():
        failed = [error_score] * n_splits
        columns = {name: _values(attrs, f"{kind}_{name}") or failed for name in names}
        for i, fold in enumerate(folds):
            scores = {name: values[i] for name, values in columns.items()}
            fold[f"{kind}_scores"] = scores["score"] if names == ["score"] else scores
    return folds


def _values(attrs: Mapping[str, Any], name: str) -> list[float]:
    values: list[float] = []
    while chunk := attrs.get(_chunk(name, len(values))):
        values += chunk
    return values


def _chunk(name: str, start: int) -> str:
    """Return the attribute that holds the values of a column from one on."""
    return f"{name}{_FURTHER}{start}" if start else name
