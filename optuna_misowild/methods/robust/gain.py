"""What a query is expected to gain, less what it costs at a price."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.robust.method import RobustMethod
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.methods.spending import SpendingLimit
from optuna_misowild.optim.acquisition import log_ei
from optuna_misowild.optim.acquisition import log_informativeness
from optuna_misowild.optim.maximize import maximize
from optuna_misowild.optim.slice import Slice


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.robust.model import RobustModel
    from optuna_misowild.optim.domain import Domain


_N_NODES = 16
_N_CANDIDATES = 1024
_N_STARTS = 8


def best_net_gain(
    observations: Observations, domain: Domain, *, price: float, rng: np.random.Generator
) -> float:
    """Return the highest net gain of any query, as the robust method models the observations.

    Candidates are space-filling locations, others around the best ones, and the argmax of the
    expected improvement per cost. Infinite while nothing is known to be feasible.

    Args:
        observations: The trials so far, some of which have a value.
        domain: The search space.
        price: See :func:`net_gain`.
        rng: Source of randomness, the only one.
    """
    model = RobustMethod().fit(observations, domain)
    if model.is_seeking:
        return np.inf
    # Wherever a query is cheap, and whatever remains of a budget.
    model = replace(model, limit=SpendingLimit(np.inf), alpha=1.0)
    starts = model.ranked[:_N_STARTS]
    found = maximize(RobustAcquisition(model, (0,)), domain, rng=rng, starts=starts)
    space = Slice(domain, np.full(domain.d, np.nan))
    X = np.concatenate([found.x[None], space.candidates(_N_CANDIDATES, starts, rng)])
    gains = [net_gain(model, X, s, price=price).max() for s in observations.queryable]
    return float(max(gains))


def net_gain(
    model: RobustModel, X: NDArray[np.float64], source: int, *, price: float
) -> NDArray[np.float64]:
    """Return what a query is expected to improve the objective by, less its price.

    A query of the preferred source at x is worth EI(x; y⁺) − λ·ĉ_1(x), with the best feasible
    value y⁺ and the price λ. One of another source improves nothing by itself. It moves the mean
    of f_1(x) by N(0, v·w); then the preferred source is queried there or not, as is better. So it
    is worth

        Σ_k ω_k·max(0, EI(μ + √(v·w)·z_k, v·(1 − w); y⁺) − λ·ĉ_1(x)) − λ·ĉ_s(x)

    by Gauss–Hermite quadrature. Where no query has a positive worth, opening a further box is not
    worth its cost: Weitzman (1979), Optimal search for the best alternative. EI is the mixture of
    both models, each with its odds; of that a query of another source moves the joint model's part
    only. P(feasible) multiplies it.

    Args:
        model: The fitted model.
        X: Locations, shape (m, d).
        source: The source s.
        price: λ, in units of y per unit of cost.

    Returns:
        An array of shape (m,), in units of y.
    """
    of_first = price * model.cost.median(X, 0)
    probability = np.exp(model.log_probability(X, source))
    if source == 0:
        ei = np.zeros(len(X))
        for gp, share in model.experts:
            ei += share * np.exp(log_ei(*gp.predict(X), model.best).value)
        return np.asarray(probability * ei - of_first)
    p = model.joint.posterior(X, [source])
    w = np.exp(
        log_informativeness(
            p.covariance[:, 0],
            p.variance,
            p.source_variance[:, 0],
            noise=model.joint.noise[source],
        ).value
    )
    z, weight = np.polynomial.hermite_e.hermegauss(_N_NODES)
    mean = p.mean[:, None] + np.sqrt(p.variance * w)[:, None] * z
    variance = np.broadcast_to((p.variance * (1.0 - w))[:, None], mean.shape)
    ei = model.trust * np.exp(log_ei(mean, variance, model.best).value)
    then = np.maximum(probability[:, None] * ei - of_first[:, None], 0.0) @ weight / weight.sum()
    return np.asarray(then - price * model.cost.median(X, source))
