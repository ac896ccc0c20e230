"""The fitted models of a study, evaluated at parameters: for looking inside."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import overload

import numpy as np

from optuna_misowild.study.source_parameter import FIRST
from optuna_misowild.study.space import encode
from optuna_misowild.study.space import to_unit


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution

    from optuna_misowild.methods.base import FittedModel
    from optuna_misowild.study.source_parameter import Sources


# A dict of parameters, or several.
_Given = Mapping[str, Any] | Iterable[Mapping[str, Any]]


class Model:
    """The models that a sampler has fitted, in raw units and in the minimised sense.

    Objective values are negated if the study maximises. Where a method takes ``params``, it is
    a dict of parameters (without the source) or a list of m dicts; a dict gives numbers, a list
    arrays of shape (m,). ``source`` is a choice of the source parameter, by default the
    preferred one, as is None where it is no choice. It counts also where ``params`` has a
    source, as those of a trial have; without it, a source there that is not the preferred one
    is refused.

    What else the method has fitted is available under its own names; s is a source index, 0
    being the preferred source. For the robust method: ``joint`` (the joint model),
    ``length_scale``, ``amplitude``, ``noise[s]``, ``rho[s]``, ``tau[s]``, ``kappa[s]``,
    ``cost`` (the joint model of the log costs), ``incumbent`` (μ⁺). For the paper's:
    ``objective[s]`` and ``cost[s]`` (Gaussian processes), ``augmented`` (the AGP), ``inducing``
    (numbers of the trials in F̂) and ``incumbent`` (ŷ⁺).

    Example:

        .. code-block:: python

            model = study.sampler.model(study)
            mean, std = model.predict({"x": 1.0})
            seconds, _ = model.predict_cost([{"x": 1.0}, {"x": 2.0}], "10%")  # Two numbers.
    """

    def __init__(
        self,
        fitted: FittedModel,
        space: Mapping[str, BaseDistribution],
        sources: Sources,
    ) -> None:
        self._fitted = fitted
        self._space = space
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Not set yet, while it is being unpickled.
            raise AttributeError(name)
        return getattr(self._fitted, name)

    @overload
    def predict(self, params: Mapping[str, Any], source: Any = FIRST) -> tuple[float, float]: ...

    @overload
    def predict(
        self, params: Iterable[Mapping[str, Any]], source: Any = FIRST
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict(self, params: _Given, source: Any = FIRST) -> Any:
        """Return the mean and the standard deviation of a source's objective.

        Args:
            params: Parameters without the source: a dict of them, or m dicts.
            source: A choice of the source parameter; by default the preferred one.

        Returns:
            Both as numbers for a dict, as arrays of shape (m,) for m dicts; in the unit of the
            values. They are of the objective itself, without the noise of its values.

        Raises:
            TypeError: If ``params`` is neither a dict nor several dicts.
            ValueError: If ``params`` lacks a parameter, or has a value or a source that it cannot
                have; if ``source`` is no choice, or one that the method does not model.
        """
        return self._evaluate(self._fitted.predict, params, source)

    @overload
    def predict_cost(
        self, params: Mapping[str, Any], source: Any = FIRST
    ) -> tuple[float, float]: ...

    @overload
    def predict_cost(
        self, params: Iterable[Mapping[str, Any]], source: Any = FIRST
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict_cost(self, params: _Given, source: Any = FIRST) -> Any:
        """Return the mean and the standard deviation of a source's query cost.

        Args:
            params: Parameters without the source: a dict of them, or m dicts.
            source: A choice of the source parameter; by default the preferred one.

        Returns:
            Both as numbers for a dict, as arrays of shape (m,) for m dicts; in the unit of the
            costs.

        Raises:
            TypeError: If ``params`` is neither a dict nor several dicts.
            ValueError: If ``params`` lacks a parameter, or has a value or a source that it cannot
                have; if ``source`` is no choice, or one that the method does not model.
        """
        return self._evaluate(self._fitted.predict_cost, params, source)

    @overload
    def discrepancy(
        self, params: Mapping[str, Any], source: Any = FIRST
    ) -> float | tuple[float, float]: ...

    @overload
    def discrepancy(
        self, params: Iterable[Mapping[str, Any]], source: Any = FIRST
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def discrepancy(self, params: _Given, source: Any = FIRST) -> Any:
        """Return how far a source is from the objective, by the method's own measure.

        Args:
            params: Parameters without the source: a dict of them, or m dicts.
            source: A choice of the source parameter; by default the preferred one.

        Returns:
            Numbers for a dict, arrays of shape (m,) for m dicts; in the unit of the values. Of the
            robust method the mean and the standard deviation of δ_s = f_s − ρ_s·f_1. Of the
            paper's η ≥ 0 alone, between the AGP and the model of the source. Of cost-cooling,
            which has one source, 0.

        Raises:
            TypeError: If ``params`` is neither a dict nor several dicts.
            ValueError: If ``params`` lacks a parameter, or has a value or a source that it cannot
                have; if ``source`` is no choice, or one that the method does not model.
        """
        return self._evaluate(self._fitted.discrepancy, params, source)

    @overload
    def acquisition(self, params: Mapping[str, Any], source: Any = FIRST) -> float: ...

    @overload
    def acquisition(
        self, params: Iterable[Mapping[str, Any]], source: Any = FIRST
    ) -> NDArray[np.float64]: ...

    def acquisition(self, params: _Given, source: Any = FIRST) -> Any:
        """Return the acquisition of querying a source: the larger, the sooner it is queried.

        Args:
            params: Parameters without the source: a dict of them, or m dicts.
            source: A choice of the source parameter; by default the preferred one.

        Returns:
            A number for a dict, an array of shape (m,) for m dicts. Of the robust method and of
            cost-cooling it is the logarithm of a utility, −inf where a query is ruled out.

        Raises:
            TypeError: If ``params`` is neither a dict nor several dicts.
            ValueError: If ``params`` lacks a parameter, or has a value or a source that it cannot
                have; if ``source`` is no choice, or one that the method does not model.
        """
        return self._evaluate(self._fitted.acquisition, params, source)

    @overload
    def probability_of_feasibility(
        self, params: Mapping[str, Any], source: Any = FIRST
    ) -> float: ...

    @overload
    def probability_of_feasibility(
        self, params: Iterable[Mapping[str, Any]], source: Any = FIRST
    ) -> NDArray[np.float64]: ...

    def probability_of_feasibility(self, params: _Given, source: Any = FIRST) -> Any:
        """Return how likely a query is to meet the user's constraints, and not to fail.

        Args:
            params: Parameters without the source: a dict of them, or m dicts.
            source: A choice of the source parameter; by default the preferred one.

        Returns:
            A number for a dict, an array of shape (m,) for m dicts, from 0 to 1. It is 1 where no
            trial has failed and none has a constraint.

        Raises:
            TypeError: If ``params`` is neither a dict nor several dicts.
            ValueError: If ``params`` lacks a parameter, or has a value or a source that it cannot
                have; if ``source`` is no choice, or one that the method does not model.
        """
        log_probability = getattr(self._fitted, "log_probability", None)

        def probability(X: NDArray[np.float64], source: int) -> NDArray[np.float64]:
            if log_probability is None:
                return np.ones(len(X))
            return np.asarray(np.exp(log_probability(X, source)))

        return self._evaluate(probability, params, source)

    def _evaluate(self, function: Callable[..., Any], params: _Given, source: Any) -> Any:
        many, several = not isinstance(params, Mapping), _several(params)
        X = self._locations(several)
        is_choice = any(choice is None for choice in self._sources.choices)
        has_names = self._sources.distribution is not None or self._sources.are_rungs
        if source is None and not (has_names and is_choice):
            source = FIRST
        if source is FIRST:
            self._refuse_other_source(several)
            index = 0
        elif not has_names:
            raise ValueError(
                f"The study has no source parameter {self._sources.name!r}, but `source` is "
                f"{source!r}."
            )
        else:
            index = self._index_of(source)
        result = function(X, index)
        if many:
            return result
        if isinstance(result, tuple):
            return tuple(float(values[0]) for values in result)
        return float(result[0])

    def _index_of(self, source: Any) -> int:
        try:
            return self._sources.index_of(source)
        except ValueError:
            raise ValueError(
                f"`source` must be one of {list(self._sources.choices)}, but got {source!r}."
            ) from None

    def _refuse_other_source(self, params: Sequence[Mapping[str, Any]]) -> None:
        name = self._sources.name
        for values in params:
            if self._sources.of_trial(dict(values)) != 0:
                raise ValueError(
                    f"`params` has {name!r} = {values[name]!r}, but without `source` the "
                    f"preferred one, {self._sources.choices[0]!r}, is meant. Pass `source=` to "
                    "say which."
                )

    def _locations(self, params: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        for values in params:
            missing = self._space.keys() - values.keys()
            if missing:
                raise ValueError(
                    f"`params` must have all of {sorted(self._space)}, but "
                    f"{sorted(missing)} are missing in {dict(values)}."
                )
            for name, distribution in self._space.items():
                try:
                    to_unit(distribution, values[name])
                except (TypeError, ValueError):
                    raise ValueError(
                        f"`params` has {name!r} = {values[name]!r}, which is no value of "
                        f"{distribution}."
                    ) from None
        return encode(self._space, params)


def _several(params: Any) -> list[Mapping[str, Any]]:
    """Return the dicts of parameters that a user gives, one or any number."""
    if isinstance(params, Mapping):
        return [params]
    several = list(params) if isinstance(params, Iterable) else [params]
    if not all(isinstance(values, Mapping) for values in several):
        raise TypeError(
            f"`params` must be a dict of parameters, or several of them, but got {params!r}."
        )
    return several
