"""What is learnt of failures and constraints, and where it leads the methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import SQUARE
from robust_observations import Array
from robust_observations import example
from robust_observations import observe

from optuna_misowild.methods import carbo
from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.carbo import CostCooling
from optuna_misowild.methods.exploration import max_variance_location
from optuna_misowild.methods.feasibility import Feasibility
from optuna_misowild.methods.feasibility import fit_feasibility
from optuna_misowild.methods.feasibility import log_normal_cdf
from optuna_misowild.methods.feasibility import log_probability
from optuna_misowild.methods.feasibility import scaled_constraint
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.methods.robust import method as robust_method
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.optim.maximize import Maximum


METHODS = [METHOD, CostCooling()]


def failing(seen: Observations, failed: Array) -> Observations:
    """The same, but some of the trials have failed."""
    return replace(seen, y=np.where(failed, np.nan, seen.y), failed=failed)


def fitted(seen: Observations, domain: Any = LINE) -> Feasibility:
    result = fit_feasibility(seen, domain)
    assert result is not None
    return result


def probability(seen: Observations, x: Any, source: int = 0) -> Array:
    X = np.array(x, dtype=float).reshape(-1, seen.X.shape[1])
    domain = LINE if X.shape[1] == 1 else SQUARE
    return np.exp(log_probability(fitted(seen, domain), X, source))


@pytest.mark.parametrize("z", [5.0, 0.3, -2.0, -30.0, -9e3, -1.1e4, -1e7])
def test_log_normal_cdf_and_its_slopes(z: float) -> None:
    variance = np.array([4.0])
    mean = z * np.sqrt(variance)
    value, (by_mean, by_variance) = log_normal_cdf(mean, variance)
    assert np.isfinite([value[0], by_mean[0], by_variance[0]]).all()
    size = 1e-6 * max(1.0, abs(z))
    for step, slope in (((size, 0.0), by_mean), ((0.0, 1e-6), by_variance)):
        high = log_normal_cdf(mean + step[0], variance + step[1]).value
        low = log_normal_cdf(mean - step[0], variance - step[1]).value
        assert slope[0] == pytest.approx((high - low)[0] / (2.0 * sum(step)), rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(
    "g, expected",
    [
        ([-1.0, 0.5, 2.0], [-1.0, 0.5, 2.0]),
        ([-1.0, 0.0, 2.0], [-1.0, 0.0, 2.0]),
        ([0.0, 1.0, 0.0], [-1.0, 1.0, -1.0]),  # An indicator.
        ([0.0, 0.0, 2.0, 4.0], [-3.0, -3.0, 2.0, 4.0]),  # Violations alone.
        ([-1.0, 1.0, 2.0, 1e100, -1e100], [-1.0, 1.0, 2.0, 40.0, -40.0]),
        ([0.0, 0.0], [-1.0, -1.0]),
        ([3.0, 3.0], [3.0, 3.0]),
    ],
)
def test_scaled_constraint(g: list[float], expected: list[float]) -> None:
    np.testing.assert_array_equal(scaled_constraint(np.array(g)), expected)


def test_failures_are_expected_where_there_were_some_and_success_elsewhere() -> None:
    x = np.linspace(0.0, 1.0, 21)
    seen = failing(observe(x[:, None], [0] * 21), x > 0.65)
    p = probability(seen, [0.1, 0.5, 0.75, 0.95])
    assert (p[:2] > 0.95).all()
    assert (p[2:] < 0.1).all()
    alone = failing(observe(x[[3], None], [0]), np.ones(1, dtype=bool))
    p = probability(alone, [0.15, 0.6, 1.0])
    assert p[0] < p[1] - 0.1 < p[2] - 0.2


def test_one_failure_amid_successes_costs_little() -> None:
    x = np.linspace(0.0, 1.0, 21)
    seen = failing(observe(x[:, None], [0] * 21), np.arange(21) == 10)
    assert (probability(seen, x[[8, 12]]) > 0.75).all()
    assert (probability(seen, x[[2, 18]]) > 0.9).all()


def test_a_failure_counts_for_its_source_as_far_as_the_others_say_otherwise() -> None:
    x = np.linspace(0.0, 1.0, 13)
    X, source = np.tile(x, 2)[:, None], np.repeat([0, 1], 13)
    seen = failing(observe(X, source), (X[:, 0] > 0.6) & (source == 1))
    assert probability(seen, [0.8], 0) > 0.9
    assert probability(seen, [0.8], 1) < 0.1
    # Of a preferred source that is hardly known, the same is expected.
    rows = (source == 1) | np.isin(x[np.tile(np.arange(13), 2)], x[[0, 6]])
    few = failing(observe(X[rows], source[rows]), (X[rows, 0] > 0.6) & (source[rows] == 1))
    assert probability(few, [0.8], 0) < 0.5
    # Nor is the other one worth a query where the preferred one fails.
    other = failing(observe(X, source), (X[:, 0] > 0.6) & (source == 0))
    assert probability(other, [0.8], 1) < 0.1


@pytest.mark.parametrize("source", [0, 1, 2])
def test_failures_of_one_source_that_are_close_are_no_noise(source: int) -> None:
    seen = example(n=30)
    seen = observe(
        np.concatenate([seen.X, [[0.95, 0.95], [0.93, 0.96], [0.9, 0.9]]]),
        [*seen.source, *[source] * 3],
        [*seen.y, *[np.nan] * 3],
        n_sources=3,
        failed=np.arange(33) >= 30,
    )
    # Where the sources had noises of their own, this was 0.77 of a cheap one.
    assert (probability(seen, seen.X[30:], source) < 0.1).all()
    assert probability(seen, [0.3, 0.5], source) > 0.8


def test_random_failures_leave_no_place_out() -> None:
    seen = example(n=60)
    rows = np.random.default_rng(0).choice(60, 12, replace=False)
    seen = failing(seen, np.isin(np.arange(60), rows))
    p = np.concatenate([probability(seen, seen.X, s) for s in range(3)])
    assert ((p > 0.3) & (p < 0.99)).all()


def test_running_and_pruned_trials_tell_nothing_of_failures() -> None:
    seen = example(n=12)
    y, pending = seen.y.copy(), seen.pending.copy()
    y[[3, 7]], pending[3] = np.nan, True
    assert fit_feasibility(replace(seen, y=y, pending=pending), SQUARE) is None
    failed = np.arange(12) == 5
    some = fitted(failing(replace(seen, y=y, pending=pending), failed), SQUARE)
    assert some.success is not None
    assert len(some.success.X) == 10


def test_constraints_are_those_of_the_preferred_source() -> None:
    x = np.linspace(0.0, 1.0, 11)
    X, source = np.tile(x, 2)[:, None], np.repeat([0, 1], 11)
    # On the other source, everything is allowed.
    g = np.where(source == 0, 0.6 - X[:, 0], -1.0)
    seen = observe(X, source, constraints=g[:, None])
    for s in (0, 1):
        assert probability(seen, [0.8], s) > 0.95
        assert probability(seen, [0.4], s) < 0.05
    # If it has never been asked, what the other one says is believed.
    cheap = observe(x[:, None], [1] * 11, constraints=(0.6 - x)[:, None], n_sources=2)
    assert probability(cheap, [0.9]) > 0.7
    assert probability(cheap, [0.1]) < 0.3


def test_the_edge_is_known_more_precisely_than_by_one_value() -> None:
    x = np.concatenate([np.linspace(0.49, 0.51, 21), [0.0, 0.2, 0.8, 1.0]])
    seen = observe(x[:, None], [0] * 25, constraints=(x - 0.5)[:, None])
    (gp,) = fitted(seen).constraints
    half_the_noise = 0.5 * np.sqrt(gp.noise[0])
    inside, outside = probability(seen, [0.5 - half_the_noise, 0.5 + half_the_noise])
    assert outside < 0.1 and inside > 0.9


def test_constraints_that_are_constant_or_partly_unknown() -> None:
    x = np.linspace(0.0, 1.0, 11)
    g = np.stack([0.6 - x, np.full(11, -2.0), np.zeros(11), np.full(11, np.nan)], axis=1)
    g[3, :2] = g[5, 0] = np.nan
    seen = observe(x[:, None], [0] * 11, constraints=g)
    assert seen.feasible.tolist() == [False] * 3 + [True, False, True] + [True] * 5
    assert len(fitted(seen).constraints) == 3
    np.testing.assert_allclose(probability(seen, [0.1, 0.3, 0.9]), [0, 0, 1], atol=0.01)
    forbidden = observe(x[:, None], [0] * 11, constraints=np.full((11, 1), 3.0))
    assert probability(forbidden, [0.5]) < 0.01


def constrained(n_constraints: int = 2, *, seed: int = 3, n: int = 40) -> Observations:
    """Three sources that fail in a corner, and linear constraints."""
    seen = example(seed=seed, n=n)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(2, n_constraints))
    g = (seen.X - 0.5) @ weights - 0.2
    g[rng.random(g.shape) < 0.1] = np.nan
    return failing(replace(seen, constraints=g), seen.X.sum(axis=1) > 1.3)


@pytest.mark.parametrize("caution", [1.0, 16.0])
def test_gradient_of_the_penalty(caution: float) -> None:
    model = replace(fitted(constrained(10), SQUARE), caution=caution)
    X = np.random.default_rng(0).random((20, 2))
    sources = np.array([0, 2, 1])[None].repeat(20, axis=0)
    field = model.penalty(X, sources, gradient=True)
    np.testing.assert_allclose(field.value, model.penalty(X, sources, gradient=False).value)
    for i in range(2):
        step = np.zeros(2)
        step[i] = 1e-4  # Values go to 1e6, and their last digits are noise: not a smaller step.
        high, low = (model.penalty(Z, sources, gradient=False) for Z in (X + step, X - step))
        slope = (high.value - low.value) / 2e-4
        np.testing.assert_allclose(field.gradient[..., i], slope, rtol=1e-2, atol=1e-3)


def test_gradient_of_the_acquisition_of_both_methods() -> None:
    seen = constrained()
    robust = RobustAcquisition(METHOD.fit(seen, SQUARE), (0, 1, 2))
    seeking = RobustAcquisition(replace(robust.model, is_seeking=True), (0, 1, 2))
    rng = np.random.default_rng(1)
    for acquisition in (robust, seeking):
        X, source = rng.random((30, 2)), rng.integers(3, size=30)
        value, gradient = acquisition.value_and_gradient(X, source)
        inside = np.flatnonzero(value > -np.inf)
        assert len(inside) > 10
        for i in range(2):
            step = np.zeros(2)
            step[i] = 1e-4  # Likewise.
            high = acquisition.values(X + step)[np.arange(30), source]
            low = acquisition.values(X - step)[np.arange(30), source]
            slope = (high - low)[inside] / 2e-4
            np.testing.assert_allclose(gradient[inside, i], slope, rtol=1e-2, atol=1e-2)


def test_caution_grows_with_failures_beyond_a_tenth() -> None:
    def caution(n_failed: int, n: int = 40) -> float:
        seen = failing(observe(np.linspace(0, 1, n)[:, None], [0] * n), np.arange(n) < n_failed)
        return fitted(seen).caution

    assert [caution(k) for k in (1, 4, 5, 7, 30)] == [1.0, 1.0, 2.0, 8.0, 16.0]


@pytest.mark.parametrize("method", METHODS)
def test_without_failures_and_constraints_suggestions_are_the_same(method: Any) -> None:
    seen = example(n=30)
    nothing_known = replace(seen, constraints=np.full((30, 2), np.nan))
    model = method.fit(nothing_known, SQUARE)
    assert model.feasibility is None
    expected, found = (
        method.propose(s, SQUARE, rng=np.random.default_rng(0)) for s in (seen, nothing_known)
    )
    assert found.source == expected.source
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(model.log_probability(seen.X, 0), np.zeros(30))


def test_a_crash_of_a_cheap_source_does_not_make_the_preferred_one_known() -> None:
    seen = example(n=30)
    crash = np.array([[0.95, 0.95]])
    before = METHOD.fit(seen, SQUARE).predict(crash, 0)[1]
    arrays = {
        "X": np.concatenate([seen.X, crash]),
        "source": np.append(seen.source, 1),
        "y": np.append(seen.y, np.nan),
        "cost": np.append(seen.cost, np.nan),
        "trial": np.arange(31),
        "design_row": np.full(31, -1),
        "pending": np.zeros(31, dtype=bool),
        "failed": np.arange(31) == 30,
        **dict.fromkeys(("constraints", "free", "before", "hidden")),
    }
    model = METHOD.fit(replace(seen, **arrays), SQUARE)
    assert model.predict(crash, 0)[1] == before
    assert model.is_unlikely(crash, 1)
    running = replace(seen, **{**arrays, "failed": np.zeros(31, dtype=bool)})
    running = replace(running, pending=np.arange(31) == 30)
    assert METHOD.fit(running, SQUARE).predict(crash, 0)[1] < before


def test_the_incumbent_is_feasible() -> None:
    x = np.linspace(0.0, 1.0, 11)
    X, source = np.tile(x, 2)[:, None], np.repeat([0, 1], 11)
    y = (X[:, 0] - 0.3) ** 2
    seen = observe(X, source, y, np.where(source, 0.1, 1.0), constraints=0.55 - X)
    model = METHOD.fit(seen, LINE)
    assert model.x_plus == pytest.approx(0.6)
    assert model.incumbent == pytest.approx(0.09, abs=0.01)
    assert model.best == pytest.approx(0.09, abs=1e-4)
    assert CostCooling().fit(seen, LINE).incumbent == pytest.approx(0.09)
    for method in METHODS:
        found = method.recommend(seen, LINE)
        assert (found.index, found.verified, found.feasible) == (6, True, True)
        assert found.probability > 0.9


def test_where_nothing_is_feasible_the_most_probable_is_recommended() -> None:
    x = np.linspace(0.0, 0.5, 9)
    seen = observe(x[:, None], [0] * 9, (x - 0.3) ** 2, constraints=(0.8 - x)[:, None])
    for method in METHODS:
        assert method.fit(seen, LINE).is_seeking
        found = method.recommend(seen, LINE)
        assert (found.index, found.feasible) == (8, False)
        assert found.probability < 0.5
        # Feasibility alone leads.
        assert method.propose(seen, LINE, rng=np.random.default_rng(0)).x > 0.8


def test_what_has_failed_on_the_preferred_source_is_not_to_be_verified_again() -> None:
    x = np.array([0.1, 0.3, 0.5, 0.7, 0.9] * 2)
    source = np.repeat([0, 1], 5)
    y = (x - 0.31) ** 2
    seen = observe(x[:, None], source, y, np.where(source, 0.1, 1.0))
    assert METHOD.fit(seen, LINE).x_plus == 0.3
    failed = failing(seen, np.arange(10) == 1)
    model = METHOD.fit(failed, LINE)
    assert model.x_plus != 0.3
    found = METHOD.recommend(failed, LINE)
    assert found is not None
    assert found.verified
    assert seen.X[found.index] == 0.5


def test_a_cheap_place_that_is_expected_to_be_feasible_is_recommended_unverified() -> None:
    x = np.concatenate([np.linspace(0.0, 0.4, 5), np.linspace(0.0, 1.0, 11)])
    source = np.array([0] * 5 + [1] * 11)
    seen = observe(
        x[:, None], source, x, np.where(source, 0.1, 1.0), constraints=(0.55 - x)[:, None]
    )
    found = METHOD.recommend(seen, LINE)
    assert found is not None
    assert not found.verified
    assert found.feasible
    assert x[found.index] == pytest.approx(0.6)


def test_gates_lead_nowhere_that_is_likely_to_fail() -> None:
    # The other source promises most at 0.9, where the preferred one fails.
    x = np.array([0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.75, 0.8, 0.85, 0.95, 0.5, 0.9])
    source = np.array([0] * 10 + [1] * 2)
    y = np.array([1.0] * 10 + [0.0, -1.0])
    failed = (source == 0) & (x > 0.7)
    cost = np.where(source, 0.1, 1.0)
    others = np.array([[0.05], [0.4]])
    X = np.concatenate([x[:, None], others])
    seen = failing(
        observe(X, [*source, 1, 1], [*y, 2.0, 2.0], [*cost, 0.1, 0.1]),
        np.append(failed, [False, False]),
    )
    method = RobustMethod(promise_queries=3, promise_radius=0.025)
    assert method.promise(seen, LINE, (0, 1)) == 0.9
    model = method.fit(seen, LINE)
    assert method.promise(seen, LINE, (0, 1), model=model) == 0.5


@pytest.mark.parametrize("width, is_left", [(0.05, False), (0.45, True)])
def test_what_is_feasible_only_near_the_best_is_not_left(width: float, is_left: bool) -> None:
    # The search has come to stay at 0.5. Where nothing else is known to be feasible, it stays.
    x = np.array([0.05, 0.35, 0.65, 0.95, 0.47, 0.53, 0.5, 0.51, 0.49, 0.505, 0.495])
    g = np.abs(x - 0.5) - width
    y = 1.0 - np.exp(-(((x - 0.5) / 0.05) ** 2))
    seen = observe(x[:, None], [0] * 11, y, constraints=g[:, None])
    region = METHOD.closed_region(seen, METHOD.fit(seen, LINE))
    assert region is not None
    for seed in range(3):
        found = METHOD.propose(seen, LINE, rng=np.random.default_rng(seed))
        assert region.contains(found.x[None])[0] != is_left
        assert np.abs(found.x[0] - 0.5) < width + 0.05


@pytest.mark.parametrize("method, module", [(METHOD, robust_method), (CostCooling(), carbo)])
def test_a_duplicate_gives_way_to_a_place_that_is_likely_to_succeed(
    method: Any, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is least known is where queries fail, of which the objective's models know nothing.
    x = np.linspace(0.0, 1.0, 11)
    seen = failing(observe(x[:, None], [0] * 11, x), x > 0.55)
    monkeypatch.setattr(module, "maximize", lambda *_, **__: Maximum(0, seen.X[0], 0.0))
    proposal = method.propose(seen, LINE, rng=np.random.default_rng(0))
    assert not method.fit(seen, LINE).is_unlikely(proposal.x[None], 0)[0]


def test_the_last_of_the_exclusions_is_given_up_first() -> None:
    seen = observe(np.linspace(0.0, 0.2, 5)[:, None], [0] * 5, np.arange(5.0))
    model = METHOD.fit(seen, LINE).joint
    for low, expected in ((0.5, True), (0.0, False)):  # The second excludes all else, or all.
        x = max_variance_location(
            model,
            0,
            seen.X,
            LINE,
            rng=np.random.default_rng(0),
            exclusions=(lambda X, _: X[:, 0] > 0.7, lambda X, _, low=low: X[:, 0] >= low),
        )
        assert x <= 0.7
        assert (x < 0.5) == expected


def test_while_nothing_is_feasible_it_alone_counts() -> None:
    seen = constrained()
    model = replace(METHOD.fit(seen, SQUARE), is_seeking=True, alpha=0.5)
    X = np.random.default_rng(0).random((20, 2))
    assert model.feasibility is not None
    zero = np.zeros((20, 1), dtype=int)
    penalty = model.feasibility.penalty(X, zero, gradient=False).value[:, 0]
    expected = penalty - 0.5 * np.log(model.cost.median(X, 0))
    np.testing.assert_allclose(model.acquisition(X, 0), expected)
    cooling = replace(CostCooling().fit(seen, SQUARE), incumbent=np.inf, alpha=0.0)
    assert cooling.is_seeking
    penalty = cooling.feasibility.penalty(X, zero, gradient=False).value[:, 0]
    np.testing.assert_allclose(cooling.acquisition(X, 0), penalty)


def search(
    method: Any, n: int, fails: Any, constraint: Any = None, *, n_sources: int = 2, seed: int = 0
) -> Observations:
    """A search by a method alone, on a bowl whose optimum is at (0.3, 0.7)."""
    rng = np.random.default_rng(seed)
    X, source = rng.random((8, 2)), np.arange(8) % n_sources

    def seen() -> Observations:
        failed = fails(X)
        y = np.sum((X - [0.3, 0.7]) ** 2, axis=1) + 0.1 * source * np.sin(9 * X[:, 0])
        g = np.empty((len(X), 0)) if constraint is None else constraint(X)[:, None]
        g = np.where(failed[:, None], np.nan, g)
        cost = np.where(source == 0, 10.0, 1.0)
        n = np.arange(len(X))
        return observe(
            X,
            source,
            np.where(failed, np.nan, y),
            cost,
            n_sources=n_sources,
            failed=failed,
            constraints=g,
            row=np.where(n < 8, n, -1),
        )

    while len(X) < n:
        proposal: Proposal = method.propose(seen(), SQUARE, rng=rng)
        X = np.concatenate([X, proposal.x[None]])
        source = np.append(source, proposal.source)
    return seen()


@pytest.mark.parametrize("method, n_sources", [(METHOD, 2), (CostCooling(), 1)])
def test_a_region_that_fails_at_the_optimum_is_left_again(method: Any, n_sources: int) -> None:
    seen = search(method, 32, lambda X: np.abs(X[:, 0] - 0.3) < 0.15, n_sources=n_sources)
    # Without caution, every second one.
    assert seen.failed[8:].sum() <= 9
    assert seen.y[seen.source == 0][np.isfinite(seen.y[seen.source == 0])].min() < 0.03


@pytest.mark.parametrize("method, n_sources", [(METHOD, 1), (METHOD, 2), (CostCooling(), 1)])
def test_random_failures_do_not_keep_the_search_from_the_optimum(
    method: Any, n_sources: int
) -> None:
    has_failed = np.random.default_rng(54).random(32) < 0.25
    seen = search(method, 32, lambda X: has_failed[: len(X)], n_sources=n_sources, seed=4)
    # With caution as to what comes everywhere, 0.025.
    assert np.nanmin(seen.y[seen.source == 0]) < 1e-3


@pytest.mark.parametrize("method, n_sources", [(METHOD, 2), (CostCooling(), 1)])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_has_failed_is_not_repeated(method: Any, n_sources: int, seed: int) -> None:
    # It succeeds in a tenth of the space, so that failure is all that is known at first.
    seen = search(
        method,
        24,
        lambda X: ((X - [0.3, 0.7]) ** 2).sum(axis=1) > 0.03,
        n_sources=n_sources,
        seed=seed,
    )
    for s in range(n_sources):
        X = seen.X[seen.failed & (seen.source == s)]
        apart = np.linalg.norm(X[:, None] - X[None], axis=-1)[np.triu_indices(len(X), 1)]
        assert len(apart) > 2
        assert apart.min() > 1e-3


def test_the_preferred_source_is_tried_where_others_succeed() -> None:
    x = np.linspace(0.05, 0.95, 10)
    X, source = np.append(x, x[[0, 9]])[:, None], np.repeat([1, 0], [10, 2])
    seen = observe(X, source, (X[:, 0] - 0.5) ** 2, np.where(source, 1.0, 10.0))
    seen = failing(seen, (source == 0) | ~np.isin(X[:, 0], x[[3, 4]]))
    proposals = []
    for _ in range(2):
        proposal = METHOD.propose(seen, LINE, rng=np.random.default_rng(0))
        proposals.append((proposal.source, float(proposal.x[0])))
        n = len(seen) + 1
        seen = observe(
            np.concatenate([seen.X, proposal.x[None]]),
            [*seen.source, proposal.source],
            [*seen.y, np.nan],
            [*seen.cost, 10.0],
            failed=np.append(seen.failed, True),
            row=np.full(n, -1),
        )
    # Each but once.
    assert sorted(proposals) == [(0, pytest.approx(x[3])), (0, pytest.approx(x[4]))]
    third = METHOD.propose(seen, LINE, rng=np.random.default_rng(0))
    assert np.abs(third.x - x[[3, 4]]).min() > 1e-3 or third.source == 1


@pytest.mark.parametrize("method, n_sources", [(METHOD, 2), (CostCooling(), 1)])
def test_a_constraint_is_heeded(method: Any, n_sources: int) -> None:
    seen = search(
        method, 24, lambda X: np.zeros(len(X), bool), lambda X: 0.6 - X[:, 0], n_sources=n_sources
    )
    feasible = seen.feasible & (seen.source == 0)
    assert seen.y[feasible].min() < 0.095  # 0.09 at the edge.
    found = method.recommend(seen, SQUARE)
    assert found.feasible
    assert seen.y[found.index] == seen.y[feasible].min()


def test_some_rows_only() -> None:
    seen = replace(constrained(), n_imported=10)
    some = seen.only(seen.source == 1)
    assert len(some) == len(some.failed) == len(some.constraints) == len(some.design_row) == 13
    assert some.n_imported == 3
    assert (some.source == 1).all()
