from __future__ import annotations

import itertools
import warnings

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from numpy.testing import assert_array_equal
import pytest

from optuna_misowild.datasets import stratified_sources


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


odd_fractions = st.lists(st.floats(0.02, 0.24), min_size=1, max_size=4)


@st.composite
def classes(draw: st.DrawFn) -> np.ndarray:
    """Labels of a few classes, of fifty rows at least, so that no source is empty."""
    counts = draw(st.lists(st.integers(50, 200), min_size=1, max_size=5))
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(labels(*counts))


@settings(deadline=None)
@given(classes(), odd_fractions, st.integers(0, 99), st.booleans())
def test_any_fractions_have_their_share_of_every_class(
    y: np.ndarray, fractions: list[float], seed: int, nested: bool
) -> None:
    fractions = [1.0, 0.0312, *fractions]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sources = stratified_sources(y, fractions, nested=nested, seed=seed)
    assert_array_equal(sources[0], np.arange(len(y)))
    for fraction, rows in zip(fractions, sources, strict=True):
        assert_array_equal(rows, np.unique(rows))
        counts = np.bincount(y[rows], minlength=y.max() + 1)
        assert np.all(np.abs(counts - fraction * np.bincount(y)) < 1)
        assert len(rows) == pytest.approx(fraction * len(y), abs=2)
    if nested:
        by_size = [set(sources[i]) for i in np.argsort(fractions)]
        assert all(small <= large for small, large in itertools.pairwise(by_size))
    else:
        assert len(np.unique(np.concatenate(sources[1:]))) == sum(map(len, sources[1:]))
    again = stratified_sources(y, fractions, nested=nested, seed=seed)
    assert all(map(np.array_equal, sources, again))


@pytest.mark.parametrize("fractions", [(1.0, 0.05, 0.03), (1.0, 0.25, 0.1), (0.2, 0.1)])
@pytest.mark.parametrize("n", [300, 3000])
def test_regression_values_of_any_fractions_are_spread_over_their_range(
    n: int, fractions: tuple[float, ...]
) -> None:
    y = np.random.default_rng(0).lognormal(size=n)
    quarter = np.argsort(np.argsort(y)) * 4 // n
    sources = stratified_sources(y, fractions, nested=True)
    for fraction, rows in zip(fractions, sources, strict=True):
        assert np.all(np.abs(np.bincount(quarter[rows], minlength=4) - fraction * n / 4) < 2)
        assert len(rows) == pytest.approx(fraction * n, abs=1)


def test_fractions_that_sum_to_one_leave_nothing_out() -> None:
    parts = stratified_sources(labels(50, 41), [1 / 3, 1 / 3, 1 / 3])
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(91))


@pytest.mark.parametrize("dtype", [int, float])
def test_integers_of_many_values_are_no_classes(dtype: type) -> None:
    """As the disease progression of scikit-learn's diabetes data: 214 values in 442 rows."""
    y = np.random.default_rng(0).integers(25, 347, size=442).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tenths = stratified_sources(y, [1.0, 0.1])
        small = stratified_sources(y, [1.0, 0.05])
    for rows, fraction in ((tenths[1], 0.1), (small[1], 0.05)):
        assert len(rows) == pytest.approx(fraction * 442, abs=1.5)
        assert np.mean(y[rows] < np.median(y)) == pytest.approx(0.5, abs=0.1)
    with pytest.warns(UserWarning, match="no row of some classes"):
        stratified_sources(y.astype(str), [1.0, 0.1])


def test_few_integers_are_classes() -> None:
    with pytest.warns(UserWarning, match="no row of some classes"):
        stratified_sources([0, 1, 2, *[3] * 17], [1.0, 0.1])
    with pytest.warns(UserWarning, match="no row of some classes"):
        stratified_sources(labels(*[30] * 29, 1), [1.0, 0.2, 0.1])


@settings(deadline=None)
@given(st.integers(0, 99), st.booleans(), st.sampled_from(["class", "value"]))
def test_groups_are_never_split(seed: int, nested: bool, kind: str) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 150, size=1000)
    y = rng.integers(0, 3, size=1000) if kind == "class" else rng.normal(size=1000)
    fractions = (1.0, 0.2, 0.05, 0.1)
    sources = stratified_sources(y, fractions, nested=nested, groups=groups.astype(str), seed=seed)
    for fraction, rows in zip(fractions, sources, strict=True):
        assert not set(groups[rows]) & set(np.delete(groups, rows))
        assert len(rows) == pytest.approx(1000 * fraction, abs=int(np.bincount(groups).max()))
        if kind == "class":
            share = np.bincount(y[rows]) / len(rows)
            assert share == pytest.approx(np.bincount(y) / 1000, abs=0.1)
    _, large, small, middle = map(set, sources)
    assert small < middle < large if nested else not (large & small or large & middle)
    again = stratified_sources(y, fractions, nested=nested, groups=groups.astype(str), seed=seed)
    assert all(map(np.array_equal, sources, again))


def test_bad_groups() -> None:
    y = labels(20, 20)
    with pytest.raises(ValueError, match=r"`groups` must have one entry .* 40 rows .* \(39,\)"):
        stratified_sources(y, groups=range(39))
    with pytest.raises(TypeError, match="`groups` must have labels that can be sorted"):
        stratified_sources(y, groups=[None, 1] * 20)
    with pytest.raises(ValueError, match="`groups` must be finite"):
        stratified_sources(y, groups=[np.nan, 1.0] * 20)
    with pytest.raises(ValueError, match=r"`fractions` has 0\.\d.* none of the whole `groups`"):
        stratified_sources(y, groups=[0, 1] * 20)
    with pytest.raises(TypeError, match="`nested` must be True or False"):
        stratified_sources(y, nested=1)  # type: ignore[arg-type]
    one_large = np.maximum(np.arange(40) - 27, 0)  # 28 rows of 40, and twelve groups of one row
    with pytest.warns(UserWarning, match=r"`groups` is split: that of 0\.4 has 0\.7 of the rows"):
        stratified_sources(np.tile([0, 1], 20), (1.0, 0.4, 0.2), groups=one_large)


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
        (labels(50), 0.5, TypeError, r"list of numbers.* got 0\.5"),
        (labels(50), "0.5", TypeError, "list of numbers"),
        (labels(50), [True], TypeError, "`fractions` must be a number"),
        (labels(50), ["10 %"], TypeError, "`fractions` must be a number.*'10 %'"),
        (labels(50), [0.0], ValueError, r"`fractions` must be finite and positive.* 0\.0"),
        (labels(50), [np.nan], ValueError, "`fractions` must be finite"),
        (labels(50), [1.1], ValueError, r"up to 1 for all of them, but has 1\.1"),
        (labels(50), [-0.1], ValueError, r"must be finite and positive.* -0\.1"),
        (labels(50), [1.0, 0.6, 0.5], ValueError, r"sum to 1\.1\. .*`nested=True`"),
        (labels(50), [1.0, 0.96, 0.05], ValueError, r"sum to 1\.01"),
        (labels(50), [1.0, 0.001], ValueError, r"`fractions` has 0\.001.* no row of `y`"),
        ([], [0.05], ValueError, "`y` must have a row"),
        (labels(9), [1.0], ValueError, "at least 10 rows"),
        (np.zeros((20, 2)), [1.0], ValueError, r"shape \(20, 2\)"),
        ([0.5, np.nan] * 10, [1.0], ValueError, "finite"),
        (["a", None] * 10, [1.0], TypeError, "without missing"),
    ],
)
def test_bad_input(y: object, fractions: list[float], error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        stratified_sources(y, fractions)
