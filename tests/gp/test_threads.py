from __future__ import annotations

import sys
import threading
from typing import Any

import numpy  # noqa: F401
import optuna
import pytest
import scipy.linalg  # noqa: F401

import optuna_misowild
from optuna_misowild import MisoWildSampler
from optuna_misowild import RobustMethod
from optuna_misowild import base_sampler
from optuna_misowild.gp import threads
from optuna_misowild.gp.threads import single_blas_thread


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


def test_a_recommendation_is_thought_out_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def recommend(self: RobustMethod, *args: Any) -> None:
        seen.append(limits())

    monkeypatch.setattr(RobustMethod, "recommend", recommend)
    study = optuna.create_study(sampler=MisoWildSampler())
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, match="nothing to recommend"):
            optuna_misowild.recommend(study)
    assert seen == [{1}]


@pytest.mark.parametrize("n_trials", [1, 7])
def test_a_suggestion_is_thought_out_in_one_thread_and_waits_in_as_many_as_before(
    n_trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking: list[set[int]] = []
    waiting: list[set[int]] = []

    def noting(seen: list[set[int]], original: Any) -> Any:
        def function(*args: Any, **kwargs: Any) -> Any:
            seen.append(limits())
            return original(*args, **kwargs)

        return function

    monkeypatch.setattr(RobustMethod, "design", noting(thinking, RobustMethod.design))
    monkeypatch.setattr(RobustMethod, "propose", noting(thinking, RobustMethod.propose))
    must_give_way = noting(waiting, base_sampler.must_give_way)
    monkeypatch.setattr(base_sampler, "must_give_way", must_give_way)
    study = optuna.create_study(sampler=MisoWildSampler(n_startup_trials=4, seed=0))
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=n_trials)
    assert len(waiting) == n_trials
    assert all(seen == {1} for seen in thinking)
    assert all(seen == {2} for seen in waiting)


def test_without_threadpoolctl_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    threads._controller.cache_clear()
    try:
        with threadpoolctl.threadpool_limits(2, user_api="blas"), single_blas_thread():
            assert limits() == {2}
    finally:
        threads._controller.cache_clear()
