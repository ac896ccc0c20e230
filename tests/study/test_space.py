from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
import pytest

from optuna_misowild.study.space import MAX_GRID_SIZE
from optuna_misowild.study.space import common_space
from optuna_misowild.study.space import decode
from optuna_misowild.study.space import domain_of
from optuna_misowild.study.space import encode
from optuna_misowild.study.space import from_unit
from optuna_misowild.study.space import to_unit


DISTRIBUTIONS: list[BaseDistribution] = [
    FloatDistribution(-1.0, 3.0),
    FloatDistribution(1e-9, 1e3, log=True),
    FloatDistribution(-1e308, 1e308),
    FloatDistribution(-10.2, 10.2, step=0.1),
    FloatDistribution(2.0, 2.0),
    FloatDistribution(2.0, 2.0, log=True),
    IntDistribution(-10, 10),
    IntDistribution(0, 9, step=3),
    IntDistribution(1, 1000, log=True),
    IntDistribution(1, 10**9),
    IntDistribution(1, 10**9, log=True),
    IntDistribution(7, 7),
    CategoricalDistribution((None, 0, "full", 2.5)),
    CategoricalDistribution(("only",)),
]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
@given(u=st.floats(0.0, 1.0))
@settings(max_examples=50, deadline=None)
def test_any_coordinate_gives_a_value_inside_that_is_its_own_inverse(
    distribution: BaseDistribution, u: float
) -> None:
    value = from_unit(distribution, u)
    assert distribution._contains(distribution.to_internal_repr(value))
    assert not isinstance(value, np.generic)
    again = from_unit(distribution, to_unit(distribution, value))
    assert type(again) is type(value)
    if isinstance(distribution, FloatDistribution):
        assert again == pytest.approx(value, rel=1e-9, abs=1e-9)
    else:
        assert again == value


def test_values_on_a_grid_take_equal_shares() -> None:
    distribution = IntDistribution(1, 4)
    assert [to_unit(distribution, value) for value in (1, 2, 3, 4)] == [0.125, 0.375, 0.625, 0.875]
    assert [from_unit(distribution, u) for u in (0.0, 0.24, 0.26, 0.99, 1.0)] == [1, 1, 2, 4, 4]


def test_log_scale() -> None:
    distribution = FloatDistribution(1e-2, 1e2, log=True)
    assert to_unit(distribution, 1.0) == pytest.approx(0.5)
    assert from_unit(distribution, 0.75) == pytest.approx(10.0)
    # Half a step of padding on the logarithmic scale: [ln 0.5, ln 3.5].
    assert to_unit(IntDistribution(1, 3, log=True), 1) == pytest.approx(np.log(2.0) / np.log(7.0))


@pytest.mark.parametrize("value, u", [(-5.0, 0.0), (99.0, 1.0)])
def test_values_outside_the_range_are_clipped(value: float, u: float) -> None:
    assert to_unit(FloatDistribution(0.0, 10.0), value) == u


def test_a_value_that_is_no_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="not in"):
        to_unit(CategoricalDistribution(("a", "b")), "c")


