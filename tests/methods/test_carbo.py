from __future__ import annotations

import math
from typing import Any

from gp_problems import one_source
import numpy as np
import optuna
import pytest

from examples.paper.experiment import Task
from examples.paper.experiment import replay
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Objective
from optuna_misowild import CarboCoolingSampler
from optuna_misowild import CostCooling
from optuna_misowild import recommend
from optuna_misowild.gp.cost import LogCost
from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.multi_source import MultiSourceGP
from optuna_misowild.methods import carbo
from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.carbo import CostCoolingModel
from optuna_misowild.methods.carbo import cost_effective_choice
from optuna_misowild.optim.domain import Domain


def prior(mean: float, std: float) -> MultiSourceGP:
    """A GP without data: the same mean and standard deviation everywhere."""
    nothing = np.empty((0, 1)), np.empty(0)
    return one_source(*nothing, length_scale=1.0, amplitude=std**2, noise=0.0, mean=mean, nu=2.5)


def observations(
    points: list[tuple[float, float, float]], *, pending: int = 0, **kwargs: Any
) -> Observations:
    """Observations (x, y, cost) of a single source; the last ``pending`` ones are running."""
    n = len(points)
    is_pending = np.arange(n) >= n - pending
    arrays: dict[str, Any] = {
        "X": np.array([[x] for x, _, _ in points]).reshape(n, 1),
        "source": np.zeros(n, dtype=int),
        "y": np.where(is_pending, np.nan, [y for _, y, _ in points]),
        "cost": np.where(is_pending, np.nan, [c for _, _, c in points]),
        "pending": is_pending,
        "trial": np.arange(n),
        "design_row": np.full(n, -1),
        "spent": sum(c for (_, _, c), wait in zip(points, is_pending, strict=True) if not wait),
    }
    return Observations(**{**arrays, **kwargs})


X = np.array([[0.5]])
# E[max(0, 1 − f)] of f ~ N(0, 2²): 1·Φ(0.5) + 2·φ(0.5)
EI = 0.6914624612740131 + 2.0 * 0.3520653267642995


@pytest.mark.parametrize(
    "alpha, expected",
    [
        (0.0, EI),  # Plain EI.
        (1.0, EI * math.exp(-2.0 + 0.5 * 0.3**2)),  # EI per unit: E[1/c] of a lognormal.
        (0.5, EI * math.exp(-0.5 * 2.0 + 0.5 * 0.25 * 0.3**2)),
    ],
)
def test_acquisition_by_hand(alpha: float, expected: float) -> None:
    model = CostCoolingModel(
        objective=prior(0.0, 2.0),
        cost=LogCost(prior(2.0, 0.3)),
        incumbent=1.0,
        spent=0.0,
        alpha=alpha,
    )
    assert model.acquisition(X, 0)[0] == pytest.approx(math.log(expected))


@pytest.mark.parametrize(
    "spent, alpha", [(10.0, 1.0), (60.0, 0.5), (110.0, 0.0), (500.0, 0.0), (5.0, 1.0)]
)
def test_cooling(spent: float, alpha: float) -> None:
    # τ = 110, τ_init = 10: at the start, half-way, at the end, beyond, and before the end of
    # the design.
    seen = observations([(0.1, 1.0, 5.0), (0.7, 2.0, 5.0)], spent=spent, budget=110.0)
    seen = Observations(**{**vars(seen), "initial_spent": 10.0})
    assert CostCooling().fit(seen, Domain.continuous(1)).alpha == pytest.approx(alpha)
    assert CostCooling(alpha=0.3).fit(seen, Domain.continuous(1)).alpha == 0.3


def test_pending_queries_count_with_their_predicted_cost() -> None:
    points = [(0.1, 1.0, 10.0), (0.5, 2.0, 10.0), (0.9, 3.0, 10.0)]
    seen = observations([*points, (0.3, 0.0, 0.0)], pending=1, budget=80.0, initial_spent=0.0)
    model = CostCooling().fit(seen, Domain.continuous(1))
    assert model.spent == pytest.approx(40.0, rel=1e-3)
    assert model.alpha == pytest.approx(0.5, rel=1e-2)
    free = CostCooling().fit(observations(points, budget=80.0), Domain.continuous(1))
    there = np.array([[0.3]])
    assert model.objective.predict(there)[1] < 0.2 * free.objective.predict(there)[1]


