"""What is said of sources: ordinary uses hear nothing."""

from __future__ import annotations

import pickle
from typing import Any

import optuna
import pytest
from toy_studies import METHODS
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of
from warned_studies import Objective
from warned_studies import named
from warned_studies import plain
from warned_studies import priced
from warned_studies import run

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend


# No trial has the source parameter.


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


def test_so_are_choices_of_which_the_first_is_by_far_the_most_expensive(
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


@pytest.mark.parametrize("name", ["fidelity", "kernel", "Sources"])
def test_nothing_is_guessed_from_names(name: str, caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical(name, ["full", "cheap"])
        trial.set_user_attr("costs", 3.0)
        return trial.suggest_float("x", 0.0, 1.0)

    run(objective, 3)
    assert warnings_of(caplog) == ""


def test_a_source_that_is_dropped_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    run(priced(full=1.0, half=0.5), 8)
    assert warnings_of(caplog) == ""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("arguments", [{}, {"budget": 1e6}, {"cost_attr": "energy"}])
def test_one_source_is_an_ordinary_use(
    method: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    run(plain, 8, method=method, **arguments)
    assert warnings_of(caplog) == ""


def test_carbo_on_one_source_is_an_ordinary_use(caplog: pytest.LogCaptureFixture) -> None:
    run(plain, 8, CarboCoolingSampler(1e6, seed=0))
    assert warnings_of(caplog) == ""


@pytest.mark.parametrize("name", ["source", "grid"])
def test_a_source_parameter_that_is_there_is_fine(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(named(name), 8, source=name, preferred_source="full", query_sources=["full", "cheap"])
    assert f"no parameter {name!r}" not in warnings_of(caplog)


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


# What the sources cost.


@pytest.mark.parametrize("method", METHODS)
def test_a_preferred_source_that_is_the_cheapest_is_said(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(priced(coarse=0.1, mid=0.5, fine=1.0), 9, method=method, n_startup_trials=2)
    said = warnings_of(caplog)
    assert said.count("is by far the cheapest") == 1
    assert "preferred source 'coarse', the first choice of 'source'" in said
    assert "`preferred_source='fine'`" in said


@pytest.mark.parametrize(
    "objective, arguments",
    [
        (priced(fine=1.0, coarse=0.1), {}),
        (priced(fine=1.0, coarse=1.5), {}),
        (priced(coarse=0.1, mid=0.2, fine=1.0), {}),
        (priced(coarse=0.1, fine=1.0), {"preferred_source": "coarse"}),
        (priced(coarse=0.1, fine=1.0), {"preferred_source": "fine"}),
        (priced(coarse=0.1, fine=1.0), {"query_sources": ["coarse"]}),
        (priced(a=0.0, b=0.0), {}),
    ],
)
def test_other_orders_of_costs_are_not(
    objective: Objective, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    run(objective, 8, n_startup_trials=2, **arguments)
    assert "is by far the cheapest" not in warnings_of(caplog)


def test_the_noise_of_a_clock_is_no_cost(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", ["coarse", "fine"])
        value = trial.suggest_float("x", 0.0, 1.0)
        if source == "fine":  # A few milliseconds, against microseconds.
            sum(range(300_000))
        return value

    run(objective, 10)
    assert "is by far the cheapest" not in warnings_of(caplog)


# Another preferred source.


@pytest.mark.parametrize("method", METHODS)
def test_it_is_said_that_the_best_trial_may_be_of_another_source(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    cheap_first = MisoWildSampler(method=method, preferred_source="cheap", seed=0)
    study = study_of(cheap_first, n_trials=12)
    assert "it was another when" not in warnings_of(caplog)
    study.sampler = MisoWildSampler(method=method, seed=0)
    study.optimize(toy, n_trials=9)
    said = warnings_of(caplog)
    assert said.count("The preferred source is 'full', but it was another when 12 of the") == 1
    assert "read the result with `recommend(study)`" in said
    assert study.best_params["source"] == "cheap"  # As is said.
    best = recommend(study, sampler=MisoWildSampler(seed=0))
    assert best.source == "full" and best.verified


def test_another_order_of_the_other_sources_is_fine(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(n_trials=6)
    study.sampler = CarboCoolingSampler(10.0, preferred_source="full", seed=0)
    study.optimize(toy, n_trials=2)
    copied = study_of(MisoWildSampler(seed=0))
    copied.add_trials(study.trials)
    copied.optimize(toy, n_trials=1)
    # Trials of another sampler are not marked.
    begun = study_of(optuna.samplers.RandomSampler(seed=0), n_trials=4)
    begun.sampler = MisoWildSampler(preferred_source="cheap", seed=0)
    begun.optimize(toy, n_trials=1)
    assert "it was another when" not in warnings_of(caplog)


# Pruned trials.


def reporting(trial: optuna.Trial, sources: tuple[str, ...] = ("full", "cheap")) -> float:
    source = trial.suggest_categorical("source", sources) if sources else "full"
    x = trial.suggest_float("x", 0.0, 1.0)
    trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
    value = (x - 0.3) ** 2 + (source != "full")
    for step in range(3):
        trial.report(value, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


@pytest.mark.parametrize(
    "sources, of", [(("full", "cheap"), " of the preferred source 'full'"), ((), "")]
)
def test_many_pruned_trials_are_said(
    sources: tuple[str, ...], of: str, caplog: pytest.LogCaptureFixture
) -> None:
    pruner = optuna.pruners.PercentilePruner(25.0)
    study = study_of(MisoWildSampler(seed=0), pruner=pruner)
    study.optimize(lambda trial: reporting(trial, sources), n_trials=60)
    said = [line for line in warnings_of(caplog).splitlines() if "pruned" in line]
    assert len(said) == 1
    assert f" trials{of} were pruned. Their costs count" in said[0]
    assert "`pruner=optuna.pruners.NopPruner()`" in said[0]


@pytest.mark.parametrize("every", [4, 1000])
def test_none_or_few_are_not(every: int, caplog: pytest.LogCaptureFixture) -> None:
    n_full = 0

    def objective(trial: optuna.Trial) -> float:
        nonlocal n_full
        n_full += trial.suggest_categorical("source", ["full", "cheap"]) == "full"
        if trial.params["source"] == "full" and n_full % every == 0:
            raise optuna.TrialPruned
        return reporting(trial)

    study = study_of(MisoWildSampler(seed=0), pruner=optuna.pruners.NopPruner())
    study.optimize(objective, n_trials=60)
    assert n_full > 16
    assert "pruned" not in warnings_of(caplog)


def test_those_of_another_source_are_not(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("source", ["full", "cheap"]) == "cheap":
            raise optuna.TrialPruned
        return trial.suggest_float("x", 0.0, 1.0)

    study = study_of(MisoWildSampler(seed=0))
    for source in ["full", "full", "full", *["cheap"] * 6]:
        study.enqueue_trial({"source": source})
    study.optimize(objective, n_trials=9)
    assert sum(t.state == optuna.trial.TrialState.PRUNED for t in study.trials) == 6
    assert "pruned" not in warnings_of(caplog)
