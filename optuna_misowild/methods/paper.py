"""MISO-wiLDCosts as published: Candelieri and Archetti, AISTATS 2021.

``(eq:…)`` are the labels of the paper's equations; its source s = 1 is 0 here. Its weaknesses
are kept on purpose (see the robust method for the remedies): the acquisition depends on the
units of cost and objective, ignores the cost where η = 0, rewards the penalty where the numerator
is negative, and x⁺ may be a biased value of a cheap source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import ClassVar

import numpy as np

from optuna_misowild.gp.cost import PaperCost
from optuna_misowild.gp.cost import fit_paper_cost
from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.gp.fit import MEANS
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.methods import arguments
from optuna_misowild.methods.base import Incumbent
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.exploration import max_variance_location
from optuna_misowild.methods.kinks import best_on_kinks
from optuna_misowild.optim.acquisition import Field
from optuna_misowild.optim.acquisition import SourceAcquisition
from optuna_misowild.optim.acquisition import absolute_difference
from optuna_misowild.optim.acquisition import apply
from optuna_misowild.optim.acquisition import beta_at
from optuna_misowild.optim.acquisition import penalized_lcb
from optuna_misowild.optim.domain import SAME_PLACE
from optuna_misowild.optim.domain import distances
from optuna_misowild.optim.maximize import Maximum
from optuna_misowild.optim.maximize import maximize


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.methods.base import Observations
    from optuna_misowild.optim.domain import Domain


# The paper's experiments stop at fifty evaluations: T of the schedule of β, unless a study has
# already gone further.
PLANNED_EVALUATIONS = 50

# Every Gaussian process of the paper, those of the values and those of the costs.
SETTINGS = FitSettings(nu=1.5, ard=False, prior=None)


@dataclass(frozen=True)
class PaperMethod:
    """The constants of the paper's method.

    Example:

        .. code-block:: python

            sampler = MisoWildSampler(method=PaperMethod(m=2.0))  # A wider band than the paper's.

    Args:
        m: Width of the band μ_1 ± m·σ_1 in which evaluations of other sources augment F_1.
        beta: β of the confidence bound: a number, a function of the number of inducing
            locations, or None for the schedule of the authors' code,
            β = 2·log(π²·(T·n)²/(6·0.1)) with T planned evaluations and n inducing locations.
        min_distance: δ of the correction, a distance in the unit cube.
        mean: The constant mean of each Gaussian process: ``"sample"``, that of its data; or
            ``"gls"``, the likeliest one, 1ᵀK⁻¹y / 1ᵀK⁻¹1 (generalised least squares), as in the
            authors' code.
        preferred_ahead: Whether another source is queried only while it has fewer queries than
            the preferred one, n_s < n_1, as in the authors' later code.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If ``m`` or ``beta`` is negative, ``min_distance`` not positive, or ``mean``
            unknown.
    """

    logarithmic_acquisition: ClassVar[bool] = False
    moves_outliers: ClassVar[bool] = False
    nested_design: ClassVar[bool] = False
    models_other_sources: ClassVar[bool] = False
    only_preferred: ClassVar[bool] = False

    m: float = 1.0
    beta: float | Callable[[int], float] | None = None
    min_distance: float = 1e-3
    mean: str = "sample"
    preferred_ahead: bool = False

    def __post_init__(self) -> None:
        arguments.number("m", self.m, positive=False)
        if self.beta is not None and not callable(self.beta):
            arguments.number("beta", self.beta, positive=False)
        arguments.number("min_distance", self.min_distance, positive=True)
        if self.mean not in MEANS:
            raise ValueError(f"`mean` must be one of {MEANS}, but got {self.mean!r}.")
        arguments.flag("preferred_ahead", self.preferred_ahead)

    def design(self, observations: Observations, n_rows: int) -> list[tuple[int, int]]:
        """Return the (source, row) pairs of the initial design that are still to be queried.

        ``n_rows`` locations on each source, row by row, the preferred source first. Other
        evaluations (enqueued, added, of an earlier study) count in their place.

        Each source has a Latin hypercube of its own: at a location of F_1 its σ_1 is hardly more
        than the noise, so that nothing could augment F_1 from the same ones.
        """
        wanted = [
            (row, source)
            for source in observations.queryable
            for row in observations.missing_rows(source, n_rows)
        ]
        return [(source, row) for row, source in sorted(wanted)]

    def fit(self, observations: Observations, domain: Domain) -> PaperModel:
        """Fit F_s and C_s of every source, find F̂, and fit the AGP."""
        categorical = domain.categorical
        settings = replace(SETTINGS, mean=self.mean)

        def fitted(X: NDArray[np.float64], y: NDArray[np.float64]) -> MultiSourceGP:
            return fit_gp(X, y, categorical=categorical, settings=settings)

        objective, cost = [], []
        default_cost = typical_cost(observations.cost)
        for source in range(observations.n_sources):
            valued, costed = observations.valued(source), observations.costed(source)
            objective.append(fitted(observations.X[valued], observations.y[valued]))
            cost.append(
                fit_paper_cost(
                    observations.X[costed],
                    observations.cost[costed],
                    default=default_cost,
                    categorical=categorical,
                    settings=settings,
                )
            )
        inducing = inducing_locations(observations, objective, self.m)
        X, y = observations.X[inducing], observations.y[inducing]
        augmented = fitted(X, y)
        horizon = max(PLANNED_EVALUATIONS, int(observations.has_value.sum()))
        return PaperModel(
            *_with_unvalued(observations, objective, augmented, self.m),
            cost=tuple(cost),
            rows=inducing,
            inducing=observations.trial[inducing],
            incumbent=float(y.min()) if len(y) else 0.0,
            beta=beta_at(self.beta, max(len(y), 1), horizon),
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
        """Return (s', x') of eq:acquisition, or of eq:correction where that is too close."""
        allowed = tuple(observations.queryable if sources is None else sources)
        model = self.fit(observations, domain)
        eligible = self._eligible(observations, allowed)
        found = self.maximum(observations, domain, model, eligible, rng=rng, fixed=fixed)
        queried = observations.X[observations.source == found.source]
        nearest = distances(found.x[None], queried, domain.categorical)
        if not (nearest < self.min_distance).any():
            return Proposal(found.source, found.x)
        source = 0 if 0 in allowed else allowed[0]
        return self.correct(observations, domain, model, source, rng=rng, fixed=fixed)

    def _eligible(self, observations: Observations, allowed: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sources that may be queried; all that are allowed if none of them may be."""
        if not self.preferred_ahead:
            return allowed
        n = np.bincount(observations.source, minlength=observations.n_sources)
        return tuple(s for s in allowed if s == 0 or n[0] > n[s]) or allowed

    def maximum(
        self,
        observations: Observations,
        domain: Domain,
        model: PaperModel,
        sources: tuple[int, ...],
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None = None,
    ) -> Maximum:
        """Return the maximum of eq:acquisition over some sources, before any correction."""
        acquisition = _Acquisition(model, sources)
        starts = observations.X[model.rows]
        on_kinks = best_on_kinks(acquisition, domain, rng=rng, starts=starts, fixed=fixed)
        starts = np.concatenate([on_kinks, starts])
        return maximize(acquisition, domain, rng=rng, starts=starts, fixed=fixed)

    def correct(
        self,
        observations: Observations,
        domain: Domain,
        model: PaperModel,
        source: int,
        *,
        rng: np.random.Generator,
        fixed: NDArray[np.float64] | None = None,
    ) -> Proposal:
        """Return the location where the source is least known, eq:correction."""
        queried = observations.X[observations.source == source]
        x = max_variance_location(
            model.objective[source], source, queried, domain, rng=rng, fixed=fixed
        )
        return Proposal(source, x)

    def recommend(self, observations: Observations, domain: Domain) -> Incumbent | None:
        """Return x⁺, the location of ŷ⁺ in F̂.

        Without any evaluation of the preferred source F̂ is empty: the best location of the next
        source that has one, then.
        """
        if not observations.has_value.any():
            return None
        model = self.fit(observations, domain)
        rows = model.rows
        if not len(rows):
            rows = observations.valued(int(observations.source[observations.has_value].min()))
        index = int(rows[np.argmin(observations.y[rows])])
        x = observations.X[index]
        preferred = observations.valued(0)
        distance = distances(x[None], observations.X[preferred], domain.categorical)[0]
        same = preferred[distance < SAME_PLACE]
        if len(same):
            index = int(same[np.argmin(observations.y[same])])
        gp = model.augmented if len(model.rows) else model.objective[observations.source[index]]
        mean, variance = gp.predict(x[None])
        return Incumbent(index, len(same) > 0, float(mean[0]), float(np.sqrt(variance[0])))