def test_gradient_of_the_acquisition() -> None:
    rng = np.random.default_rng(0)
    points = [(x, math.sin(6 * x), 1.0 + x**2) for x in rng.random(8)]
    seen = observations(points, budget=20.0)
    acquisition = carbo._Acquisition(CostCooling().fit(seen, Domain.continuous(1)))
    step = 1e-6
    for x in rng.random(10):
        value, gradient = acquisition.value_and_gradient(np.array([[x]]), np.array([0]))
        low, high = acquisition.values(np.array([[x - step], [x + step]]))[:, 0]
        assert value == pytest.approx(acquisition.values(np.array([[x]]))[0, 0])
        assert gradient[0, 0] == pytest.approx((high - low) / (2 * step), rel=1e-3, abs=1e-4)


def test_prior_by_hand() -> None:
    vector = np.log([2.0, 1.0, 3.0, 0.01])
    prior = carbo.OBJECTIVE.prior
    assert prior is not None
    value, gradient = prior.negative_log(Hyperparameters.from_vector(vector, 2))
    # Σ 0.1 (ℓ² + ℓ⁻²) − log σ² + σ² − 0.1 log λ² + 30 λ²
    expected = 0.1 * (4.25 + 2.0) - math.log(3.0) + 3.0 - 0.1 * math.log(0.01) + 0.3
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, [0.75, 0.0, 2.0, 0.2], atol=1e-12)


def of_design(y: list[float], extra: list[float] | None = None) -> Observations:
    """A design of so many rows, and values of further queries."""
    extra = extra or []
    x = np.random.default_rng(0).random(len(y) + len(extra))
    points = [(float(u), v, 1.0) for u, v in zip(x, y + extra, strict=True)]
    return observations(points, design_row=np.array([*range(len(y)), *[-1] * len(extra)]))


@pytest.mark.parametrize(
    "y, extra, goes_on",
    [
        ([0.48, 0.48, 0.39, 0.39, 0.39], [], True),
        ([0.48, 0.48, 0.39, 0.39 + 1e-15, 0.39 - 1e-15], [], True),
        ([0.48, 0.48, 0.39, 0.391, 0.4], [], False),
        ([0.48, 0.48, 0.48, 0.39, 0.48], [], False),  # The lowest value stands alone.
        ([0.48, 0.39, 0.39, 0.39, 0.39], [0.2], False),  # A later query has left it.
        ([0.48, 0.48, 0.39, 0.48, 0.48], [0.39], False),
        ([0.48, 0.48, 0.39, 0.48, 0.48], [0.39, 0.39], True),  # The search has found no more.
        ([1e30, 0.45, 0.41, 0.37, 0.39], [], False),  # What has diverged is no measure.
    ],
)
def test_on_a_plateau_the_latin_hypercube_goes_on(
    y: list[float], extra: list[float], goes_on: bool
) -> None:
    rows = [row for _, row in CostCooling().design(of_design(y, extra), 5)]
    assert rows == (list(range(5, 15))[: 10 - len(extra)] if goes_on else [])
    assert not CostCooling(initial_design="cost-effective").design(of_design(y, extra), 5)


def test_on_a_plateau_the_latin_hypercube_ends() -> None:
    assert CostCooling().design(of_design([0.48] * 3), 5) == [(0, 3), (0, 4)]
    assert CostCooling().design(of_design([0.48] * 14), 5) == [(0, 14)]
    assert CostCooling().design(of_design([0.48] * 15), 5) == []


@pytest.mark.parametrize("seed", [2, 17])
def test_runs_that_begin_on_a_plateau_find_the_way_out(seed: int) -> None:
    # C-SVC on SPLICE, recorded: most rows of these designs are on one of two plateaus.
    task = replay(Task("svc", "splice"))
    study = optuna.create_study(sampler=CarboCoolingSampler(50 * task.mean_cpu_s, seed=seed))
    study.optimize(Objective(task.classifier, task, SOURCES[:1]), n_trials=25)
    assert study.best_value < 0.1


def test_cost_effective_choice_by_hand() -> None:
    # Dropped in turn: 3 (dearest), 0 (closest), 2 (dearest of the rest), 1 (closest). 4 is left.
    cost = np.array([1.0, 2.0, 4.0, 5.0, 3.0])
    nearest = np.array([0.1, 0.2, 0.3, 0.9, 0.4])
    assert cost_effective_choice(cost, nearest) == 4
    assert cost_effective_choice(np.ones(1), np.ones(1)) == 0


