"""The robust method: the parts of MISO-wiLDCosts, each without its weakness.

The threshold test of the paper becomes a modelled discrepancy, so that every value of every
source informs f_1 as much as it should; costs are modelled on the log scale; and the
acquisition is the log expected improvement, minus the cooled log cost, plus the log of how much
a query of source s says about f_1. None of this depends on units. Source 0 is the preferred one.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import ClassVar

import numpy as np

from optuna_misowild.methods import arguments
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.base import Verdict
from optuna_misowild.methods.exploration import max_variance_location
from optuna_misowild.methods.robust.cost_ratio import log_ratio_limits
from optuna_misowild.methods.robust.design import remaining_pairs
from optuna_misowild.methods.robust.ladder import ladder_pairs
from optuna_misowild.methods.robust.model import RobustAcquisition
from optuna_misowild.methods.robust.model import RobustModel
from optuna_misowild.methods.robust.policy import Policy
from optuna_misowild.methods.robust.policy import is_free
from optuna_misowild.methods.robust.recommend import best_evaluation
from optuna_misowild.methods.robust.training import beyond
from optuna_misowild.methods.robust.training import judge
from optuna_misowild.methods.spending import SpendingLimit
from optuna_misowild.methods.spending import best_payable
from optuna_misowild.optim.domain import distances
from optuna_misowild.optim.maximize import Maximum
from optuna_misowild.optim.maximize import maximize


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Incumbent
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.methods.base import Training
    from optuna_misowild.optim.domain import Domain


_N_STARTS = 8
_N_CANDIDATES = 1024


@dataclass(frozen=True)
class RobustMethod(Policy):
    """The constants of the robust method.

    Example:

        .. code-block:: python

            # Sources that cost half as much as the preferred one are worth querying too.
            sampler = MisoWildSampler(method=RobustMethod(max_cost_ratio=0.5))

    Args:
        max_cost_ratio: Another source is dropped once it surely costs more than this times the
            preferred source, and excluded at locations where it is predicted to.
        n_offsets: Number of initial locations whose values say by how much the sources differ
            in the mean.
        n_mixture: Number of values of the preferred source from which on the joint model has to
            predict them better than a model of that source alone, or else loses its weight.
        restart_every: Number of values after which the search for hyperparameters of the joint
            model starts from its defaults again.
        min_distance: Distance in the unit cube below which two queries of a source are the same.
        max_in_a_row: Number of queries elsewhere after which the preferred source is due.
        max_debt: What queries elsewhere may cost until the preferred source is due, in units of
            a query of the preferred source at x⁺, times α.
        promise_queries: Number of queries of the preferred source without progress, none of them
            where another source has been, after which the next one is where another is best.
        promise_radius: Distance up to which the preferred source has been there, in units of √d.
        stagnation_queries: Number of queries of the preferred source close to its best one,
            without progress, after which the rest of the space is searched as if it were all.
        stagnation_tolerance: What counts as no progress, in standard deviations of its values.
        stagnation_radius: What counts as close, in units of √d.
        polishing_share: The share of the money that still goes to where the search has stagnated.
        design_cost_share: What all cheap sources together may cost in the initial design beyond
            its first rows, in units of a query of the preferred source.
        cheap_factor: How many times the number of rows the cheapest source is queried at most in
            the initial design, and so all other cheap ones together.
        n_preferred_rows: Number of rows of the initial design that the preferred source is
            queried at, if another source helps it: the best ones of the others.
        min_probability: A training stops before its rung where it is less probable than this that
            the preferred source improves there on what is expected where it is best.
    """

    logarithmic_acquisition: ClassVar[bool] = True
    moves_outliers: ClassVar[bool] = True
    nested_design: ClassVar[bool] = True
    models_other_sources: ClassVar[bool] = True
    only_preferred: ClassVar[bool] = False

    design_cost_share: float = 1.0
    cheap_factor: int = 2
    n_preferred_rows: int = 3
    min_probability: float = 0.05

    def __post_init__(self) -> None:
        for name in (
            "max_cost_ratio",
            "design_cost_share",
            "max_debt",
            "promise_radius",
            "stagnation_radius",
        ):
            arguments.number(name, getattr(self, name), positive=True)
        for name in (
            "stagnation_tolerance",
            "polishing_share",
            "min_distance",
            "min_probability",
        ):
            arguments.number(name, getattr(self, name), positive=False)
        for name in (
            "n_preferred_rows",
            "cheap_factor",
            "n_offsets",
            "restart_every",
            "max_in_a_row",
        ):
            arguments.integer(name, getattr(self, name), least=1)
        for name in ("n_mixture", "promise_queries", "stagnation_queries"):
            arguments.integer(name, getattr(self, name), least=2)

    def design(self, observations: Observations, n_rows: int) -> list[tuple[int, int]]:
        """Return the (source, row) pairs of the initial design that are still to be queried."""
        if len(observations.queryable) > 1 and observations.lengths:
            return ladder_pairs(observations, n_rows)
        return remaining_pairs(
            observations,
            n_rows,
            max_cost_ratio=self.max_cost_ratio,
            cost_share=self.design_cost_share,
            cheap_factor=self.cheap_factor,
            n_preferred_rows=self.n_preferred_rows,
        )

    def too_expensive(self, observations: Observations, domain: Domain) -> dict[int, float]:
        """Return the sources that are excluded at all locations so far, with their cost ratios.

        The ratio to the cost of the preferred source is the predicted one, in the median.
        """
        if not len(observations.costed(0)):
            return {}
        gp = self.fit_costs(observations, domain).gp
        log_cost, _ = gp.means(observations.X, range(observations.n_sources))
        ratio = log_cost - log_cost[:, :1]
        limit = log_ratio_limits(observations, gp.noise, self.max_cost_ratio)
        return {
            s: float(np.exp(np.median(ratio[:, s])))
            for s in observations.queryable
            if s > 0 and (ratio[:, s] > limit[s]).all()
        }

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
        proposal = self._proposal(observations, domain, model, sources, rng=rng, fixed=fixed)
        if 0 in (observations.queryable if sources is None else sources):
            if self.must_verify(observations, model, proposal, fixed=fixed):
                proposal = Proposal(0, model.x_plus)
        return replace(proposal, model=model)

    def _proposal(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        sources: Sequence[int] | None,
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None,
    ) -> Proposal:
        allowed = self._candidates(observations, sources)
        if is_free(fixed) and 0 in allowed and not model.is_seeking:
            proposal = self._proposal_for_the_rest(observations, domain, model, sources, rng=rng)
            if proposal is not None:
                return proposal
        x = self.redirect(observations, domain, model, allowed, fixed=fixed)
        if x is not None:
            return Proposal(0, x, -np.inf)
        if 0 in allowed and self.is_due(observations, model):
            allowed = (0,)
        return self._best_query(observations, domain, model, allowed, rng=rng, fixed=fixed)

    def _proposal_for_the_rest(
        self,
        observations: Observations,
        domain: Domain,
        model: RobustModel,
        sources: Sequence[int] | None,
        *,
        rng: np.random.Generator,
    ) -> Proposal | None:
        """Return the next query outside of the region that is closed.

        None if no region is, if nothing is known to be feasible outside, or if nothing remains.
        """
        region = self.closed_region(observations, model)
        if region is None:
            return None
        rest = observations.only(~region.contains(observations.X))
        if not len(rest.valued(0)):
            return None
        of_rest = self.fit(rest, domain, cost=model.cost)
        if of_rest.is_seeking:
            return None
        of_rest = replace(
            of_rest,
            alpha=model.alpha,
            log_ratio_limit=model.log_ratio_limit,
            limit=model.limit,
            feasibility=model.feasibility,
            closed=(*model.closed, region),
        )
        proposal = self._proposal(rest, domain, of_rest, sources, rng=rng, fixed=None)
        is_outside = not any(r.contains(proposal.x[None])[0] for r in of_rest.closed)
        return proposal if is_outside else None

    def judge(
        self,
        model: RobustModel,
        observations: Observations,
        domain: Domain,
        training: Training,
    ) -> Verdict:
        """Return whether a training goes on, by the models of an earlier proposal.

        What verifies is trained up to its rung, and so is what was chosen by models of other
        sources. What goes against the acquisition may stop before, as the first rungs show enough.
        """
        is_old = model.joint.n_sources != observations.n_sources
        is_old |= model.joint.X.shape[1] != domain.d
        if is_old or np.isnan(training.other) or model.is_seeking:
            return Verdict(None if training.reached == training.meant else training.meant)
        own = (observations.trial == training.trial) & observations.pending
        seen = observations.only(~own)
        paid = training.paid - training.before
        seen = replace(seen, spent=seen.spent + (paid if np.isfinite(paid) else 0.0))
        updated = self.updated(model, seen, domain, training=training.trial)
        return judge(updated, training, min_probability=self.min_probability)

    def resume(self, model: RobustModel, trainings: Sequence[Training]) -> list[Verdict]:
        """Return which of the trainings that were stopped are better queries than all others."""
        return beyond(model, trainings)

    def recommend(self, observations: Observations, domain: Domain) -> Incumbent | None:
        """Return the evaluation that promises most; see :func:`best_evaluation`."""
        if not observations.has_value.any():
            return None
        model = self.fit(observations, domain)
        candidates = self.candidate_rows(observations, domain, model.feasibility)
        return best_evaluation(model, observations, candidates)

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
        """Return the argmax of the acquisition.

        An old query gives way to x⁺ on the preferred source if that may be, else to where
        the variance is largest.
        """
        queried = {s: observations.X[observations.source == s] for s in sources}

        def find(limit: SpendingLimit, starts: NDArray[np.float64]) -> Maximum:
            return maximize(
                RobustAcquisition(replace(model, limit=limit), sources),
                domain,
                rng=rng,
                starts=starts,
                fixed=fixed,
                n_candidates=_N_CANDIDATES,
                # In a finite space, what remains is better than what is known.
                avoid=queried if np.isfinite(domain.size) else None,
            )

        found, limit = best_payable(
            find,
            model.limit,
            starts=model.ranked[:_N_STARTS],
            queried=observations.X,
            cost=np.exp(model.cost.gp.means(observations.X, sources)[0].min(axis=1)),
        )
        model = replace(model, limit=limit)
        nearest = distances(found.x[None], queried[found.source], domain.categorical)
        if not (nearest < self.min_distance).any():
            return Proposal(found.source, found.x, found.value)
        if 0 in sources and self.can_verify(observations, model, fixed=fixed):
            return Proposal(0, model.x_plus)
        source = sources[0]
        old, exclusions = queried[source], (model.exceeds_budget, model.is_unlikely)
        x = max_variance_location(
            model.joint, source, old, domain, rng=rng, fixed=fixed, exclusions=exclusions
        )
        return Proposal(source, x)
