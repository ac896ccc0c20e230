"""Fits in stages: one that goes on from the iterations of the stage before.

It must give what one fit of as many iterations gives, since the best parameters are fitted so in
the end. With ``warm_start`` the ensembles of scikit-learn do, whatever their ``random_state``.
Other estimators do not: their ``max_iter`` is where a solver gives up, or they begin anew with
their rates, momenta or shuffles.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


@dataclass(frozen=True)
class Stages:
    """How an estimator is fitted in stages.

    Attributes:
        estimator: The estimator, which is cloned.
        resource: Name of its parameter that is the number of iterations.
        flag: Name of its parameter ``warm_start``.
    """

    estimator: Any
    resource: str
    flag: str

    @classmethod
    def of_estimator(cls, estimator: Any, resource: str) -> Stages | None:
        """Return how an estimator is fitted in stages, or None if each fit begins anew.

        Args:
            estimator: An ensemble that counts all members that it has been fitted with; or a
                pipeline that ends with one.
            resource: Name of the parameter that is their number.
        """
        prefix, _, name = resource.rpartition("__")
        last = estimator
        for step in prefix.split("__") if prefix else ():
            if not isinstance(last, Pipeline) or last.steps[-1][0] != step:
                return None
            last = last.steps[-1][1]
        own = last.get_params(deep=False)
        if name == "max_iter":  # Of all but these, it is of one fit, not of all.
            can = hasattr(last, "staged_predict")
        else:  # What stops early forgets with each fit what it has seen.
            can = name == "n_estimators" and own.get("n_iter_no_change") is None
        flag = f"{resource.removesuffix(name)}warm_start"
        return cls(estimator, resource, flag) if can and "warm_start" in own else None

    def begin(self) -> Any:
        """Return an estimator that has not been fitted yet."""
        estimator = clone(self.estimator).set_params(**{self.flag: True})
        for pipeline in _pipelines(estimator):
            if pipeline.memory is None:
                pipeline.set_params(memory=_FirstFit())
        return estimator

    def has_ended(self, estimator: Any) -> bool:
        """Whether a fitted estimator has stopped early, so that further iterations are none."""
        last = estimator
        for pipeline in _pipelines(estimator):
            last = pipeline.steps[-1][1]
        fitted = getattr(last, "n_iter_", None)
        asked = estimator.get_params()[self.resource]
        return isinstance(fitted, Integral) and int(fitted) < asked


def _pipelines(estimator: Any) -> Iterator[Pipeline]:
    """Yield a pipeline and those that are its last step."""
    while isinstance(estimator, Pipeline):
        yield estimator
        estimator = estimator.steps[-1][1]


class _FirstFit:
    """Memory of a pipeline: what its transformers have given when they were first fitted.

    All stages are fitted to the same rows. So random transformers give the same in each.
    """

    location = None  # As of a cache that is off: the pipeline need not clone its transformers.

    def __init__(self) -> None:
        self._results: dict[tuple[str, int], Any] = {}

    def cache(self, function: Callable[..., Any], **_: Any) -> Callable[..., Any]:
        """Return a function that gives what it gave in the first fit, call by call."""
        n_calls = 0

        def first(*args: Any, **kwargs: Any) -> Any:
            nonlocal n_calls
            call = (function.__name__, n_calls)
            n_calls += 1
            if call not in self._results:
                self._results[call] = function(*args, **kwargs)
            return self._results[call]

        return first
