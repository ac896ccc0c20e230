"""The sources of a search: parts of the rows, or of a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.model_selection import KFold

from optuna_misowild.sklearn.resources import Source
from optuna_misowild.sklearn.resources import sources_of


RNG = np.random.default_rng(0)
CLASSES = np.repeat(["a", "b", "c"], [300, 200, 100])
GROUPS = RNG.integers(0, 60, 600)


def make(
    estimator: Any = None,
    resource: str = "n_samples",
    fractions: Any = (1, 0.5, 0.1),
    y: Any = CLASSES,
    groups: Any = None,
    n_samples: int = 600,
) -> list[Source]:
    cv = KFold(3, shuffle=True, random_state=0) if groups is None else GroupKFold(3)
    splits = list(cv.split(np.zeros(n_samples), None, groups))
    return sources_of(
        LogisticRegression() if estimator is None else estimator,
        resource,
        fractions,
        y=y,
        groups=groups,
        splits=splits,
        n_samples=n_samples,
    )


def test_each_part_lies_inside_the_larger_ones_and_all_of_the_rest_is_scored() -> None:
    sources = make()
    assert [source.choice for source in sources] == ["100%", "50%", "10%"]
    assert [source.n_resources for source in sources] == [600, 300, 60]
    for i in range(3):
        folds = [source.splits[i] for source in sources]
        for (larger, test), (smaller, same_test) in zip(folds, folds[1:], strict=False):
            assert set(smaller) < set(larger)
            assert np.array_equal(test, same_test)
        shares = [np.unique(CLASSES[rows], return_counts=True)[1] / len(rows) for rows, _ in folds]
        assert np.allclose(shares, shares[0], atol=0.02)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (Ridge(), RNG.normal(size=600)),
        (Ridge(), RNG.normal(size=(600, 2))),
        (Ridge(), RNG.integers(0, 500, 600)),
        (LogisticRegression(), RNG.integers(0, 100, 600)),
        (LogisticRegression(), RNG.integers(0, 2, (600, 3))),
        (LogisticRegression(), CLASSES.astype(object)[:, None]),
        (KMeans(), None),
        (KMeans(), CLASSES),
        (KMeans(), CLASSES.astype(object)),
        (KMeans(), np.column_stack([CLASSES, CLASSES])),
        (Ridge(), [[0.0] * (i % 3) for i in range(600)]),
    ],
)
def test_any_target_is_cut(estimator: Any, y: Any) -> None:
    sizes = [len(source.splits[0][0]) for source in make(estimator, y=y)]
    assert np.allclose(sizes, [400, 200, 40], atol=20)


def test_no_group_is_split() -> None:
    sources = make(groups=GROUPS)
    for (whole, _), (part, _) in zip(sources[0].splits, sources[1].splits, strict=True):
        left_out = np.setdiff1d(whole, part)
        assert not set(GROUPS[part]) & set(GROUPS[left_out])


@pytest.mark.parametrize(("n", "choices"), [(40, 1), (300, 2), (2000, 3)])
def test_by_default_small_data_are_not_cut(n: int, choices: int) -> None:
    sources = make(fractions="auto", y=RNG.integers(0, 2, n), n_samples=n)
    assert len(sources) == choices
    assert all(len(train) >= 26 for source in sources for train, _ in source.splits)


def test_by_default_parts_without_a_group_are_none() -> None:
    sources = make(fractions="auto", groups=np.repeat([0, 1, 2, 3, 4, 5], 100))
    assert all(len(train) for source in sources for train, _ in source.splits)


def test_a_parameter_of_the_estimator() -> None:
    sources = make(RandomForestClassifier(n_estimators=30), "n_estimators", (1, 0.5, 0.01, 0.001))
    assert [source.choice for source in sources] == [30, 15, 1]
    assert [source.params for source in sources] == [{"n_estimators": n} for n in (30, 15, 1)]


@pytest.mark.parametrize("resource", ["n_samples", "max_iter"])
def test_fractions_may_be_an_array(resource: str) -> None:
    sources = make(LogisticRegression(), resource, np.array([1.0, 0.5, 0.1]))
    assert [s.choice for s in sources] == [s.choice for s in make(None, resource)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resource": "n_trees"}, "Cannot use resource='n_trees' which is not supported"),
        ({"resource": "C"}, "must be a positive integer, got 1.0"),
        ({"fractions": (0.5, 0.1)}, "with 1 among them"),
        ({"fractions": (1, 2)}, "above 0 and up to 1"),
        ({"fractions": (1, "0.1")}, "numbers"),
        ({"fractions": ()}, "with 1 among them"),
        ({"fractions": np.array(1.0)}, "a list of numbers"),
        ({"fractions": np.array([[1.0, 0.1]])}, "a list of numbers"),
        ({"fractions": 1.0}, "a list of numbers"),
        ({"fractions": (1, 1e-4)}, "Cannot make parts of the rows"),
    ],
)
def test_what_makes_no_source_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**arguments)
