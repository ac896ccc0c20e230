from __future__ import annotations

from datetime import datetime
from datetime import timedelta
from datetime import timezone
import itertools
import json
import math
import reprlib
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild.methods.base import Observations
from optuna_misowild.study import attributes
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.costs import malformed_cost
from optuna_misowild.study.observe import Reader
from optuna_misowild.study.observe import read
from optuna_misowild.study.source_parameter import sources_of


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
        **kwargs,
    }
    budget, by_slot = arguments.pop("budget", None), arguments.pop("by_slot", False)
    how = {name: arguments.pop(name) for name in ("sources", "space", "cost_attr")}
    trials = study.get_trials(deepcopy=False)
    reader = Reader(**how, has_own_unit=has_own_unit(trials, how["cost_attr"]))
    history = read(study, trials, reader, **arguments)
    return history.of_design(budget) if by_slot else history.in_space(budget)


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


@pytest.mark.parametrize("cost", ["3", None, math.nan, math.inf, 10**400, -1.0, True, [1.0]])
def test_a_malformed_cost_is_unknown(cost: Any) -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, user_attrs={"cost": cost}, seconds=3.0)
    observations = observe(study)
    assert math.isnan(observations.cost[0])
    assert observations.y[0] == 1.0
    message = malformed_cost(study.trials[0], "cost")
    assert message is not None
    assert "Trial 0" in message and reprlib.repr(cost) in message


def test_dates_that_are_the_same_are_no_duration() -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, seconds=0.0)
    assert math.isnan(observe(study).cost[0])


