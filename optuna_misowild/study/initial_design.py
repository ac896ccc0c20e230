"""The rows of the initial design: which of them a trial takes, and where they lie.

A method says which (source, row) pairs are wanted. A row is a location, known parameter by
parameter: while the design begins, the search space may not be known yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.methods.unobserved import is_observed
from optuna_misowild.optim.latin_hypercube import latin_hypercube_coordinate
from optuna_misowild.study import attributes
from optuna_misowild.study.space import decode
from optuna_misowild.study.space import encode
from optuna_misowild.study.space import encode_known


if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from optuna_misowild.methods.base import Method
    from optuna_misowild.study.snapshot import StudyView


# So many further rows are tried in place of one that would repeat a query, in a small space.
_MAX_FURTHER_ROWS = 100


@dataclass(frozen=True)
class Rows:
    """Where the rows lie.

    Args:
        entropy: Seed of the locations.
        block: Number of rows of one Latin hypercube; further rows are those of a further one.
        nested: Whether all sources have the same rows.
    """

    entropy: int
    block: int
    nested: bool

    def coordinate(self, name: str, source: int, row: int) -> float:
        """Return the coordinate in [0, 1) of a parameter at a (source, row)."""
        hypercube = 0 if self.nested else source
        return latin_hypercube_coordinate(self.entropy, name, row, self.block, hypercube=hypercube)


class InitialDesign:
    """The initial design, as the trial that asks sees it.

    Args:
        method: What wants the rows.
        rows: Where they lie.
        view: What the trial knows of the study.
        fixed: Its parameters that are not ours to choose.
    """

    def __init__(self, method: Method, rows: Rows, view: StudyView, fixed: dict[str, Any]) -> None:
        self._method = method
        self._rows = rows
        self._view = view
        self._fixed = fixed

    def next_slot(self, allowed: tuple[int, ...]) -> tuple[int, int] | None:
        """Return the (source, row) for the trial, or None if the design has none for it.

        Args:
            allowed: The sources that it may query.
        """
        view = self._view
        observations = view.design_observations
        is_new = self._new_slots()

        def new_row(source: int, row: int) -> int | None:
            """Return the row, or a further one where that would repeat a query; None if all do."""
            least = max(int(observations.design_row.max(initial=-1)) + 1, view.n_rows)
            further = range(least, least + _MAX_FURTHER_ROWS)
            return next((r for r in (row, *further) if is_new(source, r)), None)

        wanted = (
            (source, new)
            for source, row in self._method.design(observations, view.n_rows)
            if source in allowed and (new := new_row(source, row)) is not None
        )
        # Earlier trials that have just been started take the slots before this one's, even if
        # they have not yet said so: workers that ask at once get different slots. If they would
        # take all, some may never begin, and the others find another.
        assert view.asking is not None
        ahead = sum(attributes.is_undecided(t) for t in view.trials if t.number < view.asking)
        first = list(islice(wanted, ahead + 1))
        if first:
            return first[ahead % len(first)]
        needed = np.isin(observations.source, (0,) if 0 in allowed else allowed)
        if (needed & observations.has_value).any():
            return None
        if self._method.models_other_sources:
            n_values = observations.has_value.sum()
            if n_values >= view.n_rows and (needed & observations.pending).any():
                return None
            # Where it fails and others do not, they show where it may not.
            if n_values > 0 and (needed & observations.failed).any():
                return None
        # Nothing to build a model on, and nothing else to do until there is: one more location
        # of the (preferred) source.
        taken = observations.design_row[observations.source == allowed[0]]
        row = new_row(allowed[0], max(int(taken.max(initial=-1)) + 1, view.n_rows) + ahead)
        return None if row is None else (allowed[0], row)

    def _new_slots(self) -> Callable[[int, int], bool]:
        """Return a function that says whether a (source, row) is a query that is new.

        In a space of few points different rows may be the same, and trials that were copied from
        another study of the same seed are at the same rows. While the space is not known, any
        row counts as new.
        """
        if not self._view.space and not self._view.has_only_sources:
            return lambda source, row: True
        X, sources = self._view.observed()
        return lambda source, row: not is_observed(self.location(source, row), source, X, sources)

    def location(self, source: int, row: int) -> NDArray[np.float64]:
        """Return the location of a (source, row), shape (d,)."""
        space = self._view.space
        u = [self._rows.coordinate(name, source, row) for name in space]
        x = encode(space, [decode(space, np.array(u))])[0]
        coordinates = encode_known(space, self._fixed)
        return np.where(np.isnan(coordinates), x, coordinates)
