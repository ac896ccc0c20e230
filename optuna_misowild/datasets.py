"""Subsets of a data set as information sources."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import Any
import warnings

import numpy as np

from optuna_misowild.methods import arguments


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from numpy.typing import NDArray


N_SUBSETS = 10
# Integers are the values of a regression if more than so many of them differ, ...
_MOST_CLASSES = 20
# ... and each occurs fewer times than this in the mean.
_FEWEST_ROWS = 10
# Of the values of a regression: more change nothing, and whole groups do justice to few.
_N_QUANTILES, _N_QUANTILES_OF_GROUPS = 1000, 10
# What the share of a stratum can be rounded by.
_N_OFFSETS = 32
# Fractions and their sums are no more exact than this.
_EXACTNESS = 1e-7


def stratified_sources(
    y: ArrayLike,
    fractions: Sequence[float] = (1.0, 0.4, 0.3, 0.2, 0.1),
    *,
    nested: bool = False,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> list[NDArray[np.int_]]:
    """Cut a data set into information sources, by default as in the paper's "Sources setup".

    A fraction of 1 is the whole data set. The other sources do not overlap, or lie inside one
    another if ``nested``.

    If all fractions are multiples of 0.1, and neither ``nested`` nor ``groups`` is used, the data
    are cut into ten stratified subsets as in the paper, and each source merges the next ones that
    are not yet taken. By default: all the data, then subsets 1–4, 5–7, 8–9 and 10. Each subset
    has its share of every class up to one row. Otherwise each source itself has its share of
    every class up to one row, as far as groups allow it.

    The same arguments give the same sources, so that they mean the same data in every process
    and whenever a study is resumed.

    Example:

        .. code-block:: python

            all_rows, tenth = stratified_sources(y, fractions=(1.0, 0.1))
            rows = {"100%": all_rows, "10%": tenth}


            def objective(trial):
                chosen = rows[trial.suggest_categorical("source", ["100%", "10%"])]
                x = trial.suggest_float("x", -10, 10)
                return evaluate(x, data[chosen], y[chosen])

    Args:
        y: Target of every row of the data, shape (n,): class labels of any sortable type, or the
            values of a regression, of which each source gets its share of every range. Numbers
            are taken for the latter if not all of them are integers, or if more than twenty
            differ and each occurs fewer than ten times in the mean. Pass classes like that, many
            and small, as text, ``labels.astype(str)``.
        fractions: Share of the data in each source, above 0 and up to 1. The sum of those below
            1 is at most 1, unless ``nested``.
        nested: Whether a smaller source is a part of every larger one.
        groups: Group of every row, shape (n,), such as the patient or the day that it is of: no
            group is split. Shares are then as close as whole groups come to them.
        seed: Seed of the assignment of rows to subsets.

    Returns:
        For each fraction, the sorted indices of the rows in that source.

    Raises:
        TypeError: If an argument has the wrong type, or labels or groups cannot be sorted.
        ValueError: If an argument has a value that makes no sense, or a source would be empty.
    """
    shares = _shares(fractions, nested=arguments.flag("nested", nested))
    strata, are_classes = _strata(y)
    intervals = _intervals(shares, nested=nested)
    rng = np.random.default_rng(seed)
    if groups is not None:
        group = _grouped(groups, strata)
        merged = strata if are_classes else _merged(strata, _N_QUANTILES_OF_GROUPS)
        place = _places_of_groups(merged, group, intervals, rng)
    elif not nested and all(_is_tenths(share) for share in shares):
        place = _places_in_tenths(strata, rng)
    else:
        merged = strata if are_classes else _merged(strata, _N_QUANTILES)
        place = _places(merged, intervals, rng)
    sources = [np.flatnonzero((place > low) & (place <= high)) for low, high in intervals]
    _refuse_empty(sources, shares, groups)
    if groups is not None:
        _warn_of_size(sources, shares, len(place))
    if are_classes:
        _warn_of_missing_classes(strata, sources, shares)
    return sources


# The arguments.


def _shares(fractions: Sequence[float], *, nested: bool) -> list[float]:
    """Return the fractions as floats; those that are meant to be multiples of 0.1 exactly so."""
    if isinstance(fractions, str) or not hasattr(fractions, "__len__"):
        raise TypeError(
            f"`fractions` must be a list of numbers, such as (1.0, 0.1), but got {fractions!r}."
        )
    if len(fractions) == 0:
        raise ValueError("`fractions` must name at least one source, but is empty.")
    shares = []
    for fraction in fractions:
        share = arguments.number("fractions", fraction, positive=True)
        tenths = round(N_SUBSETS * share) / N_SUBSETS
        share = tenths if abs(tenths - share) <= _EXACTNESS else share
        if not 0.0 < share <= 1.0:
            raise ValueError(
                "`fractions` must be parts of the data, above 0 and up to 1 for all of them, but "
                f"has {fraction!r}."
            )
        shares.append(share)
    taken = math.fsum(share for share in shares if share < 1.0)
    if not nested and taken > 1.0 + _EXACTNESS:
        raise ValueError(
            "`fractions` below 1 must not sum to more than 1, because their sources do not "
            f"overlap, but those of {tuple(fractions)!r} sum to {taken:.6g}. Choose smaller ones, "
            "or `nested=True`: then each lies inside the larger ones."
        )
    return shares


def _is_tenths(share: float) -> bool:
    return share == round(N_SUBSETS * share) / N_SUBSETS


def _intervals(shares: Sequence[float], *, nested: bool) -> list[tuple[float, float]]:
    """Return which places each source has: those above the first number, up to the second."""
    intervals, taken = [], 0.0
    for share in shares:
        if nested or share == 1.0:
            intervals.append((0.0, share))
            continue
        end = taken + share
        end = 1.0 if abs(end - 1.0) <= _EXACTNESS else end
        intervals.append((taken, end))
        taken = end
    return intervals


# What there is.


def _strata(y: ArrayLike) -> tuple[NDArray[np.int_], bool]:
    """Return the number of each row's stratum, and whether the strata are classes.

    Otherwise they are ranges of values, in ascending order.
    """
    values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"`y` must be one-dimensional, but has shape {values.shape}.")
    if len(values) == 0:
        raise ValueError("`y` must have a row at least, but is empty.")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError("`y` must be finite, but has NaN or infinite values.")
        if (values != np.rint(values)).any():
            # Stable: equal values have the same ranks on every machine.
            ranks = np.argsort(np.argsort(values, kind="stable"))
            # The last range takes the remainder, so that none has fewer rows than subsets.
            last = max(len(values) // N_SUBSETS - 1, 0)
            return np.minimum(ranks // N_SUBSETS, last), False
    labels, strata = _numbered("y", values)
    are_many = len(labels) > max(_MOST_CLASSES, len(values) / _FEWEST_ROWS)
    return strata, not (are_many and values.dtype.kind in "fiu")


def _grouped(groups: ArrayLike, strata: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the number of each row's group."""
    values = np.asarray(groups)
    if values.shape != strata.shape:
        raise ValueError(
            f"`groups` must have one entry for each of the {len(strata)} rows of `y`, but has "
            f"shape {values.shape}."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("`groups` must be finite, but has NaN or infinite values.")
    return _numbered("groups", values)[1]


def _numbered(name: str, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int_]]:
    try:
        labels, numbers = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"`{name}` must have labels that can be sorted, without missing ones ({error})."
        ) from None
    return labels, numbers