def test_a_few_foreign_costs_do_not_change_the_unit() -> None:
    study = optuna.create_study()
    timed = {"system_attrs": {"misowild:timed": True}, "user_attrs": {"cost": 2.0}}
    for _ in range(2):
        add(study, 1.0, 1.0, **timed)
    add(study, 1.0, 1.0, user_attrs={"cost": 5.0})
    add(study, 1.0, 1.0, user_attrs={"cost": "n/a"})
    np.testing.assert_array_equal(observe(study).cost, [2.0, 2.0, 5.0, math.nan])
    # Where the objective gives its own, a trial that has failed before it could is unknown.
    add(study, 1.0, 1.0, user_attrs={"cost": 5.0})
    add(study, 1.0, 1.0, user_attrs={"cost": 5.0})
    add(study, 1.0, state=TrialState.FAIL, **timed)
    assert observe(study).spent == 15.0


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
    attributes.write_params(
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


@pytest.mark.parametrize(
    "text",
    [
        "1;{",
        "1;[1]",
        '1;{"x": "a"}',
        '1;{"x": NaN}',
        '1;{"x": 99.0}',
        '2;{"x": ',
        "null",
        "x;1",
        3,
    ],
)
def test_what_another_worker_has_half_written_is_skipped(text: Any) -> None:
    study = optuna.create_study()
    trial = study.ask()
    study._storage.set_trial_system_attr(trial._trial_id, "misowild:params:0", text)
    assert len(observe(study)) == 0


@pytest.mark.parametrize("row", ["0", [0], [0, -1], [0.5, 1], [-1, 0], {}])
def test_a_malformed_row_is_none(row: Any) -> None:
    study = optuna.create_study()
    trial = study.ask()
    study._storage.set_trial_system_attr(trial._trial_id, "misowild:row", row)
    assert attributes.read_row(study, study.trials[0]) is None


@pytest.mark.parametrize("x", [None, "a", math.nan, [1.0]])
def test_what_was_enqueued_with_no_place_in_the_space_is_skipped(x: Any) -> None:
    study = optuna.create_study()
    add(study, 5.0, 1.0)
    study.enqueue_trial({"x": x, "source": "full"})
    study.ask()
    assert observe(study).trial.tolist() == [0]


def test_a_failed_trial_of_another_kind_of_parameter_is_skipped() -> None:
    study = optuna.create_study()
    study.add_trial(
        optuna.create_trial(
            state=TrialState.FAIL,
            params={"x": "a", "source": "full"},
            distributions={"x": CategoricalDistribution(("a", "b")), "source": CHOICES},
        )
    )
    assert len(observe(study)) == 0


def test_a_trial_without_a_source_has_taken_the_slot_that_it_claimed() -> None:
    study = optuna.create_study()
    study.add_trial(
        optuna.create_trial(
            state=TrialState.PRUNED,
            params={"x": 1.0},
            distributions=SPACE,
            system_attrs={"misowild:row": [1, 3]},
        )
    )
    slots = observe(study, space={}, by_slot=True)
    assert (slots.source.tolist(), slots.design_row.tolist()) == ([1], [3])
    # Its value would be that of a full evaluation.
    assert observe(study).source.tolist() == [0]


def test_undecided_trials_are_those_just_started() -> None:
    study = optuna.create_study()
    study.ask()
    trial = study.trials[0]
    assert attributes.is_undecided(trial)
    trial.datetime_start = datetime.now() - timedelta(minutes=5)
    assert not attributes.is_undecided(trial)
    attributes.write_row(study, trial, 0, 2)
    assert not attributes.is_undecided(study.trials[0])
    assert not attributes.has_decided(study.trials[0])
    attributes.write_thinking(study, trial, 0.1)
    assert attributes.has_decided(study.trials[0])


def test_a_revision_of_fewer_parts_can_be_read() -> None:
    study = optuna.create_study()
    study.ask()
    space: dict[str, Any] = {f"{i}" * 50: FloatDistribution(0.0, 1.0) for i in range(100, 150)}
    trial = study.trials[0]
    attributes.write_params(study, trial, space, dict.fromkeys(space, 1.0 / 3.0))
    attributes.write_params(study, trial, space, dict.fromkeys(list(space)[:3], 0.5))
    assert attributes.params_of(study.trials[0], space) == dict.fromkeys(list(space)[:3], 0.5)


@pytest.mark.parametrize("n_writes", range(1, 4))
def test_params_of_two_revisions_are_never_mixed(n_writes: int) -> None:
    study = optuna.create_study()
    study.ask()
    space: dict[str, Any] = {f"{i}" * 50: FloatDistribution(0.0, 1.0) for i in range(100, 120)}
    trial = study.trials[0]
    attributes.write_params(study, trial, space, dict.fromkeys(space, 0.25))
    written = study.trials[0].system_attrs
    assert len(written) == 4
    attributes.write_params(study, trial, space, dict.fromkeys(space, 0.75))
    revised = study.trials[0].system_attrs
    # A reader that comes when some parts of the revision are there, whichever came first.
    for keys in itertools.combinations(written, n_writes):
        torn = study.trials[0]
        torn.system_attrs = {**written, **{key: revised[key] for key in keys}}
        assert attributes.params_of(torn, space) == {}


def test_the_part_that_tells_the_number_of_parts_is_written_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = optuna.create_study()
    study.ask()
    space: dict[str, Any] = {f"{i}" * 50: FloatDistribution(0.0, 1.0) for i in range(100, 120)}
    keys = []
    write = study._storage.set_trial_system_attr
    monkeypatch.setattr(
        study._storage,
        "set_trial_system_attr",
        lambda trial_id, key, value: (keys.append(key), write(trial_id, key, value)),
    )
    attributes.write_params(study, study.trials[0], space, dict.fromkeys(space, 0.25))
    assert keys[-1] == "misowild:params:0" and len(keys) == 4


def test_what_0_1_0_has_announced_is_read_once_it_is_whole() -> None:
    study = optuna.create_study()
    study.ask()
    trial = study.trials[0]
    trial.system_attrs = {"misowild:params:0": '1;{"x": 2.5}'}
    assert attributes.params_of(trial, SPACE) == {"x": 2.5}
    # It wrote the first of several parts first: the others may be those of an earlier choice.
    trial.system_attrs = {"misowild:params:0": '2;{"x": ', "misowild:params:1": "2.5}"}
    assert attributes.params_of(trial, SPACE) == {}
    trial.system_attrs["misowild:thinking"] = 0.1
    assert attributes.params_of(trial, SPACE) == {"x": 2.5}


def test_0_1_0_reads_what_is_announced_now() -> None:
    study = optuna.create_study()
    study.ask()
    attributes.write_params(study, study.trials[0], SPACE, {"x": 2.5})
    n_parts, text = study.trials[0].system_attrs["misowild:params:0"].split(";", 1)
    assert n_parts == "1"
    # It skipped what is in no search space.
    assert {k: v for k, v in json.loads(text).items() if k in SPACE} == {"x": 2.5}
    assert all(isinstance(value, (int, float)) for value in json.loads(text).values())


@pytest.mark.parametrize(
    ("user_attrs", "system_attrs", "is_feasible"),
    [
        ({}, {"constraints": [-1.0, 1.0]}, False),  # It has never run under us.
        ({"source_index": 1}, {"constraints": [-1.0, 1.0]}, True),
        ({"source_index": 1}, {"constraints": [1.0, 1.0]}, False),
        ({"source_index": 0}, {"constraints": [0.5]}, False),  # Ours would be 0.
        ({"source_index": 1}, {"constraints:preferred_source": 1.0}, True),
        (
            {"source_index": 1},
            {"constraints:preferred_source": 1.0, "constraints": [-1.0, 1.0]},
            False,
        ),
    ],
)
def test_constraints_of_the_user_are_told_from_ours(
    user_attrs: dict[str, Any], system_attrs: dict[str, Any], is_feasible: bool
) -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, source="cheap", user_attrs=user_attrs, system_attrs=system_attrs)
    assert attributes.is_feasible(study.trials[0], "source") == is_feasible


