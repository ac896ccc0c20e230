"""The paper's three datasets, from a local folder or from OpenML, checked and scaled."""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path
import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MinMaxScaler


DATA_DIR_VARIABLE = "MISOWILD_DATA"


@dataclass(frozen=True)
class Spec:
    """What a dataset is, and what it has to look like.

    Attributes:
        title: The paper's name for it.
        n_features: Columns besides the label.
        class_counts: Rows of the larger and of the smaller class.
        openml_id: Its number on OpenML, if it is there.
        origin: Where else to get it.
    """

    title: str
    n_features: int
    class_counts: tuple[int, int]
    openml_id: int | None
    origin: str


LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"
SPECS = {
    "splice": Spec("SPLICE(3)", 60, (1648, 1527), 1579, LIBSVM_PAGE),
    "svmguide1": Spec("SVMGUIDE(1)", 4, (4000, 3089), None, LIBSVM_PAGE),
    "magic": Spec("MAGIC", 10, (12332, 6688), 1120, "https://doi.org/10.24432/C52C8B"),
}


@dataclass(frozen=True)
class Dataset:
    """A binary classification task.

    Attributes:
        X: Features, each scaled to [0, 1], shape (n, d).
        y: 1 for the larger class, 0 for the smaller one, shape (n,).
    """

    X: np.ndarray
    y: np.ndarray


class DataError(Exception):
    """A dataset is not there, or is not what it should be."""


def load(name: str, data_dir: Path | str | None = None) -> Dataset:
    """Load a dataset by its name in ``SPECS``.

    The folder ``data_dir``, or else that of the environment variable ``MISOWILD_DATA``, may have
    it as ``NAME.csv`` or ``NAME.csv.gz``, with a header and the label in the last column, or as
    LIBSVM's files ``NAME`` and ``NAME.t``. If there is no folder, or nothing in it, it comes from
    OpenML, whose client downloads it once and keeps it.

    Raises:
        DataError: If it is in none of these places, or has other rows, features or classes than
            the paper says.
    """
    spec = SPECS[name]
    folder = data_dir or os.environ.get(DATA_DIR_VARIABLE)
    if folder is not None and not Path(folder).is_dir():
        raise DataError(
            f"The folder of the data, {str(folder)!r}, does not exist (--data-dir, or the "
            f"environment variable {DATA_DIR_VARIABLE})."
        )
    found = _from_folder(name, Path(folder)) if folder else None
    where = str(folder)
    if found is None:
        found = _from_openml(name)
        where = f"OpenML's dataset {spec.openml_id}"
    X, labels = found
    y = _checked(spec, X, labels, where)
    return Dataset(MinMaxScaler().fit_transform(X), y)


def _from_folder(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray] | None:
    for path in (folder / f"{name}.csv", folder / f"{name}.csv.gz"):
        if path.exists():
            table = np.genfromtxt(path, delimiter=",", skip_header=1)
            return table[:, :-1], table[:, -1]
    paths = [path for path in (folder / name, folder / f"{name}.t") if path.exists()]
    if not paths:
        return None
    parts = [
        load_svmlight_file(path, n_features=SPECS[name].n_features) for path in map(str, paths)
    ]
    return np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts])


def _from_openml(name: str) -> tuple[np.ndarray, np.ndarray]:
    spec = SPECS[name]
    by_hand = (
        f"Get it from {spec.origin}, put it as {name}.csv (a header, and the label in the last "
        f"column) or as LIBSVM's files {name} and {name}.t into a folder, and name that folder "
        f"with --data-dir or the environment variable {DATA_DIR_VARIABLE}."
    )
    if spec.openml_id is None:
        raise DataError(f"{spec.title} is in no local folder, and not on OpenML. {by_hand}")
    try:
        import openml
    except ImportError:
        raise DataError(
            f"{spec.title} is in no local folder, and OpenML's client is not there to fetch it: "
            f"pip install openml. Or else: {by_hand}"
        ) from None

    print(
        f"{spec.title}: loading OpenML's dataset {spec.openml_id}, downloaded the first time ...",
        file=sys.stderr,
        flush=True,
    )
    try:
        dataset = openml.datasets.get_dataset(spec.openml_id, download_data=True)
        X, labels, *_ = dataset.get_data(
            target=dataset.default_target_attribute, dataset_format="dataframe"
        )
    except Exception as error:  # of the network, the server or the cache: any of many kinds
        raise DataError(
            f"{spec.title} is in no local folder, and OpenML did not give it either "
            f"({_reason(error)}). Try again with a network. Or else: {by_hand}"
        ) from error
    return X.to_numpy(dtype=float), labels.astype(str).to_numpy()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{type(error).__name__}: no connection"
    text = str(error).strip() or "no reason given"
    return f"{type(error).__name__}: {text.splitlines()[0]}"


def _checked(spec: Spec, X: np.ndarray, labels: np.ndarray, where: str) -> np.ndarray:
    """Return the labels as 1 for the larger class and 0 for the smaller one."""
    classes, counts = np.unique(labels, return_counts=True)
    seen: tuple[Any, ...] = (*X.shape, *sorted(counts.tolist(), reverse=True))
    expected = (sum(spec.class_counts), spec.n_features, *spec.class_counts)
    if seen != expected:
        raise DataError(
            f"{spec.title} should have {_shape(expected)}, but that of {where} has {_shape(seen)}."
        )
    if not np.isfinite(X).all():
        raise DataError(f"{spec.title} should have no missing values, but that of {where} does.")
    return (labels == classes[np.argmax(counts)]).astype(int)


def _shape(numbers: tuple[Any, ...]) -> str:
    rows, features, *counts = numbers
    classes = " and ".join(map(str, counts))
    return f"{rows} rows, {features} features and classes of {classes} rows"
