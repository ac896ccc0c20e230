from __future__ import annotations

import sys
import threading

import numpy  # noqa: F401
import pytest
import scipy.linalg  # noqa: F401

from optuna_misowild import threads
from optuna_misowild.threads import single_blas_thread


threadpoolctl = pytest.importorskip("threadpoolctl")


def limits() -> set[int]:
    return {p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"}


def test_one_thread_inside_and_as_before_outside() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with single_blas_thread():
            assert limits() == {1}
        assert limits() == {2}


def test_the_limit_is_put_back_after_an_error() -> None:
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with pytest.raises(RuntimeError), single_blas_thread():
            raise RuntimeError
        assert limits() == {2}


def test_of_two_threads_the_first_one_sets_it_and_puts_it_back() -> None:
    second_is_in, first_is_out = threading.Event(), threading.Event()
    seen = []

    def second() -> None:
        with single_blas_thread():
            second_is_in.set()
            first_is_out.wait()
            seen.append(limits())

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        thread = threading.Thread(target=second)
        with single_blas_thread():
            thread.start()
            second_is_in.wait()
            seen.append(limits())
        first_is_out.set()
        thread.join()
        assert seen == [{1}, {2}]
        assert limits() == {2}


def test_without_threadpoolctl_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    threads._controller.cache_clear()
    try:
        with threadpoolctl.threadpool_limits(2, user_api="blas"), single_blas_thread():
            assert limits() == {2}
    finally:
        threads._controller.cache_clear()
