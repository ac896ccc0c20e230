"""Reported steps as sources: what a trial tells of each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest
from toy_studies import warnings_of

from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild.methods.base import Observations
from optuna_misowild.study import attributes


X = FloatDistribution(0.0, 1.0)
STEPS = (2, 6, 18)
EVERY = {step: 10.0 - step / 4 for step in range(1, 19)}  # 5.5 at the last step.
NAN = math.nan


def add(
    study: optuna.Study,
    reports: dict[int, float],
    value: float | None = None,
    *,
    state: TrialState = TrialState.COMPLETE,
    x: float = 0.5,
    cost: float | None = 18.0,
    **kwargs: Any,
) -> None:
    trial = optuna.create_trial(
        state=state,
        value=value,
        params={"x": x, **kwargs.pop("params", {})},
        distributions={"x": X, **kwargs.pop("distributions", {})},
        intermediate_values=reports,
        user_attrs={} if cost is None else {"cost": cost},
        **kwargs,
    )
    study.add_trial(trial)


def up_to(step: int, **changes: float) -> dict[int, float]:
    reports = {s: v for s, v in EVERY.items() if s <= step}
    return reports | {int(name[1:]): value for name, value in changes.items()}


def seen(study: optuna.Study, steps: Any = STEPS) -> Observations:
    return MisoWildSampler(steps=steps).view(study).observations


def told(observations: Observations) -> list[tuple[int, float]]:
    return [(int(s), float(y)) for s, y in zip(observations.source, observations.y, strict=True)]


@pytest.mark.parametrize(
    ("steps", "error", "said"),
    [
        ((2, 2, 6), ValueError, "increasing"),
        ((6, 2), ValueError, "increasing"),
        ((0, 2), ValueError, "at least 1, but got 0"),
        ((-1, 2), ValueError, "at least 1"),
        ((2, 6.5), TypeError, "integer, but got 6.5"),
        ((2, True), TypeError, "integer"),
        (tuple(range(1, 10)), ValueError, "two to 8"),
        ((52,), ValueError, "two to 8"),
        ((), ValueError, "two to 8"),
        ("all", ValueError, "'all'"),
        (52, TypeError, "52"),
    ],
)
def test_wrong_steps_are_said_at_once(steps: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        MisoWildSampler(steps=steps)


def test_the_steps_are_the_sources_and_the_last_is_preferred() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(steps=list(STEPS)))
    add(study, EVERY, 5.5)
    view = MisoWildSampler(steps=STEPS).view(study)
    assert view.sources.choices == (18, 6, 2)
    # With no pruner that stops a training at its rung, each is meant for the last.
    assert view.sources.queryable == (0,)


@pytest.mark.parametrize(
    ("reports", "value", "state", "expected"),
    [
        (EVERY, 5.5, TrialState.COMPLETE, [(2, 9.5), (1, 8.5), (0, 5.5)]),
        # What is returned is the value of the last rung: such as the best one on the way.
        (EVERY, 4.0, TrialState.COMPLETE, [(2, 9.5), (1, 8.5), (0, 4.0)]),
        ({}, 4.0, TrialState.COMPLETE, [(0, 4.0)]),
        # Nothing says that it was meant for more.
        (up_to(7), None, TrialState.PRUNED, [(2, 9.5), (1, 8.5)]),
        (up_to(1), None, TrialState.PRUNED, [(2, NAN)]),
        ({}, None, TrialState.PRUNED, [(0, NAN)]),
        (up_to(18), None, TrialState.PRUNED, [(2, 9.5), (1, 8.5), (0, 5.5)]),
        (up_to(7), None, TrialState.FAIL, [(2, 9.5), (1, 8.5), (0, NAN)]),
        # While it runs, what it will return is not known.
        (up_to(7), None, TrialState.RUNNING, [(2, 9.5), (1, 8.5), (0, NAN)]),
        (EVERY, None, TrialState.RUNNING, [(2, 9.5), (1, 8.5), (0, NAN)]),
        # Between the rungs, the first report from the rung on; beyond the last none is needed.
        ({5: 8.0, 10: 7.0, 15: 6.0}, 5.0, TrialState.COMPLETE, [(2, 8.0), (1, 7.0), (0, 5.0)]),
        ({30: 3.0, 40: 2.0}, None, TrialState.PRUNED, [(0, 3.0)]),
        ({2: 9.0, 18: 5.0, 40: 2.0}, 2.0, TrialState.COMPLETE, [(2, 9.0), (0, 2.0)]),
        # NaN is none, and the next is as good as it gets; where it is the last, the training has
        # diverged, which is a failure. An infinite value is the worst.
        (up_to(7, s2=NAN), None, TrialState.PRUNED, [(2, 9.25), (1, 8.5)]),
        (up_to(7, s6=NAN, s7=NAN), None, TrialState.PRUNED, [(2, 9.5), (0, NAN)]),
        (up_to(6, s6=math.inf), None, TrialState.PRUNED, [(2, 9.5), (1, 9.5)]),
        # From step 0.
        ({0: 9.0, 1: 8.0, 2: 7.0}, None, TrialState.PRUNED, [(2, 7.0)]),
    ],
)
def test_what_a_trial_tells_of_each_rung(
    reports: dict[int, float],
    value: float | None,
    state: TrialState,
    expected: list[tuple[int, float]],
) -> None:
    study = optuna.create_study()
    add(study, {}, 0.0)  # The space is that of trials with a value.
    add(study, reports, value, state=state)
    observations = seen(study).only(seen(study).trial == 1)
    np.testing.assert_array_equal(told(observations), expected)
    # Only the last of them was meant; it is pending while the trial runs.
    is_last = np.arange(len(observations)) == len(observations) - 1
    np.testing.assert_array_equal(observations.free, ~is_last)
    is_running = state == TrialState.RUNNING
    np.testing.assert_array_equal(observations.pending, is_last & is_running)
    has_diverged = bool(reports) and math.isnan(list(reports.values())[-1])
    has_failed = state == TrialState.FAIL or has_diverged
    np.testing.assert_array_equal(observations.failed, is_last & has_failed)
    assert (observations.X == 0.5).all()


def test_values_are_negated_where_the_study_maximises() -> None:
    study = optuna.create_study(direction="maximize")
    add(study, EVERY, 5.5)
    add(study, up_to(3), state=TrialState.PRUNED)
    np.testing.assert_array_equal(seen(study).y, [-9.5, -8.5, -5.5, -9.5])


def test_costs_are_in_proportion_to_the_step_and_an_epoch_counts_once() -> None:
    study = optuna.create_study()
    add(study, EVERY, 5.5, cost=36.0)
    add(study, up_to(9), state=TrialState.PRUNED, cost=27.0)
    add(study, {step - 1: value for step, value in EVERY.items()}, 5.5, cost=36.0)
    observations = seen(study)
    np.testing.assert_allclose(observations.cost, [4.0, 12.0, 36.0, 6.0, 18.0, 6.0, 14.0, 36.0])
    assert observations.spent == cumulated_cost(study) == 99.0


def test_the_initial_design_does_not_see_what_came_at_no_cost() -> None:
    study = optuna.create_study()
    add(study, EVERY, 5.5)
    observations = MisoWildSampler(steps=STEPS).view(study).design_observations
    np.testing.assert_array_equal(observations.source, [0])


def test_the_rung_that_a_trial_is_meant_for_is_pending() -> None:
    study = optuna.create_study()
    add(study, EVERY, 5.5)
    for reports in ({}, up_to(3), up_to(6)):
        record = {attributes.RUNG_KEY: [6, *STEPS]}
        add(study, reports, state=TrialState.RUNNING, system_attrs=record)
    observations = seen(study)
    np.testing.assert_array_equal(observations.trial[3:], [1, 2, 2, 3, 3])
    np.testing.assert_array_equal(observations.source[3:], [1, 2, 1, 2, 1])
    np.testing.assert_array_equal(observations.y[3:], [NAN, 9.5, NAN, 9.5, 8.5])
    # One that has got there waits for nothing but its worker.
    np.testing.assert_array_equal(observations.pending[3:], [True, False, True, False, False])


def test_where_the_rungs_were_others_the_next_longer_one_is_meant() -> None:
    study = optuna.create_study()
    add(study, EVERY, 5.5)
    record = {attributes.RUNG_KEY: [4, 4, 12]}
    add(study, {}, state=TrialState.RUNNING, system_attrs=record)
    assert seen(study).source[-1] == 1
    for wrong in ([], [-1], "6", [6, "18"], 6):
        add(study, {}, state=TrialState.RUNNING, system_attrs={attributes.RUNG_KEY: wrong})
        assert seen(study).source[-1] == 0
        said = attributes.malformed(study.trials[-1])
        assert said is not None and attributes.RUNG_KEY in said


@pytest.mark.parametrize(
    ("reported", "rungs"),
    [
        (range(1, 53), (52, 17, 6, 2)),
        (range(52), (51, 16, 5, 1)),
        (range(1, 1001), (1000, 333, 111, 37, 12, 4)),
        (range(10, 101, 10), (100, 30, 10)),
        (range(1, 4), (None,)),
        ([0], (None,)),
        ([], (None,)),
    ],
)
def test_automatic_steps_are_spaced_geometrically_over_what_is_reported(
    reported: Any, rungs: tuple[int | None, ...]
) -> None:
    study = optuna.create_study()
    assert MisoWildSampler(steps="auto").view(study).sources.choices == (None,)
    add(study, dict.fromkeys(reported, 1.0), 1.0)
    add(study, {2000: 1.0}, state=TrialState.PRUNED)
    assert MisoWildSampler(steps="auto").view(study).sources.choices == rungs


def number_of(choice: Any, choices: tuple[Any, ...] = (18, 6, 2)) -> dict[str, Any]:
    return {
        "params": {"source": choice},
        "distributions": {"source": CategoricalDistribution(choices)},
    }


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("steps", [None, "auto"])
def test_where_choices_are_numbers_of_epochs_a_training_tells_the_cheaper_ones(
    first: int, steps: str | None
) -> None:
    def of(n: int) -> dict[int, float]:
        return {step - 1 + first: value for step, value in up_to(n).items()}

    study = optuna.create_study()
    add(study, of(18), 4.0, **number_of(18))
    add(study, of(6), 8.5, cost=6.0, **number_of(6))
    add(study, of(6), state=TrialState.PRUNED, cost=6.0, **number_of(18))
    add(study, of(6), state=TrialState.PRUNED, cost=6.0, **number_of(6))  # At its own end.
    add(study, of(6), state=TrialState.RUNNING, cost=6.0, **number_of(6))
    observations = seen(study, steps)
    np.testing.assert_array_equal(
        told(observations),
        [
            *((2, 9.5), (1, 8.5), (0, 4.0)),
            *((2, 9.5), (1, 8.5)),
            *((2, 9.5), (1, 8.5), (0, NAN)),
            *((2, 9.5), (1, 8.5)),
            *((2, 9.5), (1, NAN)),
        ],
    )
    np.testing.assert_allclose(
        observations.cost, [2.0, 6.0, 18.0, 2.0, 6.0, 2.0, 6.0, NAN, 2.0, 6.0, NAN, NAN]
    )
    np.testing.assert_array_equal(observations.free, [1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0])
    assert observations.spent == 36.0


def test_reports_that_do_not_end_with_the_choice_are_no_sources() -> None:
    """Steps of a solver on grids of 18, 6 and 2, say."""
    study = optuna.create_study()
    add(study, EVERY, 5.5, **number_of(18))
    add(study, EVERY, 5.5, **number_of(6))
    assert told(seen(study, None)) == [(0, 5.5), (1, 5.5)]


@pytest.mark.parametrize(
    ("steps", "choices", "said"),
    [
        (STEPS, ("full", "cheap"), "no steps"),
        ("auto", (1.5, 1), "no steps"),
        (STEPS, (18, 6), "must be the choices"),
    ],
)
def test_steps_and_other_choices_of_a_source_parameter_are_refused(
    steps: Any, choices: tuple[Any, ...], said: str
) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(steps=steps))
    with pytest.raises(ValueError, match=said):
        study.ask().suggest_categorical("source", choices)


def curve(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    value = 1.0
    for epoch in range(1, 19):
        value = (x - 0.3) ** 2 + (1.0 - 0.5 * x) / epoch
        trial.set_user_attr("cost", float(epoch))
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def test_a_study_without_our_pruner_learns_from_each_curve(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=4)
    study = optuna.create_study(sampler=MisoWildSampler(steps=STEPS, seed=0), pruner=pruner)
    study.optimize(curve, n_trials=20)
    states = [trial.state for trial in study.trials]
    assert {TrialState.COMPLETE, TrialState.PRUNED} == set(states)
    assert warnings_of(caplog) == ""
    for trial in study.trials:
        assert trial.system_attrs[attributes.RUNG_KEY] == [18, *STEPS]
        # The source of a pruned trial is the last rung that it reached.
        is_complete = trial.state == TrialState.COMPLETE
        assert trial.user_attrs["source_index"] == (0 if is_complete else 2)
    best = recommend(study)
    assert best.verified and best.source == 18 and best.value == study.best_value
    assert study.best_trial.state == TrialState.COMPLETE
    # Whoever loads the study knows its rungs.
    study.sampler = optuna.samplers.RandomSampler()
    assert recommend(study).source == 18
    model = MisoWildSampler(steps=STEPS).model(study)
    early, late = (model.predict({"x": 0.3}, source=step)[0] for step in (2, 18))
    assert early > late


def test_a_training_that_was_pruned_at_the_last_step_may_be_recommended() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(steps=STEPS), direction="maximize")
    add(study, EVERY, 5.5, x=0.2)
    add(study, {**EVERY, 18: 7.5}, state=TrialState.PRUNED, x=0.7)
    best = recommend(study)
    assert (best.value, best.params["x"], best.verified) == (7.5, 0.7, True)


def test_an_enqueued_trial_is_meant_for_the_last_rung() -> None:
    class Stopping(optuna.pruners.NopPruner):
        stops_at_rungs = True

    sampler = MisoWildSampler(steps=STEPS, seed=0)
    study = optuna.create_study(sampler=sampler, pruner=Stopping())
    for i in range(4):
        add(study, EVERY, 5.5 + i, x=i / 4)
    study.enqueue_trial({"y": 0.9})
    trial = study.ask()
    trial.suggest_float("x", 0.0, 1.0)
    assert study.trials[-1].system_attrs[attributes.RUNG_KEY][0] == 18
    # One that is retried is meant for what it was meant for.
    retried = {attributes.RUNG_KEY: [6, *STEPS], "fixed_params": {"y": 0.8}}
    study.add_trial(optuna.create_trial(state=TrialState.WAITING, system_attrs=retried))
    study.ask().suggest_float("x", 0.0, 1.0)
    assert study.trials[-1].system_attrs[attributes.RUNG_KEY][0] == 6


def test_query_sources_names_the_steps_that_may_be_meant() -> None:
    class Stopping(optuna.pruners.NopPruner):
        stops_at_rungs = True

    study = optuna.create_study(pruner=Stopping())
    add(study, EVERY, 5.5)
    view = MisoWildSampler(steps=STEPS, query_sources=[2, 18]).view(study)
    assert view.sources.queryable == (0, 2)
    for wrong in ([2, 6], [2, 18, 40]):
        with pytest.raises(ValueError, match="query_sources"):
            MisoWildSampler(steps=STEPS, query_sources=wrong)
    with pytest.raises(ValueError, match="name the steps"):
        MisoWildSampler(steps="auto", query_sources=[2, 18])
    with pytest.raises(ValueError, match="preferred_source.*got 2"):
        MisoWildSampler(steps=STEPS, preferred_source=2)
