from __future__ import annotations

import numpy as np

from optuna_misowild.memo import remember


def test_results_are_remembered_by_contents() -> None:
    calls = []

    @remember(maxsize=2)
    def total(x: np.ndarray, factor: float) -> float:
        calls.append(factor)
        return factor * float(x.sum())

    x = np.arange(3.0)
    assert total(x, 2.0) == 6.0
    assert total(x.copy(), 2.0) == 6.0
    assert calls == [2.0]

    # The same bytes in another shape or type are something else.
    assert total(x[:, None], 2.0) == 6.0
    assert total(x.view(np.int64), 2.0) != 6.0
    assert len(calls) == 3

    x[0] = 1.0  # Changed in place: not what was asked before.
    assert total(x, 2.0) == 8.0
    assert total(np.arange(3.0), 2.0) == 6.0  # Only two are kept.
    assert len(calls) == 5
