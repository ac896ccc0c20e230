from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from optuna_misowild.optim.acquisition import Differentiated
from optuna_misowild.optim.acquisition import Field
from optuna_misowild.optim.acquisition import absolute_difference
from optuna_misowild.optim.acquisition import apply
from optuna_misowild.optim.acquisition import beta_at
from optuna_misowild.optim.acquisition import confidence_beta
from optuna_misowild.optim.acquisition import cool
from optuna_misowild.optim.acquisition import cooling_exponent
from optuna_misowild.optim.acquisition import log_ei
from optuna_misowild.optim.acquisition import log_informativeness
from optuna_misowild.optim.acquisition import log_mixture
from optuna_misowild.optim.acquisition import penalized_lcb


def assert_derivatives(
    function: Callable[..., Differentiated], *arguments: float, rtol: float = 1e-6
) -> None:
    """Compare each partial derivative with a central difference."""
    partials = function(*map(np.asarray, arguments)).partials
    assert len(partials) == len(arguments)
    for i, partial in enumerate(partials):
        step = 1e-5 * max(abs(arguments[i]), 1e-3)
        above, below = (
            function(*(np.asarray(a + sign * step * (i == j)) for j, a in enumerate(arguments)))
            for sign in (1.0, -1.0)
        )
        expected = (above.value - below.value) / (2.0 * step)
        np.testing.assert_allclose(partial, expected, rtol=rtol, atol=1e-9)


# The penalised LCB: numbers worked out by hand.


@pytest.mark.parametrize(
    ("mean", "variance", "cost", "discrepancy", "expected"),
    [
        # ŷ⁺ = 2 and β = 9: (2 − [1 − 3·0.5]) / (1 + 4·0.25) = 2.5 / 2
        (1.0, 0.25, 4.0, 0.25, 1.25),
        # No discrepancy: the cost does not matter.
        (1.0, 0.25, 4.0, 0.0, 2.5),
        # No cost: the discrepancy does not matter.
        (1.0, 0.25, 0.0, 0.25, 2.5),
        # A negative numerator, 2 − [5 − 3·0.5] = −1.5: the penalty of 1/2 makes it larger.
        (5.0, 0.25, 4.0, 0.25, -0.75),
        (5.0, 0.25, 0.0, 0.25, -1.5),
        # No variance: 2 − 1.
        (1.0, 0.0, 1.0, 1.0, 0.5),
    ],
)
def test_penalized_lcb_by_hand(
    mean: float, variance: float, cost: float, discrepancy: float, expected: float
) -> None:
    arguments = map(np.array, (mean, variance, cost, discrepancy))
    result = penalized_lcb(*arguments, incumbent=2.0, beta=9.0)
    assert result.value == pytest.approx(expected, rel=1e-15)
    assert all(np.isfinite(partial) for partial in result.partials)


@pytest.mark.parametrize("arguments", [(1.0, 0.25, 4.0, 0.25), (5.0, 0.01, 3.0, 2.0)])
def test_penalized_lcb_derivatives(arguments: tuple[float, ...]) -> None:
    assert_derivatives(lambda *a: penalized_lcb(*a, incumbent=2.0, beta=9.0), *arguments)


def test_penalized_lcb_of_all_sources_at_once() -> None:
    mean, variance = np.array([[0.0], [1.0]]), np.array([[1.0], [4.0]])
    cost, discrepancy = np.array([[1.0, 2.0, 3.0]] * 2), np.array([[0.0, 0.5, 1.0]] * 2)
    value = penalized_lcb(mean, variance, cost, discrepancy, incumbent=1.0, beta=4.0).value
    np.testing.assert_allclose(value, [[3.0, 1.5, 0.75], [4.0, 2.0, 1.0]])


