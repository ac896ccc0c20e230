from __future__ import annotations

from datetime import datetime
from datetime import timedelta
import math
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest

from optuna_misowild import records
from optuna_misowild.observations import Observations
from optuna_misowild.source_parameter import sources_of


SPACE = {"x": FloatDistribution(0.0, 10.0)}
CHOICES = CategoricalDistribution(("full", "cheap"))
SOURCES = sources_of("source", CHOICES, None, None)


def add(
    study: optuna.Study,
    x: float,
    value: float | None = None,
    *,
    source: str = "full",
    state: TrialState = TrialState.COMPLETE,
    seconds: float | None = None,
    **kwargs: Any,
) -> None:
    trial = optuna.create_trial(
        params={"x": x, "source": source},
        distributions={**SPACE, "source": CHOICES},
        value=value,
        state=state,
        **kwargs,
    )
    if seconds is None:
        trial.datetime_start = trial.datetime_complete = None
    else:
        trial.datetime_start = datetime(2026, 1, 1)
        trial.datetime_complete = trial.datetime_start + timedelta(seconds=seconds)
    # What `Study.add_trial` does, without its check that a finished trial has dates.
    study._storage.create_new_trial(study._study_id, template_trial=trial)


def observe(study: optuna.Study, **kwargs: Any) -> Observations:
    arguments: dict[str, Any] = {
        "sources": SOURCES,
        "space": SPACE,
        "cost_attr": "cost",
        "budget": None,
        **kwargs,
    }
    return records.observe(study, study.get_trials(deepcopy=False), **arguments)


def test_locations_sources_values_and_costs() -> None:
    study = optuna.create_study()
    add(study, 2.5, 1.0, user_attrs={"cost": 3.0})
    add(study, 10.0, 2.0, source="cheap", user_attrs={"cost": 0})
    observations = observe(study, budget=9.0)
    np.testing.assert_array_equal(observations.X, [[0.25], [1.0]])
    np.testing.assert_array_equal(observations.source, [0, 1])
    np.testing.assert_array_equal(observations.y, [1.0, 2.0])
    np.testing.assert_array_equal(observations.cost, [3.0, 0.0])
    np.testing.assert_array_equal(observations.trial, [0, 1])
    assert (observations.spent, observations.budget, observations.n_sources) == (3.0, 9.0, 2)


def test_values_are_negated_when_the_study_maximises() -> None:
    study = optuna.create_study(direction="maximize")
    add(study, 1.0, 5.0)
    assert observe(study).y[0] == -5.0


def test_infinite_values_count_as_the_worst_of_their_source() -> None:
    study = optuna.create_study()
    for value in (1.0, 4.0, math.inf, -math.inf):
        add(study, 1.0, value)
    add(study, 1.0, 100.0, source="cheap")
    np.testing.assert_array_equal(observe(study).y, [1.0, 4.0, 4.0, 4.0, 100.0])


def test_infinite_values_of_a_source_without_others_count_as_the_worst_of_all() -> None:
    study = optuna.create_study()
    add(study, 1.0, 7.0)
    add(study, 1.0, math.inf, source="cheap")
    np.testing.assert_array_equal(observe(study).y, [7.0, 7.0])


def test_a_trial_without_a_cost_costs_its_duration_if_that_is_known() -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, seconds=2.5)
    add(study, 2.0, 1.0)
    observations = observe(study)
    np.testing.assert_array_equal(observations.cost, [2.5, math.nan])
    assert observations.spent == 2.5
    assert observations.has_value.all()


def test_seconds_are_not_mixed_with_costs_in_another_unit() -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, seconds=1000.0, user_attrs={"cost": 2.0})
    add(study, 2.0, 1.0, seconds=1000.0)
    np.testing.assert_array_equal(observe(study).cost, [2.0, math.nan])


