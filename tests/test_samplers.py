"""Studies with the samplers: what users see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from datetime import timedelta
import math
from pathlib import Path
import pickle
import time
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.storages import BaseStorage
from optuna.storages import InMemoryStorage
from optuna.storages import JournalStorage
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
import pytest

from optuna_misowild import MisoWildSampler
from optuna_misowild import PaperMethod
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild import records
from optuna_misowild.observations import Proposal


METHODS = ["paper", "robust"]
SOURCES = ["full", "cheap"]
OPTIMUM = 0.3


def toy(trial: optuna.Trial, sign: float = 1.0) -> float:
    """A parabola with its optimum at 0.3; the cheap source has it at 0.4, and below."""
    source = trial.suggest_categorical("source", SOURCES)
    x = trial.suggest_float("x", 0.0, 1.0)
    trial.set_user_attr("cost", (1.0 + x) * (1.0 if source == "full" else 0.1))
    if source == "full":
        return sign * (x - OPTIMUM) ** 2
    return sign * ((x - 0.4) ** 2 - 0.05)


def warnings_of(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(r.getMessage() for r in caplog.records if r.levelname == "WARNING")


def study_of(sampler: Any = None, n_trials: int = 0, **kwargs: Any) -> optuna.Study:
    study = optuna.create_study(
        sampler=MisoWildSampler(method="paper", seed=0) if sampler is None else sampler, **kwargs
    )
    if n_trials:
        study.optimize(toy, n_trials=n_trials)
    return study


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_forty_trials_find_the_optimum_of_the_preferred_source(
    method: str, direction: str
) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(
        sampler=MisoWildSampler(method=method, seed=1), direction=direction
    )
    study.optimize(lambda trial: toy(trial, sign), n_trials=40)

    assert study.best_trial.params["source"] == "full"
    assert abs(study.best_params["x"] - OPTIMUM) < 0.03
    assert sign * study.best_value >= 0.0
    recommendation = recommend(study)
    assert "source" not in recommendation.params
    if recommendation.verified:
        assert recommendation.source == "full"
        assert recommendation.trial is not None
        assert recommendation.value == recommendation.trial.value
    study.enqueue_trial(recommendation.to_enqueue())
    study.optimize(lambda trial: toy(trial, sign), n_trials=1)
    assert study.trials[-1].params == {**recommendation.params, "source": "full"}
    assert recommend(study).verified


@pytest.mark.parametrize("method", METHODS)
def test_both_directions_suggest_the_same(method: str) -> None:
    minimised = optuna.create_study(sampler=MisoWildSampler(method=method, seed=3))
    maximised = optuna.create_study(
        sampler=MisoWildSampler(method=method, seed=3), direction="maximize"
    )
    minimised.optimize(toy, n_trials=16)
    maximised.optimize(lambda trial: toy(trial, -1.0), n_trials=16)
    assert [t.params for t in minimised.trials] == [t.params for t in maximised.trials]


def test_initial_design_asks_the_same_latin_hypercube_on_every_source() -> None:
    study = study_of(n_trials=10)
    by_source = {
        source: sorted(t.params["x"] for t in study.trials if t.params["source"] == source)
        for source in SOURCES
    }
    assert by_source["full"] == by_source["cheap"]
    assert [int(5 * x) for x in by_source["full"]] == [0, 1, 2, 3, 4]


def test_what_a_trial_carries() -> None:
    study = study_of(n_trials=4)
    for trial in study.trials:
        expected = SOURCES.index(trial.params["source"])
        assert trial.user_attrs["source_index"] == expected
        assert trial.user_attrs["cost"] > 0.0
        if hasattr(trial, "constraints"):
            assert trial.constraints == {"preferred_source": float(expected)}
        else:
            assert trial.system_attrs["constraints"] == [float(expected)]
    costs = [t.user_attrs["cost"] for t in study.trials]
    assert cumulated_cost(study) == pytest.approx(sum(costs))


def test_the_best_trial_is_never_a_cheap_one() -> None:
    study = study_of(n_trials=12)
    best = min(t.value for t in study.trials if t.value is not None)
    assert best < 0.0  # It is of the cheap source.
    assert study.best_value >= 0.0
    assert study.best_params["source"] == "full"


def test_constraints_of_the_user_stay() -> None:
    def objective(trial: optuna.Trial) -> float:
        if hasattr(trial, "set_constraint"):
            trial.set_constraint("mine", 2.0)
        else:
            trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [2.0])
        return toy(trial)

    study = study_of()
    study.optimize(objective, n_trials=1)
    trial = study.trials[0]
    if hasattr(trial, "constraints"):
        assert trial.constraints == {"mine": 2.0, "preferred_source": 0.0}
    else:
        assert trial.system_attrs["constraints"] == [2.0, 0.0]


def test_without_a_cost_the_trial_costs_its_time() -> None:
    study = study_of()
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    for trial in study.trials:
        assert trial.duration is not None
        assert trial.user_attrs["cost"] == pytest.approx(trial.duration.total_seconds(), abs=0.1)
    assert 0.0 < cumulated_cost(study) < 5.0


def test_the_time_of_the_suggestion_is_no_cost_of_the_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose = MisoWildSampler._choose

    def slowly(*args: Any) -> dict[str, Any]:
        time.sleep(0.5)
        return choose(*args)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        time.sleep(0.1)
        return x

    monkeypatch.setattr(MisoWildSampler, "_choose", slowly)
    study = study_of()
    study.optimize(objective, n_trials=1)
    assert study.trials[0].duration is not None
    assert study.trials[0].duration.total_seconds() > 0.6
    assert 0.1 <= study.trials[0].user_attrs["cost"] < 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_study_without_sources(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=20)
    assert abs(study.best_params["x"] - 0.3) < 0.05
    recommendation = recommend(study)
    assert recommendation.verified
    assert recommendation.source is None
    assert recommendation.to_enqueue() == recommendation.params


@pytest.mark.parametrize("method", METHODS)
def test_mixed_and_conditional_spaces(method: str, caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", [None, 0, "full", True])
        x = trial.suggest_float("x", 1e-5, 1e5, log=True)
        n = trial.suggest_int("n", 1, 6)
        kind = trial.suggest_categorical("kind", ["a", "b", "c"])
        trial.suggest_int("one", 3, 3)
        value = math.log10(x) ** 2 + (n - 4) ** 2 + (0.0 if kind == "b" else 1.0)
        if kind == "a":
            value += trial.suggest_float("only_a", 0.0, 1.0)
        return value + (0.0 if source is None else 0.1)

    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=3))
    study.optimize(objective, n_trials=30)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert study.best_params["source"] is None
    assert "'only_a'" in warnings_of(caplog)
    caplog.clear()
    study.sampler = MisoWildSampler(
        method=method, seed=0, n_startup_trials=3, warn_independent_sampling=False
    )
    study.optimize(objective, n_trials=3)
    assert "only_a" not in warnings_of(caplog)


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_source_is_respected(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0), n_trials=12)
    study.enqueue_trial({"source": "cheap"})
    study.enqueue_trial({"source": "full"})
    study.enqueue_trial({"x": 0.123})
    study.optimize(toy, n_trials=3)
    cheap, full, fixed_x = study.trials[-3:]
    assert cheap.params["source"] == "cheap"
    assert full.params["source"] == "full"
    assert fixed_x.params["x"] == 0.123

    study.sampler = optuna.samplers.PartialFixedSampler({"source": "cheap"}, study.sampler)
    study.optimize(toy, n_trials=4)
    locations = [t.params["x"] for t in study.trials[-4:]]
    assert {t.params["source"] for t in study.trials[-4:]} == {"cheap"}
    assert len(set(locations)) == 4


def test_a_source_fixed_from_the_start_gets_an_initial_design_of_its_own() -> None:
    sampler = MisoWildSampler(method="paper", seed=0)
    study = study_of(optuna.samplers.PartialFixedSampler({"source": "cheap"}, sampler))
    study.optimize(toy, n_trials=8)
    assert sorted(int(5 * t.params["x"]) for t in study.trials[:5]) == [0, 1, 2, 3, 4]
    assert len({t.params["x"] for t in study.trials}) == 8
    # Then the model takes over, without any value of the preferred source.
    assert "misowild:row" not in study.trials[-1].system_attrs


def test_sources_that_are_read_only_are_not_queried() -> None:
    study = study_of(MisoWildSampler(method="paper", seed=0, query_sources=["full"]))
    distributions = {
        "x": FloatDistribution(0.0, 1.0),
        "source": CategoricalDistribution(SOURCES),
    }
    for x in (0.1, 0.4, 0.9):
        study.add_trial(
            optuna.create_trial(
                params={"x": x, "source": "cheap"},
                distributions=distributions,
                value=(x - 0.4) ** 2,
                user_attrs={"cost": 0.1},
            )
        )
    study.optimize(toy, n_trials=10)
    assert {t.params["source"] for t in study.trials[3:]} == {"full"}
    assert study.sampler.model(study).objective[1].X.shape == (3, 1)  # type: ignore[attr-defined]


def storage(kind: str, folder: Path) -> BaseStorage:
    if kind == "memory":
        return InMemoryStorage()
    if kind == "sqlite":
        return RDBStorage(f"sqlite:///{folder / 'study.db'}")
    return JournalStorage(JournalFileBackend(str(folder / "study.log")))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_rebuilt_from_storage_the_next_suggestion_is_the_same(
    method: str, kind: str, tmp_path: Path
) -> None:
    whole = study_of(MisoWildSampler(method=method, seed=5), n_trials=13)

    kept = storage(kind, tmp_path)
    study_of(MisoWildSampler(method=method, seed=5), storage=kept, study_name="s", n_trials=12)
    resumed = optuna.load_study(
        study_name="s",
        storage=kept if kind == "memory" else storage(kind, tmp_path),
        sampler=MisoWildSampler(method=method, seed=5),
    )
    resumed.optimize(toy, n_trials=1)
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]


def test_without_a_seed_workers_share_the_initial_design() -> None:
    kept = InMemoryStorage()
    study = study_of(MisoWildSampler(method="paper"), storage=kept, study_name="s", n_trials=4)
    resumed = optuna.load_study(
        study_name="s", storage=kept, sampler=MisoWildSampler(method="paper")
    )
    resumed.optimize(toy, n_trials=6)
    full = [t.params["x"] for t in study.trials if t.params["source"] == "full"]
    assert sorted(int(5 * x) for x in full) == [0, 1, 2, 3, 4]
    other = study_of(MisoWildSampler(), n_trials=1)
    assert other.trials[0].params != study.trials[0].params


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_suggestions(method: str) -> None:
    first = study_of(MisoWildSampler(method=method, seed=7), n_trials=15)
    second = study_of(MisoWildSampler(method=method, seed=7), n_trials=15)
    other = study_of(MisoWildSampler(method=method, seed=8), n_trials=15)
    assert [t.params for t in first.trials] == [t.params for t in second.trials]
    assert [t.params for t in first.trials] != [t.params for t in other.trials]


@pytest.mark.parametrize("method", METHODS)
def test_a_pickled_sampler_goes_on_in_the_same_way(method: str) -> None:
    sampler = MisoWildSampler(method=method, seed=7)
    whole = study_of(sampler, n_trials=14)
    study = study_of(MisoWildSampler(method=method, seed=7), n_trials=12)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(toy, n_trials=2)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]


def test_workers_that_ask_at_the_same_moment_get_different_points() -> None:
    study = study_of()
    trials = [study.ask() for _ in range(6)]
    points = [
        (t.suggest_categorical("source", SOURCES), t.suggest_float("x", 0, 1)) for t in trials
    ]
    assert len(set(points)) == 6
    for trial, (source, x) in zip(trials, points, strict=True):
        trial.set_user_attr("cost", 1.0)
        study.tell(trial, x + len(source))
    study.optimize(toy, n_trials=8)
    trials = [study.ask() for _ in range(4)]
    points = [
        (t.suggest_categorical("source", SOURCES), t.suggest_float("x", 0, 1)) for t in trials
    ]
    assert len(set(points)) == 4


def test_parallel_threads() -> None:
    study = study_of()
    study.optimize(toy, n_trials=24, n_jobs=4)
    points = Counter((t.params["source"], t.params["x"]) for t in study.trials)
    assert max(points.values()) == 1


class SamePlace(PaperMethod):
    """Proposes the middle of the preferred source, or 0.9 if another trial is pending there."""

    meanwhile: Callable[[], object] | None = None

    def propose(self, observations: Any, domain: Any, **kwargs: Any) -> Proposal:
        if SamePlace.meanwhile is not None:
            act, SamePlace.meanwhile = SamePlace.meanwhile, None
            act()
        taken = 0.5 in observations.X[observations.pending]
        return Proposal(0, np.array([0.9 if taken else 0.5]))


@pytest.mark.parametrize("lower_is_thinking", [True, False])
def test_of_two_that_choose_the_same_place_one_gives_way(lower_is_thinking: bool) -> None:
    # While one is thinking, the other asks and is through.
    study = study_of(MisoWildSampler(method=SamePlace(), seed=0), n_trials=10)
    trials = [study.ask(), study.ask()]
    thinking, other = trials if lower_is_thinking else reversed(trials)
    SamePlace.meanwhile = lambda: toy(other)
    toy(thinking)
    assert (other.params["x"], thinking.params["x"]) == (0.5, 0.9)


def test_of_two_at_the_same_moment_the_lower_number_keeps_its_choice() -> None:
    study = study_of(MisoWildSampler(method=SamePlace(), seed=0), n_trials=10)
    sampler = study.sampler
    assert isinstance(sampler, MisoWildSampler)
    lower, higher = study.ask(), study.ask()
    space = sampler.infer_relative_search_space(study, study.trials[0])

    def announce() -> None:  # and not be through with it
        frozen = study.get_trials(deepcopy=False)[higher.number]
        records.write_params(study, frozen, space, {"x": 0.5, "source": "full"})

    SamePlace.meanwhile = announce
    toy(lower)
    assert lower.params["x"] == 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_design_row_is_taken_also_if_the_source_was_never_suggested(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_float("x", 0.0, 1.0) < 0.3:
            raise optuna.TrialPruned
        return toy(trial)

    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(objective, n_trials=16)
    points = Counter((t.params.get("source"), t.params["x"]) for t in study.trials)
    assert max(points.values()) <= len(SOURCES)


@pytest.mark.parametrize("method", METHODS)
def test_dead_trials_that_chose_nothing_do_not_take_the_design(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    for _ in range(2):
        study.ask()
    long_ago = datetime.now() - timedelta(hours=1)
    for trial in study.get_trials(deepcopy=False):
        trial.datetime_start = long_ago
    study.optimize(toy, n_trials=8)
    assert {t.params["source"] for t in study.trials[2:]} == set(SOURCES)


@pytest.mark.parametrize("method", METHODS)
def test_a_bracket_of_hyperband_does_not_hide_the_other_trials(method: str) -> None:
    study = optuna.create_study(
        sampler=MisoWildSampler(method=method, seed=0),
        pruner=optuna.pruners.HyperbandPruner(max_resource=9),
    )

    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        for step in range(9):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=14)
    points = Counter((t.params["source"], t.params["x"]) for t in study.trials)
    assert max(points.values()) == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_corner_that_fails_is_left(method: str) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return -x if x < 0.7 else math.nan

    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(objective, n_trials=20)
    assert len({round(t.params["x"], 3) for t in study.trials}) > 15
    assert study.best_value < -0.6


@pytest.mark.parametrize("method", METHODS)
def test_a_long_log_scale_of_integers_is_not_repeated(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(
        lambda t: math.log(t.suggest_int("n", 1, 10**6, log=True) / 2) ** 2, n_trials=18
    )
    assert len({t.params["n"] for t in study.trials}) == 18


@pytest.mark.parametrize("method", METHODS)
def test_no_parameter_in_common_leaves_a_recommendation(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0, warn_independent_sampling=False))
    for low in (-3.0, -4.0):
        study.optimize(lambda t, low=low: t.suggest_float("x", low, 3.0) ** 2, n_trials=7)
    assert recommend(study).value == study.best_value


def test_what_breaks_a_constraint_of_the_user_is_not_recommended() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if hasattr(trial, "set_constraint"):
            trial.set_constraint("low", x - 0.5)
        else:
            trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [x - 0.5])
        return -x

    study = study_of(MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=10)
    assert recommend(study).params["x"] == study.best_params["x"] <= 0.5


def test_one_sampler_for_two_studies() -> None:
    sampler = MisoWildSampler(method="paper", seed=0)
    first, second = study_of(sampler), study_of(sampler)
    first.optimize(toy, n_trials=11)
    second.optimize(lambda trial: trial.suggest_float("other", 0, 1), n_trials=7)
    first.optimize(toy, n_trials=1)
    assert "other" not in first.trials[-1].params


def test_reseed_rng_reaches_the_independent_sampler() -> None:
    independent = optuna.samplers.RandomSampler(seed=0)
    sampler = MisoWildSampler(independent_sampler=independent, seed=0)
    study = study_of(sampler)
    trial = study.ask()
    distribution = FloatDistribution(0.0, 1.0)
    before = independent.sample_independent(study, study.trials[trial.number], "x", distribution)
    independent.__init__(seed=0)  # type: ignore[misc]
    sampler.reseed_rng()
    after = independent.sample_independent(study, study.trials[trial.number], "x", distribution)
    assert before != after


def test_multi_objective_studies_are_refused() -> None:
    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=MisoWildSampler(seed=0)
    )
    with pytest.raises(ValueError, match="multi-objective"):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=1)


# Bad input.


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"method": "best"}, ValueError, r"`method` must be one of \['paper', .* but got 'best'"),
        ({"method": 3}, TypeError, "`method` must be one of .* but got 3"),
        ({"source": ""}, ValueError, "`source` must not be empty"),
        ({"source": 1}, TypeError, "`source` must be a string, but got 1"),
        ({"budget": 0}, ValueError, "`budget` must be finite and positive, but got 0"),
        ({"budget": math.nan}, ValueError, "`budget` must be finite and positive, but got nan"),
        ({"budget": "1h"}, TypeError, "`budget` must be a number, but got '1h'"),
        ({"cost_attr": None}, TypeError, "`cost_attr` must be a string, but got None"),
        ({"n_startup_trials": 0}, ValueError, "`n_startup_trials` must be at least 1, but got 0"),
        ({"n_startup_trials": 2.5}, TypeError, "`n_startup_trials` must be an integer"),
        ({"query_sources": "full"}, TypeError, "`query_sources` must be a list of choices"),
        ({"query_sources": []}, ValueError, "`query_sources` must not be empty"),
        ({"independent_sampler": "tpe"}, TypeError, "`independent_sampler` must be an Optuna"),
        ({"warn_independent_sampling": 1}, TypeError, "`warn_independent_sampling` must be True"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0, but got -1"),
        ({"seed": "x"}, TypeError, "`seed` must be an integer, but got 'x'"),
    ],
)
def test_wrong_constructor_arguments(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        MisoWildSampler(**arguments)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"m": -1.0}, ValueError, "`m` must be finite and 0 or more, but got -1.0"),
        ({"beta": math.inf}, ValueError, "`beta` must be finite and 0 or more"),
        ({"beta": "srinivas"}, TypeError, "`beta` must be a number"),
        ({"min_distance": 0.0}, ValueError, "`min_distance` must be finite and positive"),
    ],
)
def test_wrong_constants_of_the_method(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PaperMethod(**arguments)


def test_an_unknown_preferred_source_is_noticed_in_the_first_trial() -> None:
    study = study_of(MisoWildSampler(preferred_source="whole"))
    with pytest.raises(ValueError, match="`preferred_source` has 'whole'"):
        study.optimize(toy, n_trials=1)


def test_a_numerical_source_parameter_is_noticed_in_the_first_trial() -> None:
    study = study_of()
    with pytest.raises(ValueError, match="must be suggested with `suggest_categorical`"):
        study.optimize(lambda trial: trial.suggest_float("source", 0.1, 1.0), n_trials=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cost", ["12 s", math.nan, -1.0])
def test_a_malformed_cost_is_said_and_the_study_goes_on(
    method: str, cost: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        if trial.number == 3:
            trial.set_user_attr("cost", cost)
        return value

    study = study_of(MisoWildSampler(method=method, seed=0))
    study.optimize(objective, n_trials=14)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 14
    said = [r.getMessage() for r in caplog.records if "which is" in r.getMessage()]
    assert len(said) == 1
    assert "Trial 3" in said[0] and repr(cost) in said[0]
    assert cumulated_cost(study) == pytest.approx(
        sum(t.user_attrs["cost"] for t in study.trials if t.number != 3)
    )


def nan(x: float, number: int) -> float:
    return math.nan if number % 3 == 0 else x


def infinite(x: float, number: int) -> float:
    return math.inf * (-1) ** number if number % 3 == 0 else x


def constant(x: float, number: int) -> float:
    return 1.0


def enormous(x: float, number: int) -> float:
    return 1e30 if number % 4 == 0 else x


def tiny(x: float, number: int) -> float:
    return 1e-300 * x


def fails(x: float, number: int) -> float:
    if number % 3 == 0:
        raise RuntimeError("out of memory")
    return x


def pruned(x: float, number: int) -> float:
    if number % 3 == 0:
        raise optuna.TrialPruned
    return x


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "values",
    [nan, infinite, constant, enormous, tiny, fails, pruned],
    ids=lambda function: function.__name__,
)
@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_odd_values_do_not_stop_a_study(
    method: str, values: Callable[[float, int], float]
) -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("source", SOURCES)
        return values(trial.suggest_float("x", 0.0, 1.0), trial.number)

    study = study_of(MisoWildSampler(method=method, seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=14, catch=(RuntimeError,))
    assert len(study.trials) == 14
    assert len({(t.params["source"], t.params["x"]) for t in study.trials}) >= 12
    assert all(t.user_attrs["cost"] >= 0.0 for t in study.trials)
    assert recommend(study).trial is not None


@pytest.mark.parametrize("method", METHODS)
def test_added_trials_without_attributes_are_used(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    for x in np.linspace(0.0, 1.0, 6):
        for i, source in enumerate(SOURCES):
            study.add_trial(
                optuna.create_trial(
                    params={"x": float(x), "source": source},
                    distributions={
                        "x": FloatDistribution(0.0, 1.0),
                        "source": CategoricalDistribution(SOURCES),
                    },
                    value=(x - 0.3) ** 2 + 0.1 * i,
                )
            )
    # They take the place of the initial design.
    model = study.sampler.model(study)  # type: ignore[attr-defined]
    assert model.predict({"x": 0.2}, "full")[0] == pytest.approx(0.01, abs=1e-2)
    study.optimize(toy, n_trials=1)
    assert "misowild:row" not in study.trials[-1].system_attrs


def test_a_preferred_source_that_has_only_failed() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        if trial.params["source"] == "full":
            raise RuntimeError
        return value

    study = study_of(MisoWildSampler(method="paper", seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=10, catch=(RuntimeError,))
    assert len({(t.params["source"], t.params["x"]) for t in study.trials}) == 10
    recommendation = recommend(study)
    assert not recommendation.verified
    assert recommendation.source == "cheap"
    assert recommendation.to_enqueue()["source"] == "full"


def test_nothing_to_recommend_or_to_model_yet() -> None:
    study = study_of()
    with pytest.raises(ValueError, match="nothing to recommend yet"):
        recommend(study)
    with pytest.raises(ValueError, match="no model yet"):
        study.sampler.model(study)  # type: ignore[attr-defined]


def test_a_finite_space_that_is_exhausted_ends_in_repeats() -> None:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        return trial.suggest_int("n", 1, 3) + (0.0 if source == "full" else 0.5)

    study = study_of(MisoWildSampler(method="paper", seed=0, n_startup_trials=2))
    study.optimize(objective, n_trials=12)
    full = {t.params["n"] for t in study.trials if t.params["source"] == "full"}
    assert full == {1, 2, 3}


def test_nothing_goes_wrong_for_a_trial_when_recording_fails(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("optuna_misowild.records.write_source", broken)
    study = study_of()
    study.optimize(toy, n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE
    assert "trial 0 failed with OSError('disk full')" in caplog.text
