"""Fit the Gaussian process to data: units, offsets, and the likeliest hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
import warnings

import numpy as np

from optuna_misowild.gp.hyperparameters import NOISE_BOUNDS
from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.hyperparameters import bounds_and_units
from optuna_misowild.gp.likelihood import Density
from optuna_misowild.gp.multi_source import MultiSourceGP
from optuna_misowild.gp.prior import Prior


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


MEANS = ("sample", "gls")

# Beyond these, squares of y leave the range of floating-point numbers; so would the inverse of a
# variance, which may be 1e-16 of the square of the scale.
LARGEST = 1e150
SMALLEST = 1e-142

# Values that differ by less than this, relative to their size, differ by rounding only.
_ROUNDING = 1e-13

# Values that are all the same have no scale: the likelihood would take σ² to 0 and ℓ to infinity,
# and nothing would remain to explore. Their scale is taken to be this part of their size.
_FLAT = 10.0**-1.5

# (ℓ, λ²) from which a search may start, in groups: mostly noise, and mostly function. Either can
# explain wiggly data, each being a mode of the likelihood, and a search seldom leads from one to
# the other.
STARTS = (
    ((0.1, 0.5), (0.25, 0.1), (0.5, 0.5)),
    ((0.03, 1e-4), (0.1, 1e-4), (0.3, 1e-4), (1.0, 1e-4)),
)
# Number of values that the models of the robust method and CArBO are conditioned on at most: the
# time of a suggestion grows with its square.
MAX_DATA = 500
# L-BFGS-B iterations from each start: until it has converged, unless it is said otherwise. It ends
# where no derivative is larger than the tolerance, which costs at most 1e-3 of log likelihood, and
# remembers so many of its steps: about as many as there are hyperparameters.
N_ITERATIONS = 100
_N_REMEMBERED = 20
_GRADIENT_TOLERANCE = 3e-4

# Hyperparameters whose log likelihoods differ by less than this are equally likely.
_INDIFFERENCE = 1e-5


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What kind of model is fitted.

    Attributes:
        nu: ν of the Matérn kernel, 1.5 or 2.5.
        ard: Whether each coordinate has a length scale of its own.
        prior: The prior of the hyperparameters; None for maximum likelihood.
        mean: The mean of f_1: ``"sample"``, that of the values without the offsets of their
            sources; ``"gls"``, the likeliest one, by generalised least squares; or a number that
            is known beforehand, from which deviations are measured then.
        min_scale: The least standard deviation that values are standardised by.
        max_data: Of more values than that, the model is conditioned on so many (see
            :func:`subset`); None for no limit.

    Raises:
        ValueError: If ``mean`` is another text.
    """

    nu: float = 2.5
    ard: bool = True
    prior: Prior | None = Prior()
    mean: str | float = "sample"
    min_scale: float = 0.0
    max_data: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.mean, str) and self.mean not in MEANS:
            raise ValueError(f"`mean` must be one of {MEANS}, but got {self.mean!r}.")


def standardise(
    y: NDArray[np.float64], min_scale: float = 0.0, mean: float | None = None
) -> tuple[NDArray[np.float64], float, float]:
    """Return (y − mean)/scale, the mean and the scale.

    The scale is the standard deviation, but at least ``min_scale``. Values that are all the same
    have no scale: it is then ``min_scale``, or else the size of the value. Around a mean that is
    known, it is the root of the mean square; 1, if no value differs from it.

    Args:
        y: Finite values, shape (n,); those beyond ±1e150 count as ±1e150.
        min_scale: The least scale.
        mean: The mean, if it is known.
    """
    if mean is not None:
        y = np.clip(y, -LARGEST, LARGEST) - mean
        scale = max(float(np.sqrt(np.square(y).sum() / max(len(y), 1))), min_scale) or 1.0
        return y / scale, mean, scale
    if len(y) == 0:
        return y, 0.0, min_scale or 1.0
    y = np.clip(y, -LARGEST, LARGEST)
    size = float(np.abs(y).max()) or 1.0
    mean = float(y.mean())
    deviation = float(y.std())
    if deviation <= _ROUNDING * size:
        return np.zeros_like(y), mean, max(min_scale or size, SMALLEST)
    scale = max(deviation, min_scale, SMALLEST)
    return (y - mean) / scale, mean, scale


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