def test_a_formula_of_quantities_has_the_gradient_of_the_composition() -> None:
    """At x with μ = sin x₁, v = 1 + x₂², c = x₁x₂, η = exp x₁."""

    def composed(x: np.ndarray) -> Field:
        zero = np.zeros(len(x))
        of_first = np.stack([np.ones(len(x)), zero], axis=1)
        return apply(
            penalized_lcb,
            Field(np.sin(x[:, 0]), np.cos(x[:, :1]) * of_first),
            Field(1 + x[:, 1] ** 2, np.stack([zero, 2 * x[:, 1]], axis=1)),
            Field(x[:, 0] * x[:, 1], x[:, ::-1]),
            Field(np.exp(x[:, 0]), np.exp(x[:, :1]) * of_first),
            incumbent=0.3,
            beta=2.0,
        )

    X = np.array([[0.4, 0.7], [1.0, 0.2]])
    gradient = composed(X).gradient
    for i, step in enumerate(1e-6 * np.eye(2)):
        expected = (composed(X + step).value - composed(X - step).value) / 2e-6
        np.testing.assert_allclose(gradient[:, i], expected, rtol=1e-7)
    # A sum has the sum of the gradients, and an exclusion changes the value alone.
    total = (composed(X) + composed(X)).excluded(np.array([True, False]))
    np.testing.assert_allclose(total.gradient, 2 * gradient)
    np.testing.assert_allclose(total.value, [-np.inf, 2 * composed(X).value[1]])


def test_quantities_without_gradients_give_the_same_value() -> None:
    value, none = np.array([[0.3], [0.7]]), np.empty((2, 1, 0))
    columns = Field(np.array([[1.0, 2.0], [3.0, 4.0]]), np.empty((2, 2, 0)))
    result = apply(absolute_difference, Field(value, none), columns)
    np.testing.assert_allclose(result.value, [[0.7, 1.7], [2.3, 3.3]])
    assert result.gradient.shape == (2, 2, 0)


def test_a_formula_wants_a_quantity_for_each_argument() -> None:
    with pytest.raises(TypeError):
        apply(absolute_difference, Field(np.ones(1), np.ones((1, 2))))


# The schedule of β.


def test_confidence_beta_by_hand() -> None:
    # The authors' code: 2·log(π²(T·n)²/(6·0.1)), here 2·log(9.8696·22500/0.6) = 2·12.8216.
    assert confidence_beta(5, 30) == pytest.approx(2 * np.log(np.pi**2 * 150**2 / 0.6))
    assert confidence_beta(5, 30) == pytest.approx(25.6434, abs=5e-4)
    assert np.sqrt(confidence_beta(50, 50)) == pytest.approx(6.07, abs=0.01)


def test_beta_is_a_number_a_schedule_or_the_default() -> None:
    assert beta_at(4, 10, 20) == 4.0
    assert beta_at(lambda n: 0.5 * n, 10, 20) == 5.0
    assert beta_at(None, 10, 20) == confidence_beta(10, 20)


@pytest.mark.parametrize("beta", [-1.0, np.nan, np.inf, lambda n: -n])
def test_beta_must_be_finite_and_nonnegative(beta: float | Callable[[int], float]) -> None:
    with pytest.raises(ValueError, match="beta"):
        beta_at(beta, 10, 20)


# log EI.


def exact_log_ei(mean: float, variance: float, best: float) -> tuple[float, float, float]:
    """Return log EI and its derivatives with 60 digits more than the tail cancels."""
    with mpmath.workdps(60):
        sigma = mpmath.sqrt(mpmath.mpf(variance))
        u = (mpmath.mpf(best) - mpmath.mpf(mean)) / sigma
        # Φ as erfc keeps its relative precision; h loses about 1/u² of it.
        pdf = mpmath.exp(-u * u / 2) / mpmath.sqrt(2 * mpmath.pi)
        cdf = mpmath.erfc(-u / mpmath.sqrt(2)) / 2
        h = pdf + u * cdf
        return (
            float(mpmath.log(sigma * h)),
            float(-cdf / (sigma * h)),
            float(pdf / (2 * sigma**2 * h)),
        )


