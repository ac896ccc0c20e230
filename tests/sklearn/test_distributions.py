"""What parameters are drawn from, in Optuna's terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from optuna_misowild.sklearn.distributions import parameters_of


@pytest.mark.parametrize(
    ("given", "distribution"),
    [
        (stats.uniform(2.0, 3.0), FloatDistribution(2.0, 5.0)),
        (stats.loguniform(1e-3, 10.0), FloatDistribution(1e-3, 10.0, log=True)),
        (stats.reciprocal(1e-3, 10.0), FloatDistribution(1e-3, 10.0, log=True)),
        (stats.loguniform(1.0, 2.0, scale=3.0), FloatDistribution(3.0, 6.0, log=True)),
        (stats.randint(2, 5), IntDistribution(2, 4)),
        (IntDistribution(1, 9, step=2), IntDistribution(1, 9, step=2)),
        (["a", "b"], CategoricalDistribution(("a", "b"))),
        ([1, 2], CategoricalDistribution((1, 2))),
        ([True, False, None], CategoricalDistribution((True, False, None))),
    ],
)
def test_what_optuna_has_is_searched_as_it_is(given: Any, distribution: BaseDistribution) -> None:
    parameter = parameters_of({"x": given})["x"]
    assert (parameter.name, parameter.distribution) == ("x", distribution)
    value = given[0] if isinstance(given, list) else 3
    assert parameter.decode(value) == value


@pytest.mark.parametrize(
    "given",
    [
        stats.norm(3.0, 2.0),
        stats.expon(scale=5.0),
        stats.beta(2.0, 5.0),
        stats.loguniform(1.0, 10.0, loc=5.0),
        stats.poisson(4.0),
        stats.geom(0.2),
    ],
)
def test_any_other_distribution_is_searched_by_its_quantile(given: Any) -> None:
    parameter = parameters_of({"x": given})["x"]
    assert parameter.name == "x (quantile)"
    assert isinstance(parameter.distribution, FloatDistribution)
    values = [
        parameter.decode(u)
        for u in (parameter.distribution.low, 0.25, 0.5, parameter.distribution.high)
    ]
    assert np.isfinite(values).all() and np.all(np.diff(values) >= 0)
    assert values[0] >= given.support()[0]
    assert values[2] == given.median()
    assert all(type(value) is (int if hasattr(given, "pmf") else float) for value in values)


@pytest.mark.parametrize("given", [[0.1, 1.0, 10.0], np.logspace(-1, 1, 3), (10.0, 1.0, 0.1)])
def test_numbers_in_their_order_are_neighbours(given: Any) -> None:
    parameter = parameters_of({"x": given})["x"]
    assert (parameter.name, parameter.distribution) == ("x (index)", IntDistribution(0, 2))
    decoded = [parameter.decode(i) for i in range(3)]
    assert decoded == list(given)
    assert all(type(value) is float for value in decoded)


def test_categories_of_any_type_have_names_that_last() -> None:
    """The names are the same in every process: an address of memory is not."""
    items = [(50, 20), Ridge(), object(), "passthrough", None]
    parameter = parameters_of({"x": items})["x"]
    names = ("(50, 20)", "Ridge()", "object [2]", "passthrough", None)
    assert parameter.distribution == CategoricalDistribution(names)
    assert [parameter.decode(name) for name in names] == items


class Namesake:
    """Its text says nothing of what it has."""

    def __repr__(self) -> str:
        return "same"


@pytest.mark.parametrize(
    "items",
    [
        ["sqrt", 1, 1.0, True],  # Equal in Python.
        [Namesake(), Namesake(), "same"],  # Kernels that differ in their bounds only.
        [float("nan"), "nan", -1],
    ],
)
def test_items_with_the_same_name_are_told_apart(items: list[Any]) -> None:
    parameter = parameters_of({"x": items})["x"]
    assert isinstance(parameter.distribution, CategoricalDistribution)
    decoded = [parameter.decode(name) for name in parameter.distribution.choices]
    assert len(decoded) == len(items)
    assert all(one is other for one, other in zip(decoded, items, strict=True))


def test_no_choice_of_a_list_is_nan() -> None:
    """A storage returns another NaN, which no dictionary finds."""
    parameter = parameters_of({"x": [np.nan, -1]})["x"]
    assert parameter.distribution == CategoricalDistribution(("nan", -1))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, "nothing to search"),
        ({"C": []}, ValueError, r"\('C'\) need to be a non-empty sequence"),
        ({"C": 1.0}, TypeError, r"\('C'\) is neither a list, nor .*value=1.0"),
        ({"C": "abc"}, TypeError, "neither a list"),
        ({"C": stats.norm}, TypeError, "neither a list"),
    ],
)
def test_what_is_no_distribution_is_refused(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        parameters_of(given)
