"""What is said where no trial has the source parameter; ordinary uses are left in peace."""

from __future__ import annotations

import pickle
from typing import Any

from advised_studies import Objective
from advised_studies import infos_of
from advised_studies import named
from advised_studies import plain
from advised_studies import priced
from advised_studies import run
import optuna
import pytest
from toy_studies import METHODS
from toy_studies import warnings_of

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler


@pytest.mark.parametrize(
    "objective, arguments, said",
    [
        (
            named("source"),
            {"source": "grid"},
            "`source='grid'` was given, but the objective has no parameter 'grid': all trials "
            "count as one source. Its categorical parameters are 'source': if one of them",
        ),
        (
            lambda trial: trial.suggest_float("x", 0, 1),
            {"source": "grid"},
            "It has no categorical parameter: let it suggest the source by "
            "`trial.suggest_categorical('grid', [...])`",
        ),
        (
            named("fidelity"),
            {"preferred_source": "full"},
            "`preferred_source='full'` was given, but the objective has no parameter 'source'",
        ),
        (named("z"), {"query_sources": ["full"]}, "`query_sources=['full']` was given"),
    ],
)
def test_a_source_parameter_that_nobody_suggests_is_said_after_the_first_trial(
    objective: Objective, arguments: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    study = run(objective, 1, **arguments)
    assert said in warnings_of(caplog)
    study.optimize(objective, n_trials=3)
    assert warnings_of(caplog).count("all trials count as one source") == 1


def test_it_is_said_of_every_study(caplog: pytest.LogCaptureFixture) -> None:
    sampler = MisoWildSampler(source="grid", seed=0)
    for _ in range(5):  # Studies that are gone at once: their storages may share an address.
        run(plain, 2, sampler)
    run(plain, 2, pickle.loads(pickle.dumps(sampler)))
    assert warnings_of(caplog).count("`source='grid'` was given") == 6


@pytest.mark.parametrize(
    "name", ["fidelity", "dataSubset", "data_source", "Sources", "mesh_level", "soruce"]
)
def test_a_telling_name_is_mentioned(name: str, caplog: pytest.LogCaptureFixture) -> None:
    run(named(name), 3)
    assert warnings_of(caplog).count("no parameter 'source'") == 1
    assert f"pass `source={name!r}`" in warnings_of(caplog)


def test_so_are_choices_of_which_the_first_is_by_far_the_dearest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(priced("level", fine=1.0, coarse=0.2), 12)
    said = warnings_of(caplog)
    assert said.count("pass `source='level'`") == 1
    assert "'level' = 'fine' costs 1" in said and "and 'coarse' only 0.2" in said


@pytest.mark.parametrize(
    "objective, sampler",
    [
        (priced("kernel", poly=1.0, rbf=0.5), None),
        (priced("kernel", linear=0.2, rbf=1.0), None),
        (priced("kernel", linear=1.0, rbf=1.5, poly=0.2), None),
        (priced("kernel", poly=1.0, rbf=0.2), CarboCoolingSampler(alpha=1.0, seed=0)),
    ],
)
def test_ordinary_choices_of_other_costs_are_not(
    objective: Objective, sampler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run(objective, 12, sampler)
    assert warnings_of(caplog) == ""


def test_nor_is_the_noise_of_a_clock(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kernel", ["poly", "rbf"]) == "poly":
            sum(range(300_000))  # A few milliseconds, against microseconds.
        return trial.suggest_float("x", 0.0, 1.0)

    run(objective, 12)
    assert warnings_of(caplog) == ""


@pytest.mark.parametrize(
    "name", ["kernel", "activation", "booster", "score", "griddle", "optimizer"]
)
def test_other_names_are_not(name: str, caplog: pytest.LogCaptureFixture) -> None:
    run(named(name), 3)
    assert warnings_of(caplog) == ""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("arguments", [{}, {"budget": 1e6}, {"cost_attr": "energy"}])
def test_one_source_is_an_ordinary_use(
    method: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    run(plain, 8, method=method, **arguments)
    assert warnings_of(caplog) == ""
    # Whoever has forgotten it can read this.
    assert infos_of(caplog) == (
        "There is no parameter 'source': all trials count as one source. If there are several, "
        "let the objective suggest which by `trial.suggest_categorical('source', [...])`."
    )


def test_carbo_on_one_source_is_an_ordinary_use(caplog: pytest.LogCaptureFixture) -> None:
    run(plain, 8, CarboCoolingSampler(1e6, seed=0))
    assert warnings_of(caplog) + infos_of(caplog) == ""


@pytest.mark.parametrize("name", ["source", "grid"])
def test_a_source_parameter_that_is_there_is_fine(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(named(name), 8, source=name, preferred_source="full", query_sources=["full", "cheap"])
    assert f"no parameter {name!r}" not in warnings_of(caplog) + infos_of(caplog)


def test_trials_that_were_added_without_a_source_say_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = run(plain, 3)  # An earlier run, which had one source.
    study.sampler = MisoWildSampler(source="grid", seed=0)
    study.optimize(named("grid"), n_trials=3)
    assert "no parameter 'grid'" not in warnings_of(caplog)


def test_a_first_trial_without_the_source_that_others_have_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = run(named("grid"), 2)  # As another worker, or an earlier run.
    study.sampler = MisoWildSampler(source="grid", seed=0)
    study.optimize(plain, n_trials=1)
    assert "no parameter 'grid'" not in warnings_of(caplog)
