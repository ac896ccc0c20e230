"""A Latin hypercube whose parameters need not be known in advance (define-by-run).

The search space of a study is unknown until its first trial has run. So each parameter has a
Latin hypercube column of its own, a permutation of the strata that depends on nothing but the
seed of the study and the name of the parameter, and a trial reads it at its row. Any worker
computes the same column. In a nested design the same row on another source gives the same
location; in one that is not, every source has columns of its own.
"""

from __future__ import annotations

import numpy as np


# The entropy of a column is a sequence of numbers: those of a name are bytes, below this one.
_NO_BYTE = 255


def latin_hypercube_coordinate(
    seed: int, name: str, row: int, n_rows: int, *, hypercube: int = 0
) -> float:
    """Return the coordinate in [0, 1) of one parameter at one row of the design.

    Rows beyond ``n_rows`` continue with further Latin hypercubes of ``n_rows`` rows each.

    Args:
        seed: Seed of the study.
        name: Name of the parameter.
        row: Row of the design, from 0.
        n_rows: Number of rows of one Latin hypercube.
        hypercube: Which Latin hypercube: 0 for that of the preferred source, and of every source
            in a nested design; else the index of the source.
    """
    block, row = divmod(row, n_rows)
    own = [_NO_BYTE + hypercube] if hypercube else []
    rng = np.random.default_rng([seed, n_rows, block, *name.encode(), *own])
    strata = rng.permutation(n_rows)
    jitter = rng.random(n_rows)
    return float((strata[row] + jitter[row]) / n_rows)
