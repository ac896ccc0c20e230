"""Where the model of one source knows least: the query when nothing better is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.optim.acquisition import Field
from optuna_misowild.optim.acquisition import SourceAcquisition
from optuna_misowild.optim.maximize import maximize


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP
    from optuna_misowild.optim.domain import Domain

    Exclusion: TypeAlias = Callable[[NDArray[np.float64], int], NDArray[np.bool_]]


@dataclass(frozen=True)
class Uncertainty(SourceAcquisition):
    """The variance of a model as an acquisition of one source.

    It is relative to the prior's, so that squares of it do not overflow.
    Where ``is_excluded``, a function of X (m, d) and the source, says so, it is −inf.
    """

    model: MultiSourceGP
    sources: tuple[int, ...]
    is_excluded: Exclusion | None = None

    def evaluate(
        self, X: NDArray[np.float64], sources: NDArray[np.int_], *, gradient: bool
    ) -> Field:
        p, prior = self.model.posterior(X, gradient=gradient), self.model.prior_variance
        variance = Field(p.variance[:, None] / prior, p.d_variance[:, None] / prior)
        if self.is_excluded is None:
            return variance
        return variance.excluded(self.is_excluded(X, self.sources[0])[:, None])


def max_variance_location(
    model: MultiSourceGP,
    source: int,
    queried: NDArray[np.float64],
    domain: Domain,
    *,
    rng: np.random.Generator,
    fixed: NDArray[np.float64] | None = None,
    exclusions: Sequence[Exclusion] = (),
) -> NDArray[np.float64]:
    """Return where the variance of a model is largest, away from the queries of its source.

    Args:
        model: The model, of f_1.
        source: The source that is to be queried there.
        queried: Locations of its queries, shape (n, d).
        domain: The search space.
        rng: Source of randomness.
        fixed: Coordinates that are fixed, NaN where free, shape (d,).
        exclusions: Each returns which of X (m, d) are not to be chosen on a source, as long as
            any other may be. Where all are excluded, the last one is given up first.

    Returns:
        The location, shape (d,).
    """

    def is_excluded(X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        return np.asarray(np.any([excludes(X, source) for excludes in exclusions], axis=0))

    target = Uncertainty(model, (source,), is_excluded if exclusions else None)
    best = maximize(target, domain, rng=rng, fixed=fixed, avoid={source: queried})
    if best.value > -np.inf or not exclusions:
        return best.x
    return max_variance_location(
        model, source, queried, domain, rng=rng, fixed=fixed, exclusions=exclusions[:-1]
    )
