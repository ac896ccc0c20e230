"""Test functions with several sources, each with a cost that depends on the location.

The functions are of the literature, named beside each; where it has no cost, or too few sources,
these are ours and the comment says so. Values only matter to each other: costs have no unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from examples.benchmarks.functions import branin
from examples.benchmarks.functions import ramp
from examples.benchmarks.functions import waves
from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Real
from examples.benchmarks.problem import Source


def unit_box(d: int) -> tuple[Real, ...]:
    return tuple(Real(f"x{i + 1}", 0.0, 1.0) for i in range(d))


# Forrester, Sóbester, Keane (2007), Multi-fidelity optimization via surrogate modelling.


def forrester(x: Array) -> Array:
    t = x[..., 0]
    return (6.0 * t - 2.0) ** 2 * np.sin(12.0 * t - 4.0)


def forrester_low(x: Array) -> Array:
    return 0.5 * forrester(x) + 10.0 * (x[..., 0] - 0.5) - 5.0


def forrester_misleading(x: Array) -> Array:
    """Ours: the mirror image, whose best place is a bad one of the function itself."""
    return forrester(1.0 - x)


FORRESTER = Problem(
    name="forrester",
    parameters=unit_box(1),
    sources=(
        Source(forrester, partial(ramp, rate=(3.0,))),  # the optimum, at 0.757, is expensive
        Source(forrester_low, partial(ramp, scale=0.1, rate=(2.0,))),
        Source(forrester_misleading, partial(ramp, scale=0.05, rate=(3.0,))),
    ),
    minimum=-6.0207400557670825,
    evaluations=20,
)


# Branin; the second source as in Wu, Toscano-Palmerin, Frazier, Wilson (2020), Practical
# multi-fidelity Bayesian optimization for hyperparameter tuning ("augmented Branin", fidelity
# 0.75); the third is the medium fidelity of Perdikaris, Raissi, Damianou, Lawrence, Karniadakis
# (2017), Nonlinear information fusion algorithms for data-efficient multi-fidelity modelling.


def branin_medium(x: Array) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    trend = 2.0 * (x1 - 0.5) - 3.0 * (3.0 * x2 - 1.0) - 1.0
    return 10.0 * np.sqrt(branin(x - 2.0)) + trend


BRANIN = Problem(
    name="branin",
    parameters=(Real("x1", -5.0, 10.0), Real("x2", 0.0, 15.0)),
    sources=(
        Source(branin, partial(ramp, rate=(0.0, 0.2))),  # two of the three optima are cheap
        Source(partial(branin, fidelity=0.75), partial(ramp, scale=0.1, rate=(0.0, 0.2))),
        Source(branin_medium, partial(ramp, scale=0.02, rate=(0.1, 0.1))),
    ),
    minimum=0.39788735772973816,
    evaluations=30,
)


# Rosenbrock as in Lam, Allaire, Willcox (2015), Multifidelity optimization using statistical
# surrogate modeling for non-hierarchical information sources (constant costs 1000 and 1, here
# with hills), and as in Poloczek, Wang, Frazier (2017), Multi-information source optimization
# (constant costs 50 and 1, noise of variance 1 on the first source).


def rosenbrock(x: Array, *, ripple: float = 0.0) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    valley = (1.0 - x1) ** 2 + 100.0 * (x2 - x1**2) ** 2
    return valley + ripple * np.sin(10.0 * x1 + 5.0 * x2)


SQUARE = (Real("x1", -2.0, 2.0), Real("x2", -2.0, 2.0))
SQUARE_WAVES = partial(waves, a=1.2, b=1.5, period=np.array(4.0), phase=np.array([1.0, 2.5]))

ROSENBROCK = Problem(
    name="rosenbrock",
    parameters=SQUARE,
    sources=(
        Source(rosenbrock, partial(SQUARE_WAVES, scale=1000.0)),
        Source(partial(rosenbrock, ripple=0.1), partial(ramp, rate=(0.4, 0.4))),
    ),
    minimum=0.0,
    evaluations=30,
)
ROSENBROCK_NOISY = Problem(
    name="rosenbrock-noisy",
    parameters=SQUARE,
    sources=(
        Source(rosenbrock, partial(SQUARE_WAVES, scale=50.0), noise=1.0),
        Source(partial(rosenbrock, ripple=2.0), partial(ramp, rate=(0.4, 0.4))),
    ),
    minimum=0.0,
    evaluations=30,
)


# Hartmann's functions: Dixon, Szegö (1978), Towards global optimisation 2. The second source of
# both as in Wu et al. (2020, see Branin), "augmented Hartmann".


def hartmann(x: Array, *, alpha: tuple[float, ...], A: Array, P: Array) -> Array:
    exponents = np.sum(A * (x[..., None, :] - P) ** 2, axis=-1)
    return -np.exp(-exponents) @ np.array(alpha)


HARTMANN_3 = partial(
    hartmann,
    A=np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]]),
    P=1e-4
    * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
)
HARTMANN_6 = partial(
    hartmann,
    A=np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    ),
    P=1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
)
ALPHA = (1.0, 1.2, 3.0, 3.2)

HARTMANN_3_PROBLEM = Problem(
    name="hartmann3",
    parameters=unit_box(3),
    sources=(
        Source(partial(HARTMANN_3, alpha=ALPHA), partial(ramp, rate=(1.5, 0.0, 1.5))),
        Source(
            partial(HARTMANN_3, alpha=(0.9, 1.2, 3.0, 3.2)),
            partial(ramp, scale=0.1, rate=(1.5, 0.5, 1.0)),
        ),
        # Ours: the weights of the two best modes changed, so that it prefers the wrong one.
        Source(
            partial(HARTMANN_3, alpha=(1.0, 1.2, 3.2, 1.8)),
            partial(ramp, scale=0.03, rate=(1.0, 1.0, 1.0)),
        ),
    ),
    minimum=-3.8627797873326604,
    evaluations=40,
)


# What may make a task hard, one thing at a time: ours, from Hartmann's function in three
# dimensions, whose optimum is at (0.115, 0.556, 0.853).


def hartmann_3_with_costs(name: str, *costs: Callable[[Array], Array]) -> Problem:
    pairs = zip(HARTMANN_3_PROBLEM.sources, costs, strict=True)
    sources = tuple(Source(source.value, cost) for source, cost in pairs)
    return replace(HARTMANN_3_PROBLEM, name=f"hartmann3-{name}", sources=sources)


def hartmann_3_mirrored(x: Array, *, axes: tuple[int, ...]) -> Array:
    mirrored = x.copy()
    mirrored[..., axes] = 1.0 - x[..., axes]
    return HARTMANN_3(mirrored, alpha=ALPHA)


def drawn_waves(seed: int, *, scale: float) -> Callable[[Array], Array]:
    """A cost surface of Astudillo et al. (2021), with constants drawn as they do."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.75, 1.5), rng.uniform(1.0, 3.0)
    phase = rng.uniform(0.0, 2.0 * np.pi, 3)
    return partial(waves, scale=scale, a=a, b=b, period=np.ones(3), phase=phase)


