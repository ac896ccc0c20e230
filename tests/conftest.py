from __future__ import annotations

from collections.abc import Iterator
import os


# Before numpy is loaded: tests run one process per core, and more threads would fight for them.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import optuna
import pytest


@pytest.fixture(autouse=True)
def log_records(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let caplog see what is said through Optuna's logger."""
    optuna.logging.enable_propagation()
    optuna.logging.disable_default_handler()
    yield
    optuna.logging.enable_default_handler()
    optuna.logging.disable_propagation()
