"""Subsets of a data set as information sources."""

from __future__ import annotations

from typing import TYPE_CHECKING
import warnings

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from numpy.typing import NDArray


N_SUBSETS = 10


def stratified_sources(
    y: ArrayLike,
    fractions: Sequence[float] = (1.0, 0.4, 0.3, 0.2, 0.1),
    *,
    seed: int = 0,
) -> list[NDArray[np.int_]]:
    """Cut a data set into information sources, as in the paper's "Sources setup".

    The data are cut into ten stratified subsets. A fraction of 1 is the whole data set; the
    others merge the next subsets that are not yet taken, so that they do not overlap. By
    default: all the data, then subsets 1–4, 5–7, 8–9 and 10.

    The same arguments give the same sources, so that they mean the same data in every process
    and whenever a study is resumed.

    Args:
        y: Target of every row of the data, shape (n,): class labels of any sortable type, or
            the values of a regression. Numbers that are not all integers are taken for the
            latter, and every subset then gets its share of each range of values.
        fractions: Share of the data in each source: multiples of 0.1, whose sum, without those
            that are 1, is at most 1.
        seed: Seed of the assignment of rows to subsets.

    Returns:
        For each fraction, the sorted indices of the rows in that source.
    """
    numbers_of_subsets = _numbers_of_subsets(fractions)
    strata = _strata(y)
    subset = _assign(strata, np.random.default_rng(seed))

    sources = []
    first = 0
    for k in numbers_of_subsets:
        if k == N_SUBSETS:
            rows = np.arange(len(subset))
        else:
            rows = np.flatnonzero((subset >= first) & (subset < first + k))
            first += k
        sources.append(rows)
    _warn_of_missing_strata(strata, sources, fractions)
    return sources


def _numbers_of_subsets(fractions: Sequence[float]) -> list[int]:
    if len(fractions) == 0:
        raise ValueError("fractions must name at least one source, but is empty.")
    numbers = []
    for fraction in fractions:
        number = round(N_SUBSETS * fraction)
        if not 1 <= number <= N_SUBSETS or abs(number - N_SUBSETS * fraction) > 1e-6:
            raise ValueError(
                "fractions must be multiples of 0.1 from 0.1 to 1.0 (the data are cut into ten "
                f"subsets), but got {fraction!r}."
            )
        numbers.append(number)
    taken = sum(number for number in numbers if number < N_SUBSETS)
    if taken > N_SUBSETS:
        raise ValueError(
            "fractions below 1 must not sum to more than 1, because their sources do not "
            f"overlap, but those of {tuple(fractions)!r} sum to {taken / N_SUBSETS}."
        )
    return numbers


def _strata(y: ArrayLike) -> NDArray[np.int_]:
    """Return the number of each row's stratum: its class, or its range of values."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"y must be one-dimensional, but has shape {values.shape}.")
    if len(values) < N_SUBSETS:
        raise ValueError(
            f"y must have at least {N_SUBSETS} rows, to be cut into {N_SUBSETS} subsets, but "
            f"has {len(values)}."
        )
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError("y must be finite, but has NaN or infinite values.")
        if (values != np.rint(values)).any():
            ranks = np.argsort(np.argsort(values))
            # The last range takes the remainder, so that none has fewer rows than subsets.
            return np.minimum(ranks // N_SUBSETS, len(values) // N_SUBSETS - 1)
    try:
        _, strata = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"y must have labels that can be sorted, without missing ones ({error})."
        ) from None
    return strata


def _assign(strata: NDArray[np.int_], rng: np.random.Generator) -> NDArray[np.int_]:
    """Return a subset for each row: the strata, shuffled within, are dealt out in turn.

    No two subsets differ by more than one row, in total or within a stratum.
    """
    order = np.lexsort((rng.random(len(strata)), strata))
    subset = np.empty(len(strata), dtype=np.int_)
    subset[order] = np.arange(len(strata)) % N_SUBSETS
    return subset


def _warn_of_missing_strata(
    strata: NDArray[np.int_], sources: list[NDArray[np.int_]], fractions: Sequence[float]
) -> None:
    sizes = np.bincount(strata)
    lacking = [
        fraction
        for fraction, rows in zip(fractions, sources, strict=True)
        if len(np.unique(strata[rows])) < len(sizes)
    ]
    if lacking:
        warnings.warn(
            f"The sources of fractions {lacking} have no row of some classes of y: the smallest "
            f"class has {sizes.min()} rows, fewer than the {N_SUBSETS} subsets.",
            UserWarning,
            stacklevel=3,
        )
