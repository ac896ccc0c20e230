"""What acquisitions are made of: formulas with derivatives, and quantities with gradients.

A formula is a pure function that returns its value and its partial derivatives with respect to
its array arguments, in their order. :func:`apply` takes it from quantities at some locations to
another one, by the chain rule, so that values and gradients come from the same lines. Arguments
broadcast.
"""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import NamedTuple

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike
    from numpy.typing import NDArray


_SQRT_2PI = np.sqrt(2.0 * np.pi)
_MAY_FAIL = 0.1  # δ of the confidence bound


class Differentiated(NamedTuple):
    """A value, and its partial derivatives with respect to each argument."""

    value: NDArray[np.float64]
    partials: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class Field:
    """A quantity at some locations.

    Attributes:
        value: Shape (...).
        gradient: Its gradient in the location, shape (..., d), or (..., 0) if it is not wanted:
            what is computed from it needs no case of its own.
    """

    value: NDArray[np.float64]
    gradient: NDArray[np.float64]

    def __add__(self, other: Field) -> Field:
        return Field(self.value + other.value, self.gradient + other.gradient)

    def __sub__(self, other: Field) -> Field:
        return Field(self.value - other.value, self.gradient - other.gradient)

    def plus(self, constant: float) -> Field:
        """Return it with a constant added."""
        return replace(self, value=self.value + constant)

    def excluded(self, where: NDArray[np.bool_]) -> Field:
        """Return the same with the value −inf at some places."""
        return replace(self, value=np.where(where, -np.inf, self.value))


def apply(formula: Callable[..., Differentiated], *fields: Field, **constants: object) -> Field:
    """Return a formula of quantities, and its gradient by the chain rule.

    Args:
        formula: A function that takes the values of the quantities.
        *fields: The quantities, in the order of its arguments.
        **constants: Its other arguments, which do not depend on the location.
    """
    value, partials = formula(*(field.value for field in fields), **constants)
    terms = zip(partials, fields, strict=True)
    gradient = sum(partial[..., None] * field.gradient for partial, field in terms)
    return Field(value, np.asarray(gradient))


