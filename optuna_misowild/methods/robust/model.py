"""What the robust method fits to the observations, and the acquisition that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.methods.feasibility import LOG_HALF
from optuna_misowild.methods.feasibility import log_probability
from optuna_misowild.optim.acquisition import Field
from optuna_misowild.optim.acquisition import SourceAcquisition
from optuna_misowild.optim.acquisition import apply
from optuna_misowild.optim.acquisition import cool
from optuna_misowild.optim.acquisition import log_ei
from optuna_misowild.optim.acquisition import log_informativeness
from optuna_misowild.optim.acquisition import log_mixture


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.cost import LogCost
    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.feasibility import Feasibility
    from optuna_misowild.methods.robust.region import Region
    from optuna_misowild.methods.spending import SpendingLimit


@dataclass(frozen=True)
class RobustModel:
    """What the robust method has fitted, in raw units and in the minimised sense.

    The models of the objective are conditioned on the queries that are pending or were pruned, as
    if each gave the posterior mean.

    Attributes:
        joint: The joint model of all sources.
        single: GP_1, the model of source 0 alone, which is the joint model while no other source
            has a value; None while source 0 has too few values.
        log_odds: log π/(1 − π), the trust in the joint model; inf without GP_1.
        cost: The joint model of the log costs.
        incumbent: μ⁺, the lowest posterior mean of f_1 at an evaluated location that is feasible.
        x_plus: x⁺, this location, shape (d,). While none is feasible, the most probable one.
        ranked: All evaluated locations, those that are feasible and of the lowest posterior mean
            of f_1 first, shape (n, d).
        best: m_1, the lowest posterior mean of f_1, by both models, at a feasible evaluation of
            source 0: without noise its lowest value, as far as it is known. inf if there is none.
        lowest: y⁺, the lowest value of a feasible evaluation of source 0; inf if there is none.
        alpha: α, the exponent of the costs.
        log_ratio_limit: Source s is excluded where log ĉ_s(x)/ĉ_1(x) exceeds this, shape (S,).
        limit: What the next query may cost.
        feasibility: What is learnt of failures and constraints; None if there are none.
        is_seeking: Whether no location is known to be feasible, which is all that counts then.
        closed: Regions that are excluded, as the search has stagnated there.
    """

    joint: MultiSourceGP
    single: MultiSourceGP | None
    log_odds: float
    cost: LogCost
    incumbent: float
    x_plus: NDArray[np.float64]
    ranked: NDArray[np.float64]
    best: float
    lowest: float
    alpha: float
    log_ratio_limit: NDArray[np.float64]
    limit: SpendingLimit
    feasibility: Feasibility | None = None
    is_seeking: bool = False
    closed: tuple[Region, ...] = ()

    @property
    def trust(self) -> float:
        """π, the share of the joint model."""
        return float(np.exp(-np.logaddexp(0.0, -self.log_odds)))

    @property
    def experts(self) -> list[tuple[MultiSourceGP, float]]:
        """The models of f_1 and their shares; π is that of the joint one, GP_1 has the rest."""
        alone = [] if self.single is None else [(self.single, 1.0 - self.trust)]
        return [(self.joint, self.trust), *alone]

    def expected(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posterior mean of f_1 at X (m, d) by both models, shape (m,)."""
        total = np.zeros(len(X))
        for gp, share in self.experts:
            total += share * gp.predict_mean(X)
        return total

    @property
    def length_scale(self) -> NDArray[np.float64]:
        """ℓ of the joint model, shape (d,)."""
        return self.joint.length_scale

    @property
    def amplitude(self) -> float:
        """σ² of the joint model, the variance of g in the units of y²."""
        return self.joint.amplitude

    @property
    def noise(self) -> NDArray[np.float64]:
        """λ_s², in the units of y², shape (S,)."""
        return self.joint.noise

    @property
    def rho(self) -> NDArray[np.float64]:
        """ρ_s, shape (S,); ρ_1 = 1."""
        return self.joint.rho

    @property
    def tau(self) -> NDArray[np.float64]:
        """τ_s, the variance of what source s has by itself, in the units of y², shape (S,)."""
        return self.joint.tau

    @property
    def kappa(self) -> NDArray[np.float64]:
        """κ_s, the length scales of δ_s in units of ℓ, shape (S,)."""
        return self.joint.kappa

    def predict(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of f_s at X (m, d), each (m,)."""
        posterior = self.joint.posterior(X, [source])
        return posterior.source_mean[:, 0], np.sqrt(posterior.source_variance[:, 0])

    def predict_cost(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of the lognormal cost at X (m, d), each (m,)."""
        return self.cost.mean_and_std(X, source)

    def exceeds_budget(self, X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        """Whether a query of source s at X (m, d) is predicted to cost more than remains, (m,)."""
        exceeds: NDArray[np.bool_] = self.cost.gp.means(X, [source])[0] > np.log(self.limit.cost)
        return exceeds[:, 0]

    def log_probability(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return log P: a query of source s at X (m, d) succeeds where f_1 is feasible; (m,)."""
        return log_probability(self.feasibility, X, source)

    def is_unlikely(self, X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        """Whether it rather fails, or f_1 is rather not feasible there, than not, shape (m,)."""
        return np.asarray(self.log_probability(X, source) < LOG_HALF)

    def discrepancy(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of f_s − ρ_s f_1 at X (m, d), each (m,)."""
        posterior = self.joint.posterior(X, [source])
        return posterior.discrepancy_mean[:, 0], np.sqrt(posterior.discrepancy_variance[:, 0])

    def acquisition(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return a(s, x) at X (m, d), shape (m,)."""
        acquisition = RobustAcquisition(self, (0, source) if source else (0,))
        return acquisition.values(X, [source])[:, 0]


@dataclass(frozen=True)
class RobustAcquisition(SourceAcquisition):
    """a(s, x) over some of the sources.

    log{π·EI_J(x; min(μ⁺, y⁺))·[w_s(x)/w_1(x)]² + 1[s = 1]·(1 − π)·EI_1(x; y⁺)}
    − α·log ĉ_s(x) + log P(s, x)

    with both EI in units of y, of a value with its noise, as y⁺ is one; and P the probability that
    the query succeeds where f_1 is feasible, with caution. While no location is known to be
    feasible, the improvement is omitted.

    If source 0 is among the sources, what cannot be paid is excluded. So are the others where they
    are hardly cheaper than it, or where too little would remain to query it afterwards.
    """

    model: RobustModel
    sources: tuple[int, ...]

    def evaluate(
        self, X: NDArray[np.float64], sources: NDArray[np.int_], *, gradient: bool
    ) -> Field:
        """Return a(s, x) at X (m, d) for each of the sources (m, k)."""
        model = self.model
        p = model.joint.posterior(X, sources, gradient=gradient)
        mean = Field(p.mean[:, None], p.d_mean[:, None])
        variance = Field(p.variance[:, None], p.d_variance[:, None])
        covariance = Field(p.covariance, p.d_covariance)
        of_source = Field(p.source_variance, p.d_source_variance)

        noise = model.joint.noise
        improvement = apply(
            log_ei, mean, variance.plus(noise[0]), best=min(model.incumbent, model.lowest)
        )
        told = apply(log_informativeness, covariance, variance, of_source, noise=noise[sources])
        by_first = apply(log_informativeness, variance, variance, variance, noise=noise[0])
        alone = self._improvement_alone(X, sources, gradient=gradient)
        utility = apply(log_mixture, improvement, told - by_first, alone, log_odds=model.log_odds)
        # The first column is of source 0.
        of_both = np.insert(sources, 0, 0, axis=1)
        log_costs, d_log_costs = model.cost.gp.means(X, of_both, gradient=gradient)
        log_cost = Field(log_costs[:, 1:], d_log_costs[:, 1:])
        if model.is_seeking:
            utility = Field(np.zeros_like(utility.value), np.zeros_like(utility.gradient))
        value = apply(cool, utility, log_cost, alpha=model.alpha)
        if model.feasibility is not None:
            value += model.feasibility.penalty(X, sources, gradient=gradient)
        for region in model.closed:
            value = value.excluded(region.contains(X)[:, None])
        if 0 not in self.sources:
            return value
        return value.excluded(self._is_excluded(log_cost.value, log_costs[:, :1], sources))

    def _improvement_alone(
        self, X: NDArray[np.float64], sources: NDArray[np.int_], *, gradient: bool
    ) -> Field:
        """Return log EI_1 of source 0; −inf for the others, about which GP_1 says nothing."""
        d = X.shape[1] if gradient else 0
        field = Field(np.full(sources.shape, -np.inf), np.zeros((*sources.shape, d)))
        rows, columns = np.nonzero(sources == 0)
        if len(rows) and self.model.single is not None:
            single = self.model.single
            p = single.posterior(X[rows], gradient=gradient)
            mean = Field(p.mean, p.d_mean)
            variance = Field(p.variance, p.d_variance).plus(single.noise[0])
            of_first = apply(log_ei, mean, variance, best=self.model.lowest)
            field.value[rows, columns] = of_first.value
            field.gradient[rows, columns] = of_first.gradient
        return field

    def _is_excluded(
        self,
        log_cost: NDArray[np.float64],
        log_cost_of_first: NDArray[np.float64],
        source: NDArray[np.int_],
    ) -> NDArray[np.bool_]:
        """Whether a query is too expensive; the arguments broadcast."""
        is_other = source > 0
        hardly_cheaper = log_cost - log_cost_of_first > self.model.log_ratio_limit[source]
        limit = self.model.limit
        then = np.where(is_other & limit.reserves, log_cost_of_first, -np.inf)
        excluded: NDArray[np.bool_] = (is_other & hardly_cheaper) | (
            np.logaddexp(log_cost, then) > np.log(limit.cost)
        )
        return excluded
