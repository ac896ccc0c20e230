"""Recorded tuning tasks as problems: hours of training, in an instant."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Parameter
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Source


TABLES = Path(__file__).resolve().parent.parent / "paper" / "tables"


def svc(dataset: str, *, evaluations: float) -> Problem:
    """Return a recorded C-SVC task of the paper: ten-fold error, and cpu seconds as cost.

    Between the recorded points, the error and the logarithm of the seconds are interpolated
    linearly in log C and log gamma. Regrets are differences of the error.
    """
    table = np.genfromtxt(TABLES / f"svc_{dataset}.csv", delimiter=",", names=True)
    return Problem(
        name=f"svc-{dataset}",
        parameters=(Parameter("C", 1e-2, 1e2, log=True), Parameter("gamma", 1e-4, 1e4, log=True)),
        sources=tuple(_source(table[table["source"] == s]) for s in np.unique(table["source"])),
        minimum=table["mce"][table["source"] == 1].min(),
        evaluations=evaluations,
        normalised=False,
    )


def _source(rows: np.ndarray) -> Source:
    rows = np.sort(rows, order=["log10_c", "log10_gamma"])
    axes = (np.unique(rows["log10_c"]), np.unique(rows["log10_gamma"]))
    shape = tuple(len(axis) for axis in axes)
    error = RegularGridInterpolator(axes, rows["mce"].reshape(shape))
    log_seconds = RegularGridInterpolator(axes, np.log(rows["cpu_s"]).reshape(shape))
    return Source(partial(_interpolate, error), partial(_interpolate_log, log_seconds))


def _interpolate(table: RegularGridInterpolator, x: Array) -> Array:
    # Rounding may carry the logarithm of a bound out of the grid.
    values = table(np.clip(np.log10(x), [a[0] for a in table.grid], [a[-1] for a in table.grid]))
    return values.reshape(x.shape[:-1])


def _interpolate_log(table: RegularGridInterpolator, x: Array) -> Array:
    return np.exp(_interpolate(table, x))