@dataclass(frozen=True)
class PaperModel:
    """What the paper's method has fitted, in raw units and in the minimised sense.

    Attributes:
        objective: F_s of each source, conditioned on the queries there without a value.
        augmented: The AGP, likewise.
        cost: C_s of each source.
        rows: Rows of the observations that are in F̂.
        inducing: The numbers of their trials.
        incumbent: ŷ⁺, the lowest value in F̂.
        beta: β of the confidence bound.
    """

    objective: tuple[MultiSourceGP, ...]
    augmented: MultiSourceGP
    cost: tuple[PaperCost, ...]
    rows: NDArray[np.int_]
    inducing: NDArray[np.int_]
    incumbent: float
    beta: float

    def predict(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return μ_s and σ_s at X (m, d), each (m,)."""
        mean, variance = self.objective[source].predict(X)
        return mean, np.sqrt(variance)

    def predict_cost(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p_s and q_s at X (m, d), each (m,)."""
        mean, variance = self.cost[source].gp.predict(X)
        return mean, np.sqrt(variance)

    def discrepancy(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return η between the AGP and F_s at X (m, d), eq:discrepancy, shape (m,)."""
        return discrepancy(self.augmented.predict_mean(X), self.objective[source].predict_mean(X))

    def acquisition(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return eq:acquisition at X (m, d), shape (m,)."""
        return _Acquisition(self, (source,)).values(X)[:, 0]


def discrepancy(mean: NDArray[np.float64], other_mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return η, the absolute difference of μ_s(x) and μ_s̄(x), eq:discrepancy."""
    return np.abs(mean - other_mean)


def inducing_locations(
    observations: Observations, objective: Sequence[MultiSourceGP], m: float
) -> NDArray[np.int_]:
    """Return the rows of F̂ = F_1 ∪ F̄, in ascending order.

    F̄ holds the evaluations of other sources with η(F_s, F_1, x) < m·σ_1(x).
    """
    return _augmented_rows(observations, objective, m, observations.has_value)


def _augmented_rows(
    observations: Observations,
    objective: Sequence[MultiSourceGP],
    m: float,
    among: NDArray[np.bool_],
) -> NDArray[np.int_]:
    rows = [np.flatnonzero((observations.source == 0) & among)]
    for source in range(1, observations.n_sources):
        candidates = np.flatnonzero((observations.source == source) & among)
        if len(candidates):
            X = observations.X[candidates]
            mean, variance = objective[0].predict(X)
            eta = discrepancy(objective[source].predict_mean(X), mean)
            rows.append(candidates[eta < m * np.sqrt(variance)])
    return np.sort(np.concatenate(rows))


def _with_unvalued(
    observations: Observations,
    objective: Sequence[MultiSourceGP],
    augmented: MultiSourceGP,
    m: float,
) -> tuple[tuple[MultiSourceGP, ...], MultiSourceGP]:
    """Condition the models on queries without a value, as if each gave the posterior mean.

    Pending ones, and those that have failed. The means stay as they are, and the uncertainty
    near such a query goes, so that it is not repeated.
    """
    unvalued = observations.unrepeated
    conditioned = tuple(
        gp.condition(observations.X[unvalued & (observations.source == source)])
        for source, gp in enumerate(objective)
    )
    rows = _augmented_rows(observations, objective, m, unvalued)
    return conditioned, augmented.condition(observations.X[rows])


@dataclass(frozen=True)
class _Acquisition(SourceAcquisition):
    """eq:acquisition over some of the sources."""

    model: PaperModel
    sources: tuple[int, ...]

    def evaluate(
        self, X: NDArray[np.float64], sources: NDArray[np.int_], *, gradient: bool
    ) -> Field:
        model = self.model
        p = model.augmented.posterior(X, gradient=gradient)
        mean = Field(p.mean[:, None], p.d_mean[:, None])
        variance = Field(p.variance[:, None], p.d_variance[:, None])
        source_mean = _by_source(
            X, sources, lambda s, Z: _mean(model.objective[s], Z, gradient), gradient=gradient
        )
        cost = _by_source(
            X,
            sources,
            lambda s, Z: Field(*model.cost[s].upper(Z, gradient=gradient)),
            gradient=gradient,
        )
        eta = apply(absolute_difference, mean, source_mean)
        return apply(
            penalized_lcb,
            mean,
            variance,
            cost,
            eta,
            incumbent=model.incumbent,
            beta=model.beta,
        )

    def difference_with_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return μ̂ − μ_s, whose size is η, at X (m, d) and s (m,), and its gradient (m, d)."""
        mean = _mean(self.model.augmented, X, True)
        of_source = _by_source(
            X,
            source[:, None],
            lambda s, Z: _mean(self.model.objective[s], Z, True),
            gradient=True,
        )
        return mean.value - of_source.value[:, 0], mean.gradient - of_source.gradient[:, 0]


def _mean(gp: MultiSourceGP, X: NDArray[np.float64], gradient: bool) -> Field:
    mean, d_mean = gp.means(X, gradient=gradient)
    return Field(mean[:, 0], d_mean[:, 0])


def _by_source(
    X: NDArray[np.float64],
    sources: NDArray[np.int_],
    quantity: Callable[[int, NDArray[np.float64]], Field],
    *,
    gradient: bool,
) -> Field:
    """Return a quantity that has a model of its own for each source, at X (m, d): (m, k)."""
    d = X.shape[1] if gradient else 0
    field = Field(np.empty(sources.shape), np.empty((*sources.shape, d)))
    for s in np.unique(sources):
        rows, columns = np.nonzero(sources == s)
        of_source = quantity(int(s), X[rows])
        field.value[rows, columns] = of_source.value
        field.gradient[rows, columns] = of_source.gradient
    return field