@pytest.mark.parametrize("cost", ["3", math.nan, math.inf, -1.0, True, [1.0]])
def test_a_malformed_cost_is_unknown(cost: Any) -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, user_attrs={"cost": cost}, seconds=3.0)
    observations = observe(study)
    assert math.isnan(observations.cost[0])
    assert observations.y[0] == 1.0
    message = records.malformed_cost(study.trials[0], "cost")
    assert message is not None
    assert "Trial 0" in message and repr(cost) in message


def test_unfinished_evaluations_pay_but_are_no_sample_of_the_cost() -> None:
    study = optuna.create_study()
    add(study, 1.0, state=TrialState.PRUNED, user_attrs={"cost": 1.0})
    add(study, 2.0, state=TrialState.FAIL, seconds=5.0)
    add(study, 3.0, state=TrialState.FAIL, user_attrs={"cost": 2.0})
    observations = observe(study)
    # Only the last one says itself what a whole evaluation has cost.
    np.testing.assert_array_equal(observations.cost, [math.nan, math.nan, 2.0])
    assert not observations.has_value.any()
    assert observations.spent == 3.0


def test_the_duration_of_a_failed_trial_counts_when_costs_are_seconds() -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, seconds=2.0)
    add(study, 2.0, state=TrialState.FAIL, seconds=5.0)
    assert observe(study).spent == 7.0


def test_trials_outside_the_space_or_of_a_source_that_is_gone() -> None:
    study = optuna.create_study()
    study.add_trial(optuna.create_trial(value=1.0, user_attrs={"cost": 4.0}))
    other = CategoricalDistribution(("old",))
    study.add_trial(
        optuna.create_trial(
            params={"x": 1.0, "source": "old"},
            distributions={**SPACE, "source": other},
            value=1.0,
            user_attrs={"cost": 5.0},
        )
    )
    observations = observe(study)
    assert len(observations) == 0
    assert observations.spent == 9.0


def test_running_trials_are_pending_where_they_say_they_will_be() -> None:
    study = optuna.create_study()
    asking, other = study.ask(), study.ask()
    study.enqueue_trial({"x": 1.0, "source": "full"})
    records.write_params(
        study,
        study.trials[other.number],
        {**SPACE, "source": CHOICES},
        {"x": 7.5, "source": "cheap"},
    )
    observations = observe(study, exclude=asking.number)
    assert observations.trial.tolist() == [other.number]
    assert observations.pending.tolist() == [True]
    assert observations.X.tolist() == [[0.75]]
    assert observations.source.tolist() == [1]


@pytest.mark.parametrize("text", ["{", "[1]", '{"x": "a"}', '{"x": NaN}', '{"x": 99.0}', "null"])
def test_what_another_worker_has_half_written_is_skipped(text: str) -> None:
    study = optuna.create_study()
    trial = study.ask()
    study._storage.set_trial_system_attr(trial._trial_id, "misowild:params:0", text)
    assert len(observe(study)) == 0


@pytest.mark.parametrize("row", ["0", [0], [0, -1], [0.5, 1], [-1, 0], {}])
def test_a_malformed_row_is_none(row: Any) -> None:
    study = optuna.create_study()
    trial = study.ask()
    study._storage.set_trial_system_attr(trial._trial_id, "misowild:row", row)
    assert records.read_row(study, study.trials[0]) is None


def test_long_params_are_written_in_parts() -> None:
    study = optuna.create_study()
    trial = study.ask()
    space: dict[str, Any] = {f"{i}" * 50: FloatDistribution(0.0, 1.0) for i in range(100, 150)}
    params = {name: 1.0 / (3.0 + i) for i, name in enumerate(space)}
    records.write_params(study, study.trials[0], space, params)
    attrs = study.trials[trial.number].system_attrs
    assert len(attrs) > 1
    assert max(len(value) for value in attrs.values()) <= 2045
    assert records.params_of(study.trials[0], space) == params


def test_all_workers_of_a_study_share_a_seed() -> None:
    study = optuna.create_study()
    assert records.study_seed(study) == records.study_seed(study)
    assert records.study_seed(study) != records.study_seed(optuna.create_study())
