"""The robust method: the parts of MISO-wiLDCosts, each without its weakness.

The threshold test of the paper becomes a modelled discrepancy, so that every value of every
source informs f_1 as much as it should; costs are modelled on the log scale; and the
acquisition is the log expected improvement, minus the cooled log cost, plus the log of how much
a query of source s tells about f_1. None of this depends on units. Source 0 is the preferred one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import ClassVar

import numpy as np

from optuna_misowild import arguments
from optuna_misowild.acquisition import cooling_exponent
from optuna_misowild.maximize import maximize
from optuna_misowild.methods import Incumbent
from optuna_misowild.methods.exploration import distances
from optuna_misowild.methods.exploration import least_known
from optuna_misowild.methods.robust_design import is_cheap
from optuna_misowild.methods.robust_design import remaining_pairs
from optuna_misowild.methods.robust_model import RobustAcquisition
from optuna_misowild.methods.robust_model import RobustModel
from optuna_misowild.methods.robust_model import fit_costs
from optuna_misowild.methods.robust_model import fit_in_order
from optuna_misowild.methods.robust_model import fit_single
from optuna_misowild.methods.robust_model import log_odds
from optuna_misowild.methods.robust_model import predicted_costs
from optuna_misowild.observations import Proposal
from optuna_misowild.outliers import clip_outliers


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.domain import Domain
    from optuna_misowild.observations import Observations


_N_STARTS = 8
_N_CANDIDATES = 1024


@dataclass(frozen=True)
class RobustMethod:
    """The constants of the robust method.

    Args:
        max_cost_ratio: Another source is kept if it costs less than this times the preferred
            source where both are first queried, and excluded at locations where it is predicted
            to cost more.
        n_preferred_rows: Number of locations of the initial design that the preferred source is
            queried at, if another source is kept; if none is, it is queried at all of them.
        design_cost_share: What all other sources together may cost in the initial design, as a
            part of what the preferred source costs there.
        plateau_factor: How many times its rows of the initial design the cheapest source is
            queried at, while its lowest value there is one that it has had before.
        n_offsets: Number of initial locations whose values tell by how much the sources differ
            in the mean.
        n_mixture: Number of values of the preferred source from which on the joint model has to
            predict them better than a model of that source alone, or else loses its weight.
        restart_every: Number of values after which the search for hyperparameters of the joint
            model starts from its defaults again.
        max_in_a_row: Number of queries elsewhere after which the preferred source is due.
        max_debt: What queries elsewhere may cost until the preferred source is due, in units of
            a query of the preferred source at x⁺, times α.
        promise_queries: Number of queries of the preferred source without progress, none of them
            where another source has been, after which the next one is where another is best.
        stagnation_queries: Number of queries of the preferred source, all close to its best one
            and without progress, after which the next one explores.
        stagnation_tolerance: What counts as no progress, in standard deviations of its values.
        stagnation_radius: What counts as close, in units of √d.
        n_exploring: Number of random locations that such a query is chosen from.
        min_distance: Distance in the unit cube below which two queries of a source are the same.
    """

    logarithmic_acquisition: ClassVar[bool] = True
    moves_outliers: ClassVar[bool] = True

    max_cost_ratio: float = 1.0 / 3.0
    n_preferred_rows: int = 3
    design_cost_share: float = 0.25
    plateau_factor: int = 3
    n_offsets: int = 5
    n_mixture: int = 6
    restart_every: int = 8
    max_in_a_row: int = 10
    max_debt: float = 0.5
    promise_queries: int = 6
    stagnation_queries: int = 4
    stagnation_tolerance: float = 1e-3
    stagnation_radius: float = 0.1
    n_exploring: int = 256
    min_distance: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("max_cost_ratio", "design_cost_share", "max_debt", "stagnation_radius"):
            arguments.number(name, getattr(self, name), positive=True)
        for name in ("stagnation_tolerance", "min_distance"):
            arguments.number(name, getattr(self, name), positive=False)
        for name in (
            "n_preferred_rows",
            "plateau_factor",
            "n_offsets",
            "restart_every",
            "max_in_a_row",
            "n_exploring",
        ):
            arguments.integer(name, getattr(self, name), least=1)
        for name in ("n_mixture", "promise_queries", "stagnation_queries"):
            arguments.integer(name, getattr(self, name), least=2)

    def design(self, observations: Observations, n_rows: int) -> list[tuple[int, int]]:
        """Return the (source, row) pairs of the initial design that are still to be queried."""
        return remaining_pairs(
            observations,
            n_rows,
            n_preferred=self.n_preferred_rows,
            max_cost_ratio=self.max_cost_ratio,
            cost_share=self.design_cost_share,
            plateau_factor=self.plateau_factor,
            tolerance=self.stagnation_tolerance,
        )

    def fit(self, observations: Observations, domain: Domain) -> RobustModel:
        """Fit the joint model, GP_1 and the costs."""
        X, source, y = observations.X, observations.source, observations.y.copy()
        valued = np.flatnonzero(observations.has_value)
        y[valued] = clip_outliers(y[valued], source[valued])
        joint = fit_in_order(
            X[valued],
            source[valued],
            y[valued],
            n_sources=observations.n_sources,
            n_initial=self.n_offsets,
            restart_every=self.restart_every,
            categorical=domain.categorical,
        )
        mean = joint.predict_mean(X[valued])
        lowest = int(np.argmin(mean)) if len(mean) else None

        first = observations.valued(0)
        single, odds = None, np.inf
        if len(first) >= self.n_mixture:
            single = fit_single(X[first], y[first], domain.categorical)
            odds = log_odds(joint, single)

        silent = np.flatnonzero(~observations.has_value)
        joint = joint.condition(X[silent], source[silent])
        if single is not None:
            single = single.condition(X[silent[source[silent] == 0]])

        cost = fit_costs(
            observations,
            n_initial=self.n_offsets,
            restart_every=self.restart_every,
            categorical=domain.categorical,
        )
        pending_cost = float(predicted_costs(observations, cost)[observations.pending].sum())
        return RobustModel(
            joint=joint,
            single=single,
            log_odds=odds,
            cost=cost,
            incumbent=joint.mean if lowest is None else float(mean[lowest]),
            x_plus=np.full(domain.d, 0.5) if lowest is None else X[valued[lowest]],
            best=float(y[first].min(initial=np.inf)),
            alpha=cooling_exponent(
                observations.spent + pending_cost,
                observations.initial_spent,
                observations.budget,
            ),
            max_cost_ratio=self.max_cost_ratio,
        )

    def propose(
        self,
        observations: Observations,
        domain: Domain,
        *,
        rng: np.random.Generator,
        sources: Sequence[int] | None = None,
        fixed: NDArray[np.float64] | None = None,
    ) -> Proposal:
        """Return the next query; a source that is fixed is respected, the gates give way."""
        model = self.fit(observations, domain)
        allowed = self._candidates(observations, sources)
        x = None
        if 0 in allowed and self.is_stagnating(observations, domain):
            x = self.explore(observations, domain, model, rng=rng, fixed=fixed)
        elif 0 in allowed:
            x = self.promise(observations, domain, allowed, fixed=fixed)
        if x is not None:
            proposal = Proposal(0, x)
        else:
            if 0 in allowed and self.is_due(observations, model):
                allowed = (0,)
            proposal = self._best_query(observations, domain, model, allowed, rng=rng, fixed=fixed)
        if 0 in (observations.queryable if sources is None else sources):
            if self.must_verify(observations, model, proposal, fixed=fixed):
                return Proposal(0, model.x_plus)
        return proposal

    def recommend(self, observations: Observations, domain: Domain) -> Incumbent | None:
        """Return the best evaluation of the preferred source, or x⁺ if it has none."""
        if not observations.has_value.any():
            return None
        model = self.fit(observations, domain)
        first = observations.valued(0)
        if len(first):
            index = int(first[np.argmin(observations.y[first])])
        else:
            valued = np.flatnonzero(observations.has_value)
            same = np.all(observations.X[valued] == model.x_plus, axis=1)
            index = int(valued[same][0])
        mean, variance = model.joint.predict(observations.X[[index]])
        return Incumbent(index, len(first) > 0, float(mean[0]), float(np.sqrt(variance[0])))

    # The gates.

    def _candidates(
        self, observations: Observations, sources: Sequence[int] | None
    ) -> tuple[int, ...]:
        """Return the sources to choose from: those allowed, without the ones that are not kept."""
        allowed = tuple(observations.queryable if sources is None else sources)
        if 0 not in allowed:
            return allowed
        return tuple(
            s for s in allowed if s == 0 or is_cheap(observations, s, self.max_cost_ratio)
        )

    def is_due(self, observations: Observations, model: RobustModel) -> bool:
        """Whether the preferred source is to be queried: after too many queries elsewhere.

        Too many, or too dear. The initial design does not count.
        """
        first = np.flatnonzero(observations.source == 0)
        elsewhere = np.arange(first.max(initial=-1) + 1, len(observations))
        elsewhere = elsewhere[observations.row[elsewhere] < 0]
        if len(elsewhere) >= self.max_in_a_row:
            return True
        debt = predicted_costs(observations, model.cost)[elsewhere].sum()
        unit = model.cost.median(model.x_plus[None], 0)[0]
        return bool(debt > self.max_debt * model.alpha * unit)

    def is_stagnating(self, observations: Observations, domain: Domain) -> bool:
        """Whether the latest queries of the preferred source creep around its best one.

        Since a query that explores is far from the best one, or else becomes the best one
        itself, the count starts anew after it.
        """
        n = self.stagnation_queries
        valued = observations.valued(0)
        running = np.flatnonzero((observations.source == 0) & observations.pending)
        latest = np.sort(np.concatenate([valued, running]))[-n:]
        y = observations.y[valued]
        if len(valued) <= n:
            return False
        progress = y[:-n].min() - y.min()
        if progress > self.stagnation_tolerance * y.std():
            return False
        best = observations.X[valued[[np.argmin(y)]]]
        distance = distances(observations.X[latest], best, domain.categorical)
        return bool(np.all(distance <= self.stagnation_radius * np.sqrt(domain.d)))

    def promise(
        self,
        observations: Observations,
        domain: Domain,
        sources: Sequence[int],
        *,
        fixed: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64] | None:
        """Return the best location of another source, if the preferred one makes no progress.

        On a plateau, or in a mode that only one source has, both models may agree on a wrong
        picture and explain away what the other sources say. So after some queries of the
        preferred source without progress, none of them at a location that another source has
        seen, one goes to where another source is best, away from where it has been.
        """
        n = self.promise_queries
        first = observations.valued(0)
        others = np.flatnonzero(
            np.isin(observations.source, [s for s in sources if s != 0]) & observations.has_value
        )
        y = observations.y[first]
        if len(first) <= n or not len(others) or fixed is not None and not np.isnan(fixed).all():
            return None
        if y[:-n].min() - y.min() > self.stagnation_tolerance * y.std():
            return None
        X, latest = observations.X, first[-n:]
        before = others[None, :] < latest[:, None]
        same = distances(X[latest], X[others], domain.categorical) <= self.min_distance
        running = (observations.source == 0) & observations.pending
        if (before & same).any() or running.any():
            return None
        score = np.empty(len(others))
        for s in np.unique(observations.source[others]):
            rows = observations.source[others] == s
            values = observations.y[others[rows]]
            score[rows] = (values - values.mean()) / (values.std() or 1.0)
        # A query that failed there does not become better by being repeated.
        been = X[observations.source == 0]
        away = distances(X[others], been, domain.categorical).min(axis=1)
        far = away > 0.5 * self.stagnation_radius * np.sqrt(domain.d)
        promising = far & (score < 0.0)
        if not promising.any():
            return None
        best: NDArray[np.float64] = X[others[np.argmin(np.where(promising, score, np.inf))]]
        return best

    def explore(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64] | None:
        """Return a location far from those of the preferred source, at a moderate cost.

        The argmax of d·log(distance to the nearest) − α·log ĉ_1 over random locations; None if
        all of these are old ones.
        """
        X = domain.snap(rng.random((self.n_exploring, domain.d)))
        if fixed is not None:
            X = np.where(np.isnan(fixed), X, fixed)
        first = observations.X[observations.source == 0]
        nearest = distances(X, first, domain.categorical).min(axis=1)
        X, nearest = X[nearest > self.min_distance], nearest[nearest > self.min_distance]
        if not len(X):
            return None
        log_cost = model.cost.joint.predict_mean(X)
        best: NDArray[np.float64] = X[
            np.argmax(domain.d * np.log(nearest) - model.alpha * log_cost)
        ]
        return best

    def must_verify(
        self,
        observations: Observations,
        model: RobustModel,
        proposal: Proposal,
        *,
        fixed: NDArray[np.float64] | None = None,
    ) -> bool:
        """Whether x⁺ is to be evaluated on the preferred source now, since later is too late.

        That is, if it has not been, and if after the proposed query the budget would not last
        for it, but now it does.
        """
        if observations.budget is None:
            return False
        first = observations.X[observations.source == 0]
        if (np.abs(first - model.x_plus).max(axis=1, initial=0.0) <= self.min_distance).any():
            return False
        if fixed is not None and not np.all(np.isnan(fixed) | (fixed == model.x_plus)):
            return False
        mean, variance = model.cost.predict(model.x_plus[None], 0)
        expected, upper = np.exp(mean[0]), np.exp(mean[0] + np.sqrt(variance[0]))
        running = predicted_costs(observations, model.cost)[observations.pending].sum()
        left = observations.budget - observations.spent - running
        next_cost = model.cost.median(proposal.x[None], proposal.source)[0]
        return bool(expected <= left < next_cost + upper)

    def _best_query(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        sources: tuple[int, ...],
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None,
    ) -> Proposal:
        """Return the argmax of the acquisition, or of Var[f_1] if that is an old query."""
        valued = np.flatnonzero(observations.has_value)
        mean = model.joint.predict_mean(observations.X[valued])
        starts = observations.X[valued[np.argsort(mean, kind="stable")[:_N_STARTS]]]
        queried = {s: observations.X[observations.source == s] for s in sources}
        found = maximize(
            RobustAcquisition(model, sources),
            domain,
            rng=rng,
            starts=starts,
            fixed=fixed,
            n_candidates=_N_CANDIDATES,
            # In a finite space, what is left is better than what is known.
            avoid=queried if np.isfinite(domain.size) else None,
        )
        nearest = distances(found.x[None], queried[found.source], domain.categorical)
        if not (nearest < self.min_distance).any():
            return Proposal(found.source, found.x)
        source = sources[0]
        x = least_known(model.joint, source, queried[source], domain, rng=rng, fixed=fixed)
        return Proposal(source, x)
