from __future__ import annotations

import numpy as np
import pytest

from optuna_misowild.optim.latin_hypercube import latin_hypercube_coordinate


@pytest.mark.parametrize("n_rows", [1, 5, 8])
@pytest.mark.parametrize("block", [0, 3])
def test_each_block_has_one_coordinate_in_each_stratum(n_rows: int, block: int) -> None:
    rows = range(block * n_rows, (block + 1) * n_rows)
    column = [latin_hypercube_coordinate(0, "x", row, n_rows) for row in rows]
    assert sorted(int(u * n_rows) for u in column) == list(range(n_rows))


def test_a_column_depends_on_seed_name_and_block_only() -> None:
    def column(seed: int, name: str, start: int = 0) -> list[float]:
        return [latin_hypercube_coordinate(seed, name, start + i, 50) for i in range(50)]

    assert column(1, "x") == column(1, "x")
    for other in (column(2, "x"), column(1, "y"), column(1, "x", 50)):
        assert column(1, "x") != other
        assert abs(np.corrcoef(column(1, "x"), other)[0, 1]) < 0.5


def test_each_hypercube_has_columns_of_its_own() -> None:
    def column(name: str, **kwargs: int) -> list[float]:
        return [latin_hypercube_coordinate(1, name, i, 50, **kwargs) for i in range(50)]

    columns = [column(name, hypercube=i) for name in ("x", "y") for i in range(3)]
    correlation = np.corrcoef(columns) - np.eye(len(columns))
    assert abs(correlation).max() < 0.5
    for c in columns:
        assert sorted(int(50 * u) for u in c) == list(range(50))
    assert column("x") == columns[0]
