"""Problems with constraints, g_k(x) ≤ 0: a low value where one is violated is of no use.

The functions and constraints of the preferred sources are of the literature, named beside each.
Their cheap sources are ours, with the objective and the constraints both slightly wrong, and so
are the costs. Setting a constraint needs Optuna 5.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from examples.benchmarks.functions import branin
from examples.benchmarks.functions import ramp
from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Integer
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Real
from examples.benchmarks.problem import Source


REQUIRED = "optuna>=5"


# Gardner, Kusner, Xu, Weinberger, Cunningham (2014), Bayesian optimization with inequality
# constraints: simulations 1 and 2. Less than a fiftieth of the second's space is feasible.


def gardner_1(x: Array, *, shift: float = 0.0) -> Array:
    x1, x2 = x[..., 0] + shift, x[..., 1]
    return np.cos(2.0 * x1) * np.cos(x2) + np.sin(x1)


def gardner_1_constraint(x: Array, *, shift: float = 0.0) -> Array:
    # As published, cos(x1) cos(x2) − sin(x1) sin(x2) ≤ 0.5.
    return np.cos(x[..., 0] + x[..., 1] + shift)[..., None] - 0.5


def gardner_2(x: Array, *, shift: float = 0.0, slope: float = 1.0) -> Array:
    return np.sin(x[..., 0] + shift) + slope * x[..., 1]


def gardner_2_constraint(x: Array, *, shift: float = 0.0) -> Array:
    return (np.sin(x[..., 0] + shift) * np.sin(x[..., 1] - shift))[..., None] + 0.95


SQUARE = (Real("x1", 0.0, 6.0), Real("x2", 0.0, 6.0))

GARDNER_1 = Problem(
    name="gardner1",
    parameters=SQUARE,
    sources=(
        Source(gardner_1, partial(ramp, rate=(0.3, 0.0)), constraints=gardner_1_constraint),
        Source(
            partial(gardner_1, shift=0.2),
            partial(ramp, scale=0.1, rate=(0.2, 0.1)),
            constraints=partial(gardner_1_constraint, shift=0.2),
        ),
    ),
    minimum=-2.0,
    evaluations=30,
    requires=REQUIRED,
)
GARDNER_2 = Problem(
    name="gardner2",
    parameters=SQUARE,
    sources=(
        Source(gardner_2, partial(ramp, rate=(0.0, 0.3)), constraints=gardner_2_constraint),
        Source(
            partial(gardner_2, shift=0.2, slope=0.9),
            partial(ramp, scale=0.1, rate=(0.1, 0.2)),
            constraints=partial(gardner_2_constraint, shift=0.1),
        ),
    ),
    minimum=float(np.arcsin(0.95)) - 1.0,
    evaluations=30,
    requires=REQUIRED,
)


# Branin's function in a disk, which one of its three optima is in: Gelbart, Snoek, Adams (2014),
# Bayesian optimization with unknown constraints.


def disk(x: Array, *, centre: tuple[float, float] = (2.5, 7.5)) -> Array:
    return np.sum((x - np.array(centre)) ** 2, axis=-1)[..., None] - 50.0


BRANIN_DISK = Problem(
    name="branin-disk",
    parameters=(Real("x1", -5.0, 10.0), Real("x2", 0.0, 15.0)),
    sources=(
        Source(branin, partial(ramp, rate=(0.0, 0.2)), constraints=disk),
        Source(
            partial(branin, fidelity=0.75),
            partial(ramp, scale=0.1, rate=(0.0, 0.2)),
            constraints=partial(disk, centre=(2.0, 7.0)),
        ),
        Source(
            partial(branin, fidelity=0.5),
            partial(ramp, scale=0.05, rate=(0.05, 0.1)),
            constraints=partial(disk, centre=(3.5, 8.0)),
        ),
    ),
    minimum=0.39788735772973816,
    evaluations=20,
    requires=REQUIRED,
)


# The design of a welded beam at least cost: Coello Coello, Mezura Montes (2002), Constraint-
# handling in genetic algorithms through the use of dominance-based tournament selection. The
# bound h ≥ 0.125 stands for their constraint g5; stresses are in units of what is allowed. The
# cheap source forgets that both shear stresses of the weld point the same way in part, and takes
# the bar for stiffer and welding for cheaper.


def welded_beam(x: Array, *, welding: float = 1.10471) -> Array:
    h, length, t, b = np.moveaxis(x, -1, 0)
    return welding * h**2 * length + 0.04811 * t * b * (14.0 + length)


def welded_beam_constraints(x: Array, *, cross: float = 1.0, stiffness: float = 1.0) -> Array:
    """Return g1 to g4, g6 and g7, shape (..., 6).

    Args:
        x: Height and length of the weld, height and thickness of the bar, in inches.
        cross: Weight of the product of both shear stresses.
        stiffness: Factor of what bends and buckles.
    """
    load, reach, young, shear = 6000.0, 14.0, 30e6 * stiffness, 12e6 * stiffness
    h, length, t, b = np.moveaxis(x, -1, 0)
    primary = load / (np.sqrt(2.0) * h * length)
    radius = np.sqrt(length**2 / 4.0 + ((h + t) / 2.0) ** 2)
    inertia = 2.0 * np.sqrt(2.0) * h * length * (length**2 / 12.0 + ((h + t) / 2.0) ** 2)
    secondary = load * (reach + length / 2.0) * radius / inertia
    both = primary * secondary * length / radius
    stress = np.sqrt(primary**2 + cross * both + secondary**2)
    bending = 6.0 * load * reach / (b * t**2)
    deflection = 4.0 * load * reach**3 / (young * t**3 * b)
    slender = 1.0 - t / (2.0 * reach) * np.sqrt(young / (4.0 * shear))
    buckling = 4.013 * young * t * b**3 / (6.0 * reach**2) * slender
    return np.stack(
        [
            stress / 13600.0 - 1.0,
            bending / 30000.0 - 1.0,
            h - b,
            0.10471 * h**2 + 0.04811 * t * b * (14.0 + length) - 5.0,
            deflection / 0.25 - 1.0,
            1.0 - buckling / load,
        ],
        axis=-1,
    )


WELDED_BEAM = Problem(
    name="welded-beam",
    parameters=(
        Real("h", 0.125, 2.0),
        Real("l", 0.1, 10.0),
        Real("t", 0.1, 10.0),
        Real("b", 0.1, 2.0),
    ),
    sources=(
        Source(
            welded_beam,
            partial(ramp, rate=(0.0, 0.1, 0.1, 0.0)),
            constraints=welded_beam_constraints,
        ),
        Source(
            partial(welded_beam, welding=1.0),
            partial(ramp, scale=0.1, rate=(0.0, 0.15, 0.05, 0.0)),
            constraints=partial(welded_beam_constraints, cross=0.0, stiffness=1.1),
        ),
    ),
    minimum=1.7248523085970526,
    evaluations=20,
    requires=REQUIRED,
)


# The lightest speed reducer: Lemonge, Barbosa, Borges, Silva (2010), Constrained optimization
# problems in mechanical engineering design using a real-coded steady-state genetic algorithm.
# Their g9, x1 ≤ 12 x2, always holds here. The cheap source forgets what the teeth do to
# the shafts, and weighs these with 5 % less.


def speed_reducer(x: Array, *, shafts: float = 1.0) -> Array:
    x1, x2, x3, x4, x5, x6, x7 = np.moveaxis(x, -1, 0)
    wheels = 0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934)
    holes = 1.508 * x1 * (x6**2 + x7**2)
    ends = 7.4777 * (x6**3 + x7**3)
    return wheels - holes + shafts * (ends + 0.7854 * (x4 * x6**2 + x5 * x7**2))


def speed_reducer_constraints(x: Array, *, teeth: float = 1.0, load: float = 1.0) -> Array:
    """Return g1 to g8, g10 and g11, shape (..., 10).

    Args:
        x: Width and module of the teeth, their number, length and diameter of both shafts.
        teeth: Factor of the force of the teeth on the shafts.
        load: Factor of the moments that the shafts bear.
    """
    x1, x2, x3, x4, x5, x6, x7 = np.moveaxis(x, -1, 0)
    first = np.sqrt((teeth * 745.0 * x4 / (x2 * x3)) ** 2 + load * 16.9e6) / (110.0 * x6**3)
    second = np.sqrt((teeth * 745.0 * x5 / (x2 * x3)) ** 2 + load * 157.5e6) / (85.0 * x7**3)
    ratios = [
        27.0 / (x1 * x2**2 * x3),
        397.5 / (x1 * x2**2 * x3**2),
        1.93 * x4**3 / (x2 * x3 * x6**4),
        1.93 * x5**3 / (x2 * x3 * x7**4),
        first,
        second,
        x2 * x3 / 40.0,
        5.0 * x2 / x1,
        (1.5 * x6 + 1.9) / x4,
        (1.1 * x7 + 1.9) / x5,
    ]
    return np.stack(ratios, axis=-1) - 1.0


SPEED_REDUCER = Problem(
    name="speed-reducer",
    parameters=(
        Real("x1", 2.6, 3.6),
        Real("x2", 0.7, 0.8),
        Integer("x3", 17, 28),
        Real("x4", 7.3, 8.3),
        Real("x5", 7.8, 8.3),
        Real("x6", 2.9, 3.9),
        Real("x7", 5.0, 5.5),
    ),
    sources=(
        Source(
            speed_reducer,
            partial(ramp, rate=(0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0)),
            constraints=speed_reducer_constraints,
        ),
        Source(
            partial(speed_reducer, shafts=0.95),
            partial(ramp, scale=0.05, rate=(0.0, 0.0, 0.05, 0.0, 0.0, 0.5, 0.0)),
            constraints=partial(speed_reducer_constraints, teeth=0.0, load=0.95),
        ),
    ),
    minimum=2996.34816496819,
    evaluations=20,
    requires=REQUIRED,
)

CONSTRAINED = (
    GARDNER_1,
    GARDNER_2,
    BRANIN_DISK,
    WELDED_BEAM,
    SPEED_REDUCER,
)