DEAR = (-1.5, 0.0, 3.0)  # the optimum costs three and a half times the mean
CHEAP = (1.5, 0.0, -3.0)  # the optimum costs an eighth of the mean
HARTMANN_3_VARIANTS = (
    hartmann_3_with_costs(
        "dear", *(partial(ramp, scale=scale, rate=DEAR) for scale in (1.0, 0.1, 0.03))
    ),
    hartmann_3_with_costs(
        "cheap", *(partial(ramp, scale=scale, rate=CHEAP) for scale in (1.0, 0.1, 0.03))
    ),
    hartmann_3_with_costs(
        "waves", *(drawn_waves(seed, scale=scale) for seed, scale in enumerate((1.0, 0.1, 0.03)))
    ),
    hartmann_3_with_costs(
        "no-bargain",
        *(partial(ramp, scale=scale, rate=(1.5, 0.0, 1.5)) for scale in (1.0, 0.8, 0.6)),
    ),
    replace(
        HARTMANN_3_PROBLEM,
        name="hartmann3-misleading",
        sources=tuple(
            Source(value, partial(ramp, scale=scale, rate=(1.5, 0.0, 1.5)))
            for scale, value in (
                (1.0, partial(HARTMANN_3, alpha=ALPHA)),
                (0.1, partial(hartmann_3_mirrored, axes=(0, 2))),
                (0.03, partial(hartmann_3_mirrored, axes=(1,))),
            )
        ),
    ),
)

