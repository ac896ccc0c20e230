"""Pruned trials have paid, and tell the models nothing: where they are many, it is said."""

from __future__ import annotations

import optuna
import pytest
from toy_studies import study_of
from toy_studies import warnings_of

from optuna_misowild import MisoWildSampler


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
    study = study_of(MisoWildSampler(seed=0))  # With Optuna's default pruner.
    study.optimize(lambda trial: reporting(trial, sources), n_trials=40)
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
