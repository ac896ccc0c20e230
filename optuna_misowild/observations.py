"""What the methods see of a study: arrays over the unit cube, and nothing of Optuna."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Observations:
    """The trials of a study that a method can learn from, in the minimised sense.

    One row per trial that finished or is running, ordered by trial number, but those that were
    imported from another study come first. The preferred source is source 0 (the paper's
    s = 1). While the search space is not known yet, d is 0: the initial design needs no
    locations.

    Attributes:
        X: Locations in the unit cube, shape (n, d).
        source: Source of each location, shape (n,), in 0 … n_sources − 1.
        y: Observed values, shape (n,); NaN where there is none (pending, failed or pruned).
        cost: Query costs, shape (n,); NaN where unknown.
        pending: Whether the trial is still running, shape (n,).
        trial: Trial numbers, shape (n,).
        row: Row of the initial design that the trial holds, shape (n,); −1 for none.
        n_sources: Number of sources, S.
        queryable: The sources that may be queried (the others are read only).
        spent: Total cost of the study so far, including trials that have no row here.
        budget: The total cost that may be spent, τ, or None.
        initial_spent: Cost of the initial design, τ_init.
        n_imported: Number of rows, the first ones, whose trials ran in another study: they inform
            the models, but say nothing of how this study goes on.
        unit: What ``y`` is measured in: 1, unless values are so large that squares overflow.
    """

    X: NDArray[np.float64]
    source: NDArray[np.int_]
    y: NDArray[np.float64]
    cost: NDArray[np.float64]
    pending: NDArray[np.bool_]
    trial: NDArray[np.int_]
    row: NDArray[np.int_]
    n_sources: int = 1
    queryable: tuple[int, ...] = (0,)
    spent: float = 0.0
    budget: float | None = None
    initial_spent: float = 0.0
    n_imported: int = 0
    unit: float = 1.0

    def __len__(self) -> int:
        return len(self.X)

    @property
    def has_value(self) -> NDArray[np.bool_]:
        """Which rows have an observed value, shape (n,)."""
        return np.isfinite(self.y)

    def valued(self, source: int) -> NDArray[np.int_]:
        """Rows of F_s: those of ``source`` that have a value."""
        return np.flatnonzero((self.source == source) & self.has_value)

    def missing_rows(self, source: int, n_rows: int) -> list[int]:
        """Rows of an initial design of ``n_rows`` that are still to be queried on a source.

        Pending and failed trials have taken theirs. Other evaluations (enqueued, added, of an
        earlier study) count in the place of a row, unless they have failed.
        """
        here = self.source == source
        taken = set(self.row[here & (self.row >= 0)])
        n_given = int((here & (self.row < 0) & (self.has_value | self.pending)).sum())
        free = [row for row in range(n_rows) if row not in taken]
        return free[: max(n_rows - len(taken) - n_given, 0)]

    def costed(self, source: int) -> NDArray[np.int_]:
        """Rows of C_s: those of ``source`` whose cost is known."""
        return np.flatnonzero((self.source == source) & np.isfinite(self.cost))


@dataclass(frozen=True)
class Proposal:
    """The next query: a source and a location in the unit cube, shape (d,)."""

    source: int
    x: NDArray[np.float64]
