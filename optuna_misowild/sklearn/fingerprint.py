"""What a stored score depends on, as hashes: a search resumes only one of the same.

joblib's hash does for arrays. Of anything else it hashes what pickle writes: that has state which
no score depends on, and there is none of a ``lambda``.
"""

from __future__ import annotations

import copyreg
from datetime import date
import hashlib
import random
import sys
from types import CodeType
from types import FunctionType
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Any

import joblib
import numpy as np
from optuna.distributions import distribution_to_json

from optuna_misowild.sklearn.sklearn_private import safe_indexing


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping

    from optuna_misowild.sklearn.distributions import Parameter
    from optuna_misowild.sklearn.resources import Splits


_SCALARS = (bool, int, float, complex, str, bytes, type(None), date)
_GLOBALS = (type, ModuleType)
_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, random.Random)
# How an estimator computes and what it prints, not what it learns.
_IMMATERIAL = ("n_jobs", "verbose", "verbosity", "memory", "cache_size", "callback", "callbacks")


def fingerprints(
    *,
    X: Any,
    y: Any,
    splits: Splits,
    estimator: Any,
    resource: str,
    parameters: Mapping[str, Parameter],
    scoring: Any,
    refit: Any,
    fit_params: Mapping[str, Any],
) -> dict[str, str]:
    """Return hashes of all that the scores of a search depend on, by what the user calls it.

    Args:
        X: All rows.
        y: Their target, or None.
        splits: The folds.
        estimator: The estimator. Parameters that are searched or the resource do not count.
        resource: Name of the resource.
        parameters: The searched parameters, by their names in the estimator.
        scoring: The search's argument.
        refit: The search's argument, which may name one of several metrics.
        fit_params: What else ``fit`` was given, such as ``sample_weight``.
    """
    given = {
        name: value
        for name, value in fit_params.items()
        if value is not None and name.rpartition("__")[2] not in _IMMATERIAL
    }
    return {
        "X": fingerprint(X),
        "y": fingerprint(y),
        "cv (the folds)": fingerprint(splits),
        "estimator": fingerprint(estimator, without={resource, *parameters}),
        "scoring, or the metric that refit names": fingerprint(
            [scoring, refit if isinstance(refit, str) else None]
        ),
        "the parameters of fit": fingerprint(given),
        **{
            f"param_distributions[{name!r}]": fingerprint(
                [distribution_to_json(parameter.distribution), parameter.meanings]
            )
            for name, parameter in parameters.items()
        },
    }


def fingerprint(value: Any, without: Collection[str] = ()) -> str:
    """Return a hash of a value that is the same in every process.

    Random generators are equal whatever their state. Functions that can be imported are equal if
    their names are; others, such as a ``lambda``, if their code is, too. Estimators are equal if
    their parameters are, apart from those that change no score, such as ``n_jobs``.

    Args:
        value: Data, an estimator, a function, any other object, or a collection of these.
        without: If it is an estimator, parameters that do not count.
    """
    return _Description(value, without).of_all("", value)


class _Description:
    """Describes objects as text, those that contain others by a hash.

    Args:
        root: See :func:`fingerprint`.
        without: See :func:`fingerprint`.
    """

    def __init__(self, root: Any, without: Collection[str]) -> None:
        params = root.get_params() if without else {}
        self._names = {id(part): name for name, part in params.items()} | {id(root): ""}
        self._without = without
        # With the objects themselves: an address that is free gets another one.
        self._known: dict[int, tuple[Any, str]] = {}

    def of_all(self, kind: str, *parts: Any) -> str:
        digest = hashlib.sha256(kind.encode())
        for part in parts:
            digest.update(f"\n{self.of(part)}".encode())
        return digest.hexdigest()

    def of(self, value: Any) -> str:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, _SCALARS):
            return repr(value)
        if isinstance(value, _GLOBALS):
            return f"{getattr(value, '__module__', '')}.{value.__name__}"
        if isinstance(value, (list, tuple)):
            return self.of_all("list", *value)
        if isinstance(value, dict):
            return self.of_all("dict", *sorted(map(self.of, value.items())))
        if isinstance(value, (set, frozenset)):
            return self.of_all("set", *sorted(map(self.of, value)))
        if hasattr(value, "tocsr"):
            rows = value.tocsr(copy=True)
            rows.sum_duplicates()
            return self.of_all("sparse", rows.shape, rows.data, rows.indices, rows.indptr)
        if hasattr(value, "columns") and hasattr(value, "shape"):
            columns = (safe_indexing(value, i, axis=1) for i in range(value.shape[1]))
            return self.of_all("table", list(value.columns), *map(np.asarray, columns))
        if hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.dtype.hasobject:
                return self.of_all("objects", array.tolist())
            return str(joblib.hash(np.ascontiguousarray(array)))
        if id(value) not in self._known:
            self._known[id(value)] = value, type(value).__name__  # It may contain itself.
            self._known[id(value)] = value, self._of_object(value)
        return self._known[id(value)][1]

    def _of_object(self, value: Any) -> str:
        kind = self.of(type(value))
        if isinstance(value, _GENERATORS):
            return kind
        if isinstance(value, FunctionType):
            return self._of_function(value)
        if isinstance(value, CodeType):
            return self.of_all(kind, value.co_code, value.co_names, value.co_consts)
        if hasattr(value, "get_params"):
            name = self._names.get(id(value))
            if name in self._without:
                return "searched"
            return self.of_all(kind, self._params(value, name))
        try:  # What pickle writes.
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = reduce(value) if reduce else value.__reduce_ex__(2)
        except Exception:  # Nothing more can be said of it.
            return kind
        return self.of_all(kind, reduced)

    def _of_function(self, function: FunctionType) -> str:
        name = f"{function.__module__}.{function.__qualname__}"
        found: Any = sys.modules.get(function.__module__)
        for part in function.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is function and function.__module__ != "__main__":
            return name
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        defaults = [function.__defaults__, function.__kwdefaults__]
        return self.of_all(name, function.__code__, *defaults, cells)

    def _params(self, estimator: Any, name: str | None) -> dict[str, Any]:
        prefix = f"{name}__" if name else ""
        left_out = () if name is None else self._without
        return {
            key: value
            for key, value in estimator.get_params(deep=False).items()
            if key not in _IMMATERIAL and prefix + key not in left_out
        }
