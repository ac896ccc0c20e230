from __future__ import annotations

import math
from typing import Any

from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
import pytest

from optuna_misowild.study.source_parameter import Sources
from optuna_misowild.study.source_parameter import sources_of


CHOICES = CategoricalDistribution(("full", "40%", "10%"))


def test_the_first_choice_is_preferred_by_default() -> None:
    sources = sources_of("source", CHOICES, None, None)
    assert sources.choices == ("full", "40%", "10%")
    assert sources.queryable == (0, 1, 2)


def test_the_preferred_choice_comes_first() -> None:
    sources = sources_of("source", CHOICES, "40%", None)
    assert sources.choices == ("40%", "full", "10%")
    assert [sources.index_of(c) for c in CHOICES.choices] == [1, 0, 2]


def test_query_sources_are_positions_in_that_order() -> None:
    sources = sources_of("source", CHOICES, "40%", ["10%", "40%"])
    assert sources.queryable == (0, 2)


def test_without_the_parameter_there_is_one_source() -> None:
    sources = sources_of("source", None, None, None)
    assert len(sources) == 1
    assert sources.choices == (None,)
    assert sources.of_trial({"x": 1.0}) == 0


def test_a_trial_without_the_parameter_is_a_full_evaluation() -> None:
    sources = sources_of("source", CHOICES, "10%", None)
    assert sources.of_trial({"x": 1.0}) == 0
    assert sources.of_trial({"source": "full"}) == 1
    assert sources.of_trial({"source": "gone"}) is None


def test_choices_of_mixed_type() -> None:
    sources = sources_of("source", CategoricalDistribution((None, 0, "full", True)), True, None)
    assert sources.choices == (True, None, 0, "full")
    assert sources.index_of(None) == 1


def test_choices_that_optuna_cannot_tell_apart_are_one_source() -> None:
    choices = CategoricalDistribution((0, "full", True, False, 1))
    sources = sources_of("source", choices, 1, [1, False])
    assert sources.choices == (True, 0, "full")
    assert sources.queryable == (0, 1)
    assert [sources.index_of(c) for c in choices.choices] == [1, 2, 0, 1, 0]


@pytest.mark.parametrize(
    "distribution", [FloatDistribution(0.1, 1.0), IntDistribution(1, 5)], ids=repr
)
def test_a_numerical_source_parameter_is_refused(distribution: Any) -> None:
    with pytest.raises(ValueError, match="'fidelity' must be suggested with `suggest_categor"):
        sources_of("fidelity", distribution, None, None)


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(ValueError, match="`preferred_source` has 'all'.*'full', '40%', '10%'"):
        sources_of("source", CHOICES, "all", None)
    with pytest.raises(ValueError, match="`query_sources` has '5%'"):
        sources_of("source", CHOICES, None, ["full", "5%"])
    with pytest.raises(ValueError, match="must contain the preferred source 'full'"):
        sources_of("source", CHOICES, None, ["10%"])


@pytest.mark.parametrize(
    ("choices", "preferred", "sizes"),
    [
        ((27, 9, 3), 27, (1.0, 1 / 3, 1 / 9)),
        ((0.1, 1.0, 0.5), 1.0, (1.0, 0.1, 0.5)),
        (("100%", "40%", "2.5 %"), "100%", (1.0, 0.4, 0.025)),
        # The preferred one is no limit of the others.
        ((27, 9, 3), 9, ()),
        (("full", "40%", "10%"), "full", ()),
        ((1, "10%"), 1, ()),
        ((2, 1, 0), 2, ()),
        ((3, True), 3, ()),
        ((math.inf, 3.0), math.inf, ()),
        ((27,), 27, ()),
        ((None, 3), None, ()),
    ],
)
def test_sizes_are_what_choices_name(
    choices: tuple[Any, ...], preferred: Any, sizes: tuple[float, ...]
) -> None:
    distribution = CategoricalDistribution(choices)
    assert sources_of("source", distribution, preferred, None).sizes == pytest.approx(sizes)


def test_steps_have_sizes() -> None:
    assert Sources("source", None, (0, 1, 2), (0, 1, 2), (52, 13, 1)).sizes == (1.0, 0.25, 1 / 52)
