"""A Latin hypercube whose parameters need not be known in advance (define-by-run).

The search space of a study is unknown until its first trial has run. So each parameter has a
Latin hypercube column of its own, a permutation of the strata that depends on nothing but the
seed of the study and the name of the parameter, and a trial reads it at its row. Any worker
computes the same column, and the same row on another source gives the same location (a nested
design).
"""

from __future__ import annotations

import numpy as np


def latin_hypercube_coordinate(seed: int, name: str, row: int, n_rows: int) -> float:
    """Return the coordinate in [0, 1) of one parameter at one row of the design.

    Rows beyond ``n_rows`` continue with further Latin hypercubes of ``n_rows`` rows each.

    Args:
        seed: Seed of the study.
        name: Name of the parameter.
        row: Row of the design, from 0.
        n_rows: Number of rows of one Latin hypercube.
    """
    block, row = divmod(row, n_rows)
    rng = np.random.default_rng([seed, n_rows, block, *name.encode()])
    strata = rng.permutation(n_rows)
    jitter = rng.random(n_rows)
    return float((strata[row] + jitter[row]) / n_rows)
