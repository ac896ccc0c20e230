"""Constraints of the user, and failures: read from the trials, and kept in them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import math
import re
from typing import Any
import warnings

from curve_studies import curve
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.samplers import TPESampler
from optuna.trial import FrozenTrial
from optuna.trial import TrialState
import pytest
from toy_studies import METHODS
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler
from optuna_misowild import import_trials
from optuna_misowild import recommend
from optuna_misowild.base_sampler import MethodSampler
from optuna_misowild.methods.base import Observations
from optuna_misowild.study import observe
from optuna_misowild.study import snapshot
from optuna_misowild.study.attributes import is_feasible
from optuna_misowild.study.snapshot import StudyView


HAS_NAMES = hasattr(optuna.Trial, "set_constraint")
DISTRIBUTIONS = {
    "x": FloatDistribution(0.0, 1.0),
    "source": CategoricalDistribution(["full", "cheap"]),
}


def silently(make: Callable[..., MethodSampler], *args: Any, **settings: Any) -> MethodSampler:
    """A sampler whose deprecated setting is not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return make(*args, **settings)


def recorded(*system_attrs: dict[str, Any], state: TrialState = TrialState.COMPLETE) -> StudyView:
    """What the sampler sees of trials of the preferred source that have these attributes."""
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    for i, attrs in enumerate(system_attrs):
        study.add_trial(
            optuna.create_trial(
                state=state,
                params={"x": i / 10, "source": "full"},
                distributions=DISTRIBUTIONS,
                value=float(i) if state == TrialState.COMPLETE else None,
                system_attrs=attrs,
            )
        )
    return study.sampler.view(study)  # type: ignore[attr-defined, no-any-return]


# Reading.


def test_named_constraints_are_aligned_by_name() -> None:
    view = recorded(
        {"constraints:heat": 1.0, "constraints:preferred_source": 0.0},
        {"constraints:size": -2.0, "constraints:heat": -1.0},
        {},
    )
    np.testing.assert_array_equal(
        view.observations.constraints, [[1.0, math.nan], [-1.0, -2.0], [math.nan] * 2]
    )
    np.testing.assert_array_equal(
        view.design_observations.constraints, view.observations.constraints
    )


def test_unnamed_constraints_are_aligned_by_position() -> None:
    view = recorded({"constraints": [1.0, -2.0]}, {"constraints": [3.0]}, {"constraints": None})
    np.testing.assert_array_equal(
        view.observations.constraints, [[1.0, -2.0], [3.0, math.nan], [math.nan] * 2]
    )


