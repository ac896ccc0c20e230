"""Cost-cooling on the preferred source alone: CArBO (Lee et al. 2020).

The baseline of the paper (its Section "Baseline"), and a method of its own for one expensive
source whose cost varies. Other sources are neither queried nor learnt from, but what they have
cost is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import ClassVar

import numpy as np

from optuna_misowild.gp.cost import fit_log_cost
from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.gp.fit import MAX_DATA
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.gp.prior import Prior
from optuna_misowild.methods import arguments
from optuna_misowild.methods.base import Incumbent
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.exploration import max_variance_location
from optuna_misowild.methods.feasibility import LOG_HALF
from optuna_misowild.methods.feasibility import fit_feasibility
from optuna_misowild.methods.feasibility import log_probability
from optuna_misowild.methods.outliers import clip_outliers
from optuna_misowild.methods.spending import SpendingLimit
from optuna_misowild.methods.spending import best_payable
from optuna_misowild.methods.spending import spending_limit
from optuna_misowild.optim.acquisition import Field
from optuna_misowild.optim.acquisition import SourceAcquisition
from optuna_misowild.optim.acquisition import apply
from optuna_misowild.optim.acquisition import cooling_exponent
from optuna_misowild.optim.acquisition import log_ei
from optuna_misowild.optim.domain import DUPLICATE
from optuna_misowild.optim.domain import distances
from optuna_misowild.optim.maximize import Maximum
from optuna_misowild.optim.maximize import maximize


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.gp.cost import LogCost
    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.feasibility import Feasibility
    from optuna_misowild.optim.domain import Domain


# The prior of Optuna's `GPSampler`, whose noise is Gamma(1.1, 30): beside it, cost-cooling shows
# what it is worth to be aware of costs.
OBJECTIVE = FitSettings(prior=Prior(noise_shape=1.1), max_data=MAX_DATA)

INITIAL_DESIGNS = ("lhs", "cost-effective")

# On a plateau the Latin hypercube goes on, up to so many times its rows. It is one if more than
# this part of all values are as low as the lowest: but for so many standard deviations of all
# values, and for rounding.
_PLATEAU_FACTOR = 3
_PLATEAU_SHARE = 1 / 3
_SAME = 1e-3
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CostCooling:
    """The constants of cost-cooling.

    Example:

        .. code-block:: python

            sampler = CarboCoolingSampler(budget=3600, initial_design="cost-effective")
            sampler.method  # CostCooling(alpha=None, initial_design='cost-effective', ...)

    Args:
        alpha: α, the exponent of the cost: 1 is EI per unit cost (Snoek et al. 2012), 0 plain
            EI. None cools it from 1 to 0 while the budget is spent.
        initial_design: ``"lhs"`` for a Latin hypercube, as in the experiments of the paper, which
            goes on for up to three times its rows while it has found but a plateau;
            ``"cost-effective"`` for the procedure of CArBO, which spends a part of the budget on
            as many cheap and distant locations as it buys.
        initial_share: That part, 1/8 in CArBO.
        n_candidates: Size of the pool that the cost-effective design is chosen from.
        min_distance: Distance in the unit cube below which two queries are the same.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is out of its range.
    """

    logarithmic_acquisition: ClassVar[bool] = True
    moves_outliers: ClassVar[bool] = True
    nested_design: ClassVar[bool] = True
    models_other_sources: ClassVar[bool] = False
    only_preferred: ClassVar[bool] = True

    alpha: float | None = None
    initial_design: str = "lhs"
    initial_share: float = 1.0 / 8.0
    n_candidates: int = 512
    min_distance: float = DUPLICATE

    def __post_init__(self) -> None:
        if self.alpha is not None:
            arguments.number("alpha", self.alpha, positive=False)
        if self.initial_design not in INITIAL_DESIGNS:
            raise ValueError(
                f"`initial_design` must be one of {INITIAL_DESIGNS}, but got "
                f"{self.initial_design!r}."
            )
        arguments.number("initial_share", self.initial_share, positive=True)
        arguments.integer("n_candidates", self.n_candidates, least=2)
        arguments.number("min_distance", self.min_distance, positive=True)

    def design(self, observations: Observations, n_rows: int) -> list[tuple[int, int]]:
        """Return the (source, row) pairs of the initial design that are still to be queried.

        ``n_rows`` locations on the preferred source; a single one of the cost-effective design,
        which goes on in :meth:`propose`. Other evaluations count in their place.

        On a plateau further rows follow: the expected improvement is the larger there the less a
        place is known, and beyond it the smaller the better the plateau is known, since there the
        values rise. So it would look on the plateau alone, and ever more so.
        """
        if self.initial_design == "cost-effective":
            n_rows = 1
        rows = observations.missing_rows(0, n_rows)
        if not rows and self.initial_design == "lhs" and _is_on_plateau(observations):
            rows = observations.missing_rows(0, _PLATEAU_FACTOR * n_rows)
        return [(0, row) for row in rows]

    def fit(self, observations: Observations, domain: Domain) -> CostCoolingModel:
        """Fit the objective, the log cost and the feasibility of the preferred source."""
        X, cost = observations.X, observations.cost
        valued, costed = observations.valued(0), observations.costed(0)
        y = clip_outliers(observations.y[valued], observations.source[valued])
        objective = fit_gp(X[valued], y, categorical=domain.categorical, settings=OBJECTIVE)
        log_cost = fit_log_cost(
            X[costed],
            cost[costed],
            default=typical_cost(cost),
            categorical=domain.categorical,
        )
        here = observations.source == 0
        running = X[here & observations.pending]
        unvalued = X[here & observations.unrepeated & ~observations.failed]
        alone = replace(observations.only(here), n_sources=1, queryable=(0,))
        feasibility = fit_feasibility(alone, domain)
        feasible = observations.feasible[valued]
        pending_cost = float(log_cost.median(running).sum())
        spent = observations.spent + pending_cost
        return CostCoolingModel(
            # Pending and pruned queries as if they gave the posterior mean.
            objective=objective.condition(unvalued),
            cost=log_cost,
            incumbent=float(y[feasible].min(initial=np.inf)),
            spent=spent,
            alpha=(
                cooling_exponent(
                    spent, self._initial_cost(observations, spent), observations.budget
                )
                if self.alpha is None
                else self.alpha
            ),
            limit=spending_limit(
                observations,
                pending_cost,
                preferred=log_cost.median(X[valued]),
                cheapest=float(log_cost.median(X[valued]).min(initial=np.inf)),
            ),
            feasibility=feasibility,
        )

    def too_expensive(self, observations: Observations, domain: Domain) -> dict[int, float]:
        """Return nothing: no source is excluded for what it costs."""
        return {}

    def propose(
        self,
        observations: Observations,
        domain: Domain,
        *,
        rng: np.random.Generator,
        sources: Sequence[int] | None = None,
        fixed: NDArray[np.float64] | None = None,
    ) -> Proposal:
        """Return the argmax of EI-cool, or the next location of the cost-effective design."""
        source = 0 if sources is None or 0 in sources else sources[0]
        model = self.fit(observations, domain)
        queried = observations.X[observations.source == 0]
        if self._is_designing(observations, model.spent):
            pool = domain.snap(rng.random((self.n_candidates, domain.d)))
            if fixed is not None:
                pool = np.where(np.isnan(fixed), pool, fixed)
            unlikely = model.is_unlikely(pool, 0)
            pool = pool if unlikely.all() else pool[~unlikely]
            nearest = distances(pool, queried, domain.categorical).min(axis=1, initial=np.inf)
            chosen = cost_effective_choice(model.cost.gp.predict_mean(pool), nearest)
            return Proposal(source, pool[chosen])
        valued = observations.valued(0)
        best_first = valued[np.lexsort((observations.y[valued], ~observations.feasible[valued]))]
        observed = observations.X[best_first]

        def find(limit: SpendingLimit, starts: NDArray[np.float64]) -> Maximum:
            return maximize(
                _Acquisition(replace(model, limit=limit)),
                domain,
                rng=rng,
                starts=starts,
                fixed=fixed,
                # In a finite space, what remains is better than what is known.
                avoid={0: queried} if np.isfinite(domain.size) else None,
            )

        found, limit = best_payable(
            find,
            model.limit,
            starts=observed[:8],
            queried=observed,
            cost=model.cost.median(observed),
        )
        x = found.x
        if (distances(x[None], queried, domain.categorical) < self.min_distance).any():
            exclusions = replace(model, limit=limit).is_excluded, model.is_unlikely
            x = max_variance_location(
                model.objective, 0, queried, domain, rng=rng, fixed=fixed, exclusions=exclusions
            )
        return Proposal(source, x)

    def recommend(self, observations: Observations, domain: Domain) -> Incumbent | None:
        """Return the best feasible evaluation of the preferred source, else the most feasible."""
        valued = observations.valued(0)
        if not len(valued):
            return None
        model, y = self.fit(observations, domain), observations.y[valued]
        feasible = observations.feasible[valued]
        log_p = model.log_probability(observations.X[valued], 0)
        best = np.argmin(np.where(feasible, y, np.inf) if feasible.any() else -log_p)
        index = int(valued[best])
        mean, variance = model.objective.predict(observations.X[[index]])
        return Incumbent(
            index,
            True,
            float(mean[0]),
            float(np.sqrt(variance[0])),
            feasible=bool(feasible[best]),
            probability=float(np.exp(log_p[best])),
        )

    def _initial_cost(self, observations: Observations, spent: float) -> float:
        """Return τ_init, what the initial design has cost."""
        if self.initial_design == "lhs" or observations.budget is None:
            return observations.initial_spent
        return min(spent, self.initial_share * observations.budget)

    def _is_designing(self, observations: Observations, spent: float) -> bool:
        """Whether the cost-effective design still has money."""
        if self.initial_design == "lhs" or observations.budget is None:
            return False
        return spent < self.initial_share * observations.budget


def _is_on_plateau(observations: Observations) -> bool:
    """Whether many of the values are the same, and none is lower."""
    valued = observations.valued(0)
    if not len(valued):
        return False
    y = clip_outliers(observations.y[valued], observations.source[valued])
    lowest = y.min() + max(_SAME * y.std(), _ROUNDING * abs(y.min()))
    return bool(np.count_nonzero(y <= lowest) > max(1.0, _PLATEAU_SHARE * len(y)))


def cost_effective_choice(cost: NDArray[np.float64], nearest: NDArray[np.float64]) -> int:
    """Return the candidate that remains when expensive and close ones are dropped in turn.

    The cost-effective initial design of CArBO: the candidate that costs most by prediction goes,
    then the one closest to what has been queried, and so on until one remains.

    Args:
        cost: Predicted cost of each candidate, on any increasing scale, shape (m,).
        nearest: Distance of each candidate to the nearest location queried so far, shape (m,).
    """
    remaining = np.ones(len(cost), dtype=bool)
    orders = (iter(np.argsort(-cost, kind="stable")), iter(np.argsort(nearest, kind="stable")))
    for turn in range(len(cost) - 1):
        dropped = next(i for i in orders[turn % 2] if remaining[i])
        remaining[dropped] = False
    return int(np.flatnonzero(remaining)[0])


@dataclass(frozen=True)
class CostCoolingModel:
    """What cost-cooling has fitted, in raw units and in the minimised sense.

    Attributes:
        objective: The model of the preferred source, conditioned on the queries that run or were
            pruned.
        cost: The model of its log cost.
        incumbent: The lowest feasible value observed there; inf if there is none.
        spent: τ_n, the cost so far, that of pending queries as predicted.
        alpha: α, the exponent of the cost.
        limit: What the next query may cost.
        feasibility: What is learnt of failures and constraints; None if there are none.
    """

    objective: MultiSourceGP
    cost: LogCost
    incumbent: float
    spent: float
    alpha: float
    limit: SpendingLimit = SpendingLimit(np.inf)
    feasibility: Feasibility | None = None

    @property
    def is_seeking(self) -> bool:
        """Whether nothing is known to be feasible, which is all that counts then."""
        return self.feasibility is not None and self.incumbent == np.inf

    def log_probability(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return log P that a query at X (m, d) neither fails nor violates a constraint, (m,)."""
        _only_preferred(source)
        return log_probability(self.feasibility, X, source)

    def is_unlikely(self, X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        """Whether it rather does one of these than not, shape (m,)."""
        return np.asarray(self.log_probability(X, source) < LOG_HALF)

    def predict(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of the objective at X (m, d), each (m,)."""
        _only_preferred(source)
        mean, variance = self.objective.predict(X)
        return mean, np.sqrt(variance)

    def predict_cost(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of the lognormal cost at X (m, d), each (m,)."""
        _only_preferred(source)
        return self.cost.mean_and_std(X)

    def is_excluded(self, X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        """Whether a query at X (m, d) is predicted to cost more than remains, shape (m,)."""
        _only_preferred(source)
        if self.limit.cost == np.inf:
            return np.zeros(len(X), dtype=bool)
        excluded: NDArray[np.bool_] = self.cost.gp.predict_mean(X) > np.log(self.limit.cost)
        return excluded

    def discrepancy(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return 0: only the preferred source is modelled."""
        _only_preferred(source)
        return np.zeros(len(X))

    def acquisition(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return log EI-cool + log P at X (m, d), shape (m,)."""
        _only_preferred(source)
        return _Acquisition(self).values(X)[:, 0]


@dataclass(frozen=True)
class _Acquisition(SourceAcquisition):
    """log EI(x) + log E[c(x)^−α] + log P(x), the cost being lognormal, and P with caution.

    It is −inf where the cost cannot be paid. While nothing is feasible, EI is omitted.
    """

    model: CostCoolingModel
    sources: tuple[int, ...] = (0,)

    def evaluate(
        self, X: NDArray[np.float64], sources: NDArray[np.int_], *, gradient: bool
    ) -> Field:
        model = self.model
        p = model.objective.posterior(X, gradient=gradient)
        mean, variance = Field(p.mean, p.d_mean), Field(p.variance, p.d_variance)
        improvement = apply(log_ei, mean, variance, best=model.incumbent)
        power = Field(*model.cost.log_expected_power(X, -model.alpha, gradient=gradient))
        value = power if model.is_seeking else improvement + power
        value = value.excluded(model.is_excluded(X, 0))
        value = Field(value.value[:, None], value.gradient[:, None])
        if model.feasibility is not None:
            value += model.feasibility.penalty(X, sources, gradient=gradient)
        return value


def _only_preferred(source: int) -> None:
    if source != 0:
        raise ValueError(
            "Cost-cooling models the preferred source only; `source` must be omitted."
        )