@pytest.mark.parametrize("deviation", [1e-30, 1e-6, 1.0, 1e30])
@pytest.mark.parametrize(
    "u",
    [1e4, 300, 30, 8.2, 1, 0.1, 0, -0.3, -0.999, -1, -1.001, -2, -6, -15, -37, -39]
    + [-49.99, -50, -50.01, -100, -1e3, -1e4, -1e6],
)
def test_log_ei_is_exact(u: float, deviation: float) -> None:
    mean, best = -u * deviation, 0.0
    result = log_ei(np.array([mean]), np.array([deviation**2]), best)
    value, d_mean, d_variance = exact_log_ei(mean, deviation**2, best)
    np.testing.assert_allclose(result.value, value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result.partials[0], d_mean, rtol=1e-11)
    np.testing.assert_allclose(result.partials[1], d_variance, rtol=1e-11)


@pytest.mark.parametrize("u", [-1.0, -50.0])
def test_log_ei_has_no_jump_between_its_branches(u: float) -> None:
    around = np.nextafter(u, [-np.inf, np.inf])
    value, (d_mean, d_variance) = log_ei(-around, np.ones(2), 0.0)
    for array in (value, d_mean, d_variance):
        np.testing.assert_allclose(array[0], array[1], rtol=2e-12)


@pytest.mark.filterwarnings("error")
def test_log_ei_without_variance_is_the_log_of_the_improvement() -> None:
    mean = np.array([-2.0, 0.0, 3.0])
    value, (d_mean, d_variance) = log_ei(mean, np.zeros(3), 0.0)
    np.testing.assert_allclose(value, [np.log(2.0), -np.inf, -np.inf])
    np.testing.assert_array_equal(d_mean, [-0.5, 0.0, 0.0])
    np.testing.assert_array_equal(d_variance, np.zeros(3))
    nearly = log_ei(mean[:1], np.array([1e-20]), 0.0)
    np.testing.assert_allclose(nearly.value, value[0])
    np.testing.assert_allclose(nearly.partials, [[-0.5], [0.0]])


@pytest.mark.filterwarnings("error")
def test_log_ei_beyond_every_tail() -> None:
    value, partials = log_ei(np.array([1e100, -1e100]), np.full(2, 1e-250), 0.0)
    np.testing.assert_allclose(value, [-np.inf, 100 * np.log(10)])
    np.testing.assert_allclose(partials, [[0.0, -1e-100], [0.0, 0.0]])


def test_log_ei_orders_what_is_hopeless() -> None:
    value = log_ei(np.linspace(1.0, 1e4, 500), np.ones(500), 0.0).value
    assert np.isfinite(value).all()
    assert (np.diff(value) < 0).all()


# Informativeness.


def test_informativeness_by_hand() -> None:
    # 3² / (4·(5 + 1)) = 0.375
    value = log_informativeness(np.array(3.0), np.array(4.0), np.array(5.0), noise=1.0).value
    assert np.exp(value) == pytest.approx(0.375)
    # f_s = f_1 + δ: 1/w = 1 + (Var δ + λ²)/v = 1 + (2 + 1)/4
    value = log_informativeness(np.array(4.0), np.array(4.0), np.array(6.0), noise=1.0).value
    assert 1 / np.exp(value) == pytest.approx(1.75)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("covariance", "variance", "source_variance", "expected"),
    [
        (0.0, 1.0, 1.0, 1e-9),
        (1e-6, 1.0, 1.0, 1e-9),
        (2.0, 1.0, 1.0, 1.0),  # by rounding only
        (0.0, 0.0, 1.0, 1e-9),
        (0.0, 0.0, 0.0, 1e-9),
    ],
)
def test_informativeness_is_clipped_and_flat_there(
    covariance: float, variance: float, source_variance: float, expected: float
) -> None:
    arguments = (np.array([a]) for a in (covariance, variance, source_variance))
    value, partials = log_informativeness(*arguments, noise=0.0)
    assert np.exp(value[0]) == pytest.approx(expected)
    assert [partial[0] for partial in partials] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("covariance", [0.8, -0.8])
