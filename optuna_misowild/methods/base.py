"""What a method is: what it sees of a study, what it proposes, and what it must offer.

Arrays over the unit cube, in the minimised sense, and nothing of Optuna.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
import math
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar
from typing import Protocol
from typing import runtime_checkable

import numpy as np


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from optuna_misowild.optim.domain import Domain


@dataclass(frozen=True)
class Observations:
    """The trials of a study that a method can learn from, in the minimised sense.

    One row per trial that finished or is running, ordered by trial number, but those that were
    imported from another study come first. A training with values of several sources has a row
    for each, that of its query last. The preferred source is source 0 (the paper's
    s = 1). While the search space is not known yet, d is 0: the initial design needs no
    locations.

    Attributes:
        X: Locations in the unit cube, shape (n, d).
        source: Source of each location, shape (n,), in 0 … n_sources − 1.
        y: Observed values, shape (n,); NaN where there is none (pending, failed or pruned).
        cost: What it costs to query the source at the location, shape (n,); NaN where unknown.
        pending: Whether the trial is still running, shape (n,).
        trial: Trial numbers, shape (n,).
        design_row: Row of the initial design that the trial holds, shape (n,); −1 for none.
        n_sources: Number of sources, S.
        queryable: The sources that may be queried (the others are read only).
        spent: Total cost of the study so far, including trials that have no row here.
        budget: The total cost that may be spent, τ, or None.
        initial_spent: Cost of the initial design, τ_init.
        n_undecided: How many trials have begun before the one that asks, and not yet chosen.
        n_imported: Number of rows, the first ones, whose trials ran in another study: they inform
            the models, but say nothing of how this study goes on.
        failed: Whether the trial failed, shape (n,), which is evidence that a query there fails:
            such a row has no value and is not pending. Pruned trials have not failed. By default
            none has.
        constraints: Values of the user's constraints g_k ≤ 0, shape (n, K), within ±1e100; NaN
            where unknown. By default there is none, K = 0.
        free: Whether the row came at no cost, with the query of another source, shape (n,): on the
            way to its last step a training passes the others. By default none did.
        hidden: Whether the trial has parameters that its location says nothing of, shape (n,):
            those of a conditional search space. By default none has.
        before: What of its cost an earlier trial has paid, whose training it continues, shape
            (n,); 0 where that is unknown. By default nothing.
        lengths: How long a training to each source is, relative to the preferred one, where the
            sources are rungs that it passes one after the other, shape (S,). Else empty.
        sizes: The size of each source relative to the preferred one, where they differ in that,
            shape (S,); such as the rows of the data. Else empty.
    """

    X: NDArray[np.float64]
    source: NDArray[np.int_]
    y: NDArray[np.float64]
    cost: NDArray[np.float64]
    pending: NDArray[np.bool_]
    trial: NDArray[np.int_]
    design_row: NDArray[np.int_]
    n_sources: int = 1
    queryable: tuple[int, ...] = (0,)
    spent: float = 0.0
    budget: float | None = None
    initial_spent: float = 0.0
    n_undecided: int = 0
    n_imported: int = 0
    failed: NDArray[np.bool_] = None  # type: ignore[assignment]  # As many as there are rows.
    constraints: NDArray[np.float64] = None  # type: ignore[assignment]
    free: NDArray[np.bool_] = None  # type: ignore[assignment]
    hidden: NDArray[np.bool_] = None  # type: ignore[assignment]
    before: NDArray[np.float64] = None  # type: ignore[assignment]
    lengths: tuple[float, ...] = ()
    sizes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("failed", "free", "hidden"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(len(self), dtype=bool))
        if self.constraints is None:
            object.__setattr__(self, "constraints", np.empty((len(self), 0)))
        if self.before is None:
            object.__setattr__(self, "before", np.zeros(len(self)))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def has_value(self) -> NDArray[np.bool_]:
        """Which rows have an observed value, shape (n,)."""
        return np.isfinite(self.y)

    @property
    def unrepeated(self) -> NDArray[np.bool_]:
        """Which rows have no value, and are not to be queried again for it, shape (n,).

        They are pending, have failed, or were pruned. What was pruned in another study is no query
        of this one, and says nothing.
        """
        is_own = np.arange(len(self)) >= self.n_imported
        return np.asarray(~self.has_value & (is_own | self.failed))

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which rows violate no constraint as far as is known, shape (n,)."""
        return np.asarray(~np.any(self.constraints > 0.0, axis=1))

    def only(self, rows: NDArray[np.bool_]) -> Observations:
        """Return some of the rows, shape (n,), as if there were no others."""
        arrays: dict[str, Any] = {
            name: value[rows]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray)
        }
        return replace(self, n_imported=int(rows[: self.n_imported].sum()), **arrays)

    def valued(self, source: int) -> NDArray[np.int_]:
        """Rows of F_s: those of ``source`` that have a value."""
        return np.flatnonzero((self.source == source) & self.has_value)

    def missing_rows(self, source: int, n_rows: int) -> list[int]:
        """Rows of an initial design of ``n_rows`` that are still to be queried on a source.

        Pending and failed trials have taken theirs. Other evaluations (enqueued, added, of an
        earlier study) count in the place of a row, unless they have failed.
        """
        here = self.source == source
        taken = set(self.design_row[here & (self.design_row >= 0)])
        n_given = int((here & (self.design_row < 0) & (self.has_value | self.pending)).sum())
        free = [row for row in range(n_rows) if row not in taken]
        return free[: max(n_rows - len(taken) - n_given, 0)]

    def costed(self, source: int) -> NDArray[np.int_]:
        """Rows of C_s: those of ``source`` whose cost is known."""
        return np.flatnonzero((self.source == source) & np.isfinite(self.cost))