def fit_gp(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    source: NDArray[np.int_] | None = None,
    offsets: NDArray[np.float64] | None = None,
    categorical: NDArray[np.bool_] | None = None,
    settings: FitSettings = FitSettings(),
    warm_start: Hyperparameters | None = None,
    n_iterations: int = N_ITERATIONS,
    max_points: int = 300,
    own_part: bool = False,
    sizes: tuple[float, ...] = (),
) -> MultiSourceGP:
    """Fit the model: the likeliest hyperparameters, by L-BFGS-B with the analytic gradient.

    Values are standardised for that. Nothing is fitted to fewer than two values, nor to values
    that are all the same: fixed hyperparameters serve there.

    Args:
        X: Locations in the unit cube, shape (n, d); n may be 0.
        y: Finite values, shape (n,).
        source: Source of each location, shape (n,); by default all 0.
        offsets: o_s, shape (S,), see :func:`shared_offsets`; by default a single one of 0.
        categorical: Which coordinates are categorical, shape (d,); by default none.
        settings: What kind of model it is.
        warm_start: Hyperparameters that are the only start, which is several times faster.
        n_iterations: Of L-BFGS-B, from each start.
        max_points: With more values than that, hyperparameters are fitted to so many of them
            (see :func:`subset`).
        own_part: Whether source 0 has a part of its own.
        sizes: Of each source, relative to the preferred one, shape (S,), if they share one
            discrepancy.

    Returns:
        The model, in the units of ``y``.
    """
    n, d = X.shape
    source = np.zeros(n, dtype=int) if source is None else source
    offsets = np.zeros(1) if offsets is None else offsets
    categorical = np.zeros(d, dtype=bool) if categorical is None else categorical
    y = np.clip(y, -LARGEST, LARGEST)
    known_mean = None if isinstance(settings.mean, str) else settings.mean
    targets, mean, scale = standardise(y - offsets[source], settings.min_scale, known_mean)
    n_sources = len(offsets)
    if warm_start is None:
        start = partial(Hyperparameters.start, d, n_sources, own_part=own_part, sizes=sizes)
        groups = [
            [start(length_scale=length, noise=noise) for length, noise in group]
            for group in STARTS
        ]
        hyperparameters = start()
    else:
        groups, hyperparameters = [[warm_start]], warm_start
    if targets.any():
        rows = subset(source, targets, max_points)
        density = Density(
            X[rows],
            source[rows],
            targets[rows],
            n_sources=n_sources,
            categorical=categorical,
            nu=settings.nu,
            ard=settings.ard,
            prior=settings.prior,
            free_mean=settings.mean == "gls",
            own_part=own_part,
            sizes=sizes,
        )
        found = likeliest(density, groups, n_sources=n_sources, n_iterations=n_iterations)
        if found is not None:
            length_scale = np.broadcast_to(found.length_scale, d)
            hyperparameters = replace(found, length_scale=length_scale)
        else:
            warnings.warn(
                f"Fitting a Gaussian process to {n} values failed; its default "
                "hyperparameters are used.",
                RuntimeWarning,
                stacklevel=2,
            )
    elif n > 1 and known_mean is None:
        scale *= _FLAT
    rows = subset(source, targets, settings.max_data)
    model = MultiSourceGP(
        X=X[rows],
        source=source[rows],
        y=y[rows],
        hyperparameters=hyperparameters,
        offsets=offsets,
        mean=mean,
        scale=scale,
        nu=settings.nu,
        categorical=categorical,
    )
    if settings.mean == "gls" and n:
        model = replace(model, mean=model.likeliest_mean())
    return model


def subset(
    source: NDArray[np.int_], values: NDArray[np.float64], max_points: int | None
) -> NDArray[np.int_]:
    """Return the rows, at most ``max_points``, that stand for all of them.

    Source 0 gets half of the places, or more if the others do not need theirs; the others share
    the rest in proportion to what they have. Within a source, half of the places go to the lowest
    values, where the model has to be good, the others evenly over the trials, the oldest of which
    are the space-filling ones.

    Args:
        source: Shape (n,).
        values: Shape (n,).
        max_points: The limit, or None.
    """
    n = len(source)
    if max_points is None or n <= max_points:
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


def likeliest(
    density: Density,
    groups: Sequence[Sequence[Hyperparameters]],
    *,
    n_sources: int,
    n_iterations: int,
) -> Hyperparameters | None:
    """Return the best hyperparameters found; None if none was, since nothing is finite.

    A climb from the best start of each group. Where source 0 has no part of its own, until one
    ends at the least noise: others hardly ever do better then.

    Args:
        density: What is minimised.
        groups: Hyperparameters to start from, noisy ones first.
        n_sources: S.
        n_iterations: Of L-BFGS-B, from each start.
    """
    from scipy.optimize import minimize

    p, sizes = density.n_scales, density.sizes
    limits, units = bounds_and_units(p, n_sources, own_part=density.own_part, sizes=sizes)

    def in_units(steps: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = density(units * steps)
        return value, units * gradient

    value, found = np.inf, None
    for group in groups:
        starts = [np.clip(start.to_vector(p), *limits.T) for start in group]
        start = starts[0] if len(starts) == 1 else min(starts, key=lambda t: density(t)[0])
        end = minimize(
            in_units,
            start / units,
            jac=True,
            method="L-BFGS-B",
            bounds=limits / units[:, None],
            options={
                "maxiter": n_iterations,
                "gtol": _GRADIENT_TOLERANCE,
                "maxcor": _N_REMEMBERED,
                "ftol": 0.0,
            },
        )
        if end.fun < value:
            value = float(end.fun)
            found = Hyperparameters.from_vector(units * end.x, p, sizes)
            if not density.own_part and found.noise.max() < 10.0 * NOISE_BOUNDS[0]:
                break
    if found is not None and density.is_likelihood:
        # A kernel so short that the locations are independent is white, as the noise is. The
        # data then cannot separate the two, and the least noise is preferred.
        noiseless = replace(
            found,
            amplitude=found.amplitude + float(found.noise[0]),
            noise=np.full(n_sources, NOISE_BOUNDS[0]),
        )
        if density(noiseless.to_vector(p))[0] <= value + _INDIFFERENCE:
            return noiseless
    return found
