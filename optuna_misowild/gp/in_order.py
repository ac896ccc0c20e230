"""Fit a joint model whose hyperparameters are a function of the observations in their order."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from optuna_misowild.gp.fit import MAX_DATA
from optuna_misowild.gp.fit import FitSettings
from optuna_misowild.gp.fit import fit_gp
from optuna_misowild.gp.fit import shared_offsets
from optuna_misowild.gp.memo import remember
from optuna_misowild.gp.prior import Prior


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.gp.multi_source import MultiSourceGP


# From how many initial locations offsets are taken, and after how many observations the search
# for hyperparameters starts anew, unless a method says otherwise.
N_OFFSETS = 5
RESTART_EVERY = 8
# At least 1/16 of the data is new at each restart.
_NEW = 16
# Log likelihood that a shared discrepancy has to gain: very strong evidence (Kass and Raftery,
# 1995). Where the two forms are equally likely, the shared one is rather too sure of itself.
_EVIDENCE = 5.0
# L-BFGS-B iterations of a search, from each start; more of them where hyperparameters then stay.
_N_ITERATIONS = 25
_N_SETTLING = 35


@dataclass(frozen=True)
class Quantity:
    """What differs between the joint models of the objective, of the log costs, and of others.

    Attributes:
        settings: What kind of model it is.
        many: Number of observations from which on hyperparameters stay from one restart of their
            search to the next.
    """

    settings: FitSettings
    many: int


OBJECTIVE = Quantity(FitSettings(prior=Prior(noises="ordered"), max_data=MAX_DATA), many=128)


def fit_in_order(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    *,
    n_sources: int,
    n_initial: int,
    restart_every: int,
    categorical: NDArray[np.bool_],
    quantity: Quantity = OBJECTIVE,
    own_part: bool = True,
    sizes: tuple[float, ...] = (),
) -> MultiSourceGP:
    """Fit a joint model as a function of the observations alone.

    The search for hyperparameters starts from what the defaults lead to for the first
    k·restart_every observations, k as large as possible. So it costs little while these are
    remembered, is the same in every process, and does not stay in a bad mode. Of many
    observations the last few change little: the search ends there, the model is conditioned on
    them, and restarts become rare.

    Args:
        X: Locations, shape (n, d), in the order of the trials.
        source: Shape (n,).
        y: Shape (n,).
        n_sources: S.
        n_initial: Number of locations from which offsets between the sources are taken.
        restart_every: Number of observations from one restart to the next.
        categorical: Shape (d,).
        quantity: What ``y`` is.
        own_part: Whether source 0 has a part of its own, if there are others.
        sizes: Of each source, relative to the preferred one, shape (S,), if they have one. Then
            three or more share one discrepancy where that is clearly likelier.
    """

    def part(n: int) -> tuple[NDArray[np.float64], NDArray[np.int_], NDArray[np.float64]]:
        return X[:n], source[:n], y[:n]

    n = len(X)
    every = restart_every * max(1, n // (_NEW * restart_every))
    n_checkpoint = n - n % every or n
    is_settled = n_checkpoint >= quantity.many
    # A copy, so that the (n, n) matrices that it will make are not remembered.
    start = replace(
        _fit_from_defaults(
            *part(n_checkpoint),
            n_sources,
            n_initial,
            categorical,
            quantity,
            _N_SETTLING if is_settled else _N_ITERATIONS,
            own_part and n_sources > 1,
            sizes if n_sources > 2 else (),
        )
    )
    if n_checkpoint == n:
        return start
    # A source that is new has its offset to be found.
    if is_settled and np.isin(source[n_checkpoint:], source[:n_checkpoint]).all():
        latest = slice(n_checkpoint, None)
        return start.condition(X[latest], y[latest], source=source[latest])
    is_shared = start.hyperparameters.decay is not None
    return fit_gp(
        X,
        y,
        source=source,
        offsets=_offsets(X, source, y, n_sources, n_initial, is_shared=is_shared),
        categorical=categorical,
        settings=quantity.settings,
        warm_start=start.hyperparameters,
        n_iterations=_N_ITERATIONS,
        own_part=start.hyperparameters.has_own_part,
        sizes=sizes if is_shared else (),
    )


# As many models as one suggestion may need: objective, costs, failures and ten constraints, twice.
@remember(maxsize=26)
def _fit_from_defaults(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    categorical: NDArray[np.bool_],
    quantity: Quantity,
    n_iterations: int,
    own_part: bool,
    sizes: tuple[float, ...],
) -> MultiSourceGP:
    def fit(sizes: tuple[float, ...] = (), *, own_part: bool = False) -> MultiSourceGP:
        return fit_gp(
            X,
            y,
            source=source,
            offsets=_offsets(X, source, y, n_sources, n_initial, is_shared=bool(sizes)),
            categorical=categorical,
            settings=quantity.settings,
            n_iterations=n_iterations,
            own_part=own_part,
            sizes=sizes,
        )

    each = fit(own_part=own_part)
    if not sizes:
        return each
    shared = fit(sizes)
    gain = shared.log_marginal_likelihood() - each.log_marginal_likelihood()
    return shared if gain > _EVIDENCE else each


def _offsets(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    n_sources: int,
    n_initial: int,
    *,
    is_shared: bool,
) -> NDArray[np.float64]:
    """Return o_s, shape (S,): 0 where a shared discrepancy models what is common to all places."""
    if is_shared:
        return np.zeros(n_sources)
    return shared_offsets(X, source, y, n_sources=n_sources, limit=n_initial)
