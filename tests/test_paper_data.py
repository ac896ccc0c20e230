"""Loading the paper's datasets, on a small one of the same formats."""

from __future__ import annotations

import gzip
from pathlib import Path
import sys

import numpy as np
import pytest

from examples.paper import data
from examples.paper.data import DATA_DIR_VARIABLE
from examples.paper.data import DataError
from examples.paper.data import Spec
from examples.paper.data import load


pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.integers(1, 9, size=(50, 3)).astype(float)
Y = np.array([0] * 20 + [1] * 30)
OPENML_ID = 999_999


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(data.SPECS, "tiny", Spec("TINY", 3, (30, 20), OPENML_ID, "a page"))
    monkeypatch.setitem(data.SPECS, "local", Spec("LOCAL", 3, (30, 20), None, "a page"))
    monkeypatch.delenv(DATA_DIR_VARIABLE, raising=False)


def csv_text(X: np.ndarray = X, y: np.ndarray = Y) -> str:
    lines = ["a,b,c,label"]
    lines += [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    return "\n".join(lines) + "\n"


def libsvm_text(X: np.ndarray, y: np.ndarray) -> str:
    """LIBSVM's format, which leaves out zeros."""
    lines = []
    for row, label in zip(X, y, strict=True):
        features = " ".join(f"{i + 1}:{v:g}" for i, v in enumerate(row) if v)
        lines.append(f"{2 * label - 1:+d} {features}\n")
    return "".join(lines)


def assert_is_tiny(dataset: data.Dataset) -> None:
    expected = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    np.testing.assert_allclose(dataset.X, expected)
    np.testing.assert_array_equal(dataset.y, Y)


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text(csv_text())
    assert_is_tiny(load("tiny", tmp_path))


def test_compressed_csv_from_the_folder_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny.csv.gz").write_bytes(gzip.compress(csv_text().encode()))
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    assert_is_tiny(load("tiny"))


def test_argument_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny.csv").write_text(csv_text())
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path / "missing"))
    assert_is_tiny(load("tiny", tmp_path))


def test_libsvm_files_train_then_test(tmp_path: Path) -> None:
    (tmp_path / "tiny").write_text(libsvm_text(X[:35], Y[:35]))
    (tmp_path / "tiny.t").write_text(libsvm_text(X[35:], Y[35:]))
    assert_is_tiny(load("tiny", tmp_path))


@pytest.mark.parametrize(
    ("rows", "features", "message"),
    [
        (slice(0, 49), slice(None), "49 rows, 3 features and classes of 29 and 20 rows"),
        (slice(None), slice(0, 2), "50 rows, 2 features and classes of 30 and 20 rows"),
    ],
)
def test_other_shapes_are_refused(
    rows: slice, features: slice, message: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.csv").write_text(csv_text(X[rows, features], Y[rows]))
    with pytest.raises(DataError, match="TINY should have 50 rows") as error:
        load("tiny", tmp_path)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_other_classes_and_missing_values_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text(csv_text(y=np.where(np.arange(50) < 21, 0, 1)))
    with pytest.raises(DataError, match="classes of 29 and 21 rows"):
        load("tiny", tmp_path)
    holed = X.copy()
    holed[7, 1] = np.nan
    (tmp_path / "tiny.csv").write_text(csv_text(holed))
    with pytest.raises(DataError, match="no missing values"):
        load("tiny", tmp_path)


def test_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing', does not exist \(--data-dir"):
        load("tiny", tmp_path / "missing")


def test_dataset_that_is_nowhere_tells_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not on OpenML. Get it from a page") as error:
        load("local", tmp_path)
    assert "local.csv" in str(error.value)
    assert DATA_DIR_VARIABLE in str(error.value)


def test_without_openml_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openml", None)
    with pytest.raises(DataError, match="pip install openml"):
        load("tiny")


def test_offline_the_error_tells_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    openml = pytest.importorskip("openml")

    def no_network(*args: object, **kwargs: object) -> None:
        raise ConnectionError("a long story")

    monkeypatch.setattr(openml.datasets, "get_dataset", no_network)
    with pytest.raises(DataError, match="ConnectionError: no connection") as error:
        load("tiny")
    assert "Try again with a network" in str(error.value)
    assert "--data-dir" in str(error.value)


DESCRIPTION = f"""<oml:data_set_description xmlns:oml="http://openml.org/openml">
  <oml:id>{OPENML_ID}</oml:id>
  <oml:name>tiny</oml:name>
  <oml:version>1</oml:version>
  <oml:description>Small.</oml:description>
  <oml:format>FORMAT</oml:format>
  <oml:url>https://localhost/nowhere.arff</oml:url>
  <oml:default_target_attribute>class</oml:default_target_attribute>
</oml:data_set_description>
"""


def dense_arff() -> str:
    lines = [",".join([*map(str, x), "hg"[y]]) for x, y in zip(X, Y, strict=True)]
    return arff("{h,g}", lines)


def sparse_arff() -> str:
    lines = []
    for x, y in zip(X, Y, strict=True):
        values = [*x, 2 * y - 1]
        lines.append("{" + ",".join(f"{i} {v:g}" for i, v in enumerate(values)) + "}")
    return arff("numeric", lines)


def arff(label_type: str, lines: list[str]) -> str:
    header = ["@relation tiny", *(f"@attribute {name} numeric" for name in "abc")]
    return "\n".join([*header, f"@attribute class {label_type}", "@data", *lines]) + "\n"


@pytest.mark.parametrize(
    ("file_format", "text"), [("ARFF", dense_arff()), ("Sparse_ARFF", sparse_arff())]
)
def test_openml_dataset_in_the_cache(
    file_format: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    openml = pytest.importorskip("openml")
    before = openml.config._root_cache_directory
    openml.config.set_root_cache_directory(str(tmp_path))
    try:
        folder = Path(openml.config.get_cache_directory()) / "datasets" / str(OPENML_ID)
        folder.mkdir(parents=True)
        (folder / "description.xml").write_text(DESCRIPTION.replace("FORMAT", file_format))
        (folder / "dataset.arff").write_text(text)
        assert_is_tiny(load("tiny"))
    finally:
        openml.config.set_root_cache_directory(str(before))
    assert f"TINY: loading OpenML's dataset {OPENML_ID}" in capsys.readouterr().err
