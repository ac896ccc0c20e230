"""One BLAS thread while a sampler thinks.

Its matrices are small: more threads gain little, and where other work keeps the cores busy they
wait for each other, which can take ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
import threading
from typing import Any


_limited = threading.Lock()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside, and put back what was before.

    The limit is one for the whole process: of several Python threads inside, the one that came
    first sets it and puts it back. Needs threadpoolctl, which comes with scikit-learn; without
    it nothing is changed.
    """
    controller = _controller()
    if controller is None or not _limited.acquire(blocking=False):
        yield
        return
    try:
        with controller.limit(limits=1, user_api="blas"):
            yield
    finally:
        _limited.release()


@cache
def _controller() -> Any:
    """Return what controls the BLAS libraries that are loaded, or None without threadpoolctl."""
    # The libraries must be loaded to be found: numpy's, and scipy's own.
    import scipy.linalg  # noqa: F401

    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
