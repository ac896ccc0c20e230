"""The part of a mixed space that a search ranges over, some coordinates being fixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.optim.domain import Domain


# As many times the candidates where no coordinate can be climbed along by gradients.
DISCRETE_FACTOR = 4
N_LINE = 32  # Ordered grids of more values are relaxed, and not searched value by value.


@dataclass(frozen=True)
class Slice:
    """What remains of a domain when some coordinates are fixed (NaN: free)."""

    domain: Domain
    fixed: NDArray[np.float64]

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        return np.isnan(self.fixed)

    @cached_property
    def continuous(self) -> NDArray[np.intp]:
        """The free continuous coordinates."""
        return np.flatnonzero(self.free & self.domain.is_continuous)

    @cached_property
    def smooth(self) -> NDArray[np.intp]:
        """The free coordinates that are continuous or nearly so: ordered, of many values."""
        many = [grid is None or len(grid) > N_LINE for grid in self.domain.grids]
        return np.flatnonzero(self.free & many & ~self.domain.categorical)

    @cached_property
    def discrete(self) -> NDArray[np.intp]:
        """The free coordinates with a grid."""
        return np.flatnonzero(self.free & ~self.domain.is_continuous)

    def grid(self, i: int) -> NDArray[np.float64]:
        grid = self.domain.grids[i]
        assert grid is not None
        return grid

    @property
    def size(self) -> float:
        if len(self.continuous):
            return np.inf
        size = 1.0
        for i in self.discrete:
            size *= len(self.grid(i))
        return size

    def place(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move locations (n, d) into the slice."""
        return np.where(self.free, self.domain.snap(X), self.fixed)

    def enumerate(self) -> NDArray[np.float64]:
        """Return all locations of a finite slice, shape (size, d)."""
        axes = [self.grid(i) for i in self.discrete]
        X = np.tile(self.fixed, (int(self.size), 1))
        if axes:
            mesh = np.meshgrid(*axes, indexing="ij")
            X[:, self.discrete] = np.stack(mesh, axis=-1).reshape(-1, len(axes))
        return X

    def candidates(
        self, n: int, starts: NDArray[np.float64] | None, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return n or more locations that fill the slice, then the starts and some near them.

        Near a start, a categorical coordinate keeps its value or takes any other one.
        """
        n *= 1 if len(self.smooth) else DISCRETE_FACTOR
        filling = _sobol(n, self.domain.d, rng)
        if starts is None or not len(starts):
            return self.place(filling)
        near = starts[np.arange(n // 4) % len(starts)]
        step = 10.0 ** rng.uniform(-3.0, -0.5, size=(len(near), 1))
        moved = near + step * rng.standard_normal(near.shape)
        changed = np.where(rng.random(near.shape) < step, rng.random(near.shape), near)
        near = np.where(self.domain.categorical, changed, moved)
        return self.place(np.concatenate([filling, starts, near]))

    def line_searches(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return locations (k, d) that differ from x (d,) in one discrete coordinate.

        All of them, but N_LINE or so for an ordered coordinate of more values: spread evenly,
        and more densely towards x.
        """
        lines = []
        for i in self.discrete:
            grid = self.grid(i)
            if len(grid) > N_LINE and not self.domain.categorical[i]:
                here = np.searchsorted(grid, x[i])
                offsets = 2 ** np.arange(int(np.log2(len(grid))) + 1)
                even = np.linspace(0, len(grid) - 1, N_LINE // 2).astype(int)
                index = np.concatenate([here - offsets, here + offsets, even])
                grid = grid[np.unique(index.clip(0, len(grid) - 1))]
            line = np.tile(x, (len(grid), 1))
            line[:, i] = grid
            lines.append(line)
        return np.concatenate(lines)


def _sobol(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n points, a power of two, that fill the unit cube evenly, shape (n, d).

    A Sobol sequence under a random digital shift, which keeps it as even as it is (Owen 1998,
    "Latin supercube sampling", Section 2: the points of a net remain one). The shift is ours
    since the argument that seeds SciPy's own scrambling has changed its name.
    """
    from scipy.stats.qmc import Sobol  # Late: it takes longer to import than all the rest.

    points = Sobol(d, scramble=False).random_base2((n - 1).bit_length())
    digits = (points * 2.0**53).astype(np.int64) ^ rng.integers(2**53, size=d)
    shifted: NDArray[np.float64] = digits / 2.0**53
    return shifted
