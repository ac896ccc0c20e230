from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pytest
from scipy.stats import norm

from optuna_misowild.acquisition import log_ei
from optuna_misowild.domain import Domain
from optuna_misowild.maximize import Maximum
from optuna_misowild.methods import robust
from optuna_misowild.methods import robust_model
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.robust_model import RobustAcquisition
from optuna_misowild.methods.robust_model import RobustModel
from optuna_misowild.observations import Observations
from optuna_misowild.observations import Proposal


Array = NDArray[np.float64]

METHOD = RobustMethod()
LINE, SQUARE, FOUR = Domain.continuous(1), Domain.continuous(2), Domain.continuous(4)


def observe(
    X: Any, source: Any, y: Any = None, cost: Any = None, *, row: Any = None, **others: Any
) -> Observations:
    """Observations with a value of 0 and a cost of 1 where nothing else is said."""
    X, n = np.array(X, dtype=float), len(source)
    others.setdefault("n_sources", int(max(source, default=0)) + 1)
    others.setdefault("queryable", tuple(range(others["n_sources"])))
    others.setdefault("pending", np.zeros(n, dtype=bool))
    return Observations(
        X=X,
        source=np.array(source, dtype=int),
        y=np.zeros(n) if y is None else np.array(y, dtype=float),
        cost=np.ones(n) if cost is None else np.array(cost, dtype=float),
        trial=np.arange(n),
        row=np.full(n, -1) if row is None else np.array(row, dtype=int),
        **others,
    )


def objective(X: Array) -> Array:
    return np.sum((X - 0.3) ** 2, axis=1) + 0.1 * np.sin(9 * X[:, 0])


