"""Where the model of one source knows least: the query when nothing better is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
class Uncertainty:
    """σ² of a model as an acquisition of one source; its maximum is that of σ.

    Where ``is_excluded``, a function of X (m, d) and the source, says so, it is −inf.
    """

    model: MultiSourceGP
    sources: tuple[int, ...]
    is_excluded: Exclusion | None = None

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance at X (m, d), shape (m, 1)."""
        return self._restricted(X, self.model.posterior(X).variance)[:, None]

    def value_and_gradient(
        self, X: NDArray[np.float64], source: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the variance at X (m, d), shape (m,), and its gradient, shape (m, d)."""
        posterior = self.model.posterior(X, gradient=True)
        return self._restricted(X, posterior.variance), posterior.d_variance

    def _restricted(
        self, X: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if self.is_excluded is None:
            return variance
        return np.where(self.is_excluded(X, self.sources[0]), -np.inf, variance)


def least_known(
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
        model: The model.
        source: Its source.
        queried: Locations of its queries, shape (n, d).
        domain: The search space.
        rng: Source of randomness.
        fixed: Coordinates that are fixed, NaN where free, shape (d,).
        exclusions: Each tells which of X (m, d) are not to be chosen on a source, as long as any
            other may be. Where all are excluded, the last one is given up first.

    Returns:
        The location, shape (d,).
    """

    def is_excluded(X: NDArray[np.float64], source: int) -> NDArray[np.bool_]:
        return np.asarray(np.any([excludes(X, source) for excludes in exclusions], axis=0))

    target = Uncertainty(model, (source,), is_excluded if exclusions else None)
    best = maximize(target, domain, rng=rng, fixed=fixed, avoid={source: queried})
    if best.value > -np.inf or not exclusions:
        return best.x
    return least_known(
        model, source, queried, domain, rng=rng, fixed=fixed, exclusions=exclusions[:-1]
    )