def run(sampler: CarboCoolingSampler, n_trials: int) -> optuna.Study:
    """A parabola at 0.7 whose cost rises a hundredfold along x."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        z = trial.suggest_float("z", 0.0, 1.0)
        trial.set_user_attr("cost", 100.0**x)
        return (x - 0.7) ** 2 + (z - 0.2) ** 2

    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    return study


def test_the_cost_effective_design_spends_less_for_as_many_points() -> None:
    spent = {"lhs": 0.0, "cost-effective": 0.0}
    for design in spent:
        for seed in range(5):
            sampler = CarboCoolingSampler(
                1e4, initial_design=design, seed=seed, n_startup_trials=10
            )
            trials = run(sampler, 10).trials
            spent[design] += sum(t.user_attrs["cost"] for t in trials)
            # And it does not put them all at one place.
            z = [t.params["z"] for t in trials]
            assert max(z) - min(z) > 0.7
    assert spent["cost-effective"] < 0.7 * spent["lhs"]


def test_the_cost_effective_design_ends_at_an_eighth_of_the_budget() -> None:
    method = CostCooling(initial_design="cost-effective")
    points = [(0.1, 1.0, 5.0), (0.7, 2.0, 5.0)]
    assert method._is_designing(observations(points, budget=81.0), 10.0)
    assert not method._is_designing(observations(points, budget=79.0), 10.0)
    assert method.fit(observations(points, budget=79.0), Domain.continuous(1)).alpha < 1.0


@pytest.mark.parametrize("cost", [0.0, 1e-300, 1e300])
def test_extreme_costs_do_not_blow_up_the_acquisition(cost: float) -> None:
    points = [(0.1, 1.0, cost), (0.5, 0.5, 2.0), (0.9, 2.0, 3.0)]
    seen = observations(points, spent=5.0)
    model = CostCooling(alpha=1.0).fit(seen, Domain.continuous(1))
    values = model.acquisition(np.linspace(0, 1, 101)[:, None], 0)
    assert np.isfinite(values).all()
    proposal = CostCooling().propose(seen, Domain.continuous(1), rng=np.random.default_rng(0))
    assert 0.0 <= proposal.x[0] <= 1.0


def test_only_the_preferred_source_is_asked_and_learnt_from() -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["cheap", "full"])
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0)
        return (x - 0.7) ** 2 - (1e3 if source == "cheap" else 0.0)

    sampler = CarboCoolingSampler(40.0, preferred_source="full", seed=0)
    study = optuna.create_study(sampler=sampler)
    for x in (0.1, 0.2):
        study.enqueue_trial({"source": "cheap", "x": x})
    study.optimize(objective, n_trials=20)
    assert {t.params["source"] for t in study.trials[2:]} == {"full"}
    assert study.best_params["x"] == pytest.approx(0.7, abs=0.01)
    model = sampler.model(study)
    assert len(model.objective.X) == 18
    assert model.predict({"x": 0.7})[0] == pytest.approx(0.0, abs=1e-3)
    assert model.discrepancy({"x": 0.7}) == 0.0
    with pytest.raises(ValueError, match="the preferred source only"):
        model.predict({"x": 0.7}, "cheap")
    assert recommend(study).params["x"] == pytest.approx(0.7, abs=0.01)


def test_budget_exhausted_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    run(CarboCoolingSampler(60.0, seed=0), 12)
    said = [r for r in caplog.records if "budget of 60 is spent" in r.getMessage()]
    assert len(said) == 1


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({}, ValueError, "`budget` must be given to cool by, or `alpha` fixed"),
        ({"budget": -1.0}, ValueError, "`budget` must be finite and positive, but got -1.0"),
        ({"alpha": -0.1}, ValueError, "`alpha` must be finite and 0 or more, but got -0.1"),
        ({"alpha": "cool"}, TypeError, "`alpha` must be a number, but got 'cool'"),
        (
            {"budget": 1.0, "initial_design": "sobol"},
            ValueError,
            r"`initial_design` must be one of \('lhs', 'cost-effective'\), but got 'sobol'",
        ),
        (
            {"alpha": 1.0, "initial_design": "cost-effective"},
            ValueError,
            "`budget` must be given for `initial_design='cost-effective'`",
        ),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CarboCoolingSampler(**arguments)
