"""The CSV files of recorded tasks: a row per source and point of a grid."""

from __future__ import annotations

from collections.abc import Iterable
import csv
from dataclasses import dataclass
from pathlib import Path

from examples.paper.tasks import Classifier
from examples.paper.tasks import Measurement
from examples.paper.tasks import Params


TABLES = Path(__file__).resolve().parent / "tables"


@dataclass(frozen=True)
class Row:
    """One evaluation.

    Attributes:
        source: 1 for all the data, up to 5 for the smallest subset.
        point: The hyperparameters, or their decimal logarithms if they are logarithmic.
        n: Rows of the data in the source.
        measured: Error and seconds.
    """

    source: int
    point: tuple[float, float]
    n: int
    measured: Measurement


def columns(classifier: Classifier) -> list[str]:
    """Return the names of the columns of the point."""
    names = classifier.hyperparameters
    return [f"log10_{name.lower()}" for name in names] if classifier.logarithmic else list(names)


def params_at(classifier: Classifier, point: tuple[float, float]) -> Params:
    """Return the hyperparameters at a point."""
    values = [10**v for v in point] if classifier.logarithmic else [int(v) for v in point]
    return dict(zip(classifier.hyperparameters, values, strict=True))


def read(path: Path, classifier: Classifier) -> list[Row]:
    """Return the rows of a table; none if there is no such file.

    Raises:
        ValueError: If the file is not a table of this classifier.
    """
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        header = _header(classifier)
        if reader.fieldnames != header:
            raise ValueError(
                f"{path} should have the columns {', '.join(header)}, but has "
                f"{', '.join(reader.fieldnames or ['none'])}."
            )
        try:
            return [_row(line, classifier) for line in reader]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}.") from None


def append(path: Path, classifier: Classifier, row: Row) -> None:
    """Add a row to a table, which is made if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(_header(classifier))
        writer.writerow(_line(row, classifier))


def write(path: Path, classifier: Classifier, rows: Iterable[Row]) -> None:
    """Write a table, sorted as a grid, the last source first."""
    path.unlink(missing_ok=True)
    for row in sorted(rows, key=lambda row: (-row.source, row.point)):
        append(path, classifier, row)


def _header(classifier: Classifier) -> list[str]:
    return ["source", *columns(classifier), "n", "mce", "cpu_s", "wall_s"]


def _line(row: Row, classifier: Classifier) -> list[object]:
    m = row.measured
    point = row.point if classifier.logarithmic else map(int, row.point)
    return [row.source, *point, row.n, round(m.error, 6), round(m.cpu_s, 4), round(m.wall_s, 4)]


def _row(line: dict[str, str], classifier: Classifier) -> Row:
    first, second = (float(line[column]) for column in columns(classifier))
    measured = Measurement(float(line["mce"]), float(line["cpu_s"]), float(line["wall_s"]))
    return Row(int(line["source"]), (first, second), int(line["n"]), measured)
