"""What the robust method does with what is left of the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import SQUARE
from robust_observations import example
from robust_observations import observe

from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.optim.domain import Domain


@pytest.mark.parametrize(
    ("budget", "verifies"),
    # With 6.9 it exceeds the budget a little, as whatever is worth asking then does.
    [(20.0, False), (7.1, True), (6.9, True), (6.0, False), (None, False)],
)
def test_what_is_left_of_the_budget_is_kept_for_the_verification(
    budget: float | None, verifies: bool
) -> None:
    """All have cost 1 on source 0 and 0.25 on the other; six spent so far: 5 + 4 · 0.25."""
    X = np.array([[0.0], [0.45], [0.6], [0.8], [1.0], [0.1], [0.2], [0.3], [0.4]])
    source = np.array([0] * 5 + [1] * 4)
    cost = np.where(source == 0, 1.0, 0.25)
    observations = observe(
        X, source, (X[:, 0] - 0.25) ** 2, cost, spent=6.0, initial_spent=5.0, budget=budget
    )
    model = METHOD.fit(observations, LINE)
    assert model.x_plus[0] in (0.2, 0.3)
    cheap = Proposal(1, np.array([0.25]))
    assert METHOD.must_verify(observations, model, cheap) is verifies
    # With another value fixed, it is not the place that is asked for.
    assert not METHOD.must_verify(observations, model, cheap, fixed=np.array([0.7]))
    if verifies:
        proposal = METHOD.propose(observations, LINE, rng=np.random.default_rng(0))
        assert proposal.source == 0
        np.testing.assert_array_equal(proposal.x, model.x_plus)
        done = observe(
            np.concatenate([X, model.x_plus[None]]),
            [*source, 0],
            [*observations.y, 0.0],
            [*cost, 1.0],
            spent=6.0,
            initial_spent=5.0,
            budget=budget,
        )
        assert not METHOD.must_verify(
            done, replace(METHOD.fit(done, LINE), x_plus=model.x_plus), cheap
        )


@pytest.mark.parametrize("is_pending", [False, True])
def test_verification_is_planned_with_an_upper_bound_of_its_cost(is_pending: bool) -> None:
    observations = example(n=30)
    observations = replace(observations, cost=observations.cost * 2.0 ** (np.arange(30) % 2))
    if is_pending:
        running = np.arange(30) == 29
        cost = np.where(running, np.nan, observations.cost)
        observations = replace(observations, cost=cost, pending=running)
    x_plus = np.array([0.2, 0.05])
    model = METHOD.fit(observations, SQUARE)
    mean, variance = model.cost.predict(x_plus[None], 0)
    assert variance[0] > 0.01
    cheap = Proposal(1, np.array([0.5, 0.5]))
    needed = np.exp(mean + np.sqrt(variance)) + model.cost.median(cheap.x[None], 1)
    if is_pending:
        needed = needed + model.cost.median(observations.X[[29]], 29 % 3)
    for left, verifies in ((0.999 * needed[0], True), (1.001 * needed[0], False)):
        limited = replace(observations, budget=observations.spent + left)
        model = replace(METHOD.fit(limited, SQUARE), x_plus=x_plus)
        assert METHOD.must_verify(limited, model, cheap) is verifies


# What is left of the budget.


def dear_to_the_right(left: float | None, n: int = 17, **others: Any) -> Observations:
    """Better and dearer to the right, at 1 to 20; the other source says so for a tenth of it."""
    X = np.linspace(0.0, 0.7, n)[:, None]
    source = np.arange(n) % 2
    cost = np.exp(3.0 * X[:, 0]) * np.where(source, 0.1, 1.0)
    observations = observe(X, source, np.cos(3.0 * X[:, 0]), cost, **others)
    spent = float(np.nansum(observations.cost))
    return replace(observations, spent=spent, budget=None if left is None else spent + left)


def cost_of(proposal: Proposal) -> float:
    return float(np.exp(3.0 * proposal.x[0]) * (0.1 if proposal.source else 1.0))


def test_what_cannot_be_paid_is_not_asked() -> None:
    rng = np.random.default_rng(0)
    dear = METHOD.propose(dear_to_the_right(1e3), LINE, rng=rng, sources=[0])
    assert cost_of(dear) > 12.0
    for left in (12.0, 9.0, 6.0):
        proposal = METHOD.propose(dear_to_the_right(left), LINE, rng=rng, sources=[0])
        # The best that can be paid: better ones are dearer.
        assert 0.7 * left < cost_of(proposal) < 1.1 * left


def test_another_source_is_not_asked_if_nothing_is_left_to_follow_it() -> None:
    for left, follows in ((1e3, True), (9.0, True), (2.0, False)):
        model = METHOD.fit(dear_to_the_right(left), LINE)
        value = RobustAcquisition(model, (0, 1)).values(np.array([[0.6]]))[0]
        assert np.isfinite(value[1]) == follows
        gradient = RobustAcquisition(model, (0, 1)).value_and_gradient
        at = gradient(np.full((2, 1), 0.6), np.array([0, 1]))[0]
        np.testing.assert_allclose(at, value)


def test_costs_of_running_trials_are_not_left() -> None:
    observations = dear_to_the_right(10.0)
    running = np.arange(len(observations)) == len(observations) - 3
    cost = np.where(running, np.nan, observations.cost)
    y = np.where(running, np.nan, observations.y)
    paid = observations.spent - observations.cost[running][0]
    pending = replace(observations, cost=cost, y=y, pending=running, spent=paid)
    assert METHOD.fit(observations, LINE).limit.cost == pytest.approx(10.0)
    assert METHOD.fit(pending, LINE).limit.cost == pytest.approx(10.0, rel=0.05)
    # Without a budget, or if it is spent.
    for left in (None, 0.0, -1.0):
        assert METHOD.fit(dear_to_the_right(left), LINE).limit.cost == np.inf
    assert METHOD.fit(dear_to_the_right(1.1), LINE).limit.cost == pytest.approx(1.1)
    # Running trials alone do not make cost no criterion, however much they will cost.
    for left in (0.0, -1.0, -5.0):
        beyond = replace(pending, budget=observations.spent + left)
        assert 0.1 < METHOD.fit(beyond, LINE).limit.cost < 3.0


def test_where_nothing_can_be_paid_the_budget_is_exceeded_by_no_more_than_is_usual() -> None:
    observations = dear_to_the_right(0.05)
    usual = np.median(observations.cost[observations.source == 0])
    assert METHOD.fit(observations, LINE).limit.cost == pytest.approx(usual, rel=0.05)
    proposal = METHOD.propose(observations, LINE, rng=np.random.default_rng(0), sources=[0])
    assert cost_of(proposal) < 1.05 * usual  # Better ones are dearer.


def test_another_choice_has_not_been_verified() -> None:
    """The best is the next of so many choices that its coordinate hardly differs."""
    choices = (np.arange(200_000) + 0.5) / 200_000
    domain = Domain((choices,), np.array([True]))
    X = choices[[0, 50_000, 100_000, 150_000], None]
    observations = observe(X, [0, 0, 0, 0], [1.0, 2.0, 3.0, 1.5])
    model = METHOD.fit(observations, domain)
    assert not METHOD.can_verify(observations, replace(model, x_plus=choices[[150_000]]))
    assert METHOD.can_verify(observations, replace(model, x_plus=choices[[150_001]]))


def test_where_what_is_fixed_cannot_be_paid_the_best_of_it_is_asked() -> None:
    X = np.random.default_rng(0).random((16, 2))
    cost = np.exp(3.0 * X[:, 0])
    observations = observe(X, [0] * 16, (X[:, 1] - 0.3) ** 2, cost, spent=100.0, budget=103.0)
    fixed = np.array([0.9, np.nan])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = METHOD.propose(observations, SQUARE, rng=rng, fixed=fixed).x
        assert x[0] == 0.9 and abs(x[1] - 0.3) < 0.05


@pytest.mark.parametrize(("left", "asked"), [(1e3, True), (3.0, False)])
def test_a_promise_that_cannot_be_paid_is_not_checked(left: float, asked: bool) -> None:
    X = np.array([[0.9], [0.05], [0.15], [0.0], [0.1], [0.2], [0.3], [0.4]])
    source = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    y = np.array([-1.0, 0.5, 0.4, 1.0, 2.0, 1.0, 1.0, 1.0])
    cost = np.exp(2.0 * X[:, 0]) * np.where(source, 0.1, 1.0)
    observations = observe(X, source, y, cost, spent=9.0, budget=9.0 + left)
    method = RobustMethod(promise_queries=3)
    assert method.promise(observations, LINE, (0, 1)) == 0.9
    limited = method.fit(observations, LINE)
    found = method.redirect(observations, LINE, limited, (0, 1))
    assert (found is not None) is asked