@pytest.mark.parametrize("value", ["hot", math.nan, None, True, [1.0]])
def test_what_is_no_number_is_unknown_and_said(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    view = recorded({"constraints:heat": value}, {"constraints:heat": 1.0})
    np.testing.assert_array_equal(view.observations.constraints, [[math.nan], [1.0]])
    view.study.ask(DISTRIBUTIONS)
    said = [line for line in warnings_of(caplog).splitlines() if "malformed" in line]
    assert len(said) == 1
    assert said[0].startswith("Trial 0") and "'constraints:heat' = " in said[0]


def test_infinite_constraints_are_large() -> None:
    view = recorded({"constraints": [math.inf, -math.inf, 10**400]})
    np.testing.assert_array_equal(view.observations.constraints, [[1e100, -1e100, 1e100]])


def test_without_constraints_there_are_none() -> None:
    assert recorded({}, {"constraints": []}).observations.constraints.shape == (2, 0)
    study = study_of(n_trials=4)  # Each trial carries our mark.
    view = study.sampler.view(study)  # type: ignore[attr-defined]
    assert view.observations.constraints.shape == (4, 0)


@pytest.mark.parametrize("has_steps", [False, True])
@pytest.mark.parametrize("n_own", [0, 1])
def test_our_mark_is_none_of_the_users_constraints(has_steps: bool, n_own: int) -> None:
    own = (lambda trial: [1.0]) if n_own else None
    arguments: dict[str, Any] = {"steps": (2, 6, 18)} if has_steps else {}
    sampler = silently(MisoWildSampler, seed=0, constraints_func=own, **arguments)
    old, new, newer = (
        optuna.create_study(sampler=sampler, pruner=MisoWildPruner()) for _ in range(3)
    )
    old.optimize(curve if has_steps else toy, n_trials=8)
    import_trials(new, old)
    import_trials(newer, new)  # What was imported there is marked too.
    for study in (old, new, newer):
        constraints = study.sampler.view(study).observations.constraints  # type: ignore[attr-defined]
        assert constraints.shape[1] == n_own and (constraints == 1.0).all()


def test_more_than_ten_are_said_and_those_that_most_trials_have_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    many = {f"constraints:{name}": 1.0 for name in "abcdefghijkl"}
    view = recorded(many, {"constraints:l": 2.0})
    assert view.observations.constraints.shape == (2, 10)
    assert view.observations.constraints[1, -1] == 2.0
    assert list(view.ignored_constraints) == ["j", "k"]
    for _ in range(2):
        view.study.ask(DISTRIBUTIONS)
    assert warnings_of(caplog).count("ignores 2 more, such as 'j'") == 1


def test_a_running_trial_has_not_said_all_its_constraints() -> None:
    study = study_of(n_trials=1)
    trial = study.ask()
    toy(trial)
    study._storage.set_trial_system_attr(trial._trial_id, "constraints:heat", 1.0)
    view = study.sampler.view(study)  # type: ignore[attr-defined]
    assert view.observations.pending.tolist() == [False, True]
    assert view.observations.constraints.shape == (2, 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_study_without_constraints_and_failures_is_as_if_there_were_none(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our mark is no constraint of the user, and a pruned trial is no failed one."""

    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        if trial.number % 5 == 4:
            raise optuna.TrialPruned
        return value

    def params() -> list[dict[str, Any]]:
        study = study_of(MisoWildSampler(method=method, seed=0))
        study.optimize(objective, n_trials=14)
        return [trial.params for trial in study.trials]

    def ignorant(*, failed: Any, constraints: Any, **others: Any) -> Observations:
        return Observations(**others)

    found = params()
    monkeypatch.setattr(observe, "Observations", ignorant)
    assert params() == found


# What has failed.


@pytest.mark.parametrize(
    "state, failed", [(TrialState.FAIL, True), (TrialState.PRUNED, False), (None, False)]
)
def test_which_trials_have_failed(state: TrialState | None, failed: bool) -> None:
    view = recorded({}, state=state or TrialState.COMPLETE)
    assert view.observations.failed.tolist() == [failed]
    assert view.design_observations.failed.tolist() == [failed]


@pytest.mark.parametrize("state", [TrialState.FAIL, TrialState.RUNNING])
@pytest.mark.parametrize("distance, n_failed", [(0.5, 0), (0.01, 2)])
def test_killed_and_stale_trials_have_failed_only_if_they_were_close(
    state: TrialState, distance: float, n_failed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(n_trials=1)
    begun = {"misowild:row": [0, 1]}  # Under our sampler, and never ended under it.
    for x in (0.3, 0.3 + distance):
        study.add_trial(
            optuna.create_trial(
                state=state,
                params={"x": x, "source": "full"},
                distributions=DISTRIBUTIONS,
                system_attrs=begun,
            )
        )
    if state == TrialState.RUNNING:
        monkeypatch.setattr(snapshot, "stale_trials", lambda *args: frozenset({1, 2}))
    seen = study.sampler.view(study).observations  # type: ignore[attr-defined]
    assert seen.failed.tolist() == [False, *[True] * n_failed]
    assert not seen.pending.any()


# `constraints_func`.


@pytest.mark.parametrize("make", [MisoWildSampler, lambda **k: CarboCoolingSampler(9.0, **k)])
def test_a_constraints_func_is_deprecated_where_optuna_deprecates_it(
    make: Callable[..., MethodSampler],
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(constraints_func=lambda trial: [0.0])
    if HAS_NAMES:
        assert [w.category for w in caught] == [FutureWarning]
        assert "trial.set_constraint" in str(caught[0].message)
    else:
        assert caught == []


def test_a_constraints_func_must_be_a_function() -> None:
    with pytest.raises(TypeError, match="`constraints_func` must be a function.*got 3"):
        MisoWildSampler(constraints_func=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [list, tuple, np.float32])
def test_what_a_constraints_func_returns_is_recorded_beside_our_mark(kind: Any) -> None:
    def constraints(trial: FrozenTrial) -> Sequence[float]:
        values = [trial.params["x"] - 0.5, -1.0]
        return np.array(values, dtype=kind) if kind is np.float32 else kind(values)

    sampler = silently(MisoWildSampler, seed=0, constraints_func=constraints)
    study = study_of(sampler, n_trials=16)
    assert {trial.params["source"] for trial in study.trials} == {"full", "cheap"}
    for trial in study.trials:
        mark = float(trial.params["source"] != "full")
        first, second = map(float, constraints(trial))
        if HAS_NAMES:
            named = {"0": first, "1": second, "preferred_source": mark}
            assert trial.constraints == named
        else:
            assert list(trial.system_attrs["constraints"]) == [first, second, mark]
        assert is_feasible(trial, "source") == (trial.params["x"] <= 0.5)
    view = sampler.view(study)
    np.testing.assert_array_equal(
        view.observations.constraints, list(map(constraints, study.trials))
    )
    assert study.best_trial.params["source"] == "full"
    assert study.best_trial.params["x"] <= 0.5


@pytest.mark.parametrize("sampler", ["ours", "Optuna's"])
@pytest.mark.parametrize(
    "returned, error",
    [([math.nan], ValueError), (1.0, TypeError), (None, TypeError), (["a"], TypeError)],
)
def test_a_constraints_func_that_is_wrong_stops_the_study_and_loses_no_trial(
    sampler: str, returned: Any, error: type[Exception]
) -> None:
    """As it does with Optuna's samplers."""
    make: Any = MisoWildSampler if sampler == "ours" else TPESampler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = study_of(make(seed=0, constraints_func=lambda trial: returned))
        with pytest.raises(error):
            study.optimize(toy, n_trials=3)
    (trial,) = study.trials
    assert trial.state == TrialState.COMPLETE
    if sampler == "ours":
        assert trial.user_attrs["source_index"] == 1
        assert trial.user_attrs["cost"] > 0.0
        assert is_feasible(trial, "source")  # As far as is known.


def test_a_constraints_func_sees_complete_and_pruned_trials_only() -> None:
    seen = []

    def constraints(trial: FrozenTrial) -> list[float]:
        seen.append(trial.number)
        return [1.0]

    def objective(trial: optuna.Trial) -> float:
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise RuntimeError
        return toy(trial)

    study = study_of(silently(MisoWildSampler, seed=0, constraints_func=constraints))
    study.optimize(objective, n_trials=4, catch=(RuntimeError,))
    assert seen == [0, 1, 3]


# What is recommended.


def constrained(trial: optuna.Trial, *, everywhere: bool = False) -> float:
    x = trial.suggest_float("x", 0.0, 1.0)
    value = 1.0 if everywhere else x - 0.5
    if HAS_NAMES:
        trial.set_constraint("low", value)
    else:
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [value])
    return -x


def test_what_is_recommended_is_feasible_where_anything_is() -> None:
    study = study_of(MisoWildSampler(seed=0))
    study.optimize(constrained, n_trials=10)
    best = recommend(study)
    assert best.trial == study.best_trial
    assert best.verified and best.feasible
    assert 0.0 <= best.probability <= 1.0


def test_what_is_not_feasible_is_said_to_be_so() -> None:
    study = study_of(MisoWildSampler(seed=0))
    study.optimize(lambda trial: constrained(trial, everywhere=True), n_trials=6)
    best = recommend(study)
    assert best.verified and not best.feasible


def test_the_probability_of_feasibility_is_the_models() -> None:
    study = study_of(n_trials=8)
    model = study.sampler.model(study)  # type: ignore[attr-defined]
    params = [{"x": x} for x in (0.1, 0.9)]
    assert model.probability_of_feasibility(params).tolist() == [1.0, 1.0]
    model._fitted = type(
        "Fitted", (), {"log_probability": lambda self, X, source: np.log(X[:, 0] / (1 + source))}
    )()
    np.testing.assert_allclose(model.probability_of_feasibility(params), [0.1, 0.9])
    assert model.probability_of_feasibility({"x": 0.5}, "cheap") == pytest.approx(0.25)


# What is said of failures.


@pytest.mark.parametrize(
    "failing, said",
    [
        (range(6), "6 of the last 6 trials have failed ("),
        (range(4, 10), "6 of the last 10 trials have failed ("),
        (range(0, 40, 2), None),  # Every other one is half of them.
    ],
)
def test_many_failures_are_said_once(
    failing: range, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = toy(trial)
        return math.nan if trial.number in failing else value

    study = study_of(MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=14)
    lines = [line for line in warnings_of(caplog).splitlines() if "have failed" in line]
    assert len(lines) == (said is not None)
    if said is not None:
        assert lines[0].startswith(said)
        counts = re.findall(r"(\d+) on '(?:full|cheap)'", lines[0])
        assert sum(map(int, counts)) == len(failing)
