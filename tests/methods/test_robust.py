"""The robust method as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import SQUARE
from robust_observations import example
from robust_observations import objective
from robust_observations import observe

from optuna_misowild.gp import in_order
from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.robust import fit
from optuna_misowild.optim.domain import Domain


# The recommendation.


def test_misleading_source_never_decides_the_recommendation() -> None:
    observations = example()
    y = observations.y - 1e3 * (observations.source == 2)
    observations = replace(observations, y=y)
    incumbent = METHOD.recommend(observations, SQUARE)
    assert incumbent is not None
    first = observations.valued(0)
    assert incumbent.index == first[np.argmin(y[first])]
    assert incumbent.verified


def test_of_noisy_evaluations_not_the_luckiest_is_recommended() -> None:
    x = np.linspace(0.0, 1.0, 30)
    y = 4.0 * (x - 0.4) ** 2 + 0.05 * (-1.0) ** np.arange(30)
    lucky = 19  # A value below all others, far from the optimum.
    y[lucky] = y.min() - 0.02
    incumbent = METHOD.recommend(observe(x[:, None], [0] * 30, y), LINE)
    assert incumbent is not None
    assert incumbent.index != lucky
    assert abs(x[incumbent.index] - 0.4) < 0.1


def test_below_the_floor_of_the_noise_the_lowest_value_is_recommended() -> None:
    x = np.append(np.linspace(0.0, 1.0, 20), 0.4 + 1e-4 * np.arange(10))
    y = (x - 0.4) ** 2 + 3e-5 * (-1.0) ** np.arange(30)
    incumbent = METHOD.recommend(observe(x[:, None], [0] * 30, y), LINE)
    assert incumbent is not None
    assert incumbent.index == np.argmin(y)


@pytest.mark.parametrize("n_first", [METHOD.n_mixture - 1, METHOD.n_mixture])
def test_the_best_of_few_values_gives_way_to_what_another_source_has_shown(n_first: int) -> None:
    x = np.append(np.linspace(0.0, 0.25, n_first), np.linspace(0.0, 1.0, 21))
    source = np.repeat([0, 1], [n_first, 21])
    y = (x - 0.6) ** 2 + 0.1 * source
    incumbent = METHOD.recommend(observe(x[:, None], source, y), LINE)
    assert incumbent is not None
    assert incumbent.verified == (n_first == METHOD.n_mixture)
    assert x[incumbent.index] == pytest.approx(0.25 if incumbent.verified else 0.6)
    assert incumbent.mean == pytest.approx((x[incumbent.index] - 0.6) ** 2, abs=0.02)


def test_the_best_of_few_values_stays_where_nothing_is_expected_to_be_better() -> None:
    x = np.append([0.6, 0.1, 0.9], np.linspace(0.0, 1.0, 20))
    source = np.repeat([0, 1], [3, 20])
    y = (x - 0.6) ** 2 + 0.1 * source
    incumbent = METHOD.recommend(observe(x[:, None], source, y), LINE)
    assert incumbent is not None
    assert (incumbent.index, incumbent.verified) == (0, True)


def test_without_a_value_of_the_preferred_source_x_plus_is_recommended() -> None:
    observations = observe([[0.1], [0.4], [0.9]], [1, 1, 1], [1.0, 0.0, 1.0], n_sources=2)
    incumbent = METHOD.recommend(observations, LINE)
    assert incumbent is not None
    assert (incumbent.index, incumbent.verified) == (1, False)
    assert METHOD.recommend(observe(np.empty((0, 1)), []), LINE) is None


# The whole of it.


def propose(observations: Observations, seed: int = 0, domain: Domain = SQUARE) -> Proposal:
    return METHOD.propose(observations, domain, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("n", [9, 25, 48])
def test_units_of_objective_and_cost_do_not_matter(n: int) -> None:
    observations = example(n=n, budget=60.0, initial_spent=5.0)
    expected = propose(observations)
    rescaled = propose(replace(observations, y=1e3 * observations.y + 1e4))
    cheaper = propose(
        replace(
            observations,
            cost=1e-3 * observations.cost,
            spent=1e-3 * observations.spent,
            budget=0.06,
            initial_spent=0.005,
        )
    )
    for proposal in (rescaled, cheaper):
        assert proposal.source == expected.source
        np.testing.assert_allclose(proposal.x, expected.x, atol=1e-3)


def test_what_is_remembered_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    propose(example(n=42))
    expected = propose(example(n=43))
    for module, name in ((in_order, "_fit_from_defaults"), (fit, "_fit_costs")):
        monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)
    again = propose(example(n=43))
    assert again.source == expected.source
    np.testing.assert_array_equal(again.x, expected.x)


def test_fixed_coordinates_and_sources_are_respected() -> None:
    for sources in ([0], [1], [2], [1, 2], None):
        proposal = METHOD.propose(
            example(),
            SQUARE,
            rng=np.random.default_rng(0),
            sources=sources,
            fixed=np.array([np.nan, 0.123]),
        )
        assert proposal.x[1] == 0.123
        assert proposal.source in (sources or [0, 1, 2])


def test_pending_query_keeps_others_away() -> None:
    observations = example(n=24)
    proposals: list[Proposal] = []
    for _ in range(3):
        new = propose(observations)
        for old in proposals:
            assert old.source != new.source or np.linalg.norm(old.x - new.x) > 1e-3
        proposals.append(new)
        n = len(observations)
        observations = replace(
            observations,
            X=np.concatenate([observations.X, new.x[None]]),
            source=np.append(observations.source, new.source),
            y=np.append(observations.y, np.nan),
            cost=np.append(observations.cost, np.nan),
            pending=np.arange(n + 1) >= 24,
            trial=np.arange(n + 1),
            design_row=np.full(n + 1, -1),
            **dict.fromkeys(("failed", "constraints", "free", "before", "hidden")),
        )


def test_failed_query_is_not_repeated() -> None:
    observations = example(n=24)
    failed = propose(observations)
    observations = observe(
        np.concatenate([observations.X, failed.x[None]]),
        [*observations.source, failed.source],
        [*observations.y, np.nan],
        [*observations.cost, np.nan],
        n_sources=3,
        failed=np.arange(25) == 24,
    )
    again = propose(observations)
    assert again.source != failed.source or np.linalg.norm(again.x - failed.x) > 0.01


@pytest.mark.parametrize("y", [[1.0] * 6, [1e30, 0.0, 1.0, 2.0, 3.0, 4.0], [np.nan] * 5 + [1.0]])
@pytest.mark.parametrize("cost", [[1.0] * 6, [0.0] * 6, [np.nan] * 6, [1e-9, 1, 1, 1e9, 1, 1]])
def test_odd_data_are_no_obstacle(y: list[float], cost: list[float]) -> None:
    X = np.random.default_rng(0).random((6, 2))
    observations = observe(X, [0, 1, 0, 1, 0, 0], y, cost, spent=1.0, budget=10.0)
    proposal = propose(observations)
    assert np.all((proposal.x >= 0) & (proposal.x <= 1))
    assert METHOD.recommend(observations, SQUARE) is not None


def test_it_finds_an_optimum_with_the_help_of_cheap_sources() -> None:
    rng = np.random.default_rng(0)
    P = (rng.permuted(np.tile(np.arange(15), (2, 1)), axis=1).T + 0.5) / 15
    X, source, y, cost, row = np.empty((0, 2)), [], [], [], []  # type: ignore[var-annotated]
    for step in range(40):
        observations = observe(
            X, source, y, cost, row=row, n_sources=3, spent=sum(cost), budget=20.0
        )
        wanted = METHOD.design(observations, 5)
        if wanted:
            s, r = wanted[0]
            x = P[r]
        else:
            proposal = propose(observations, step)
            s, r, x = proposal.source, -1, proposal.x
        value = objective(x[None])[0]
        X = np.concatenate([X, x[None]])
        source.append(s)
        y.append([value, value + 0.5 * x[0], -value][s])
        cost.append([1.0, 0.05, 0.02][s])
        row.append(r)
        if sum(cost) > 15:
            break
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), axis=-1).reshape(-1, 2)
    best = min(value for value, s in zip(y, source, strict=True) if s == 0)
    assert best < objective(grid).min() + 1e-3
    assert source.count(1) > 4


@pytest.mark.parametrize(
    ("argument", "value", "error"),
    [
        ("max_cost_ratio", 0.0, ValueError),
        ("max_cost_ratio", "a third", TypeError),
        ("n_mixture", 1, ValueError),
        ("restart_every", 0, ValueError),
        ("max_in_a_row", 2.5, TypeError),
        ("min_distance", -1.0, ValueError),
    ],
)
def test_bad_constants(argument: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=argument):
        RobustMethod(**{argument: value})
