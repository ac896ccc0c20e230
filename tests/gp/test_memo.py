from __future__ import annotations

import gc
from typing import Any

import numpy as np

from optuna_misowild.gp.in_order import fit_in_order
from optuna_misowild.gp.memo import remember
from optuna_misowild.gp.multi_source import MultiSourceGP


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


def test_what_is_remembered_of_models_has_no_large_matrix() -> None:
    rng = np.random.default_rng(0)
    n, categorical = 30, np.zeros(2, dtype=bool)
    fitted: list[Any] = []
    for _ in range(4):
        X, source = rng.random((n, 2)), np.arange(n) % 2
        y = X.sum(axis=1) + 0.1 * source
        joint = fit_in_order(
            X, source, y, n_sources=2, n_initial=3, restart_every=10, categorical=categorical
        )
        fitted.append((joint.predict(X), X, source, y))
        del joint
    gc.collect()
    models = [o for o in gc.get_objects() if isinstance(o, MultiSourceGP) and len(o.X) == n]
    assert len(models) >= 4  # Hyperparameters are remembered, and the data,
    for model in models:  # but no matrix.
        assert not {"_factor", "_inverse_factor"} & set(vars(model))
    # Those that are built anew are the same to the last bit.
    joint_of_first, X, source, y = fitted[0]
    joint = fit_in_order(
        X, source, y, n_sources=2, n_initial=3, restart_every=10, categorical=categorical
    )
    np.testing.assert_array_equal(joint.predict(X), joint_of_first)
