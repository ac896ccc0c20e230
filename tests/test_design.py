from __future__ import annotations

import numpy as np
import pytest

from optuna_misowild.design import latin_hypercube_coordinate


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
