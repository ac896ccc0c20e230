"""Test functions of any number of parameters, of which all or only a few matter.

Levy and Styblinski–Tang as in Surjanovic and Bingham, Virtual Library of Simulation Experiments.
The second sources and the costs are ours.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from examples.benchmarks.formulas import unit_box
from examples.benchmarks.functions import ramp
from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Source


CHEAP, DEAR = 0.1, 0.5  # what the second source costs, as a part of the preferred one
N_ACTIVE = 4


def levy(x: Array, *, ripple: float = 1.0, centre: float = 1.0) -> Array:
    """Levy on [−10, 10]^d: a bowl in all parameters with ripples, of the height ``ripple``."""
    w = 1.0 + (20.0 * x - 10.0 - centre) / 4.0
    inner, last = w[..., :-1], w[..., -1]
    first = ripple * np.sin(np.pi * w[..., 0]) ** 2
    between = (inner - 1.0) ** 2 * (1.0 + 10.0 * ripple * np.sin(np.pi * inner + 1.0) ** 2)
    end = (last - 1.0) ** 2 * (1.0 + ripple * np.sin(2.0 * np.pi * last) ** 2)
    return first + between.sum(axis=-1) + end


def styblinski_tang(x: Array, *, tilt: float = 5.0) -> Array:
    """Styblinski–Tang on [−5, 5] of the first four parameters; all modes are alike at no tilt."""
    t = 10.0 * x[..., :N_ACTIVE] - 5.0
    return (t**4 - 16.0 * t**2 + tilt * t).sum(axis=-1) / 2.0


def problems(d: int) -> dict[str, Problem]:
    """Return the problems of d parameters by name, such as ``levy-50`` and ``levy-50-dear``."""
    rate = (1.0,) + (0.0,) * (d - 1)
    functions = {
        # The coarse one lacks the ripples, and is best elsewhere.
        f"levy-{d}": (levy, partial(levy, ripple=0.0, centre=2.0), 0.0),
        # The coarse one hardly tells the modes apart.
        f"tang-{N_ACTIVE}-in-{d}": (
            styblinski_tang,
            partial(styblinski_tang, tilt=1.0),
            -39.16616570377141 * N_ACTIVE,
        ),
    }
    return {
        name + suffix: Problem(
            name=name + suffix,
            parameters=unit_box(d),
            sources=(
                Source(fine, partial(ramp, rate=rate)),
                Source(coarse, partial(ramp, scale=scale, rate=rate)),
            ),
            minimum=minimum,
            evaluations=60,
        )
        for name, (fine, coarse, minimum) in functions.items()
        for suffix, scale in (("", CHEAP), ("-dear", DEAR))
    }
