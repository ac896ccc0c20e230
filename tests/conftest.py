from __future__ import annotations

from collections.abc import Iterator

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
