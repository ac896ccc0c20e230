"""The methods: from observations to the next query, one file each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar
from typing import Protocol


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from optuna_misowild.domain import Domain
    from optuna_misowild.observations import Observations
    from optuna_misowild.observations import Proposal


@dataclass(frozen=True)
class Incumbent:
    """The location that a method recommends.

    Attributes:
        index: Row of the observations that it comes from.
        verified: Whether it was observed on the preferred source.
        mean: What the model says of the objective there, in the minimised sense.
        std: The standard deviation of that.
    """

    index: int
    verified: bool
    mean: float
    std: float


class FittedModel(Protocol):
    """What a fitted model of any method can tell; arrays over the unit cube, minimised sense."""

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


class Method(Protocol):
    """A method: a frozen dataclass of constants.

    Attributes:
        logarithmic_acquisition: Whether its acquisition is the logarithm of a utility.
        moves_outliers: Whether it fits its models to values after
            :func:`~optuna_misowild.outliers.clip_outliers`.
        nested_design: Whether a row of the initial design is the same location on every source;
            else each source has a Latin hypercube of its own.
    """

    logarithmic_acquisition: ClassVar[bool]
    moves_outliers: ClassVar[bool]
    nested_design: ClassVar[bool]

    def design(self, observations: Observations, n_rows: int) -> Sequence[tuple[int, int]]:
        """Return the (source, row) pairs of the initial design that are still to be queried.

        Args:
            observations: The trials so far; their locations are not needed.
            n_rows: Number of rows of the design, per source.

        Returns:
            The pairs in the order in which they should be queried, those of pending trials left
            out. Empty once the model may take over.
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