HARTMANN_6_PROBLEM = Problem(
    name="hartmann6",
    parameters=unit_box(6),
    sources=(
        Source(
            partial(HARTMANN_6, alpha=ALPHA),
            partial(waves, a=1.5, b=1.5, period=np.ones(6), phase=np.linspace(0.0, 1.0, 6)),
        ),
        Source(
            partial(HARTMANN_6, alpha=(0.9, 1.2, 3.0, 3.2)),
            partial(ramp, scale=0.05, rate=(1.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
        ),
        # Ours, as with three coordinates.
        Source(
            partial(HARTMANN_6, alpha=(1.0, 1.2, 2.0, 3.2)),
            partial(ramp, scale=0.02, rate=(0.0, 1.0, 0.0, 0.0, 1.0, 0.0)),
        ),
    ),
    minimum=-3.322368011415515,
    evaluations=50,
)


# Currin, Mitchell, Morris, Ylvisaker (1991); Park (1991); Borehole: Harper, Gupta (1983). The low
# fidelities: Xiong, Qian, Wu (2013), Sequential design and analysis of high-accuracy and
# low-accuracy computer codes. Currin's and Park's, negated here, are usually maximised; all have
# their optimum on the boundary.


def currin(x: Array) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    with np.errstate(divide="ignore"):
        factor = 1.0 - np.exp(-0.5 / x2)
    numerator = ((2300.0 * x1 + 1900.0) * x1 + 2092.0) * x1 + 60.0
    return -factor * numerator / (((100.0 * x1 + 500.0) * x1 + 4.0) * x1 + 20.0)


def currin_low(x: Array) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    steps = [
        np.stack([x1 + h, np.maximum(0.0, x2 + k)], axis=-1)
        for h in (-0.05, 0.05)
        for k in (-0.05, 0.05)
    ]
    return 0.25 * sum(currin(step) for step in steps)


def park(x: Array) -> Array:
    # As x1 tends to 0, x1 · (√(1 + t / x1²) − 1) is √(x1² + t) − x1.
    x1, x2, x3, x4 = np.moveaxis(x, -1, 0)
    root = np.sqrt(x1**2 + (x2 + x3**2) * x4) - x1
    return -(0.5 * root + (x1 + 3.0 * x4) * np.exp(1.0 + np.sin(x3)))


def park_low(x: Array) -> Array:
    x1, x2, x3, _ = np.moveaxis(x, -1, 0)
    return (1.0 + 0.1 * np.sin(x1)) * park(x) + 2.0 * x1 - x2**2 - x3**2 - 0.5


def borehole(x: Array, *, first: float = 2.0 * np.pi, second: float = 1.0) -> Array:
    """Flow of water through a borehole; the low fidelity has other constants."""
    rw, r, Tu, Hu, Tl, Hl, length, Kw = np.moveaxis(x, -1, 0)
    log_ratio = np.log(r / rw)
    leak = 2.0 * length * Tu / (log_ratio * rw**2 * Kw)
    return first * Tu * (Hu - Hl) / (log_ratio * (second + leak + Tu / Tl))


CURRIN = Problem(
    name="currin",
    parameters=unit_box(2),
    sources=(
        Source(currin, partial(ramp, rate=(2.0, -1.5))),
        Source(currin_low, partial(ramp, scale=0.1, rate=(1.0, -1.0))),
    ),
    minimum=-13.798722044728434,
    evaluations=25,
)
PARK = Problem(
    name="park",
    parameters=unit_box(4),
    sources=(
        Source(park, partial(ramp, rate=(1.0, 0.0, 0.0, 1.5))),
        Source(park_low, partial(ramp, scale=0.5, rate=(1.0, 0.0, 0.0, 1.5))),  # hardly cheaper
    ),
    minimum=-25.589254158606547,
    evaluations=30,
)
BOREHOLE = Problem(
    name="borehole",
    parameters=(
        Real("rw", 0.05, 0.15),
        Real("r", 100.0, 50000.0),
        Real("Tu", 63070.0, 115600.0),
        Real("Hu", 990.0, 1110.0),
        Real("Tl", 63.1, 116.0),
        Real("Hl", 700.0, 820.0),
        Real("L", 1120.0, 1680.0),
        Real("Kw", 9855.0, 12045.0),
    ),
    sources=(
        Source(borehole, partial(ramp, rate=(0.0, 0.0, 0.0, 0.0, 0.0, 0.01, 0.001, 0.0))),
        Source(
            partial(borehole, first=5.0, second=1.5),
            partial(ramp, scale=0.1, rate=(5.0, 0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0)),
        ),
    ),
    minimum=7.81967632875523,
    evaluations=40,
)

FORMULAS = (
    FORRESTER,
    BRANIN,
    ROSENBROCK,
    HARTMANN_3_PROBLEM,
    *HARTMANN_3_VARIANTS,
    ROSENBROCK_NOISY,
    HARTMANN_6_PROBLEM,
    CURRIN,
    PARK,
    BOREHOLE,
)
