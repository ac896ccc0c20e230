"""Studies that others have begun, continued or filled by hand."""

from __future__ import annotations

from collections import Counter
import math
from pathlib import Path
import time
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest
from toy_studies import METHODS
from toy_studies import OPTIMUM
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend


DISTRIBUTIONS = {"x": FloatDistribution(0.0, 1.0), "source": CategoricalDistribution(SOURCES)}


def added(x: float, source: str, value: float, **kwargs: Any) -> optuna.trial.FrozenTrial:
    return optuna.create_trial(
        params={"x": x, "source": source}, distributions=DISTRIBUTIONS, value=value, **kwargs
    )


def points_of(study: optuna.Study) -> Counter[tuple[Any, ...]]:
    return Counter((t.params.get("source"), t.params.get("x")) for t in study.trials)


@pytest.mark.parametrize("method", METHODS)
def test_begun_by_another_sampler(method: str) -> None:
    """No attributes: the source is in the parameters, and the cost between the dates."""

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        x = trial.suggest_float("x", 0.0, 1.0)
        time.sleep(0.05 if source == "full" else 0.002)
        return (x - OPTIMUM) ** 2 - (0.0 if source == "full" else 0.05)

    study = study_of(optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=12)
    assert not any(t.user_attrs or t.system_attrs for t in study.trials)
    study.sampler = MisoWildSampler(method=method, seed=0, n_startup_trials=3)
    seen = study.sampler.view(study).observations
    assert [SOURCES[s] for s in seen.source] == [t.params["source"] for t in study.trials]
    assert np.median(seen.cost[seen.source == 0]) > 3 * np.median(seen.cost[seen.source == 1])
    durations = [t.duration.total_seconds() for t in study.trials]  # type: ignore[union-attr]
    assert cumulated_cost(study) == pytest.approx(sum(durations))

    study.optimize(objective, n_trials=12)
    ours = study.trials[12:]
    # It needs no design, and uses both sources.
    assert not any("misowild:row" in t.system_attrs for t in ours)
    assert {t.params["source"] for t in ours} == set(SOURCES) or method == "paper"
    recommendation = recommend(study)
    assert recommendation.verified or method == "paper"
    if method == "robust":
        assert recommendation.params["x"] == pytest.approx(OPTIMUM, abs=0.03)


@pytest.mark.parametrize("method", METHODS)
def test_continued_by_tpe_and_back(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=3), n_trials=9)
    study.sampler = optuna.samplers.TPESampler(seed=0, n_startup_trials=0)
    study.optimize(toy, n_trials=8)
    study.sampler = MisoWildSampler(method=method, seed=0, n_startup_trials=3)
    study.optimize(toy, n_trials=9)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert set(points_of(study).values()) == {1}
    assert "misowild:row" not in study.trials[-1].system_attrs
    assert cumulated_cost(study) == pytest.approx(sum(t.user_attrs["cost"] for t in study.trials))
    recommendation = recommend(study)
    if method == "robust":
        assert recommendation.verified
        assert recommendation.params["x"] == pytest.approx(OPTIMUM, abs=0.02)
    assert recommendation.to_enqueue()["source"] == "full"


@pytest.mark.parametrize("method", METHODS)
def test_ranges_changed_on_resume(method: str) -> None:
    """The optimum moves into view when the range is widened and shifted."""

    def objective(trial: optuna.Trial, low: float, high: float) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        x = trial.suggest_float("x", low, high)
        n = trial.suggest_int("n", 1, 4 if low == 0.0 else 9)
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        return (x - 1.4) ** 2 + 0.1 * (n - 7) ** 2 + (0.0 if source == "full" else 0.02)

    study = study_of(MisoWildSampler(method=method, seed=0, warn_independent_sampling=False))
    study.optimize(lambda trial: objective(trial, 0.0, 1.0), n_trials=12)
    study.optimize(lambda trial: objective(trial, 0.5, 2.0), n_trials=18)
    resumed = study.trials[12:]
    assert all(0.5 <= t.params["x"] <= 2.0 for t in resumed)
    view = study.sampler.view(study)  # type: ignore[attr-defined]
    assert (view.space["x"].high, view.space["n"].high) == (2.0, 9)
    # What still has a place is learnt from.
    old = {t.number for t in study.trials[:12] if t.params["x"] >= 0.5}
    assert old <= set(view.observations.trial.tolist())
    assert recommend(study).params["x"] == pytest.approx(1.4, abs=0.15)
    assert recommend(study).params["n"] in (6, 7, 8)