def test_long_params_are_written_in_parts() -> None:
    study = optuna.create_study()
    trial = study.ask()
    space: dict[str, Any] = {f"{i}" * 50: FloatDistribution(0.0, 1.0) for i in range(100, 150)}
    params = {name: 1.0 / (3.0 + i) for i, name in enumerate(space)}
    attributes.write_params(study, study.trials[0], space, params)
    attrs = study.trials[trial.number].system_attrs
    assert len(attrs) > 1
    assert max(len(value) for value in attrs.values()) <= 2045
    assert attributes.params_of(study.trials[0], space) == params


def test_an_attribute_of_the_objective_is_not_overwritten() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", ["fine", "coarse"])
        trial.set_user_attr("cost", 1.0)
        trial.set_user_attr("source_index", own[trial.number])
        return trial.suggest_float("x", 0.0, 1.0)

    own = ["row 77", 77, True, 1, 0, None]
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    for i in range(6):
        study.enqueue_trial({"source": ["coarse", "fine"][i % 2]})
    study.optimize(objective, n_trials=6)
    trials = study.trials
    assert [t.user_attrs["source_index"] for t in trials] == own
    assert [type(t.user_attrs["source_index"]) for t in trials] == [type(value) for value in own]
    assert [attributes.source_index_of(t) for t in trials] == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("source", ["full", "cheap"])
@pytest.mark.parametrize("key", ["constraints:preferred_source", "constraints"])
def test_the_source_index_of_a_trial_of_an_earlier_version(source: str, key: str) -> None:
    """It has the user attribute and the constraint, and nothing else."""
    index = ["full", "cheap"].index(source)
    mark = float(index) if key != "constraints" else [-1.0, float(index)]
    study = optuna.create_study()
    attrs = {"user_attrs": {"source_index": index}, "system_attrs": {key: mark}}
    add(study, 1.0, 1.0, source=source, **attrs)
    assert attributes.source_index_of(study.trials[0]) == index


@pytest.mark.parametrize("value", ["row 77", 77, True, 1, -1, 0.0, None, [1]])
def test_an_attribute_that_is_not_ours_is_no_source_index(value: Any) -> None:
    """As in a trial that another sampler has suggested, or whose worker was killed."""
    study = optuna.create_study()
    add(study, 1.0, 1.0, user_attrs={"source_index": value})
    assert attributes.source_index_of(study.trials[0]) is None
    killed = optuna.create_trial(
        state=TrialState.FAIL,
        params={"x": 1.0},
        distributions=SPACE,
        user_attrs={"source_index": value},
        system_attrs={"misowild:thinking": 0.1},
    )
    assert attributes.was_killed(killed)


def test_a_malformed_source_index_is_told() -> None:
    study = optuna.create_study()
    add(study, 1.0, 1.0, system_attrs={"misowild:source_index": "one"})
    said = attributes.malformed(study.trials[0])
    assert said is not None and "'misowild:source_index' = 'one'" in said
    assert attributes.source_index_of(study.trials[0]) is None


@pytest.mark.parametrize("hours", [-7, 0, 9])
def test_dates_with_a_time_zone_are_taken_as_local_ones(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    start = datetime.now(zone) - timedelta(minutes=30)
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    running = optuna.create_trial(state=TrialState.RUNNING, params={"x": 1.0}, distributions=SPACE)
    running.datetime_start = start
    study.add_trial(running)
    complete = optuna.create_trial(params={"x": 2.0}, distributions=SPACE, value=1.0)
    complete.datetime_start, complete.datetime_complete = start, datetime.now()
    complete.datetime_complete = complete.datetime_complete.astimezone()
    study.add_trial(complete)
    assert cumulated_cost(study) == pytest.approx(1800.0, abs=60.0)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 10.0), n_trials=2)
    assert [t.state for t in study.trials[2:]] == [TrialState.COMPLETE] * 2
    assert study.trials[0].datetime_start == start  # What is stored stays as it is.
    assert study.trials[0].datetime_start.tzinfo is not None
    for running_cost in ("elapsed", "predict"):
        assert not CostBudgetCallback(4000.0, running=running_cost).is_spent(study)
    assert CostBudgetCallback(3500.0, running="elapsed").is_spent(study)


def test_a_trial_that_began_at_a_time_with_a_zone_records_its_cost() -> None:
    trial = optuna.create_trial(state=TrialState.RUNNING, params={"x": 1.0}, distributions=SPACE)
    trial.datetime_start = datetime.now(timezone.utc) - timedelta(minutes=30)
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.add_trial(trial)
    study.tell(0, 1.0)
    assert study.trials[0].user_attrs["cost"] == pytest.approx(1800.0, abs=60.0)
