from __future__ import annotations

import io
import logging
import pickle
import re
from typing import Any

import optuna
import pytest

from optuna_misowild import CostBudgetCallback
from optuna_misowild import CostProgressBar
from optuna_misowild import MisoWildSampler


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", ["full", "cheap"])
    trial.set_user_attr("cost", 4.0 if source == "full" else 1.0)
    return trial.suggest_float("x", 1.0, 2.0) - 5.0 * (source == "cheap")


def optimized(bar: CostProgressBar, *callbacks: Any, **kwargs: Any) -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.enqueue_trial({"source": "full"})  # By chance, parallel trials may all be cheap.
    with bar:
        study.optimize(objective, n_trials=6, callbacks=[bar, *callbacks], **kwargs)
    return study


def redirected(monkeypatch: pytest.MonkeyPatch, output: io.StringIO) -> io.StringIO:
    # In the test itself: pytest sets sys.stderr again after the fixtures.
    monkeypatch.setattr("sys.stderr", output)
    return output


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_it_shows_cost_source_and_the_best_verified_value(
    monkeypatch: pytest.MonkeyPatch, n_jobs: int
) -> None:
    terminal = redirected(monkeypatch, Terminal())
    study = optimized(CostProgressBar(100.0), n_jobs=n_jobs)
    cost = sum(trial.user_attrs["cost"] for trial in study.trials)
    best = min(t.value for t in study.trials if t.params["source"] == "full" and t.value)
    last = terminal.getvalue().split("\r")[-1]
    assert f"{cost:.0f}%|" in last
    assert f"cost {cost:g}/100, source " in last
    assert f"best on full: {best:.6g}" in last
    assert terminal.getvalue().endswith("\n")


def test_without_a_budget_there_are_numbers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = redirected(monkeypatch, Terminal())
    study = optimized(CostProgressBar())
    cost = sum(trial.user_attrs["cost"] for trial in study.trials)
    last = terminal.getvalue().split("\r")[-1]
    assert "%" not in last
    assert last.startswith(f"cost {cost:g}, source ")


def test_more_than_the_budget_is_no_more_than_a_full_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = redirected(monkeypatch, Terminal())
    study = optimized(CostProgressBar(3.0), CostBudgetCallback(3.0))
    cost = sum(trial.user_attrs["cost"] for trial in study.trials)
    last = terminal.getvalue().split("\r")[-1]
    assert "100%|" in last
    assert f"cost {cost:g}/3" in last


def test_a_study_with_one_source_that_takes_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = redirected(monkeypatch, Terminal())
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    for x in (1.75, 1.25, 1.5):
        study.enqueue_trial({"x": x})
    with CostProgressBar() as bar:
        study.optimize(lambda t: t.suggest_float("x", 1.0, 2.0), n_trials=3, callbacks=[bar])
    last = terminal.getvalue().split("\r")[-1]
    assert re.match(r"cost \S+ s, best: 1\.25 \[", last)


def test_the_sampler_that_is_given_tells_the_preferred_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = redirected(monkeypatch, Terminal())
    bar = CostProgressBar(sampler=MisoWildSampler(preferred_source="cheap"))
    study = optimized(bar)
    shown = terminal.getvalue().split("\r")
    source = study.trials[-1].params["source"]
    best = min(t.value for t in study.trials if t.params["source"] == "cheap" and t.value)
    assert f", source {source}, best on cheap: {best:.6g}" in shown[-1]
    terminal.truncate(0)
    study = optuna.create_study()
    study.enqueue_trial({"source": "full"})
    with bar:  # Once more.
        study.optimize(objective, n_trials=1, callbacks=[bar])
    assert "source full, best on cheap: none yet" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")


def test_messages_stand_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = redirected(monkeypatch, Terminal())
    logger = optuna.logging.get_logger("optuna")
    handler = logging.StreamHandler(terminal)
    logger.addHandler(handler)
    try:
        optimized(CostProgressBar())
    finally:
        logger.removeHandler(handler)
    messages = [f"Trial {number} finished" for number in range(6)]
    lines = re.split(r"[\r\n]", terminal.getvalue())
    assert [line[:16] for line in lines if "finished" in line] == messages


def test_it_is_quiet_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    output = redirected(monkeypatch, io.StringIO())
    optimized(CostProgressBar(100.0))
    assert output.getvalue() == ""


def shown_after(costs: list[float], budget: float, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a bar shows after each of the last two trials of a study, 10 s apart."""
    terminal = redirected(monkeypatch, Terminal())
    study = optuna.create_study()
    bar = CostProgressBar(budget)
    shown = []
    with bar:
        for i, cost in enumerate(costs):
            study.add_trial(optuna.create_trial(value=1.0, user_attrs={"cost": cost}))
            if i >= len(costs) - 2:
                bar(study, study.trials[-1])
                shown.append(terminal.getvalue().split("\r")[-1])
                bar._bar.start_t -= 10.0
    return shown


def test_a_resumed_study_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = shown_after([50.0, 10.0, 10.0], 100.0, monkeypatch)
    assert first.startswith(" 60%|") and "[00:00<?]" in first
    # 10 in 10 s, and 30 are left: what was spent before it was resumed tells nothing of the rate.
    assert second.startswith(" 70%|") and re.search(r"\[00:1\d<00:3\d\]", second)


def test_no_more_is_shown_than_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = shown_after([1990.0, 9.6, 0.4], 2000.0, monkeypatch)
    assert first.startswith(" 99%|") and "cost 1999/2000" in first
    assert second.startswith("100%|") and "cost 2000/2000" in second
    # But 0.1 + 0.1 + ... is 0.8, whatever a computer makes of it.
    assert "80%|" in shown_after([0.1] * 8, 1.0, monkeypatch)[-1]
    assert "cost 0.8/1" in shown_after([0.1] * 8, 1.0, monkeypatch)[-1]


@pytest.mark.parametrize("budget", [None, 20.0])
def test_it_can_be_pickled_while_it_is_shown(
    budget: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = redirected(monkeypatch, Terminal())
    with CostProgressBar(budget, sampler=MisoWildSampler(preferred_source="cheap")) as bar:
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        study.optimize(objective, n_trials=1, callbacks=[bar])
        copy = pickle.loads(pickle.dumps(bar))
    terminal.truncate(0)
    with copy:
        study.optimize(objective, n_trials=1, callbacks=[copy])
    assert "best on cheap" in terminal.getvalue()
    assert ("/20" in terminal.getvalue()) is (budget is not None)


def test_a_budget_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="`budget` must be finite and positive"):
        CostProgressBar(-1.0)
    with pytest.raises(TypeError, match="`budget` must be a number"):
        CostProgressBar("much")  # type: ignore[arg-type]