@pytest.mark.parametrize("method", METHODS)
def test_a_parameter_that_is_new_on_resume_is_optimised(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        return toy(trial) + (trial.suggest_float("z", 0.0, 1.0) - 0.8) ** 2

    study = study_of(MisoWildSampler(method=method, seed=1), n_trials=12)
    study.optimize(objective, n_trials=25)
    assert study.sampler.view(study).space.keys() == {"x", "z"}  # type: ignore[attr-defined]
    assert np.median([abs(t.params["z"] - 0.8) for t in study.trials[-12:]]) < 0.1
    assert caplog.text.count("'z' of trial") == 1  # Until then, it is said once.


def test_a_conditional_parameter_stays_with_the_independent_sampler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Middle(optuna.samplers.RandomSampler):
        def sample_independent(self, *args: Any) -> float:
            return 0.125

    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", ["linear", "tree"])
        z = trial.suggest_float("z", 0.0, 1.0) if kind == "tree" else 1.0
        return toy(trial) + (z - 0.8) ** 2

    study = study_of(MisoWildSampler(seed=0, independent_sampler=Middle(), n_startup_trials=2))
    for kind in ["linear"] * 4 + ["tree"] * 8 + ["linear"] + ["tree"] * 8:
        study.enqueue_trial({"kind": kind})
    study.optimize(objective, n_trials=30)
    later = [t.params["z"] for t in study.trials[8:] if "z" in t.params]
    assert set(later) == {0.125}
    assert caplog.text.count("'z' of trial") == 1


@pytest.mark.parametrize(
    "sampler",
    [MisoWildSampler(seed=0), CarboCoolingSampler(alpha=1.0, seed=0)],
    ids=["robust", "carbo"],
)
def test_a_thousand_trials_at_the_first_call(sampler: MisoWildSampler) -> None:
    study = study_of(sampler)
    x = np.random.default_rng(0).random(1000)
    costs = {"full": 1.0, "cheap": 0.05}
    study.add_trials(
        [
            added(
                float(x[i]),
                SOURCES[i % 2],
                float((x[i] - OPTIMUM) ** 2 + 0.1 * (i % 2) * x[i]),
                user_attrs={"cost": costs[SOURCES[i % 2]]},
            )
            for i in range(1000)
        ]
    )
    start = time.perf_counter()
    study.optimize(toy, n_trials=1)
    assert time.perf_counter() - start < 20.0  # About a second.
    assert max(points_of(study).values()) == 1
    assert "misowild:row" not in study.trials[-1].system_attrs
    assert recommend(study).params["x"] == pytest.approx(OPTIMUM, abs=0.01)
    assert cumulated_cost(study) == pytest.approx(525.0, abs=2.0)


@pytest.mark.parametrize("method", METHODS)
def test_trials_copied_from_a_study_of_the_same_seed_are_not_run_again(method: str) -> None:
    original = study_of(MisoWildSampler(method=method, seed=4), n_trials=3)
    study = study_of(MisoWildSampler(method=method, seed=4))
    for trial in original.trials:  # As from a table: without attributes.
        study.add_trial(added(trial.params["x"], trial.params["source"], trial.values[0]))
    study.optimize(toy, n_trials=10)
    assert set(points_of(study).values()) == {1}


@pytest.mark.parametrize("method", [*METHODS, "carbo"])
def test_a_line_on_which_everything_has_converged(method: str) -> None:
    sampler = (
        CarboCoolingSampler(alpha=1.0, seed=0)
        if method == "carbo"
        else MisoWildSampler(method=method, seed=0)
    )
    study = study_of(sampler)
    for i in range(30):
        x = OPTIMUM + 1e-9 * (i % 3) if i > 6 else i / 6
        study.add_trial(added(x, "full", (x - OPTIMUM) ** 2, user_attrs={"cost": 1.0}))
    before = set(points_of(study))
    study.optimize(toy, n_trials=5)
    after = [(t.params["source"], t.params["x"]) for t in study.trials[30:]]
    assert len(set(after)) == 5
    assert not before & set(after)


def test_one_sampler_for_two_studies_of_one_database(tmp_path: Path) -> None:
    sampler = MisoWildSampler(seed=0, n_startup_trials=2)
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    first, second = (study_of(sampler, storage=url, study_name=name) for name in "ab")

    def other(trial: optuna.Trial) -> float:
        return trial.suggest_float("other", 0.0, 1.0) + trial.suggest_int("x", 3, 9)

    for _ in range(6):
        first.optimize(toy, n_trials=1)
        second.optimize(other, n_trials=1)
    alone = study_of(MisoWildSampler(seed=0, n_startup_trials=2), n_trials=6)
    assert [t.params for t in first.trials] == [t.params for t in alone.trials]
    assert all(t.params.keys() == {"other", "x"} for t in second.trials)


@pytest.mark.parametrize(
    ("enqueued", "message"),
    [
        ({"x": "a third"}, "a third"),
        ({"x": math.nan}, "nan"),
        ({"x": None}, "None"),
        ({"x": [0.5]}, "0.5"),
        ({"source": "gone"}, "'gone' not in"),
        ({"source": ["full"]}, "not in"),
    ],
    ids=repr,
)
def test_enqueued_values_that_make_no_sense_are_named_by_optuna(
    enqueued: dict[str, Any], message: str
) -> None:
    study = study_of(MisoWildSampler(seed=0, n_startup_trials=2), n_trials=6)
    study.enqueue_trial(enqueued)

    def reversed_toy(trial: optuna.Trial) -> float:
        # The sampler is called before Optuna looks at the value.
        trial.suggest_float("x", 0.0, 1.0) if "source" in enqueued else None
        return toy(trial)

    with pytest.raises((ValueError, TypeError), match=message) as error:
        study.optimize(reversed_toy, n_trials=1)
    assert "optuna_misowild" not in str(error.traceback[-1].path)
    assert study.trials[-1].state == TrialState.FAIL
    study.optimize(toy, n_trials=3)
    assert study.trials[-1].state == TrialState.COMPLETE


@pytest.mark.parametrize("method", METHODS)
def test_enqueued_values_out_of_range_are_evaluated_as_they_are(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=2), n_trials=6)
    study.enqueue_trial({"x": 5.0, "unknown": 1})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(toy, n_trials=1)
    assert study.trials[-1].params["x"] == 5.0
    study.optimize(toy, n_trials=3)
    assert all(0.0 <= t.params["x"] <= 1.0 for t in study.trials[-3:])


def test_a_value_without_parameters_does_not_end_the_model() -> None:
    study = study_of(MisoWildSampler(seed=0), n_trials=4)
    study.add_trial(optuna.create_trial(value=0.5, user_attrs={"cost": 3.0}))
    study.optimize(toy, n_trials=14)
    assert study.sampler.view(study).space.keys() == {"x"}  # type: ignore[attr-defined]
    assert cumulated_cost(study) > 3.0
    assert recommend(study).params["x"] == pytest.approx(OPTIMUM, abs=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_in_a_small_space_a_source_that_fails_everywhere_is_not_repeated(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        n = trial.suggest_int("n", 1, 40)
        if source == "full":
            raise RuntimeError
        return float(n)

    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=2))
    for n in (3, 30):
        study.enqueue_trial({"source": "cheap", "n": n})
    study.optimize(objective, n_trials=60, catch=(RuntimeError,))
    points = Counter((t.params["source"], t.params["n"]) for t in study.trials)
    assert max(points.values()) == 1
    assert sum(source == "full" for source, _ in points) == 40
