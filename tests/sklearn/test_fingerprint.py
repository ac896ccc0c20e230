"""A hash of what a score depends on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
import re
import subprocess
import sys
from threading import Lock
from typing import Any

from joblib import Memory
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from searches import Parabola
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.metrics import make_scorer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.preprocessing import StandardScaler

from optuna_misowild.sklearn.fingerprint import fingerprint


NUMBERS = np.arange(12.0).reshape(4, 3)


def scale(factor: float) -> Callable[[Any], Any]:
    return lambda values: factor * values


def pipeline(memory: Any = None, n_jobs: int | None = None, **params: Any) -> Pipeline:
    steps = [("scaler", StandardScaler()), ("forest", RandomForestClassifier(n_jobs=n_jobs))]
    return Pipeline(steps, memory=memory, verbose=n_jobs is not None).set_params(**params)


class Itself:
    """It contains itself, a generator, and what cannot be pickled."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.itself = self
        self.rng = np.random.default_rng()
        self.function = lambda: 1


# Each is made twice: in another process it would be another object.
VALUES: list[Callable[[], Any]] = [
    lambda: 1,
    lambda: 1.0,
    lambda: True,
    lambda: "1",
    lambda: [1, "1"],
    lambda: {"a": 1, "b": {"c", "d"}},
    lambda: float("nan"),
    lambda: NUMBERS.copy(),
    lambda: NUMBERS.astype("float32"),
    lambda: NUMBERS.T.copy(),
    lambda: NUMBERS[:, 0],
    lambda: np.array([[1, "a"], [None, 2.5]], dtype=object),
    lambda: [["a", "b"], ["c"]],
    lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    lambda: sparse.csc_matrix(NUMBERS),
    lambda: pd.DataFrame(NUMBERS, columns=["a", "b", "c"]),
    lambda: pd.DataFrame(NUMBERS, columns=["a", "b", "d"]),
    lambda: pd.DataFrame({"a": ["x", "y"], "b": pd.to_datetime(["2020-01-01", None])}),
    lambda: pd.DataFrame({"a": ["x", "z"], "b": pd.to_datetime(["2020-01-01", None])}),
    lambda: pd.Series(["x", "y"], dtype="category"),
    lambda: f1_score,
    lambda: make_scorer(f1_score),
    lambda: make_scorer(f1_score, average="macro"),
    lambda: scale(2.0),
    lambda: scale(3.0),
    lambda: lambda x: x + 1,
    lambda: lambda x: x - 1,
    lambda: lambda x, by=2: x + by,
    lambda: lambda x, by=3: x + by,
    lambda: lambda x: x + 1000,
    lambda: lambda x: x + 2000,
    lambda: lambda x: min(x),
    lambda: lambda x: max(x),
    lambda: np.array([scale(2.0), None], dtype=object),
    lambda: [Lock()],
    lambda: re.compile("a"),
    lambda: re.compile("b"),
    lambda: lambda x: [y + 3 for y in x],
    lambda: partial(f1_score, beta=scale(2.0)),
    lambda: partial(f1_score, beta=scale(3.0)),
    lambda: RBF(1.0, "fixed"),
    lambda: RBF(1.0, (1e-2, 1e2)),
    lambda: 2.0 * RBF(1.0),
    lambda: GaussianProcessRegressor(RBF(1.0, "fixed")),
    lambda: FunctionTransformer(np.log1p),
    lambda: FunctionTransformer(np.sqrt),
    lambda: CountVectorizer(stop_words=frozenset(["the", "a", "of"])),
    lambda: CountVectorizer(analyzer="word".split),
    lambda: RandomForestClassifier(random_state=np.random.RandomState()),
    lambda: RandomForestClassifier(random_state=1),
    pipeline,
    lambda: pipeline(scaler__with_mean=False),
    lambda: Itself(1),
    lambda: Itself(2),
]


def test_what_is_equal_has_one_hash_and_nothing_else_has() -> None:
    hashes = [fingerprint(make()) for make in VALUES]
    assert hashes == [fingerprint(make()) for make in VALUES]
    assert len(set(hashes)) == len(VALUES)


@pytest.mark.slow
def test_another_process_has_the_same() -> None:
    """There the addresses are others, and so is the order of a set."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import test_fingerprint as t\n"
        "print(*[t.fingerprint(make()) for make in t.VALUES])"
    )
    here = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", program, here], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [fingerprint(make()) for make in VALUES]


@pytest.mark.parametrize(
    "others",
    [
        [NUMBERS, np.asfortranarray(NUMBERS), np.repeat(NUMBERS, 2, axis=1)[:, ::2]],
        [sparse.csr_matrix(NUMBERS), sparse.csc_matrix(NUMBERS), sparse.coo_array(NUMBERS)],
        [pipeline(), pipeline(n_jobs=2), pipeline(memory=Memory(None))],
        [np.random.RandomState(0), np.random.RandomState(1)],
        [[np.int64(1), np.str_("a")], (1, "a")],
    ],
)
def test_what_no_score_depends_on_does_not_count(others: list[Any]) -> None:
    assert len(set(map(fingerprint, others))) == 1


@pytest.mark.parametrize(
    ("one", "other", "searched"),
    [
        (Parabola(x=1.0), Parabola(x=2.0), "x"),
        (pipeline(), pipeline(forest__max_depth=3), "forest__max_depth"),
        (pipeline(), pipeline(forest=LogisticRegression()), "forest"),
        (GaussianProcessRegressor(RBF(1.0)), GaussianProcessRegressor(RBF(2.0)), "kernel"),
    ],
)
def test_what_is_searched_does_not_count(one: Any, other: Any, searched: str) -> None:
    assert fingerprint(one, {searched}) == fingerprint(other, {searched})
    assert fingerprint(one, {"n_samples"}) != fingerprint(other, {"n_samples"})
    assert fingerprint(one) != fingerprint(other)
