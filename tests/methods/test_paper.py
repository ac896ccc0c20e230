"""The paper's formulas against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

from gp_problems import one_source
import numpy as np
import pytest

from optuna_misowild.gp.cost import PaperCost
from optuna_misowild.gp.multi_source import MultiSourceGP
from optuna_misowild.methods import exploration
from optuna_misowild.methods import paper
from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.paper import PaperMethod
from optuna_misowild.methods.paper import PaperModel
from optuna_misowild.methods.paper import discrepancy
from optuna_misowild.methods.paper import inducing_locations
from optuna_misowild.optim.domain import Domain
from optuna_misowild.optim.maximize import Maximum


def observations(
    points: list[tuple[int, float, float]], *, n_sources: int = 2, **kwargs: Any
) -> Observations:
    """Observations (source, x, y) in one dimension, each at cost 1."""
    n = len(points)
    arrays: dict[str, Any] = {
        "X": np.array([[x] for _, x, _ in points]).reshape(n, 1),
        "source": np.array([s for s, _, _ in points], dtype=int),
        "y": np.array([y for _, _, y in points], dtype=float),
        "cost": np.ones(n),
        "pending": np.zeros(n, dtype=bool),
        "trial": 100 + np.arange(n),
        "design_row": np.full(n, -1),
        "n_sources": n_sources,
        "queryable": tuple(range(n_sources)),
    }
    return Observations(**{**arrays, **kwargs})


def prior(mean: float, std: float) -> MultiSourceGP:
    """A GP without data: the same mean and standard deviation everywhere."""
    nothing = np.empty((0, 1)), np.empty(0)
    return one_source(*nothing, length_scale=1.0, amplitude=std**2, noise=0.0, mean=mean, nu=1.5)


def model(**kwargs: Any) -> PaperModel:
    arguments: dict[str, Any] = {
        "objective": (prior(1.0, 1.0), prior(1.5, 1.0)),
        "augmented": prior(1.0, 0.5),
        "cost": (PaperCost(prior(10.0, 2.0)), PaperCost(prior(3.0, 1.0))),
        "rows": np.array([0]),
        "inducing": np.array([100]),
        "incumbent": 2.0,
        "beta": 9.0,
    }
    return PaperModel(**{**arguments, **kwargs})


X = np.array([[0.5]])

# Evaluations of source 0 whose mean is 2 and whose standard deviation is √2.
PREFERRED = [(0, 0.0, 1.0), (0, 0.02, 1.0), (0, 0.1, 4.0)]


def test_discrepancy_is_the_distance_of_the_means() -> None:
    np.testing.assert_array_equal(
        discrepancy(np.array([1.0, 2.0]), np.array([1.5, -1.0])), [0.5, 3.0]
    )


@pytest.mark.parametrize(
    "m, mean, rows",
    [
        # μ_1 = 2, σ_1 = 2: with m = 1 the band is (0, 4), its ends excluded.
        (1.0, 3.9, [0, 1, 2]),
        (1.0, 0.1, [0, 1, 2]),
        (1.0, 4.0, [0]),
        (1.0, -0.1, [0]),
        (1.1, 4.1, [0, 1, 2]),
        (0.5, 2.9, [0, 1, 2]),
        (0.5, 3.1, [0]),
        (0.0, 2.0, [0]),
    ],
)
def test_inducing_locations(m: float, mean: float, rows: list[int]) -> None:
    # Not the observed y but μ_s decides (eq. of F̄): the values of source 1 are far away.
    seen = observations([(0, 0.1, 5.0), (1, 0.2, -50.0), (1, 0.9, 50.0)])
    objective = [prior(2.0, 2.0), prior(mean, 1.0)]
    assert inducing_locations(seen, objective, m).tolist() == rows


def test_incumbent_and_inducing_trials_after_a_fit() -> None:
    # Far from source 0's own points σ_1 is large, and source 1 agrees: it augments F_1.
    close = observations(PREFERRED + [(1, 1.0, 0.9), (1, 0.9, 2.0)])
    fitted = PaperMethod().fit(close, Domain.continuous(1))
    assert fitted.inducing.tolist() == [100, 101, 102, 103, 104]
    assert fitted.incumbent == 0.9
    # A source that is far off does not.
    far = observations(PREFERRED + [(1, 1.0, -500.0), (1, 0.9, -501.0)])
    fitted = PaperMethod().fit(far, Domain.continuous(1))
    assert fitted.inducing.tolist() == [100, 101, 102]
    assert fitted.incumbent == 1.0
    np.testing.assert_array_equal(fitted.augmented.y, [1.0, 1.0, 4.0])


def test_models_are_in_raw_units_each_with_its_own_scale() -> None:
    seen = observations([(0, 0.1, 1e6), (0, 0.6, 3e6), (1, 0.1, 0.01), (1, 0.9, 0.03)])
    fitted = PaperMethod().fit(seen, Domain.continuous(1))
    assert [gp.mean for gp in fitted.objective] == pytest.approx([2e6, 0.02])
    np.testing.assert_array_equal(fitted.objective[1].y, [0.01, 0.03])
    np.testing.assert_array_equal(fitted.objective[1].X, [[0.1], [0.9]])


def test_acquisition_by_hand() -> None:
    # Source 0: numerator 2 − (1 − 3·0.5) = 2.5; η = |1 − 1| = 0, so the cost does not count.
    assert model().acquisition(X, 0) == pytest.approx(2.5)
    # Source 1: η = 0.5, c = 3 + 1 = 4: 2.5/(1 + 4·0.5).
    assert model().acquisition(X, 1) == pytest.approx(2.5 / 3.0)
    # μ̂ below μ_s is the same discrepancy.
    assert model(objective=(prior(1.0, 1.0), prior(0.5, 1.0))).acquisition(X, 1) == pytest.approx(
        2.5 / 3.0
    )
    # A negative numerator, −0.5, reversed by the penalty: kept on purpose.
    assert model(incumbent=-1.0).acquisition(X, 1) == pytest.approx(-0.5 / 3.0)


def test_a_pessimistic_cost_below_zero_counts_as_zero() -> None:
    cost: Any = (PaperCost(prior(-5.0, 2.0)), PaperCost(prior(-5.0, 2.0)))
    assert model(cost=cost).acquisition(X, 1) == pytest.approx(2.5)
    cost = (PaperCost(prior(-1.0, 2.0)), PaperCost(prior(-1.0, 2.0)))
    assert model(cost=cost).acquisition(X, 1) == pytest.approx(2.5 / 1.5)


def test_gradient_of_the_acquisition() -> None:
    rng = np.random.default_rng(0)
    locations = rng.random(14)
    points = [(i % 2, x, np.sin(6 * x) + 0.2 * (i % 2)) for i, x in enumerate(locations)]
    seen = observations(points, cost=1.0 + locations)
    fitted = PaperMethod().fit(seen, Domain.continuous(1))
    acquisition = paper._Acquisition(fitted, (0, 1))
    step = 1e-6
    X, source = rng.random((20, 1)), np.tile([0, 1], 10)
    value, gradient = acquisition.value_and_gradient(X, source)
    at = np.arange(20), source
    slope = (acquisition.values(X + step)[at] - acquisition.values(X - step)[at]) / (2 * step)
    np.testing.assert_allclose(value, acquisition.values(X)[at])
    np.testing.assert_allclose(gradient[:, 0], slope, rtol=1e-4, atol=1e-5)


def test_beta_as_number_schedule_and_by_default() -> None:
    seen = observations([(0, 0.1, 1.0), (0, 0.6, 2.0), (0, 0.9, 3.0)], n_sources=1)
    domain = Domain.continuous(1)
    assert PaperMethod(beta=4.0).fit(seen, domain).beta == 4.0
    assert PaperMethod(beta=lambda n: 10.0 * n).fit(seen, domain).beta == 30.0
    # 2·log(π²·(50·3)²/0.6) = 2·(2·log(150·π) − log 0.6)
    assert PaperMethod().fit(seen, domain).beta == pytest.approx(25.643, abs=1e-3)


def test_the_generalised_least_squares_mean() -> None:
    # Seven values in a crowd at the right count for less than seven.
    x = np.array([0.0, 0.3, 0.5, *np.linspace(0.9, 1.0, 7)])
    y = np.sin(5.0 * x) + 100.0
    cost = np.exp(3.0 * x)
    seen = observations([(0, a, b) for a, b in zip(x, y, strict=True)], n_sources=1, cost=cost)
    fitted = PaperMethod(mean="gls").fit(seen, Domain.continuous(1))
    for gp in (fitted.objective[0], fitted.augmented, fitted.cost[0].gp):
        t = np.sqrt(3.0) * abs(x[:, None] - x) / gp.length_scale[0]
        K = gp.amplitude * (1.0 + t) * np.exp(-t) + gp.noise[0] * np.eye(len(x))
        ones = np.ones(len(x))
        expected = (ones @ np.linalg.solve(K, gp.y)) / (ones @ np.linalg.solve(K, ones))
        assert gp.mean == pytest.approx(expected, rel=1e-6)
        assert abs(gp.mean - gp.y.mean()) > 0.01 * gp.y.std()
    default = PaperMethod().fit(seen, Domain.continuous(1))
    assert default.objective[0].mean == pytest.approx(y.mean())
    likelihood = fitted.objective[0].log_marginal_likelihood()
    assert likelihood > default.objective[0].log_marginal_likelihood()


@pytest.mark.parametrize("y", [[], [2.0], [2.0, 2.0, 2.0]])
def test_the_generalised_least_squares_mean_of_little(y: list[float]) -> None:
    seen = observations([(0, 0.3 * i, v) for i, v in enumerate(y)], n_sources=1)
    fitted = PaperMethod(mean="gls").fit(seen, Domain.continuous(1))
    assert fitted.objective[0].mean == (2.0 if y else 0.0)


def test_another_source_is_asked_only_while_the_preferred_one_is_ahead() -> None:
    points = [(0, 0.1, 1.0), (0, 0.5, 2.0), (0, 0.9, 1.5), (1, 0.2, 1.0), (1, 0.6, 2.0)]
    behind = observations([*points, (1, 0.8, 1.5), (2, 0.3, 1.0)], n_sources=3)
    method = PaperMethod(preferred_ahead=True)
    assert method._eligible(behind, (0, 1, 2)) == (0, 2)
    assert PaperMethod()._eligible(behind, (0, 1, 2)) == (0, 1, 2)
    assert method._eligible(behind, (1,)) == (1,)  # Fixed from outside.
    asked = set()
    for seed in range(5):
        proposal = method.propose(
            observations([*points, (1, 0.8, 1.5)]),
            Domain.continuous(1),
            rng=np.random.default_rng(seed),
        )
        asked.add(proposal.source)
    assert asked == {0}


@pytest.mark.parametrize(
    "source, x, corrected",
    [
        (1, 0.5 + 0.9e-3, True),
        (1, 0.5 - 0.9e-3, True),
        (1, 0.5 + 1.1e-3, False),
        (1, 0.1, False),  # A location of the other source.
        (0, 0.1, True),
    ],
)
def test_correction(
    source: int, x: float, corrected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([Maximum(source, np.array([x]), 1.0), Maximum(0, np.array([0.987]), 1.0)])
    for module in (paper, exploration):
        monkeypatch.setattr(module, "maximize", lambda *args, **kwargs: next(found))
    seen = observations([(0, 0.1, 1.0), (1, 0.5, 2.0)])
    proposal = PaperMethod(min_distance=1e-3).propose(
        seen, Domain.continuous(1), rng=np.random.default_rng(0)
    )
    assert (proposal.source, proposal.x[0]) == ((0, 0.987) if corrected else (source, x))


def test_correction_goes_where_the_preferred_source_is_least_known() -> None:
    seen = observations([(0, 0.0, 1.0), (0, 0.1, 2.0), (0, 0.3, 1.5), (1, 0.9, 2.0)])
    domain = Domain.continuous(1)
    method = PaperMethod()
    fitted = method.fit(seen, domain)
    proposal = method.correct(seen, domain, fitted, 0, rng=np.random.default_rng(0))
    grid = np.linspace(0.0, 1.0, 1001)[:, None]
    variance = fitted.objective[0].predict(grid)[1]
    assert proposal.source == 0
    assert fitted.objective[0].predict(proposal.x[None])[1] >= variance.max() * (1 - 1e-6)


def test_recommendation_from_the_preferred_source_is_verified() -> None:
    seen = observations([(0, 0.2, 1.0), (0, 0.8, 3.0), (1, 0.5, 900.0)])
    incumbent = PaperMethod().recommend(seen, Domain.continuous(1))
    assert incumbent is not None
    assert (incumbent.index, incumbent.verified) == (0, True)


def test_recommendation_from_a_cheap_source_is_not_verified() -> None:
    points = PREFERRED + [(1, 1.0, 0.9), (1, 0.9, 2.0)]
    incumbent = PaperMethod().recommend(observations(points), Domain.continuous(1))
    assert incumbent is not None
    assert (incumbent.index, incumbent.verified) == (3, False)
    # Once it has been evaluated there, it is.
    points.append((0, 1.0, 0.7))
    incumbent = PaperMethod().recommend(observations(points), Domain.continuous(1))
    assert incumbent is not None
    assert (incumbent.index, incumbent.verified) == (5, True)


def test_without_the_preferred_source_the_next_one_is_recommended() -> None:
    points = [(0, 0.1, np.nan), (1, 0.2, 2.0), (1, 0.7, 1.0)]
    incumbent = PaperMethod().recommend(observations(points), Domain.continuous(1))
    assert incumbent is not None
    assert (incumbent.index, incumbent.verified) == (2, False)
    nothing = observations([(0, 0.1, np.nan)])
    assert PaperMethod().recommend(nothing, Domain.continuous(1)) is None


def test_pending_queries_are_known_where_they_are_and_change_no_mean() -> None:
    points = [(0, 0.0, 1.0), (0, 0.5, 2.0), (1, 0.2, 1.5), (1, 0.6, 2.0)]
    free = PaperMethod().fit(observations(points), Domain.continuous(1))
    pending = np.array([False] * 4 + [True] * 2)
    points += [(0, 0.9, np.nan), (1, 0.95, np.nan)]
    busy = PaperMethod().fit(observations(points, pending=pending), Domain.continuous(1))
    for s, x in ((0, 0.9), (1, 0.95)):
        there = np.array([[x]])
        before, after = free.objective[s].predict(there), busy.objective[s].predict(there)
        assert after[0] == pytest.approx(before[0])
        assert after[1] < 0.1 * before[1]
    assert (
        busy.augmented.predict(np.array([[0.9]]))[1]
        < 0.1 * free.augmented.predict(np.array([[0.9]]))[1]
    )
    assert busy.incumbent == free.incumbent == 1.0


def test_initial_design_asks_every_source_at_every_row() -> None:
    method = PaperMethod()
    nothing = observations([], n_sources=3)
    assert method.design(nothing, 2) == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    # Pending and failed trials have taken their rows; an enqueued one counts in place of a row,
    # and so does not one that has failed.
    seen = observations(
        [(0, 0.1, 1.0), (1, 0.1, np.nan), (2, 0.1, np.nan), (2, 0.7, 1.0), (0, 0.3, np.nan)],
        design_row=np.array([0, 0, 0, -1, -1]),
        pending=np.array([False, True, False, False, False]),
        n_sources=3,
    )
    assert method.design(seen, 2) == [(0, 1), (1, 1)]
    # Sources that are read only are not asked.
    assert method.design(observations([], n_sources=3, queryable=(0, 2)), 1) == [(0, 0), (2, 0)]


def test_an_enqueued_trial_that_is_running_counts_in_place_of_a_row() -> None:
    seen = observations(
        [(0, 0.1, np.nan)], design_row=np.array([-1]), pending=np.array([True]), n_sources=1
    )
    assert seen.missing_rows(0, 3) == [0, 1]
    failed = observations([(0, 0.1, np.nan)], design_row=np.array([-1]), n_sources=1)
    assert failed.missing_rows(0, 3) == [0, 1, 2]