class SourceAcquisition(ABC):
    """A function of source and location, to be maximised: written once, for all of its uses.

    Attributes:
        sources: The sources over which it ranges, in order of preference in case of a tie.
    """

    sources: tuple[int, ...]

    @abstractmethod
    def evaluate(
        self, X: NDArray[np.float64], sources: NDArray[np.int_], *, gradient: bool
    ) -> Field:
        """Return it at X for k sources each.

        Args:
            X: Locations, shape (m, d).
            sources: Sources at each location, shape (m, k).
            gradient: Whether the gradient is wanted.

        Returns:
            Values (m, k), −inf where a query is excluded; gradients (m, k, d) or (m, k, 0).
        """

    def values(
        self, X: NDArray[np.float64], sources: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return its values at X (m, d) for k sources, by default all its own: (m, k)."""
        columns = np.asarray(self.sources if sources is None else sources, dtype=int)
        everywhere = np.broadcast_to(columns, (len(X), columns.shape[-1]))
        return self.evaluate(X, everywhere, gradient=False).value

    def value_and_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return its value at X (m, d) and source (m,), shape (m,), and the gradient, (m, d)."""
        field = self.evaluate(X, source[:, None], gradient=True)
        return field.value[:, 0], field.gradient[:, 0]


def absolute_difference(a: NDArray[np.float64], b: NDArray[np.float64]) -> Differentiated:
    """Return abs(a − b), such as η of the paper, eq:discrepancy; at the kink its slope is 0."""
    sign = np.sign(a - b)
    return Differentiated(np.abs(a - b), (sign, -sign))


def penalized_lcb(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    cost: NDArray[np.float64],
    discrepancy: NDArray[np.float64],
    *,
    incumbent: float,
    beta: float,
) -> Differentiated:
    """Return the acquisition of the paper, eq:acquisition, in the raw units of its arguments.

    (ŷ⁺ − [μ̂ − √β·σ̂]) / (1 + c·η). The numerator is the most optimistic improvement on the
    incumbent. It may be negative, and then a larger penalty makes a *larger* value: the paper
    has it so, and so does this function.

    Args:
        mean: μ̂, posterior mean of the augmented model.
        variance: σ̂², its posterior variance.
        cost: c = max(0, p + q), upper confidence bound of the query cost.
        discrepancy: η between the augmented model and that of the source.
        incumbent: ŷ⁺, lowest value over the inducing locations.
        beta: β.
    """
    deviation = np.sqrt(variance)
    penalty = 1.0 / (1.0 + cost * discrepancy)
    value = (incumbent - mean + np.sqrt(beta) * deviation) * penalty
    # At a variance of 0 the slope of its root is infinite; that of the variance is 0.
    d_deviation = 0.5 / np.where(deviation > 0.0, deviation, np.inf)
    return Differentiated(
        value,
        (
            -penalty,
            np.sqrt(beta) * d_deviation * penalty,
            -value * penalty * discrepancy,
            -value * penalty * cost,
        ),
    )


def confidence_beta(n: int, horizon: int) -> float:
    """Return β of Srinivas et al. (2012), Theorem 1: 2·log(N·n²·π²/(6·δ)) for N locations.

    With N = horizon² this is what the authors of the paper use in their own code. δ, the
    probability with which the confidence bound may fail, is 0.1.

    Args:
        n: Number of inducing locations in F̂.
        horizon: T, the number of evaluations planned.
    """
    return 2.0 * float(np.log((np.pi * horizon * n) ** 2 / (6.0 * _MAY_FAIL)))


def beta_at(beta: float | Callable[[int], float] | None, n: int, horizon: int) -> float:
    """Return β for n inducing locations: the number, the schedule at n, or the default one.

    Raises:
        ValueError: If this is not a finite number of at least 0.
    """
    if beta is None:
        return confidence_beta(n, horizon)
    value = float(beta(n) if callable(beta) else beta)
    if not 0.0 <= value < np.inf:
        raise ValueError(f"beta must be finite and at least 0, but got {value!r} for n = {n}.")
    return value


def log_ei(
    mean: NDArray[np.float64], variance: NDArray[np.float64], best: NDArray[np.float64] | float
) -> Differentiated:
    """Return log E[max(0, best − f)] of a Gaussian f, and its derivatives in mean and variance.

    With u = (best − mean)/σ this is log σ + log h(u), h(u) = φ(u) + u·Φ(u) (Jones et al. 1998).
    At a variance of 0 it is the logarithm of the plain improvement: −inf if there is none.
    Where the value is −inf, the derivatives are 0.
    """
    certain = variance == 0.0
    v = np.where(certain, 1.0, variance)
    deviation = np.sqrt(v)
    improvement = best - mean
    # Overflow far out ends in −inf, as it should, and the derivatives are dealt with below.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_h, cdf_over_h, pdf_over_h = _log_h(improvement / deviation)
        value = np.log(deviation) + log_h
        d_mean = -cdf_over_h / deviation
        d_variance = 0.5 * pdf_over_h / v
        if certain.any():
            value = np.where(certain, np.log(improvement.clip(0.0)), value)
            d_mean = np.where(certain, -1.0 / improvement, d_mean)
            d_variance = np.where(certain, 0.0, d_variance)
    excluded = value == -np.inf
    return Differentiated(
        value, (np.where(excluded, 0.0, d_mean), np.where(excluded, 0.0, d_variance))
    )


def _log_h(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log h(u), Φ(u)/h(u) and φ(u)/h(u), shape (3, ...), all to near full precision."""
    from scipy.special import ndtr  # Late, like all of scipy: importing it takes long.

    result = np.empty((3, *u.shape))
    central = u > -1.0
    if central.any():
        z = u[central]
        pdf = np.exp(-0.5 * z * z) / _SQRT_2PI
        cdf = ndtr(z)
        h = pdf + z * cdf
        result[:, central] = np.log(h), cdf / h, pdf / h
    if not central.all():
        z = u[~central]
        t, mills = _tail(z)
        result[:, ~central] = np.log(t) - 0.5 * z * z - np.log(_SQRT_2PI), mills / t, 1.0 / t
    return result


def _tail(u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return t = h(u)/φ(u) = 1 + u·Φ(u)/φ(u), and Mills' ratio Φ(u)/φ(u), for u ≤ −1.

    Below u = −50 the sum loses digits, and the asymptotic series of t takes its place
    (Abramowitz and Stegun 1964, 7.1.23: Mills' ratio is (1 − q + 3q² − 15q³ + …)/|u|, q = 1/u²).
    """
    from scipy.special import erfcx

    mills = _SQRT_2PI / 2.0 * erfcx(-u / np.sqrt(2.0))
    q = 1.0 / (u * u)
    series = q * (1.0 - q * (3.0 - q * (15.0 - q * (105.0 - q * 945.0))))
    return np.where(u > -50.0, 1.0 + u * mills, series), mills


def log_informativeness(
    covariance: NDArray[np.float64],
    variance: NDArray[np.float64],
    source_variance: NDArray[np.float64],
    *,
    noise: NDArray[np.float64] | float,
) -> Differentiated:
    """Return log w_s, how much a query of source s says about f_1 at the same location.

    w_s = Cov[f_1, f_s]² / (Var[f_1]·(Var[f_s] + λ²)), clipped to [1e-9, 1]: the squared
    correlation between f_1 and what is observed. With f_s = f_1 + an independent discrepancy δ,
    1/w_s = 1 + (Var[δ] + λ²)/Var[f_1], the "1 + discrepancy" of the paper free of units.

    Args:
        covariance: Posterior Cov[f_1(x), f_s(x)].
        variance: Posterior Var[f_1(x)].
        source_variance: Posterior Var[f_s(x)].
        noise: λ², variance of the noise of an observation of the source.
    """
    observed = source_variance + noise
    covariance, variance, observed = np.broadcast_arrays(covariance, variance, observed)
    # Where f_1 is known, nothing remains to be learnt.
    known = (variance <= 0.0) | (observed <= 0.0)
    variance, observed = np.where(known, np.inf, variance), np.where(known, np.inf, observed)
    w = (covariance / variance) * (covariance / observed)
    clipped = (w <= 1e-9) | (w >= 1.0)
    return Differentiated(
        np.log(w.clip(1e-9, 1.0)),
        (
            2.0 / np.where(clipped, np.inf, covariance),
            -1.0 / np.where(clipped, np.inf, variance),
            -1.0 / np.where(clipped, np.inf, observed),
        ),
    )


def log_mixture(
    log_ei_joint: NDArray[np.float64],
    log_r: NDArray[np.float64],
    log_ei_single: NDArray[np.float64],
    *,
    log_odds: float,
) -> Differentiated:
    """Return log{π·EI_J·r² + (1 − π)·EI_1}: two models, each with its share of the trust.

    Args:
        log_ei_joint: log EI_J under the joint model of all sources.
        log_r: log r, with r = w_s/w_1: what a query of source s says about f_1, as a part of what
            one of source 1 says; see :func:`log_informativeness`.
        log_ei_single: log EI_1 under the model of source 1 alone, in the same units as EI_J;
            −inf for the other sources, about which it says nothing.
        log_odds: log π/(1 − π); inf trusts the joint model alone.
    """
    joint = log_ei_joint + 2.0 * log_r - np.logaddexp(0.0, -log_odds)
    single = log_ei_single - np.logaddexp(0.0, log_odds)
    value = np.logaddexp(joint, single)
    reference = np.where(value == -np.inf, 0.0, value)
    share, rest = np.exp(joint - reference), np.exp(single - reference)
    return Differentiated(value, (share, 2.0 * share, rest))


def cool(
    log_utility: NDArray[np.float64], log_cost: NDArray[np.float64], *, alpha: float
) -> Differentiated:
    """Return log(utility/cost^α), EI-cool of CArBO (Lee et al. 2020) on the log scale."""
    value = log_utility - alpha * log_cost
    return Differentiated(value, (np.ones_like(value), np.full_like(value, -alpha)))


def cooling_exponent(spent: float, initial: float, budget: float | None) -> float:
    """Return α = (τ − τ_n)/(τ − τ_init), clipped to [0, 1], of CArBO (Lee et al. 2020).

    It is 1 when nothing but the initial design is paid, and 0 when the budget is spent, which
    includes the case that the initial design alone has taken it all. Without a budget: 1.

    Args:
        spent: τ_n, the cost so far, that of the initial design included.
        initial: τ_init, the cost of the initial design.
        budget: τ, the total cost that may be spent, if it is limited.
    """
    if budget is None or budget == np.inf:
        return 1.0
    if budget <= max(spent, initial):
        return 0.0
    return min(1.0, (budget - spent) / (budget - initial))
