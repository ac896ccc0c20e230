"""Studies for the tests of the figures, and what is on a figure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import math
from typing import Any

import optuna
from optuna.trial import TrialState
import plotly.graph_objects as go


SOURCES = ("full", "half", "tenth")


def one_d(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0)


def two_d(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + 0.1 * math.log10(
        trial.suggest_float("y", 1e-3, 1e3, log=True)
    )


def with_category(trial: optuna.Trial) -> float:
    return trial.suggest_float("x", 0.0, 1.0) + (trial.suggest_categorical("k", "ab") == "a")


def six_d(trial: optuna.Trial) -> float:
    value = two_d(trial)
    value += 0.1 * trial.suggest_int("n", 1, 8) + 0.001 * trial.suggest_int("m", 1, 99, log=True)
    value += trial.suggest_float("step", 0.0, 1.0, step=0.25)
    return value + 0.5 * (trial.suggest_categorical("kind", ["a", None, True]) == "a")


def study_of(
    n_trials: int,
    space: Callable[[optuna.Trial], float] = one_d,
    *,
    sources: tuple[str, ...] = SOURCES,
    direction: str = "minimize",
    sampler: optuna.samplers.BaseSampler | None = None,
    costs: bool = True,
) -> optuna.Study:
    """A study as it is when it is loaded to be looked at: with a sampler that is not ours."""

    def objective(trial: optuna.Trial) -> float:
        source = 0
        if sources:
            source = sources.index(trial.suggest_categorical("source", sources))
        value = space(trial)
        if costs:
            trial.set_user_attr("cost", (1.0 + trial.params["x"]) / 10.0**source)
        if trial.number % 7 == 5:
            raise optuna.TrialPruned
        if trial.number % 7 == 6:
            raise RuntimeError
        value = math.sin(5.0 * value) + 0.05 * source
        return -value if direction == "maximize" else value

    sampler = optuna.samplers.RandomSampler(seed=0) if sampler is None else sampler
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(objective, n_trials=n_trials, catch=RuntimeError)
    if isinstance(sampler, optuna.samplers.RandomSampler):
        # The first five values of each source are the initial design.
        for s, source in enumerate(sources):
            trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            own = [t for t in trials if t.params.get("source") == source]
            for row, trial in enumerate(own[:5]):
                trial.system_attrs["misowild:row"] = [s, row]
    return study


def told(
    rows: Iterable[tuple[str, float, float | None, float | None]],
    *,
    sources: tuple[str, ...] = SOURCES,
    direction: str = "minimize",
) -> optuna.Study:
    """A study of trials that are told: source, x, value (None: failed), cost (None: unknown)."""
    study = optuna.create_study(direction=direction)
    for source, x, value, cost in rows:
        study.add_trial(
            optuna.create_trial(
                state=TrialState.FAIL if value is None else TrialState.COMPLETE,
                params={"source": source, "x": x},
                distributions={
                    "source": optuna.distributions.CategoricalDistribution(sources),
                    "x": optuna.distributions.FloatDistribution(0.0, 1.0),
                },
                value=value,
                user_attrs={} if cost is None else {"cost": cost},
            )
        )
    return study


def running(study: optuna.Study) -> optuna.Study:
    """The same study with another trial that has just begun, and one with its parameters."""
    study.ask()
    study.ask(dict(study.trials[0].distributions))
    study.enqueue_trial({"x": 0.5})
    return study


def added() -> optuna.Study:
    """A study of trials that no sampler has seen."""
    study = optuna.create_study()
    distribution = optuna.distributions.FloatDistribution(0.0, 1.0)
    for x in (0.1, 0.4, 0.9):
        study.add_trial(
            optuna.create_trial(params={"x": x}, distributions={"x": distribution}, value=x**2)
        )
    return study


def with_value(study: optuna.Study, value: float) -> optuna.Study:
    trial = study.trials[0]
    study.add_trial(
        optuna.create_trial(params=trial.params, distributions=trial.distributions, value=value)
    )
    return study


def infeasible_best() -> optuna.Study:
    """A study whose best value, of the preferred source, does not meet a constraint."""
    study = study_of(10)
    trial = study.trials[0]
    key = "constraints:mine" if hasattr(optuna.Trial, "set_constraint") else "constraints"
    value = 1.0 if key != "constraints" else [1.0, 0.0]
    study.add_trial(
        optuna.create_trial(
            params={**trial.params, "source": "full"},
            distributions=trial.distributions,
            value=-99.0,
            system_attrs={key: value},
        )
    )
    return study


def misleading_study(n_right: int = 10) -> optuna.Study:
    """A study with a source that is right, and one that is about something else, ten times each.

    ``n_right`` is how often the first of these was asked. Five each are the initial design.
    """

    def objective(trial: optuna.Trial) -> float:
        source = ("full", "right", "wrong")[trial.number % 3]
        trial.suggest_categorical("source", ["full", "right", "wrong"])
        x = (trial.number // 3 + 0.5) / 10.0
        trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        value = math.sin(6.0 * x)
        return {"full": value, "right": value + 3.0, "wrong": math.cos(9.0 * x)}[source]

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler())
    for i in range(30):
        x = (i // 3 + 0.5) / 10.0
        study.enqueue_trial({"source": ("full", "right", "wrong")[i % 3], "x": x})
    study.optimize(objective, n_trials=30)
    kept = optuna.create_study()
    for t in study.trials:
        if t.number < 15:
            t.system_attrs["misowild:row"] = [t.number % 3, t.number // 3]
        if t.number % 3 != 1 or t.number < 3 * n_right:
            kept.add_trial(t)
    return kept


def maps(figure: go.Figure, kind: str) -> list[Any]:
    """The traces of that kind, without those of where queries are probably infeasible."""
    return [t for t in figure.data if t.type == kind and t.name != "Probably Infeasible"]


def traces(figure: go.Figure, name: str, mode: str | None = None) -> list[Any]:
    named = [trace for trace in figure.data if trace.name == name]
    return [t for t in named if mode is None or getattr(t, "mode", None) == mode]
