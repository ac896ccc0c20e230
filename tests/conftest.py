from __future__ import annotations

from collections.abc import Iterator
import os


# Before numpy is loaded: tests run one process per core, and more threads would fight for them.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import hypothesis
import optuna
import pytest


# The same few examples at every run, unless HYPOTHESIS_PROFILE=long, or pytest's option
# --hypothesis-profile=long, asks for new ones for several minutes.
hypothesis.settings.register_profile("short", derandomize=True, max_examples=25, deadline=None)
hypothesis.settings.register_profile(
    "long",
    max_examples=3000,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    print_blob=True,
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


@pytest.fixture(autouse=True)
def log_records(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let caplog see what is said through Optuna's logger, whatever earlier tests have set."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.enable_propagation()
    optuna.logging.disable_default_handler()
    yield
    optuna.logging.enable_default_handler()
    optuna.logging.disable_propagation()
    optuna.logging.set_verbosity(verbosity)  # The examples set it for themselves.