@dataclass(frozen=True)
class Proposal:
    """The next query: a source and a location in the unit cube, shape (d,).

    Attributes:
        source: The source.
        x: The location.
        value: The acquisition there, if it is where that is largest; −inf if it is queried against
            the acquisition; else NaN.
        model: The models by which it was chosen, if the method can go on with them.
    """

    source: int
    x: NDArray[np.float64]
    value: float = math.nan
    model: FittedModel | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Training:
    """A query that is running and has reached one of its rungs.

    Attributes:
        trial: The trial's number.
        x: Its location, shape (d,).
        reached: The source that it has reached.
        meant: The source that it is meant for.
        further: The sources to which it may go on when it has reached that.
        paid: What it has cost; NaN if unknown.
        other: The acquisition of the best other query, as far as it is known.
        before: What of its cost an earlier trial has paid, whose training it continues.
    """

    trial: int
    x: NDArray[np.float64]
    reached: int
    meant: int
    further: tuple[int, ...]
    paid: float
    other: float
    before: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """Whether a training goes on.

    Attributes:
        goes_on_to: The source up to which it goes on; None to stop.
        index: The acquisition of going on, at the remaining cost; NaN if it was not needed.
    """

    goes_on_to: int | None
    index: float = math.nan


@dataclass(frozen=True)
class Incumbent:
    """The location that a method recommends.

    Attributes:
        index: Row of the observations that it comes from.
        verified: Whether it was observed on the preferred source.
        mean: What the model says of the objective there, in the minimised sense.
        std: The standard deviation of that.
        feasible: Whether it violates no constraint of the user: as observed on the preferred
            source, or else as the models expect.
        probability: The probability that a query of the preferred source there neither fails nor
            violates a constraint.
    """

    index: int
    verified: bool
    mean: float
    std: float
    feasible: bool = True
    probability: float = 1.0


class FittedModel(Protocol):
    """What a fitted model of any method predicts; arrays over the unit cube, minimised sense."""

    def predict(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of f_s at X (m, d), each (m,)."""
        ...

    def predict_cost(
        self, X: NDArray[np.float64], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of the query cost at X, each (m,)."""
        ...

    def discrepancy(self, X: NDArray[np.float64], source: int) -> Any:
        """Return how far source s is from the objective at X, one or more arrays (m,)."""
        ...

    def acquisition(self, X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
        """Return the acquisition of a query of source s at X, (m,)."""
        ...


@runtime_checkable
class Method(Protocol):
    """A method: a frozen dataclass of constants.

    What has all of the following is one: ``isinstance`` looks for it. One that decides whether a
    training goes on has ``judge`` as well, see :class:`Judge`.

    Attributes:
        logarithmic_acquisition: Whether its acquisition is the logarithm of a utility.
        moves_outliers: Whether it fits its models to values after
            :func:`~optuna_misowild.methods.outliers.clip_outliers`.
        nested_design: Whether a row of the initial design is the same location on every source;
            else each source has a Latin hypercube of its own.
        models_other_sources: Whether values of other sources suffice for its models.
        only_preferred: Whether it queries and models the preferred source only.
    """

    logarithmic_acquisition: ClassVar[bool]
    moves_outliers: ClassVar[bool]
    nested_design: ClassVar[bool]
    models_other_sources: ClassVar[bool]
    only_preferred: ClassVar[bool]

    def design(self, observations: Observations, n_rows: int) -> Sequence[tuple[int, int]]:
        """Return the (source, row) pairs of the initial design that are still to be queried.

        Args:
            observations: The trials so far; their locations are not needed.
            n_rows: Number of rows of the design, per source.

        Returns:
            The pairs in the order in which they should be queried, without those of pending
            trials. Empty once the model may take over.
        """
        ...

    def fit(self, observations: Observations, domain: Domain) -> FittedModel:
        """Fit the models to the observations."""
        ...

    def too_expensive(self, observations: Observations, domain: Domain) -> dict[int, float]:
        """Return the sources that are not observed now for what they cost, with their ratios.

        That is their cost relative to the preferred source's, as far as is known.
        """
        ...

    def propose(
        self,
        observations: Observations,
        domain: Domain,
        *,
        rng: np.random.Generator,
        sources: Sequence[int] | None = None,
        fixed: NDArray[np.float64] | None = None,
    ) -> Proposal:
        """Return the next query.

        Args:
            observations: The trials so far.
            domain: The search space.
            rng: Source of randomness, the only one.
            sources: The sources to choose from; those that may be queried by default.
            fixed: The location's coordinates that are fixed, NaN where free, shape (d,).
        """
        ...

    def recommend(self, observations: Observations, domain: Domain) -> Incumbent | None:
        """Return the best location known, or None without any value."""
        ...


@runtime_checkable
class Judge(Protocol):
    """A method that decides by its models whether a training goes on."""

    def judge(
        self, model: Any, observations: Observations, domain: Domain, training: Training
    ) -> Verdict:
        """Return whether a training goes on.

        Args:
            model: The models of its latest proposal in the same study.
            observations: The trials so far, with what the training has reported.
            domain: The search space.
            training: The training.
        """
        ...

    def resume(self, model: Any, trainings: Sequence[Training]) -> list[Verdict]:
        """Return which of the trainings that were stopped are better queries than all others.

        Args:
            model: The models of a proposal, which know the trainings.
            trainings: The trainings.
        """
        ...
