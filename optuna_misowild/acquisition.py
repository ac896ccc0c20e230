"""The formulas that acquisitions are made of: pure functions with derivatives.

Each returns its value and its partial derivatives with respect to its array arguments, in
their order; :func:`chain` turns these into a gradient in the location. Arguments broadcast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Differentiated(NamedTuple):
    """A value, and its partial derivatives with respect to each argument."""

    value: NDArray[np.float64]
    partials: tuple[NDArray[np.float64], ...]


def chain(
    partials: tuple[NDArray[np.float64], ...], *gradients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the gradient of a formula from the gradients of its arguments.

    Args:
        partials: Derivatives of the formula with respect to its arguments, shapes (...).
        *gradients: Gradients of these arguments in the location, shapes (..., d).

    Returns:
        The gradient of the formula in the location, shape (..., d).
    """
    terms = zip(partials, gradients, strict=True)
    return np.asarray(sum(partial[..., None] * gradient for partial, gradient in terms))


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


def confidence_beta(n: int, horizon: int, delta: float = 0.1) -> float:
    """Return β of Srinivas et al. (2012), Theorem 1: 2·log(|D|·n²·π²/(6·δ)).

    With |D| = horizon² this is what the authors of the paper use in their own code.

    Args:
        n: Number of inducing locations, |F̂|.
        horizon: T, the number of evaluations planned.
        delta: Probability with which the confidence bound may fail.
    """
    return 2.0 * float(np.log((np.pi * horizon * n) ** 2 / (6.0 * delta)))


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
