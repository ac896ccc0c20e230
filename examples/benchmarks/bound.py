"""What bounds the time of a suggestion: the arithmetic that the models need.

    python -m examples.benchmarks.bound --n 1000 --parameters 4 --sources 5

Times the parts of a suggestion of the default method, and counts what each computes: floating
point operations of products and factorisations, and values of the kernel, each an exponential.
Beside it stands how long that would take at the speed which NumPy reaches here on large products,
and on kernel values whose arguments are in the cache: what computes the same cannot be faster.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
import time
from typing import Any
from unittest.mock import patch

import numpy as np

from examples.benchmarks import speed
from examples.benchmarks.study import Session
from examples.benchmarks.study import Task
from optuna_misowild.gp.kernels import matern
from optuna_misowild.gp.likelihood import Density
from optuna_misowild.gp.multi_source import MultiSourceGP
from optuna_misowild.study.observe import History
from optuna_misowild.study.snapshot import StudyView


@dataclass
class Part:
    """What one part of a suggestion has taken, summed over its calls."""

    calls: int = 0
    seconds: float = 0.0
    flops: float = 0.0
    kernel_values: float = 0.0


# What a call computes: floating point operations, and kernel values. Those of the part that a
# source has by itself come beside those of what all share, and link only its own observations.
Count = Callable[..., tuple[float, float]]


def _own(model: MultiSourceGP) -> list[int]:
    """Return the number of observations of each source, 0 if it has no part of its own."""
    counts = [rows.stop - rows.start for rows in model._rows]
    return [k if s >= model._first_part else 0 for s, k in enumerate(counts)]


def of_factor(model: MultiSourceGP) -> tuple[float, float]:
    """Cholesky factor, n³/3."""
    n = len(model.X)
    return n**3 / 3.0, n**2 + sum(k**2 for k in _own(model))


def of_inverse_factor(model: MultiSourceGP) -> tuple[float, float]:
    """Its inverse, n³/3."""
    return len(model.X) ** 3 / 3.0, 0.0


def of_posterior(
    model: MultiSourceGP, X: np.ndarray, sources: Any = (), *, gradient: bool = False
) -> tuple[float, float]:
    """One triangular product for f_1, n² for each row of X, and one for each part.

    With gradients, two of them for each row of both.
    """
    n, m = len(model.X), len(X)
    sources = model._sources_at(X, sources)
    asked = [np.count_nonzero(sources == s) for s in range(model.n_sources)]
    own = _own(model)
    values = float(m * (n + own[0]) + sum(np.multiply(asked, own)[1:]))
    if gradient:
        return 2.0 * (m + sum(asked[1:])) * n**2, values
    # The part of f_1 is taken off once, for all of the others.
    products = [m * any(asked[1:]), *asked[1:]]
    below = [n - rows.start for rows in model._rows]
    return m * n**2 + 2.0 * float(np.sum(np.prod([products, own, below], axis=0))), values


def of_means(
    model: MultiSourceGP, X: np.ndarray, sources: Any = (0,), *, gradient: bool = False
) -> tuple[float, float]:
    """Products with one vector, and as many as there are parameters more for the gradients."""
    m = len(X)
    sources = model._sources_at(X, sources)
    asked = [np.count_nonzero(sources == s) * k for s, k in enumerate(_own(model))]
    values = m * len(model.X) + sum(asked)
    return 2.0 * values * (1 + gradient * X.shape[1]), values


def of_density(density: Density, theta: np.ndarray) -> tuple[float, float]:
    """Cholesky factor and the inverse of the matrix, n³, and the gradient by the length scales."""
    n = len(density._targets)
    pairs = n * (n - 1) / 2
    within = len(density._within_source)
    return n**3 + 4.0 * density.n_scales * pairs, pairs + within


CLIMBS = "climbs"  # Where gradients are asked for.
PARTS: dict[str, list[tuple[type, str, Count | None]]] = {
    "reading the trials": [(StudyView, "_read", None), (History, "_observations", None)],
    "fit of hyperparameters": [(Density, "__call__", of_density)],
    "conditioning": [
        (MultiSourceGP, "_factor", of_factor),
        (MultiSourceGP, "_inverse_factor", of_inverse_factor),
    ],
    "posterior of the candidates": [
        (MultiSourceGP, "posterior", of_posterior),
        (MultiSourceGP, "means", of_means),
    ],
    CLIMBS: [],
}


@contextmanager
def timed(parts: dict[str, Part]) -> Iterator[None]:
    """Time and count what is called meanwhile, each without what it calls of the others."""
    inside = [0.0]  # Seconds of the parts within the one that is running, for each level.

    def wrap(original: Callable[..., Any], count: Count | None, label: str) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            inside.append(0.0)
            start = time.process_time()
            result = original(*args, **kwargs)
            spent = time.process_time() - start
            part = parts[CLIMBS if kwargs.get("gradient") else label]
            part.seconds += spent - inside.pop()
            inside[-1] += spent
            part.calls += 1
            if count is not None:
                flops, values = count(*args, **kwargs)
                part.flops += flops
                part.kernel_values += values
            return result

        return wrapper

    def wrapped(original: Any, count: Count | None, label: str) -> Any:
        if not isinstance(original, cached_property):
            return wrap(original, count, label)
        computed = cached_property(wrap(original.func, count, label))
        computed.__set_name__(MultiSourceGP, original.func.__name__)
        return computed

    patches = [
        patch.object(owner, name, wrapped(getattr(owner, name), count, label))
        for label, methods in PARTS.items()
        for owner, name, count in methods
    ]
    for p in patches:
        p.start()
    try:
        yield
    finally:
        for p in patches:
            p.stop()


def best_speed() -> tuple[float, float]:
    """Return floating point operations and kernel values per second, at their best."""

    def shortest(function: Callable[[], Any]) -> float:
        times = []
        for _ in range(20):
            start = time.process_time()
            function()
            times.append(time.process_time() - start)
        return min(times)

    rng = np.random.default_rng(0)
    A, r2 = rng.random((1000, 1000)), rng.random(2**14)
    flop_rate = 2.0 * len(A) ** 3 / shortest(lambda: A @ A)
    # After those, since freeing a large array lets malloc keep the pages of small ones.
    repeats = 20
    seconds = shortest(lambda: [matern(r2, nu=2.5) for _ in range(repeats)])
    return flop_rate, repeats * len(r2) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1000, help="number of finished trials")
    parser.add_argument("--parameters", type=int, default=4)
    parser.add_argument("--sources", type=int, default=5)
    parser.add_argument("--suggestions", type=int, default=16)
    args = parser.parse_args()

    speed.one_thread()
    session = Session("robust", Task(args.parameters, args.sources), args.n)
    session.seconds_of_one_trial()  # The first one starts from nothing.
    flop_rate, kernel_rate = best_speed()
    parts: dict[str, Part] = defaultdict(Part)
    with timed(parts):
        total = sum(session.seconds_of_one_trial() for _ in range(args.suggestions))

    print(f"Products: {flop_rate / 1e9:.0f} Gflop/s; kernel: {kernel_rate / 1e6:.0f} million/s.\n")
    print("| per suggestion | ms | Gflop | million kernel values | at best, ms |")
    print("|---|---|---|---|---|")
    bound = 0.0
    for label in PARTS:
        part = parts[label]
        best = part.flops / flop_rate + part.kernel_values / kernel_rate
        bound += best
        numbers = [1e3 * part.seconds, part.flops / 1e9, part.kernel_values / 1e6, 1e3 * best]
        ms, gflop, values, least = np.array(numbers) / args.suggestions
        print(f"| {label} | {ms:.1f} | {gflop:.3f} | {values:.3f} | {least:.2f} |")
    unit = 1e3 / args.suggestions
    rest = total - sum(part.seconds for part in parts.values())
    print(f"| all else | {unit * rest:.1f} | | | |")
    print(f"| together | {unit * total:.1f} | | | {unit * bound:.2f} |")


if __name__ == "__main__":
    main()
