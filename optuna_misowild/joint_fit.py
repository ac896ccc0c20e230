"""Fit the joint model: offsets, and maximum a posteriori hyperparameters."""

from __future__ import annotations

from typing import TYPE_CHECKING
import warnings

import numpy as np

from optuna_misowild.gp import standardise
from optuna_misowild.joint import JointGaussianProcess
from optuna_misowild.joint_likelihood import JointHyperparameters
from optuna_misowild.joint_likelihood import JointPosteriorDensity
from optuna_misowild.joint_likelihood import bounds


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


# Length scales of the starts that need no earlier fit.
_DEFAULT_LENGTH_SCALES = (0.5, 0.18)
# L-BFGS-B iterations from each of several starts, and by default from the best or the only one.
_SHORT = 15
N_ITERATIONS = 25


def shared_offsets(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    *,
    n_sources: int,
    limit: int,
) -> NDArray[np.float64]:
    """Return o_s, by how much the values of source s lie above those of source 0.

    The mean of y_s − y_1 over the first ``limit`` locations that both sources have: those of the
    initial design, so that the offset stays what it is once they are there. Without a common
    location, the difference of the medians.

    Args:
        X: Locations, shape (n, d), in the order of the trials.
        source: Shape (n,).
        y: Shape (n,).
        n_sources: S.
        limit: Number of initial locations.

    Returns:
        An array of shape (S,), 0 for source 0 and for sources without a value.
    """
    offsets = np.zeros(n_sources)
    first = np.flatnonzero(source == 0)
    for s in range(1, n_sources):
        rows = np.flatnonzero(source == s)
        same = np.all(X[rows, None] == X[None, first], axis=-1)
        a, b = np.nonzero(same)
        a, b = a[:limit], b[:limit]
        if len(a):
            offsets[s] = np.mean(y[rows[a]] - y[first[b]])
        elif len(rows) and len(first):
            offsets[s] = np.median(y[rows]) - np.median(y[first])
    return offsets


def fit_joint(
    X: NDArray[np.float64],
    source: NDArray[np.int_],
    y: NDArray[np.float64],
    *,
    offsets: NDArray[np.float64],
    categorical: NDArray[np.bool_] | None = None,
    warm_start: JointHyperparameters | None = None,
    from_defaults: bool = True,
    max_points: int = 300,
    min_scale: float = 0.0,
    ordered_noise: bool = True,
    n_iterations: int = N_ITERATIONS,
) -> JointGaussianProcess:
    """Fit the joint model: maximum a posteriori hyperparameters by L-BFGS-B.

    Args:
        X: Locations in the unit cube, shape (n, d).
        source: Source of each location, shape (n,).
        y: Observed values, shape (n,), finite.
        offsets: o_s, shape (S,), see :func:`shared_offsets`.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        warm_start: Hyperparameters to start from, besides the defaults.
        from_defaults: Whether to start from the defaults too; implied without a warm start.
        max_points: With more observations than this, the hyperparameters are fitted on a subset
            (see :func:`subset`). The model is conditioned on all of them in any case.
        min_scale: The least standard deviation that values are standardised by.
        ordered_noise: Whether the preferred source is taken to be hardly noisier than another one.
        n_iterations: Of L-BFGS-B, from the best or the only start.
    """
    n, d = X.shape
    n_sources = len(offsets)
    if categorical is None:
        categorical = np.zeros(d, dtype=bool)
    targets, mean, scale = standardise(y - offsets[source], min_scale)

    starts = [] if warm_start is None else [warm_start]
    if from_defaults or warm_start is None:
        starts += [JointHyperparameters.default(d, n_sources, ls) for ls in _DEFAULT_LENGTH_SCALES]
    hyperparameters = starts[0]
    if targets.any():
        rows = subset(source, targets, max_points)
        density = JointPosteriorDensity(
            X[rows],
            source[rows],
            targets[rows],
            n_sources,
            categorical,
            ordered_noise=ordered_noise,
        )
        hyperparameters = _maximum_a_posteriori(density, starts, d, n_sources, n_iterations)
    return JointGaussianProcess(
        X=X,
        source=source,
        y=y,
        hyperparameters=hyperparameters,
        offsets=offsets,
        mean=mean,
        scale=scale,
        categorical=categorical,
    )


def subset(
    source: NDArray[np.int_], values: NDArray[np.float64], max_points: int
) -> NDArray[np.int_]:
    """Return the rows, at most ``max_points``, that hyperparameters are fitted on.

    Source 0 gets half of the places, or more if the others do not need theirs; the others share
    the rest in proportion to what they have. Within a source, half of the places go to the lowest
    values, where the model has to be good, the others evenly over the trials, the oldest of which
    are the space-filling ones.

    Args:
        source: Shape (n,).
        values: Shape (n,).
        max_points: The limit.
    """
    n = len(source)
    if n <= max_points:
        return np.arange(n)
    counts = np.bincount(source)
    others = n - counts[0]
    first = min(counts[0], max(max_points // 2, max_points - others))
    chosen = []
    for s, count in enumerate(counts):
        places = first if s == 0 else int((max_points - first) * count / max(others, 1))
        rows = np.flatnonzero(source == s)
        by_value = np.argsort(values[rows], kind="stable")
        best, rest = by_value[: places // 2], np.sort(by_value[places // 2 :])
        spread = np.linspace(0, len(rest) - 1, min(places - len(best), len(rest)))
        chosen += [rows[best], rows[rest[spread.astype(int)]]]
    return np.sort(np.concatenate(chosen))


def _maximum_a_posteriori(
    density: JointPosteriorDensity,
    starts: Sequence[JointHyperparameters],
    d: int,
    n_sources: int,
    n_iterations: int,
) -> JointHyperparameters:
    """Return the best hyperparameters found: a short climb from every start, a long one after."""
    from scipy.optimize import minimize

    limits = bounds(d, n_sources)

    def climb(theta: NDArray[np.float64], iterations: int) -> tuple[float, NDArray[np.float64]]:
        result = minimize(
            density,
            np.clip(theta, limits[:, 0], limits[:, 1]),
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": iterations, "ftol": 1e-7},
        )
        return float(result.fun), result.x

    thetas = [start.to_vector() for start in starts]
    if len(thetas) > 1:
        thetas = [min((climb(theta, _SHORT) for theta in thetas), key=lambda pair: pair[0])[1]]
    value, theta = climb(thetas[0], n_iterations)
    if not np.isfinite(value):
        warnings.warn(
            "The joint model could not be fitted; it uses its default hyperparameters.",
            RuntimeWarning,
            stacklevel=3,
        )
        return starts[-1]
    return JointHyperparameters.from_vector(theta, d)
