"""The gates of the robust method: what comes before, or in place of, the acquisition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import FOUR
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import objective
from robust_observations import observe

from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.methods.robust.model import RobustModel
from optuna_misowild.optim.domain import Domain


def test_other_source_is_excluded_where_it_is_hardly_cheaper() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    source = np.tile([0, 1], 20)
    cost = np.where(source == 0, 1.0, np.where(X[:, 0] < 0.5, 0.1, 0.6))
    model = METHOD.fit(observe(X, source, np.sin(5 * X[:, 0]), cost), LINE)
    Z = np.array([[0.2], [0.8]])
    values = RobustAcquisition(model, (0, 1)).values(Z)
    assert np.isfinite(values[:, 0]).all() and np.isfinite(values[0, 1])
    assert values[1, 1] == -np.inf
    acquisition = RobustAcquisition(model, (0, 1))
    value, _ = acquisition.value_and_gradient(Z[[1, 1, 0]], np.array([1, 0, 1]))
    np.testing.assert_array_equal(value == -np.inf, [True, False, False])
    # Where there is no choice, there is no gate.
    assert np.isfinite(RobustAcquisition(model, (1,)).values(Z)).all()


@pytest.mark.parametrize(
    ("n", "ratio", "excluded"),
    [
        (15, 1 / 3, False),
        (15, 0.35, False),
        (15, 0.45, True),
        (2, 0.4, False),
        (2, 0.6, True),
        (1, 0.9, False),
        (1, 1.2, True),
    ],
)
def test_a_source_is_excluded_where_it_is_surely_hardly_cheaper(
    n: int, ratio: float, excluded: bool
) -> None:
    # By more than the error of a clock, and of n readings; one reading decides the obvious.
    X = np.linspace(0.02, 0.98, 15 + n)[:, None]
    source = np.array([0] * 15 + [1] * n)
    cost = np.where(source == 0, 1.0, ratio)
    model = METHOD.fit(observe(X, source, np.sin(5 * X[:, 0]), cost), LINE)
    values = RobustAcquisition(model, (0, 1)).values(X)
    assert np.all(np.isinf(values[:, 1]) == excluded)


def test_a_source_that_is_too_expensive_everywhere_is_said_with_its_ratio() -> None:
    X = np.linspace(0.02, 0.98, 24)[:, None]
    source = np.arange(24) % 3
    cost = (1.0 + X[:, 0]) * np.array([1.0, 0.6, 0.1])[source]
    seen = observe(X, source, np.sin(5 * X[:, 0]), cost, n_sources=3)
    assert METHOD.too_expensive(seen, LINE) == {1: pytest.approx(0.6, rel=0.05)}
    # Where it is cheap somewhere, it is not; nor after a later cost that says otherwise.
    partly = replace(seen, cost=np.where((source == 1) & (X[:, 0] < 0.3), 0.1, cost))
    assert METHOD.too_expensive(partly, LINE) == {}
    noisy = cost * np.exp(0.8 * np.random.default_rng(0).standard_normal(24))
    assert METHOD.too_expensive(replace(seen, cost=noisy), LINE) == {}
    assert METHOD.too_expensive(replace(seen, cost=np.full(24, np.nan)), LINE) == {}


def after_queries(
    n_elsewhere: int, cost: float, **others: Any
) -> tuple[Observations, RobustModel]:
    """Five queries of source 0 at a cost of 1, then some of source 1."""
    X = np.linspace(0.05, 0.95, 5 + n_elsewhere)[:, None]
    source = np.array([0] * 5 + [1] * n_elsewhere)
    observations = observe(X, source, objective(X), np.where(source == 0, 1.0, cost))
    return observations, METHOD.fit(observations, LINE)


@pytest.mark.parametrize(("n", "due"), [(9, False), (10, True)])
def test_preferred_source_is_due_after_ten_queries_elsewhere(n: int, due: bool) -> None:
    observations, model = after_queries(n, cost=1e-3)
    assert METHOD.is_due(observations, model) is due
    if due:
        rng = np.random.default_rng(0)
        assert METHOD.propose(observations, LINE, rng=rng).source == 0
        # A source that is fixed stays fixed.
        assert METHOD.propose(observations, LINE, rng=rng, sources=[1]).source == 1


@pytest.mark.parametrize(("n", "due"), [(3, False), (4, True)])
def test_preferred_source_is_due_once_the_others_have_cost_half_of_it(n: int, due: bool) -> None:
    observations, model = after_queries(n, cost=0.15)
    assert METHOD.is_due(observations, model) is due
    # With half of the budget left, α is a half, and so is what the others may cost.
    cooled = replace(model, alpha=0.5)
    assert METHOD.is_due(after_queries(2, cost=0.15)[0], cooled)


def test_pending_queries_elsewhere_count_at_their_predicted_cost() -> None:
    observations, model = after_queries(4, cost=0.15)
    cost = observations.cost.copy()
    cost[-1] = np.nan
    pending = replace(observations, cost=cost, pending=np.arange(9) == 8)
    assert METHOD.is_due(pending, METHOD.fit(pending, LINE))


def test_pending_queries_are_paid_for_in_advance() -> None:
    observations, _ = after_queries(4, cost=0.15)
    observations = replace(observations, budget=10.0, spent=5.6, initial_spent=5.0)
    assert METHOD.fit(observations, LINE).alpha == pytest.approx(4.4 / 5)
    cost = observations.cost.copy()
    cost[4] = np.nan
    pending = replace(observations, cost=cost, spent=4.6, pending=np.arange(9) == 4)
    assert METHOD.fit(pending, LINE).alpha == pytest.approx(4.4 / 5, rel=1e-3)


def test_initial_design_does_not_make_the_preferred_source_due() -> None:
    observations, model = after_queries(12, cost=0.1)
    assert METHOD.is_due(observations, model)
    assert not METHOD.is_due(replace(observations, design_row=np.arange(17)), model)


def creeping(last: Any, y: Any, **others: Any) -> Observations:
    """Three spread queries of source 0, then four more at ``last``."""
    X = [[0.1], [0.5], [0.9], *([x] for x in last)]
    return observe(X, [0] * len(X), [1.0, 0.0, 1.0, *y], **others)


def is_closed(observations: Observations, domain: Domain = LINE) -> bool:
    model = METHOD.fit(observations, domain)
    return METHOD.closed_region(observations, model) is not None


@pytest.mark.parametrize(
    ("last", "y", "closed"),
    [
        ([0.51, 0.49, 0.52, 0.505], [1e-4] * 4, True),
        ([0.51, 0.49, 0.52, 0.505], [1e-4, 1e-4, -0.1, 1e-4], False),  # progress
        ([0.51, 0.49, 0.61, 0.505], [1e-4] * 4, False),  # one is far
        ([0.51, 0.49, 0.61, 0.505, 0.52], [1e-4] * 5, True),  # but four are close
        ([0.51, 0.49, 0.52], [1e-4] * 3, False),  # not yet four of them
    ],
)
def test_a_region_is_closed_where_the_search_stagnates(
    last: list[float], y: list[float], closed: bool
) -> None:
    assert is_closed(creeping(last, y)) is closed
    pending = np.arange(3 + len(last)) >= 3
    running = creeping(last, [np.nan] * len(last), pending=pending)
    assert is_closed(running) is False  # Too few values.
    assert is_closed(creeping(last, y, n_imported=4 if closed else 0)) is False


def test_a_training_that_passes_a_rung_has_paid_for_it_once() -> None:
    source = [0] * 7 + [1] * 4
    X = [[0.1], [0.5], [0.9], [0.51], [0.49], [0.52], [0.505], [0.7], [0.8], [0.95], [0.05]]
    y, cost = [1.0, 0.0, 1.0, *[1e-4] * 4, *[1.0] * 4], [1.0] * 7 + [6.0] * 4
    observations = observe(X, source, y, cost)
    assert not is_closed(observations)
    assert is_closed(replace(observations, free=np.array(source) == 1))


def test_stagnation_is_free_of_units_and_dimension() -> None:
    spread = [[0.1] * 4, [0.5] * 4, [0.9] * 4]
    # The latest are at a distance of 0.16 from the best one: close, in four dimensions.
    X = np.array([*spread, [0.58] * 4, *[[0.5] * 4] * 4])
    y = np.array([1000.0, 0, 1000, -0.1, 1, 1, 1, 1])  # 0.1 is no more than 1e-3 of what differs.
    assert is_closed(observe(X, [0] * 8, y), FOUR)
    # With progress, the three before it do not count.
    assert not is_closed(observe(X[:7], [0] * 7, y[:7] - [0, 0, 0, 1, 0, 0, 0]), FOUR)


def test_a_value_that_diverged_does_not_make_all_else_stagnate() -> None:
    y = [0.3, 0.25, 0.2, 0.15, 0.1, 1e30]
    assert not is_closed(observe(np.array([[0.5, 0.51, 0.52, 0.53, 0.54, 0.9]]).T, [0] * 6, y))


def test_the_stagnating_region_keeps_a_share_of_the_money() -> None:
    last, y = [0.51, 0.49, 0.52, 0.505], [1e-4] * 4
    away = [0.0, 0.05, 0.2, 0.3, 0.7, 0.75, 0.8, 0.85, 0.95, 1.0]
    X = [[x] for x in [0.1, 0.5, 0.9, *last, *away]]
    values = [1.0, 0.0, 1.0, *y, *[1.0] * len(away)]
    # Four near, and 1 and 14 away: a fifth of 19 is 3.8.
    cost = np.array([1.0] * 7 + [1.4] * len(away))
    assert is_closed(observe(X, [0] * 17, values, cost))
    assert not is_closed(observe(X, [0] * 17, values, np.where(cost > 1.0, 1.7, 1.0)))


def two_modes(**others: Any) -> Observations:
    """The search has come to stay at 0.2; another source shows a second mode at about 0.75."""
    first = [0.05, 0.2, 0.5, 0.95, 0.21, 0.19, 0.205, 0.195]
    other = [0.1, 0.2, 0.35, 0.55, 0.65, 0.72, 0.8, 0.9]
    X = np.array([*first, *other])[:, None]
    source = [0] * len(first) + [1] * len(other)
    y = np.minimum((X[:, 0] - 0.2) ** 2 * 40 - 3.0, (X[:, 0] - 0.76) ** 2 * 40 - 1.0)
    cost = np.where(source, 0.1, 1.0)
    return observe(X, source, np.minimum(y, 0.5), cost, **others)


def test_the_rest_of_the_space_is_searched_as_if_there_were_nothing_else() -> None:
    observations = two_modes()
    model = METHOD.fit(observations, LINE)
    region = METHOD.closed_region(observations, model)
    assert region is not None
    assert region.center == 0.2
    # There is no improvement to be expected, but on what is the best of the rest.
    for seed in range(3):
        proposal = METHOD.propose(observations, LINE, rng=np.random.default_rng(seed))
        assert 0.7 < proposal.x[0] < 0.82
        assert not region.contains(proposal.x[None])[0]
        assert proposal.model is not None
        assert proposal.model.best == pytest.approx(-3.0, abs=0.01)  # All that is known.


def test_the_rest_does_not_lead_back_into_the_closed_region() -> None:
    # Without what was observed in it, the slope to 0.2 promises most within it.
    observations = two_modes()
    one_mode = replace(observations, y=np.minimum((observations.X[:, 0] - 0.2) ** 2 * 40, 5.0))
    region = METHOD.closed_region(one_mode, METHOD.fit(one_mode, LINE))
    assert region is not None
    for seed in range(3):
        proposal = METHOD.propose(one_mode, LINE, rng=np.random.default_rng(seed))
        assert proposal.value > -np.inf
        assert not region.contains(proposal.x[None])[0]


def test_a_better_place_of_the_rest_opens_the_region() -> None:
    observations = two_modes()
    y = np.where(observations.X[:, 0] == 0.95, -4.0, observations.y)
    assert is_closed(observations)
    assert not is_closed(replace(observations, y=y))


def test_where_all_of_the_space_is_one_region_nothing_is_closed() -> None:
    X = np.array([[0.1], [0.5], [0.9], [0.51], [0.49], [0.52], [0.505]])
    flat = observe(X, [0] * 7, 1e-3 * (X[:, 0] - 0.5))  # A line has a long length scale.
    proposal = METHOD.propose(flat, LINE, rng=np.random.default_rng(0))
    assert proposal.x[0] == 0.0


def test_the_best_of_all_is_verified_wherever_the_search_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []

    def must_verify(self: Any, observations: Any, model: Any, proposal: Any, **_: Any) -> bool:
        asked.append(proposal.x[0])
        return model.x_plus[0] == 0.2

    monkeypatch.setattr(RobustMethod, "must_verify", must_verify)
    proposal = METHOD.propose(two_modes(), LINE, rng=np.random.default_rng(0))
    assert (proposal.source, proposal.x[0]) == (0, 0.2)
    assert len(asked) == 1
    assert asked[0] > 0.7


def test_fixed_parameters_are_kept_where_the_search_stagnates() -> None:
    fixed = np.array([0.2])
    proposal = METHOD.propose(two_modes(), LINE, rng=np.random.default_rng(0), fixed=fixed)
    assert proposal.x[0] == 0.2


def plateau(y: list[float], x: list[float], **others: Any) -> Observations:
    """The preferred source at x, after another one was at 0.05, 0.5, 0.9 and 0.95."""
    X = np.array([0.05, 0.5, 0.9, 0.95, *x])[:, None]
    source = [1, 1, 1, 1, *[0] * len(x)]
    return observe(X, source, [3.0, 2.0, -1.0, 1.0, *y], **others)


@pytest.mark.parametrize(
    ("y", "x", "expected"),
    [
        # No progress in the last three: where the other source is best, at 0.9.
        ([1.0, 2.0, 1.0, 1.0, 1.0], [0.0, 0.1, 0.2, 0.3, 0.4], 0.9),
        # Progress.
        ([1.0, 2.0, 1.0, 1.0, 0.5], [0.0, 0.1, 0.2, 0.3, 0.4], None),
        # Too few values to say so.
        ([1.0, 1.0, 1.0], [0.0, 0.1, 0.2], None),
        # One of the last three was where the other source had been.
        ([1.0, 2.0, 1.0, 1.0, 1.0], [0.0, 0.1, 0.2, 0.5, 0.4], None),
        # It has been close to 0.9 and 0.95, and the other places are no better than the mean.
        ([1.0, 0.5, 1.0, 1.0, 1.0], [0.0, 0.91, 0.2, 0.3, 0.4], None),
    ],
)
def test_without_progress_the_promise_of_another_source_is_checked(
    y: list[float], x: list[float], expected: float | None
) -> None:
    found = RobustMethod(promise_queries=3).promise(plateau(y, x), LINE, (0, 1))
    assert (None if found is None else found[0]) == expected


def test_a_promise_is_checked_once_and_only_of_sources_that_are_kept() -> None:
    y, x = [1.0, 2.0, 1.0, 1.0, 1.0], [0.0, 0.1, 0.2, 0.3, 0.4]
    method = RobustMethod(promise_queries=3)
    assert method.promise(plateau(y, x), LINE, (0,)) is None
    assert method.promise(plateau(y, x), LINE, (0, 1), fixed=np.array([0.3])) is None
    pending = np.array([False] * 9 + [True])
    running = plateau([*y, np.nan], [*x, 0.9], pending=pending)
    assert method.promise(running, LINE, (0, 1)) is None
    seen = plateau(y, x, cost=[0.1, 0.1, 0.1, 0.1, *[1.0] * 5])
    proposal = method.propose(seen, LINE, rng=np.random.default_rng(0))
    assert (proposal.source, proposal.x[0]) == (0, 0.9)


def test_a_promise_that_has_failed_is_not_checked_again() -> None:
    y, x = [1.0, 2.0, 1.0, 1.0, 1.0, np.nan], [0.0, 0.1, 0.2, 0.3, 0.4, 0.9]
    method = RobustMethod(promise_queries=3)
    assert method.promise(plateau(y[:-1], x[:-1]), LINE, (0, 1)) == 0.9
    assert method.promise(plateau(y, x), LINE, (0, 1)) is None


@pytest.mark.parametrize("n_evaluated", [3, 6])
def test_finite_space(n_evaluated: int) -> None:
    grid = np.array([1 / 6, 1 / 2, 5 / 6])
    domain = Domain((grid, grid[:2]), np.array([True, False]))
    everything = np.array([[a, b] for a in grid for b in grid[:2]])
    X = everything[:n_evaluated]
    observations = observe(X, [0] * n_evaluated, X.sum(axis=1))
    x = METHOD.propose(observations, domain, rng=np.random.default_rng(0)).x
    assert (everything == x).all(axis=1).any()
    if n_evaluated < 6:
        assert not (X == x).all(axis=1).any()