@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_informativeness_derivatives_and_units(covariance: float, unit: float) -> None:
    arguments = (covariance, 1.3, 2.1)
    assert_derivatives(lambda *a: log_informativeness(*a, noise=0.2), *arguments)
    expected = log_informativeness(*map(np.array, arguments), noise=0.2)
    scaled = log_informativeness(*(np.array(a * unit) for a in arguments), noise=0.2 * unit)
    np.testing.assert_allclose(scaled.value, expected.value)
    np.testing.assert_allclose(np.array(scaled.partials) * unit, expected.partials)


# The mixture of two models.


def test_mixture_by_hand() -> None:
    # π = 3/4: log(0.75·e^{−1}·0.5² + 0.25·e^{−2})
    arguments = (np.array(-1.0), np.log(np.array(0.5)), np.array(-2.0))
    value = log_mixture(*arguments, log_odds=np.log(3.0)).value
    assert np.exp(value) == pytest.approx(0.75 * np.exp(-1) * 0.25 + 0.25 * np.exp(-2))


@pytest.mark.parametrize("log_odds", [-5.0, 0.0, 3.0])
def test_mixture_derivatives(log_odds: float) -> None:
    assert_derivatives(lambda *a: log_mixture(*a, log_odds=log_odds), -1.0, -0.7, -2.0)


@pytest.mark.filterwarnings("error")
def test_mixture_of_one_model_only() -> None:
    ei_joint, w, ei_single = np.array([-3.0, -1e4]), np.array([-1.0, 0.0]), np.array([-2.0, -9e3])
    value, partials = log_mixture(ei_joint, w, ei_single, log_odds=np.inf)
    np.testing.assert_allclose(value, [-5.0, -1e4])
    np.testing.assert_allclose(partials, [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]])
    value, partials = log_mixture(ei_joint, w, ei_single, log_odds=-np.inf)
    np.testing.assert_allclose(value, ei_single)
    np.testing.assert_allclose(partials, [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    # Far odds are kept: the joint model has a share of e^{−2000}, and all that is left.
    nothing = np.full(2, -np.inf)
    value, partials = log_mixture(ei_joint, w, nothing, log_odds=-2000.0)
    np.testing.assert_allclose(value, [-2005.0, -12000.0])
    value, partials = log_mixture(nothing, w, nothing, log_odds=0.0)
    np.testing.assert_array_equal(value, nothing)
    np.testing.assert_array_equal(partials, np.zeros((3, 2)))


# Costs.


def test_cool_divides_by_a_power_of_the_cost() -> None:
    value = cool(np.log(np.array(6.0)), np.log(np.array(4.0)), alpha=0.5).value
    assert np.exp(value) == pytest.approx(3.0)
    assert_derivatives(lambda *a: cool(*a, alpha=0.3), -2.0, 1.5)


@pytest.mark.parametrize(
    ("spent", "initial", "budget", "expected"),
    [
        (10, 10, 50, 1.0),
        (20, 10, 50, 0.75),
        (50, 10, 50, 0.0),
        (60, 10, 50, 0.0),
        (5, 10, 50, 1.0),  # while the initial design runs
        (50, 50, 50, 0.0),
        (60, 60, 50, 0.0),
        (40, 60, 50, 0.0),
        (0, 0, 0, 0.0),
        (20, 10, None, 1.0),
        (20, 10, np.inf, 1.0),
    ],
)
def test_cooling_exponent(
    spent: float, initial: float, budget: float | None, expected: float
) -> None:
    assert cooling_exponent(spent, initial, budget) == expected
