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
import time
from typing import Any
from unittest.mock import patch

import numpy as np

from examples.benchmarks import speed
from examples.benchmarks.study import Session
from examples.benchmarks.study import Task
from optuna_misowild.joint import JointGaussianProcess
from optuna_misowild.joint_likelihood import SMOOTHNESS
from optuna_misowild.joint_likelihood import JointPosteriorDensity
from optuna_misowild.kernel import matern
from optuna_misowild.study_view import StudyView


@dataclass
class Part:
    """What one part of a suggestion has taken, summed over its calls."""

    calls: int = 0
    seconds: float = 0.0
    flops: float = 0.0
    kernel_values: float = 0.0


# What a call computes: floating point operations, and kernel values. Those of a discrepancy come
# beside those of f_1, and link only observations of the same source.
Count = Callable[..., tuple[float, float]]


def _own(model: JointGaussianProcess) -> list[int]:
    """Return the number of observations of each source that has a discrepancy."""
    return [rows.stop - rows.start for rows in model._rows[1:]]


def of_conditioning(model: JointGaussianProcess) -> tuple[float, float]:
    """Cholesky factor and its inverse, n³/3 each."""
    n = len(model.X)
    return 2.0 * n**3 / 3.0, n**2 + sum(k**2 for k in _own(model))


def of_posterior(model: JointGaussianProcess, X: np.ndarray) -> tuple[float, float]:
    """One triangular product for f_1, n² for each row of X, and one for each discrepancy."""
    n, m = len(model.X), len(X)
    below = [n - rows.start for rows in model._rows[1:]]
    products = n**2 + sum(2.0 * k * b for k, b in zip(_own(model), below, strict=True))
    return m * products, m * (n + sum(_own(model)))


def of_means(model: JointGaussianProcess, X: np.ndarray) -> tuple[float, float]:
    """Products with one vector."""
    n, m = len(model.X), len(X)
    return 2.0 * m * (n + sum(_own(model))), m * (n + sum(_own(model)))


def of_first_mean(model: JointGaussianProcess, X: np.ndarray) -> tuple[float, float]:
    """The same for f_1 alone."""
    return 2.0 * len(X) * len(model.X), len(X) * len(model.X)


def of_posterior_gradient(
    model: JointGaussianProcess, X: np.ndarray, source: np.ndarray
) -> tuple[float, float]:
    """Two triangular products for f_1 and for each discrepancy, 2n² for each row of both."""
    n, rows = len(model.X), len(X) + np.count_nonzero(source)
    return rows * 2.0 * n**2, rows * n


def of_mean_gradient(
    model: JointGaussianProcess, X: np.ndarray, source: np.ndarray
) -> tuple[float, float]:
    """Products with one vector."""
    n, m = len(model.X), len(X)
    return 2.0 * m * n * (1 + X.shape[1]), (m + np.count_nonzero(source)) * n


def of_density(density: JointPosteriorDensity, theta: np.ndarray) -> tuple[float, float]:
    """Cholesky factor and the inverse of the matrix, n³, and the gradient by the length scales."""
    n, d = len(density._targets), density._d
    pairs = n * (n - 1) / 2
    within = len(density._within_source)
    return n**3 + 4.0 * d * pairs, pairs + within


PARTS: dict[str, list[tuple[type, str, Count | None]]] = {
    "reading the trials": [(StudyView, "_observe", None)],
    "fit of hyperparameters": [(JointPosteriorDensity, "__call__", of_density)],
    "conditioning": [(JointGaussianProcess, "__post_init__", of_conditioning)],
    "posterior of the candidates": [
        (JointGaussianProcess, "predict_sources", of_posterior),
        (JointGaussianProcess, "predict_source_means", of_means),
        (JointGaussianProcess, "predict_mean", of_first_mean),
    ],
    "climbs": [
        (JointGaussianProcess, "predict_sources_with_gradient", of_posterior_gradient),
        (JointGaussianProcess, "predict_source_mean_with_gradient", of_mean_gradient),
    ],
}


@contextmanager
def timed(parts: dict[str, Part]) -> Iterator[None]:
    """Time and count what is called meanwhile."""

    def wrap(original: Callable[..., Any], count: Count | None, part: Part) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            result = original(*args, **kwargs)
            part.seconds += time.process_time() - start
            part.calls += 1
            if count is not None:
                flops, values = count(*args, **kwargs)
                part.flops += flops
                part.kernel_values += values
            return result

        return wrapper

    patches = [
        patch.object(owner, name, wrap(getattr(owner, name), count, parts[label]))
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
    seconds = shortest(lambda: [matern(r2, SMOOTHNESS) for _ in range(repeats)])
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