def _merged(strata: NDArray[np.int_], n_most: int) -> NDArray[np.int_]:
    """Return strata of which neighbours are merged into so many quantiles at most."""
    sizes = np.bincount(strata)
    middle = (np.cumsum(sizes) - sizes / 2.0) / len(strata)
    return np.unique((n_most * middle).astype(int)[strata], return_inverse=True)[1]


# Every row has a place in (0, 1], and each source the rows of an interval.


def _places_in_tenths(strata: NDArray[np.int_], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return places in the middle of ten subsets: the strata, shuffled within, are dealt in turn.

    No two subsets differ by more than one row, in total or within a stratum.
    """
    if len(strata) < N_SUBSETS:
        raise ValueError(
            f"`y` must have at least {N_SUBSETS} rows, to be cut into {N_SUBSETS} subsets, but "
            f"has {len(strata)}."
        )
    order = np.lexsort((rng.random(len(strata)), strata))
    place = np.empty(len(strata))
    place[order] = (np.arange(len(strata)) % N_SUBSETS + 0.5) / N_SUBSETS
    return place


def _places(
    strata: NDArray[np.int_], intervals: Sequence[tuple[float, float]], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return places that are even within each stratum: an interval has its share up to one row.

    The k-th of m shuffled rows is at (k − u)/m. The offset u decides which intervals get their
    share rounded up; each stratum has the one that brings them closest to their shares so far.
    """
    order = np.lexsort((rng.random(len(strata)), strata))
    sizes = np.bincount(strata)
    low, high = np.array(intervals).T
    candidates = (np.arange(_N_OFFSETS)[:, None] + rng.random()) / _N_OFFSETS
    offsets, excess = np.empty(len(sizes)), np.zeros(len(intervals))
    for s, m in enumerate(sizes):
        rows = np.floor(m * high + candidates) - np.floor(m * low + candidates)
        excesses = excess + rows - m * (high - low)  # (candidates, intervals)
        best = np.argmin((excesses**2 / (high - low)).sum(axis=1))
        offsets[s], excess = candidates[best, 0], excesses[best]
    ordered = strata[order]
    k = 1 + np.arange(len(strata)) - (np.cumsum(sizes) - sizes)[ordered]
    place = np.empty(len(strata))
    place[order] = (k - offsets[ordered]) / sizes[ordered]
    return place


def _places_of_groups(
    strata: NDArray[np.int_],
    group: NDArray[np.int_],
    intervals: Sequence[tuple[float, float]],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return places at which every group is whole, between the ends of the intervals.

    The largest groups first, each goes to where it brings the numbers of rows of all strata
    closest to the shares, by the chi-squared distance.
    """
    ends = np.unique(np.round([0.0, 1.0, *(end for pair in intervals for end in pair)], 9))
    rows = np.zeros((int(group.max()) + 1, int(strata.max()) + 1))
    np.add.at(rows, (group, strata), 1.0)
    wanted = np.diff(ends)[:, None] * rows.sum(axis=0)  # (intervals, strata)
    given = np.zeros_like(wanted)
    part = np.empty(len(rows), dtype=int)
    shuffled = rng.permutation(len(rows))
    for g in shuffled[np.argsort(-rows[shuffled].sum(axis=1), kind="stable")]:
        worse = (rows[g] * (2.0 * (given - wanted) + rows[g]) / wanted).sum(axis=1)
        part[g] = np.argmin(worse)
        given[part[g]] += rows[g]
    middle: NDArray[np.float64] = (ends[:-1] + ends[1:]) / 2.0
    return middle[part[group]]


# What comes of it.


def _refuse_empty(
    sources: Sequence[NDArray[np.int_]], shares: Sequence[float], groups: ArrayLike | None
) -> None:
    for share, rows in zip(shares, sources, strict=True):
        if len(rows):
            continue
        if groups is None:
            why = "come to no row of `y`. Choose a larger one"
        else:
            why = "get none of the whole `groups`. Choose larger fractions, fewer or `nested` ones"
        raise ValueError(f"`fractions` has {share:g}, which would {why}.")


def _warn_of_size(
    sources: Sequence[NDArray[np.int_]], shares: Sequence[float], n_rows: int
) -> None:
    off = [
        f"that of {share:g} has {len(rows) / n_rows:.2g} of the rows"
        for share, rows in zip(shares, sources, strict=True)
        if abs(len(rows) - share * n_rows) > 0.5 * share * n_rows
    ]
    if off:
        warnings.warn(
            "Some sources are far from their `fractions`, because no group of `groups` is split: "
            f"{', '.join(off)}.",
            UserWarning,
            stacklevel=3,
        )


def _warn_of_missing_classes(
    strata: NDArray[np.int_], sources: Sequence[NDArray[np.int_]], shares: Sequence[float]
) -> None:
    sizes = np.bincount(strata)
    lacking = [
        share
        for share, rows in zip(shares, sources, strict=True)
        if len(np.unique(strata[rows])) < len(sizes)
    ]
    if lacking:
        warnings.warn(
            f"The sources of fractions {lacking} have no row of some classes of `y`: the smallest "
            f"class has {sizes.min()} rows.",
            UserWarning,
            stacklevel=3,
        )
