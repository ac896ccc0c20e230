from __future__ import annotations

import warnings

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from numpy.testing import assert_array_equal
import pytest

from optuna_misowild.sources import stratified_sources


def labels(*counts: int) -> np.ndarray:
    """Class labels 0, 1, … with these counts, sorted."""
    return np.repeat(np.arange(len(counts)), counts)


def test_default_is_the_papers_five_sources() -> None:
    y = labels(1648, 1527)  # SPLICE(3)
    full, *parts = stratified_sources(y)

    assert_array_equal(full, np.arange(len(y)))
    assert_array_equal(np.sort(np.concatenate(parts)), full)  # no overlap, nothing left out
    for rows, k in zip(parts, (4, 3, 2, 1), strict=True):
        assert len(rows) == pytest.approx(len(y) * k / 10, abs=k)
        assert_array_equal(rows, np.sort(rows))


@settings(deadline=None)
@given(counts=st.lists(st.integers(10, 60), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_every_subset_has_its_share_of_every_class(counts: list[int], seed: int) -> None:
    y = np.random.default_rng(seed).permutation(labels(*counts))
    for rows in stratified_sources(y, [0.1] * 10, seed=seed):
        assert abs(len(rows) - len(y) / 10) < 1
        assert np.all(np.abs(np.bincount(y[rows], minlength=len(counts)) - y_share(y)) < 1)


def y_share(y: np.ndarray) -> np.ndarray:
    return np.bincount(y) / 10


def test_rows_are_assigned_at_random_by_the_seed_alone() -> None:
    y = labels(50, 50)
    first, again, other = (stratified_sources(y, [0.5], seed=seed)[0] for seed in (3, 3, 4))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_fractions_that_leave_data_out_and_repeat_the_whole() -> None:
    y = labels(30, 70)
    small, full, large, again = stratified_sources(y, [0.2, 1.0, 0.3, 1])
    assert len(small) == 20
    assert len(large) == 30
    assert not set(small) & set(large)
    assert_array_equal(full, again)


class Column:
    """What a column of a data frame offers to numpy."""

    def __init__(self, values: list[str]) -> None:
        self.values = values

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self.values, dtype=object)


@pytest.mark.parametrize("as_y", [list, np.array, Column, lambda y: [label == "b" for label in y]])
def test_labels_may_be_of_any_sortable_type(as_y: object) -> None:
    y = ["a", "b", "b"] * 20
    expected = stratified_sources([0, 1, 1] * 20, seed=1)
    for rows, same in zip(stratified_sources(as_y(y), seed=1), expected, strict=True):
        assert_array_equal(rows, same)


@pytest.mark.parametrize("n", [10, 103, 500])
def test_regression_values_are_stratified_by_rank(n: int) -> None:
    y = np.random.default_rng(0).lognormal(size=n)
    ranks = np.argsort(np.argsort(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        subsets = stratified_sources(y, [0.1] * 10)
    for rows in subsets:
        per_range = np.bincount(np.minimum(ranks[rows] // 10, n // 10 - 1), minlength=n // 10)
        assert_array_equal(per_range[:-1], 1)
        assert per_range[-1] in (1, 2)
    assert not np.array_equal(subsets[0], stratified_sources(y, [0.1], seed=1)[0])


def test_small_class_is_dealt_out_with_a_warning_where_a_source_lacks_it() -> None:
    y = labels(97, 3)
    with pytest.warns(UserWarning, match=r"fractions \[.*0\.1\] .* smallest class has 3 rows"):
        sources = stratified_sources(y, [1.0] + [0.1] * 10)
    assert sorted(np.sum(y[rows] == 1) for rows in sources[1:]) == [0] * 7 + [1] * 3


@pytest.mark.parametrize(
    ("y", "fractions", "error", "match"),
    [
        (labels(50), [], ValueError, "at least one"),
        (labels(50), [1.0, 0.25], ValueError, r"multiples of 0\.1 .* 0\.25"),
        (labels(50), [0.0], ValueError, r"multiples of 0\.1"),
        (labels(50), [1.1], ValueError, r"multiples of 0\.1"),
        (labels(50), [-0.1], ValueError, r"multiples of 0\.1"),
        (labels(50), [1.0, 0.6, 0.5], ValueError, r"sum to 1\.1"),
        (labels(9), [1.0], ValueError, "at least 10 rows"),
        (np.zeros((20, 2)), [1.0], ValueError, r"shape \(20, 2\)"),
        ([0.5, np.nan] * 10, [1.0], ValueError, "finite"),
        (["a", None] * 10, [1.0], TypeError, "without missing"),
    ],
)
def test_bad_input(y: object, fractions: list[float], error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        stratified_sources(y, fractions)