def example(seed: int = 0, n: int = 40, d: int = 2, **others: Any) -> Observations:
    """Three sources: the objective, a shifted one of a tenth, and a wrong one, of its cost."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    source = np.arange(n) % 3
    y = objective(X) + np.choose(source, [0, 0.5 + 0.1 * X[:, 1], -3 * objective(1 - X)])
    cost = np.exp(X[:, 0]) * np.array([1, 0.1, 0.1])[source]
    return observe(X, source, y, cost, n_sources=3, spent=cost.sum(), **others)


def pairs(observations: Observations, n_preferred: int = 5) -> list[tuple[int, int]]:
    return RobustMethod(n_preferred_rows=n_preferred).design(observations, 5)


# The initial design.


def design_of(
    rows: list[tuple[int, int, float]], n_sources: int = 3, **others: Any
) -> Observations:
    """From (source, row, cost); without locations, as the sampler gives them."""
    source, row, cost = zip(*rows, strict=True) if rows else ([], [], [])
    n = len(rows)
    return observe(np.empty((n, 0)), source, cost=cost, row=row, n_sources=n_sources, **others)


PREFERRED = [(0, 0, 5.0), (0, 1, 1.0), (0, 2, 3.0), (0, 3, 2.0), (0, 4, 4.0)]


def test_design_begins_with_the_preferred_source() -> None:
    assert pairs(design_of([])) == [(0, row) for row in range(5)]
    assert pairs(design_of(PREFERRED[:2]))[:3] == [(0, 2), (0, 3), (0, 4)]


def test_preferred_source_is_queried_at_few_rows_if_another_is_kept() -> None:
    assert METHOD.design(design_of([]), 5) == [(0, 0), (0, 1), (0, 2)]
    assert pairs(design_of(PREFERRED[:3]), 3) == [(1, 2), (2, 2)]
    # Share: 0.25 · 9 / 2 = 1.125 pays for two queries at 0.5, so for one more.
    one_kept = design_of([*PREFERRED[:3], (1, 2, 0.5), (2, 2, 2.0)])
    assert pairs(one_kept, 3) == [(1, 0)]
    # The other rows of the preferred source follow once no other is left.
    undecided = design_of([*PREFERRED[:3], (1, 2, 3.0)])
    assert pairs(undecided, 3) == [(2, 2)]
    none_kept = design_of([*PREFERRED[:3], (1, 2, 3.0), (2, 2, 2.0)])
    assert pairs(none_kept, 3) == [(0, 3), (0, 4)]
    # A study with one source has no other to begin with.
    assert pairs(design_of([], 1), 3) == [(0, row) for row in range(5)]


def test_design_probes_the_others_where_the_cost_is_the_median() -> None:
    assert pairs(design_of(PREFERRED)) == [(1, 2), (2, 2)]


@pytest.mark.parametrize(("cost", "kept"), [(0.99, True), (1.0, False), (3.0, False)])
def test_source_is_dropped_at_a_third_of_the_cost(cost: float, kept: bool) -> None:
    after = design_of([*PREFERRED, (1, 2, cost), (2, 2, 2.0)])
    # Share of each of two sources: 0.25 · 15 / 2 = 1.875; a second query at 0.99 would exceed it.
    assert pairs(after) == []
    assert METHOD._candidates(after, None) == ((0, 1) if kept else (0,))


def test_cheap_source_is_queried_at_other_rows_while_its_share_lasts() -> None:
    # 1.875 pays for three queries at 0.6, so for two more.
    after = design_of([*PREFERRED, (1, 2, 0.6), (2, 2, 2.0)])
    assert pairs(after) == [(1, 0), (1, 1)]
    # A dear one: the mean is 0.8 now, and 3 · 0.8 is too much.
    assert pairs(replace_last(after, (1, 0, 1.0))) == []
    both = design_of([*PREFERRED, (1, 2, 0.6), (2, 2, 0.6)])
    assert pairs(both) == [(1, 0), (2, 0), (1, 1), (2, 1)]


def replace_last(observations: Observations, new: tuple[int, int, float]) -> Observations:
    old = list(zip(observations.source, observations.row, observations.cost, strict=True))
    return design_of([*old, new], observations.n_sources)


def test_design_with_pending_and_failed_trials() -> None:
    pending = np.array([False] * 4 + [True])
    running = design_of([*PREFERRED[:4], (0, 4, np.nan)], pending=pending)
    # Row 4 may be the dearest, so that the median is known: row 2 of costs 1, 2, 3, 5, ∞.
    assert pairs(running) == [(1, 2), (2, 2)]
    begun = design_of(
        [(0, 3, 1.0), *[(0, row, np.nan) for row in (0, 1, 2, 4)]], pending=np.arange(5) > 0
    )
    assert pairs(begun) == [(1, 3), (2, 3)]
    waiting = design_of([*PREFERRED, (1, 2, np.nan)], 2, pending=np.array([False] * 5 + [True]))
    assert pairs(waiting) == []
    failed = design_of([*PREFERRED, (1, 2, np.nan)], 2)
    assert pairs(failed) == [(1, 0)]


def test_evaluations_without_a_row_count_in_the_place_of_one() -> None:
    given = design_of([(0, -1, 2.0), (0, -1, 3.0), (0, 0, 1.0), (1, -1, 0.1)], 2)
    assert [row for source, row in pairs(given) if source == 0] == [1, 2]
    # Without a row in common, the medians are compared: a third of 2.5 is the limit.
    for cost, kept in ((0.8, (0, 1)), (0.9, (0,))):
        given = design_of([(0, -1, 2.0), (0, -1, 3.0), (1, -1, cost)], 2)
        assert METHOD._candidates(given, None) == kept


def test_read_only_sources_are_not_designed() -> None:
    assert pairs(design_of(PREFERRED, queryable=(0, 2))) == [(2, 2)]
    only_others = design_of([], queryable=(1,))
    assert METHOD.design(only_others, 2) == [(1, 0), (1, 1)]


# The model and the acquisition.


def test_mixture_needs_six_values_of_the_preferred_source() -> None:
    few, enough = example(n=15), example(n=16)
    assert len(few.valued(0)) == 5 and len(enough.valued(0)) == 6
    assert METHOD.fit(few, SQUARE).single is None
    assert METHOD.fit(few, SQUARE).log_odds == np.inf
    assert METHOD.fit(enough, SQUARE).single is not None


def test_joint_model_loses_its_weight_where_it_predicts_badly() -> None:
    good = example(n=60)
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((20, 2)), 2, axis=0)
    source = np.tile([0, 1], 20)
    y = np.where(source == 0, objective(X), 1e-3 * rng.normal(size=40) + 40 * X[:, 0] ** 5)
    good_model = METHOD.fit(good, SQUARE)
    bad_model = METHOD.fit(observe(X, source, y), SQUARE)
    assert bad_model.log_odds < good_model.log_odds

    assert bad_model.single is not None
    scores = [
        norm.logpdf(residual, scale=np.sqrt(variance)).sum()
        for residual, variance in (
            bad_model.joint.leave_one_out(),
            bad_model.single.leave_one_out(),
        )
    ]
    assert bad_model.log_odds == pytest.approx(scores[0] - scores[1])

    # Without any weight it is EI of the model of source 0, and other sources are worthless.
    alone = replace(bad_model, log_odds=-1e6, alpha=0.0)
    Z = rng.random((5, 2))
    acquisition = RobustAcquisition(alone, (0,))
    assert alone.single is not None
    expected = log_ei(*alone.single.predict(Z), alone.best).value
    np.testing.assert_allclose(acquisition.values(Z)[:, 0], expected)
    assert np.all(alone.acquisition(Z, 1) < -1e5)


def test_acquisition_by_hand() -> None:
    observations = example(n=30, budget=40.0, initial_spent=5.0)
    model = METHOD.fit(observations, SQUARE)
    x = np.array([[0.4, 0.6]])
    posterior = model.joint.predict_sources(x)
    assert model.single is not None

    def ei(mean: Array, variance: Array, best: float) -> float:
        sd = np.sqrt(variance[0])
        u = (best - mean[0]) / sd
        return float(sd * (norm.pdf(u) + u * norm.cdf(u)))

    pi = 1 / (1 + np.exp(-model.log_odds))
    alpha = (40 - observations.spent) / 35
    assert model.alpha == pytest.approx(alpha)
    for s in (0, 1):
        w = posterior.covariance[0, s] ** 2 / (
            posterior.variance[0] * (posterior.source_variance[0, s] + model.joint.noise[s])
        )
        utility = pi * ei(posterior.mean, posterior.variance, model.incumbent) * w**2
        if s == 0:
            utility += (1 - pi) * ei(*model.single.predict(x), model.best)
        expected = np.log(utility) - alpha * np.log(model.cost[s].median(x)[0])
        assert model.acquisition(x, s)[0] == pytest.approx(expected)


@pytest.mark.parametrize("source", [0, 1, 2])
def test_gradient_of_acquisition(source: int) -> None:
    model = METHOD.fit(example(budget=100.0), SQUARE)
    acquisition = RobustAcquisition(model, (0, 1, 2))
    for x in np.random.default_rng(1).random((5, 2)):
        value, gradient = acquisition.value_and_gradient(x, source)
        assert value == pytest.approx(acquisition.values(x[None])[0, source], rel=1e-9)
        steps = 1e-6 * np.eye(2)
        numerical = [
            (acquisition.values((x + h)[None]) - acquisition.values((x - h)[None]))[0, source]
            for h in steps
        ]
        np.testing.assert_allclose(gradient, np.array(numerical) / 2e-6, rtol=1e-3, atol=1e-4)


def test_incumbent_is_the_lowest_mean_over_the_locations_of_all_sources() -> None:
    observations = example()
    model = METHOD.fit(observations, SQUARE)
    mean = model.joint.predict(observations.X)[0]
    assert model.incumbent == pytest.approx(mean.min())
    np.testing.assert_array_equal(model.x_plus, observations.X[np.argmin(mean)])
    assert model.best == observations.y[observations.source == 0].min()


def test_what_is_predicted_is_in_raw_units() -> None:
    observations = example(n=90)
    model = METHOD.fit(observations, SQUARE)
    Z = np.random.default_rng(1).random((50, 2))
    mean, std = model.predict(Z, 1)
    error = mean - objective(Z) - 0.5 - 0.1 * Z[:, 1]
    assert np.abs(error).max() < 0.1 and np.all(np.abs(error) < 10 * std)
    mean, std = model.predict_cost(Z, 1)
    np.testing.assert_allclose(mean, 0.1 * np.exp(Z[:, 0]), rtol=0.05)
    assert np.all(std < 0.1 * mean)
    posterior = model.joint.predict_sources(Z)
    np.testing.assert_allclose(
        model.discrepancy(Z, 2)[0], posterior.source_mean[:, 2] - model.rho[2] * posterior.mean
    )


# The gates.


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
    assert RobustAcquisition(model, (0, 1)).value_and_gradient(Z[1], 1)[0] == -np.inf
    # Where there is no choice, there is no gate.
    assert np.isfinite(RobustAcquisition(model, (1,)).values(Z)).all()


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
    assert not METHOD.is_due(replace(observations, row=np.arange(17)), model)


def creeping(last: Any, y: Any, **others: Any) -> Observations:
    """Three spread queries of source 0, then four more at ``last``."""
    X = [[0.1], [0.5], [0.9], *([x] for x in last)]
    return observe(X, [0] * len(X), [1.0, 0.0, 1.0, *y], **others)


@pytest.mark.parametrize(
    ("last", "y", "stagnating"),
    [
        ([0.51, 0.49, 0.52, 0.505], [1e-4] * 4, True),
        ([0.51, 0.49, 0.52, 0.505], [1e-4, 1e-4, -0.1, 1e-4], False),  # progress
        ([0.51, 0.49, 0.61, 0.505], [1e-4] * 4, False),  # one is far
        ([0.51, 0.49, 0.52], [1e-4] * 3, False),  # not yet four of them
    ],
)
def test_stagnation(last: list[float], y: list[float], stagnating: bool) -> None:
    observations = creeping(last, y)
    assert METHOD.is_stagnating(observations, LINE) is stagnating


def test_stagnation_is_free_of_units_and_dimension() -> None:
    spread = [[0.1] * 4, [0.5] * 4, [0.9] * 4]
    # The latest are at a distance of 0.16 from the best one: close, in four dimensions.
    X = np.array([*spread, [0.58] * 4, *[[0.5] * 4] * 3])
    y = np.array([1000.0, 0, 1000, -0.1, 1, 1, 1])  # A progress of 0.1 is no more than 1e-3·456.
    assert METHOD.is_stagnating(observe(X, [0] * 7, y), FOUR)
    assert not METHOD.is_stagnating(observe(X, [0] * 7, y - [0, 0, 0, 1, 0, 0, 0]), FOUR)


def test_query_after_stagnation_explores_and_ends_it() -> None:
    observations = creeping([0.51, 0.49, 0.52, 0.505], [1e-4] * 4)
    proposal = METHOD.propose(observations, LINE, rng=np.random.default_rng(0))
    assert proposal.source == 0
    # The middle of a gap: 0.3, 0.7, or a bound, 0.1 from the next one, is less good.
    assert min(abs(proposal.x[0] - 0.3), abs(proposal.x[0] - 0.7)) < 0.02
    ended = creeping([0.51, 0.49, 0.52, 0.505, proposal.x[0]], [1e-4] * 4 + [0.5])
    assert not METHOD.is_stagnating(ended, LINE)
    pending = np.arange(8) == 7
    running = creeping([0.51, 0.49, 0.52, 0.505, 0.3], [1e-4] * 4 + [np.nan], pending=pending)
    assert not METHOD.is_stagnating(running, LINE)


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


def test_exploring_prefers_the_cheaper_of_two_gaps() -> None:
    X = np.array([[0.1], [0.5], [0.9], [0.51], [0.49], [0.52], [0.505]])
    observations = observe(X, [0] * 7, [1.0, 0, 1, 0, 0, 0, 0], np.exp(-4 * X[:, 0]))
    assert METHOD.is_stagnating(observations, LINE)
    x = METHOD.propose(observations, LINE, rng=np.random.default_rng(0)).x
    assert 0.65 < x[0] < 1


def test_old_query_is_replaced_by_the_most_uncertain_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.array([[0.1], [0.2], [0.3], [0.4], [0.5]])
    observations = observe(X, [0, 1, 0, 1, 0], objective(X), [1, 0.1, 1, 0.1, 1])
    search = robust.maximize

    def first_finds(x: float) -> Any:
        def fake(acquisition: Any, *args: Any, **kwargs: Any) -> Maximum:
            if isinstance(acquisition, RobustAcquisition):
                return Maximum(1, np.array([x]), 0.0)
            return search(acquisition, *args, **kwargs)

        return fake

    monkeypatch.setattr(robust, "maximize", first_finds(0.2 + 2e-5))
    assert METHOD.propose(observations, LINE, rng=np.random.default_rng(0)).source == 1
    monkeypatch.setattr(robust, "maximize", first_finds(0.2 + 5e-6))
    proposal = METHOD.propose(observations, LINE, rng=np.random.default_rng(0))
    assert proposal.source == 0
    assert proposal.x[0] == pytest.approx(1.0, abs=0.01)


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


@pytest.mark.parametrize(
    ("budget", "verifies"),
    [(20.0, False), (7.1, True), (6.9, False), (None, False)],
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
    model = METHOD.fit(observations, SQUARE)
    model = replace(model, x_plus=np.array([0.31, 0.42]))
    mean, variance = model.cost[0].predict(model.x_plus[None])
    assert variance[0] > 0.01
    cheap = Proposal(1, np.array([0.5, 0.5]))
    needed = np.exp(mean + np.sqrt(variance)) + model.cost[1].median(cheap.x[None])
    if is_pending:
        needed = needed + model.cost[29 % 3].median(observations.X[[29]])
    for left, verifies in ((0.999 * needed[0], True), (1.001 * needed[0], False)):
        limited = replace(observations, budget=observations.spent + left)
        assert METHOD.must_verify(limited, model, cheap) is verifies


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
    for module, name in (
        (robust_model, "_fit_from_defaults"),
        (robust, "fit_single"),
        (robust, "fit_cost"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)
    again = propose(example(n=43))
    assert again.source == expected.source
    np.testing.assert_array_equal(again.x, expected.x)


def test_bad_mode_is_left_at_the_next_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    fit = robust_model.fit_joint

    def spy(X: Array, *args: Any, **kwargs: Any) -> Any:
        starts.append((len(X), kwargs.get("from_defaults", True)))
        return fit(X, *args, **kwargs)

    monkeypatch.setattr(robust_model, "fit_joint", spy)
    for n in (16, 17, 23, 24):
        METHOD.fit(example(seed=5, n=n), SQUARE)
    assert starts == [(16, True), (17, False), (23, False), (24, True)]


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
            row=np.full(n + 1, -1),
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
    P = (rng.permuted(np.tile(np.arange(5), (2, 1)), axis=1).T + 0.5) / 5
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