@pytest.mark.parametrize(
    ("choices", "coordinates"),
    [((True, 1, "a", 1.0), [0.25, 0.25, 0.75, 0.25]), (([1], [1], [1, 2]), [0.25, 0.25, 0.75])],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_choices_that_optuna_cannot_tell_apart_are_one(
    choices: tuple[Any, ...], coordinates: list[float]
) -> None:
    distribution = CategoricalDistribution(choices)
    assert [to_unit(distribution, choice) for choice in choices] == coordinates
    assert [from_unit(distribution, u) for u in (0.25, 0.75)] == [choices[0], choices[2]]
    (grid,) = domain_of({"x": distribution}).grids
    assert grid is not None
    assert grid.tolist() == [0.25, 0.75]


def test_the_size_of_a_domain_of_many_long_grids() -> None:
    domain = domain_of({f"n{i}": IntDistribution(1, 10**9) for i in range(5)})
    assert np.isfinite(domain.size)
    assert domain.size == float(MAX_GRID_SIZE) ** 5


def test_encode_and_decode_follow_the_order_of_the_space() -> None:
    space = {
        "b": FloatDistribution(0.0, 4.0),
        "a": CategoricalDistribution(("x", "y")),
    }
    X = encode(space, [{"a": "y", "b": 1.0}, {"b": 4.0, "a": "x"}])
    np.testing.assert_allclose(X, [[0.25, 0.75], [1.0, 0.25]])
    assert decode(space, X[0]) == {"b": 1.0, "a": "y"}
    assert encode(space, []).shape == (0, 2)


def test_domain_of() -> None:
    domain = domain_of(
        {
            "x": FloatDistribution(0.0, 1.0),
            "n": IntDistribution(1, 4),
            "huge": IntDistribution(1, 10**9),
            "log": IntDistribution(1, 3, log=True),
            "c": CategoricalDistribution(("a", "b")),
        }
    )
    sizes = [None if grid is None else len(grid) for grid in domain.grids]
    assert sizes == [None, 4, MAX_GRID_SIZE, 3, 2]
    assert domain.categorical.tolist() == [False, False, False, False, True]
    log_grid = domain.grids[3]
    assert log_grid is not None
    for value, u in zip((1, 2, 3), log_grid, strict=True):
        assert from_unit(IntDistribution(1, 3, log=True), u) == value


@pytest.mark.parametrize(
    "distribution",
    [
        IntDistribution(1, 10**6, log=True),
        IntDistribution(0, 10**9),
        FloatDistribution(0.0, 1.0, step=1e-6),
        IntDistribution(0, 1499),
    ],
    ids=repr,
)
def test_a_long_grid_holds_values_that_are_there(distribution: BaseDistribution) -> None:
    # Two of its coordinates are never the same value, so that none is asked twice as if new.
    (grid,) = domain_of({"x": distribution}).grids
    assert grid is not None
    assert len(grid) <= MAX_GRID_SIZE
    values = [from_unit(distribution, u) for u in grid]
    assert len(set(values)) == len(values)
    np.testing.assert_allclose([to_unit(distribution, v) for v in values], grid, atol=1e-12)
    # On a logarithmic scale the first cells are wide: log(1.5/0.5)/log(10⁶/0.5) = 0.076.
    assert np.diff(grid).max() < (0.08 if "log=True" in repr(distribution) else 1e-3)


KINDS = CategoricalDistribution(("linear", "tree"))
RANGES: dict[str, BaseDistribution] = {
    "kind": KINDS,
    "x": FloatDistribution(0.0, 1.0),
    "wide": FloatDistribution(0.0, 2.0),
    "n": IntDistribution(1, 9),
    "z": FloatDistribution(0.0, 1.0),
}


def names_of(*params: dict[str, Any]) -> list[str]:
    """The names of the common space of some trials; "wide" is "x" with another range."""
    trials = [
        optuna.create_trial(
            params={name.replace("wide", "x"): value for name, value in own.items()},
            distributions={name.replace("wide", "x"): RANGES[name] for name in own},
            value=0.0,
        )
        for own in params
    ]
    return list(common_space(trials))


def test_a_parameter_that_is_new_belongs_to_the_space_once_three_trials_have_it() -> None:
    before = [{"x": 0.1, "kind": "tree"}, {"x": 0.9, "kind": "linear"}] * 4
    after = [{"x": 0.5, "kind": kind, "z": 0.5} for kind in ("tree", "linear", "tree")]
    assert names_of(*before, *after[:2]) == ["kind", "x"]
    assert names_of(*before, *after) == ["kind", "x", "z"]
    assert names_of(*before[:1], *after) == ["kind", "x", "z"]
    # One that comes and goes is none.
    assert names_of(*before, *after, before[0]) == ["kind", "x"]
    assert names_of(*before, *after, before[0], *after) == ["kind", "x"]


def test_a_parameter_that_is_gone_leaves_the_space() -> None:
    before = [{"x": 0.1, "z": 0.1}, {"x": 0.9, "z": 0.9}] * 4
    assert names_of(*before, {"x": 0.5}) == ["x"]


@pytest.mark.parametrize(
    ("lacking", "having"),
    [
        # Each kind has parameters of its own, and has been asked three times in a row.
        ([{"kind": "linear"}] * 3, [{"kind": "tree", "z": 0.5}] * 5),
        # A second layer.
        ([{"n": 1, "x": 0.5}] * 5, [{"n": n, "x": 0.5, "z": 0.5} for n in (2, 2, 3)]),
        ([{"x": x} for x in (0.1, 0.2, 0.4)], [{"x": x, "z": 0.5} for x in (0.9, 0.8, 0.7)]),
    ],
)
def test_a_parameter_that_a_condition_brings_is_not_new(
    lacking: list[dict[str, Any]], having: list[dict[str, Any]]
) -> None:
    assert "z" not in names_of(*lacking, *having)
    # Where a trial that has it is like one that lacks it, the condition is none.
    assert "z" in names_of(*lacking, *having, {**lacking[0], "z": 0.5})


def test_a_range_that_was_changed_as_well_is_no_condition() -> None:
    before = [{"x": x} for x in (0.1, 0.3, 0.5)]
    assert names_of(*before, *[{"wide": x, "z": 0.5} for x in (1.1, 1.5, 1.9)]) == ["x", "z"]
