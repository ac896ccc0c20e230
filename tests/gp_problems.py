"""Problems that the tests of the Gaussian process begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optuna_misowild.gp.hyperparameters import Hyperparameters
from optuna_misowild.gp.multi_source import MultiSourceGP


Array = NDArray[np.float64]
# Of four sources that share one discrepancy.
SIZES = (1.0, 0.4, 0.1, 0.03)


def random_problem(
    seed: int = 0,
    n: int = 30,
    d: int = 3,
    n_sources: int = 4,
    own_part: bool = True,
    sizes: tuple[float, ...] = (),
) -> tuple[Array, Array, Array, Hyperparameters, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    categorical = np.zeros(d, dtype=bool)
    if d > 1:
        categorical[1] = True
        X[:, 1] = rng.choice([1 / 6, 1 / 2, 5 / 6], n)
    source = rng.integers(n_sources, size=n)
    y = 40 + 7 * np.sin(5 * X).sum(axis=1) + rng.normal(size=n_sources)[source]
    tau, kappa, rho = rng.uniform(0.2, 1, (3, n_sources))
    rho[0] = 1
    if n_sources == 1 or not own_part:
        tau[0], kappa[0] = 0, 1
    h = Hyperparameters(
        length_scale=rng.uniform(0.3, 0.9, d),
        amplitude=1.4,
        noise=10 ** rng.uniform(-3, -1, n_sources),
        rho=rho,
        tau=tau,
        kappa=kappa,
    )
    if sizes:
        of_all = np.log([0.7, 0.4, 0.6, 0.8])
        theta = np.concatenate([h.to_vector(d)[: d + 1 + n_sources], of_all])
        h = Hyperparameters.from_vector(theta, d, sizes)
    return X, source, y, h, categorical


def model_of(
    X: Array, source: Array, y: Array, h: Hyperparameters, categorical: Array
) -> MultiSourceGP:
    offsets = 0.5 * np.arange(len(h.rho))
    return MultiSourceGP(
        X=X,
        source=source,
        y=y,
        hyperparameters=h,
        offsets=offsets,
        mean=38.0,
        scale=5.0,
        nu=2.5,
        categorical=categorical,
    )


def one_source(
    X: Array,
    y: Array,
    *,
    length_scale: Any,
    amplitude: float,
    noise: float,
    mean: float,
    nu: float = 2.5,
    categorical: Array | None = None,
) -> MultiSourceGP:
    """A model of one source in the units of y."""
    d = X.shape[1]
    return MultiSourceGP(
        X=X,
        source=np.zeros(len(X), dtype=int),
        y=y,
        hyperparameters=Hyperparameters(
            length_scale=np.broadcast_to(np.asarray(length_scale, dtype=float), d),
            amplitude=amplitude,
            noise=np.array([noise]),
            rho=np.ones(1),
            tau=np.zeros(1),
            kappa=np.ones(1),
        ),
        offsets=np.zeros(1),
        mean=mean,
        scale=1.0,
        nu=nu,
        categorical=np.zeros(d, dtype=bool) if categorical is None else categorical,
    )
