"""Stopped trainings of an earlier study: what they have told, and no more than that."""

from __future__ import annotations

import math
from typing import Any

from curve_studies import PLACES
from curve_studies import STEPS
from curve_studies import curve
from curve_studies import study_of
from curve_studies import value_of
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest

from optuna_misowild import CostCooling
from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler
from optuna_misowild import import_trials
from optuna_misowild import recommend
from optuna_misowild.methods.base import Observations
from optuna_misowild.study.attributes import CONTINUED_KEY
from optuna_misowild.study.attributes import RUNG_KEY
from optuna_misowild.study.continued import stopped_trainings
from optuna_misowild.study.snapshot import StudyView
from optuna_misowild.study_sampler import sampler_of


NAN = math.nan
XY = dict.fromkeys("xy", FloatDistribution(0.0, 1.0))


@pytest.fixture(scope="module")
def earlier() -> optuna.Study:
    """A study of ours whose costs per epoch grow with x; most trainings were stopped."""
    study = optuna.create_study(sampler=sampler(), pruner=MisoWildPruner())
    study.optimize(curve, n_trials=10)
    return study


def sampler(steps: Any = STEPS, **kwargs: Any) -> MisoWildSampler:
    return MisoWildSampler(steps=steps, seed=0, **kwargs)


def new_study(steps: Any = STEPS, **kwargs: Any) -> optuna.Study:
    return optuna.create_study(sampler=sampler(steps, **kwargs), pruner=MisoWildPruner())


def view_of(study: optuna.Study) -> StudyView:
    return sampler_of(study).view(study)


def seen(study: optuna.Study) -> Observations:
    return view_of(study).observations


def told(study: optuna.Study) -> list[tuple[int, float]]:
    """What the last trial tells: sources and values."""
    rows = seen(study).trial == study.trials[-1].number
    found = zip(seen(study).source[rows], seen(study).y[rows], strict=True)
    return [(int(s), float(y)) for s, y in found]


def stopped(
    step: int, *, first: int = 1, state: TrialState = TrialState.PRUNED, **kwargs: Any
) -> optuna.trial.FrozenTrial:
    """A training that was stopped at a step. Its value at a step is that step, negated."""
    return optuna.create_trial(
        state=state,
        value=None if state == TrialState.PRUNED else -float(step),
        params={"x": 0.5, "y": 0.5},
        distributions=XY,
        intermediate_values={t: -float(t) for t in range(first, step + 1)},
        user_attrs={"cost": float(step + 1 - first)},
        **kwargs,
    )


# A study of ours.


def test_an_imported_training_tells_what_it_has_told(earlier: optuna.Study) -> None:
    study = new_study()
    assert import_trials(study, earlier, cost="old") == 10
    old, new = seen(earlier), seen(study)
    for name in ("X", "source", "y", "cost", "free", "failed"):
        np.testing.assert_array_equal(getattr(new, name), getattr(old, name))
    assert np.isfinite(new.cost).all() and (new.spent, new.n_imported) == (0.0, len(new))
    # No query of the last step waits for its value, and so nothing is taken for certain.
    places = [t.params for t in earlier.trials if t.state == TrialState.PRUNED]
    stds = [s.sampler.model(s).predict(places)[1] for s in (earlier, study)]  # type: ignore[attr-defined]
    np.testing.assert_allclose(stds[1], stds[0], rtol=1e-6)


@pytest.mark.parametrize("cost", [None, 7.0, lambda trial: 7.0])
def test_the_models_learn_no_other_costs_than_they_are_told(
    earlier: optuna.Study, cost: Any
) -> None:
    study = new_study()
    import_trials(study, earlier, cost=cost)
    complete = [t.number for t in study.trials if t.state == TrialState.COMPLETE]
    rows = np.isin(seen(study).trial, [] if cost is None else complete)
    expected = np.where(rows, 7.0 * np.array(STEPS[::-1])[seen(study).source] / 18, NAN)
    np.testing.assert_allclose(seen(study).cost, expected)


def test_costs_of_another_unit_than_the_old_study_has_are_left_out() -> None:
    old = new_study()
    visits = {f"{RUNG_KEY}:2": [60.0, True, False, None, None]}  # Seconds; the others are not.
    old.add_trial(stopped(6, system_attrs={RUNG_KEY: [6, *STEPS], **visits}))
    old.add_trial(stopped(18, state=TrialState.COMPLETE))
    study = new_study()
    import_trials(study, old, cost="old")
    np.testing.assert_allclose(seen(study).cost, [2.0, 6.0, 2.0, 6.0, 18.0])


def test_a_training_that_returned_a_value_when_told_to_stop_is_no_best_trial() -> None:
    old = study_of()
    visits = {f"{RUNG_KEY}:6": [6.0, False, True, None, None]}
    record = {RUNG_KEY: [6, *STEPS], **visits}
    old.add_trial(stopped(6, state=TrialState.COMPLETE, system_attrs=record))
    for steps in (STEPS, (1, 3, 9, 18), "auto"):
        study = new_study(steps)
        import_trials(study, old)
        assert told(study)[-1][1] == -6.0 and told(study)[-1][0] > 0
        assert study.best_trial.last_step == 18
        assert recommend(study).value != -6.0


def test_the_study_knows_its_own_steps_where_it_is_only_looked_at(earlier: optuna.Study) -> None:
    study = new_study((1, 9, 18))
    study.optimize(curve, n_trials=1)
    import_trials(study, earlier)
    study.sampler = optuna.samplers.RandomSampler()
    assert view_of(study).sources.choices == (18, 9, 1)


def test_with_a_source_parameter_steps_mean_nothing(earlier: optuna.Study) -> None:
    choices = ["full", "last month"]
    study = optuna.create_study(sampler=MisoWildSampler(query_sources=["full"], seed=0))
    import_trials(study, earlier, source="last month", choices=choices)
    assert not any(key.startswith(RUNG_KEY) for t in study.trials for key in t.system_attrs)
    study.sampler = optuna.samplers.RandomSampler()
    assert view_of(study).sources.choices == tuple(choices)


@pytest.mark.parametrize("method", ["robust", "paper", CostCooling(alpha=1.0)])
@pytest.mark.parametrize("source", ["full", "last month"])
def test_where_steps_mean_nothing_what_was_stopped_tells_nothing(
    earlier: optuna.Study, method: Any, source: str
) -> None:
    complete = [t for t in earlier.trials if t.state == TrialState.COMPLETE]
    found = []
    for old in (earlier.trials, complete):
        own = MisoWildSampler(method=method, query_sources=["full"], seed=0)
        study = optuna.create_study(sampler=own)
        import_trials(study, old, source=source, choices=["full", "last month"])
        for x, y in PLACES[:4]:
            params = {"x": x, "y": y, "source": "full"}
            trial = optuna.create_trial(
                params=params,
                distributions={**XY, "source": CategoricalDistribution(["full", "last month"])},
                value=value_of(params, 18),
                user_attrs={"cost": 1.0},
            )
            study.add_trial(trial)
        places = [t.params for t in earlier.trials]
        found.append(own.model(study).predict(places))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


# Checkpoints.


def test_a_training_that_went_on_from_another_one_keeps_what_that_had_paid() -> None:
    old = new_study(checkpoints=True)
    old.add_trial(stopped(6, system_attrs={RUNG_KEY: [6, *STEPS]}))
    rest = {RUNG_KEY: [18, *STEPS], CONTINUED_KEY: [0, 6, 6.0]}
    old.add_trial(stopped(18, first=7, state=TrialState.COMPLETE, system_attrs=rest))
    study = new_study(checkpoints=True)
    study.add_trial(stopped(2, system_attrs={RUNG_KEY: [2, *STEPS]}))
    import_trials(study, old, cost="old")
    assert told(study) == [(0, -18.0)]
    np.testing.assert_allclose(seen(study).cost[seen(study).trial == 2], [18.0])
    # The number is that of a trial of the old study, not of the one that has it here.
    assert [trial.number for trial in stopped_trainings(study.trials)] == [0]
    # What the rest of a training costs is not what all of it costs.
    for cost in (None, 12.0):
        study = new_study(checkpoints=True)
        import_trials(study, old, cost=cost)
        assert told(study) == [(0, -18.0)] and np.isnan(seen(study).cost).all()


# Trials that record no rung, or others: of another sampler, of version 0.1.0, with other steps.


@pytest.mark.parametrize("record", [{}, {RUNG_KEY: [7, 1, 7, 21]}])
@pytest.mark.parametrize("is_imported", [False, True])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (7, [(2, -2.0), (1, -6.0)]),
        (17, [(2, -2.0), (1, -6.0)]),
        (18, [(2, -2.0), (1, -6.0), (0, -18.0)]),
    ],
)
def test_a_stopped_training_was_meant_for_the_last_rung_that_it_has_reached(
    record: dict[str, Any], is_imported: bool, step: int, expected: list[tuple[int, float]]
) -> None:
    old = optuna.create_study()
    old.add_trial(stopped(step, system_attrs=record))
    study = new_study()
    if is_imported:
        import_trials(study, old)
    else:
        study.add_trials(old.trials)
    assert told(study) == expected
    np.testing.assert_array_equal(seen(study).free, np.arange(len(expected)) < len(expected) - 1)


def test_one_that_was_stopped_before_any_rung_asks_the_first() -> None:
    study = new_study()
    study.add_trial(stopped(18, state=TrialState.COMPLETE))
    study.add_trial(stopped(1))
    np.testing.assert_array_equal(told(study), [(2, NAN)])


def test_one_that_disappointed_on_its_way_still_asks_what_it_was_meant_for() -> None:
    study = new_study()
    old = optuna.create_study()
    old.add_trial(stopped(7, system_attrs={RUNG_KEY: [18, *STEPS]}))
    import_trials(study, old)
    np.testing.assert_array_equal(told(study), [(2, -2.0), (1, -6.0), (0, NAN)])


def test_a_study_goes_on_from_trainings_that_hyperband_has_stopped() -> None:
    old = optuna.create_study(
        study_name="hyperband",  # Which its brackets follow from.
        sampler=optuna.samplers.RandomSampler(seed=0),
        pruner=optuna.pruners.HyperbandPruner(min_resource=2, max_resource=18),
    )
    old.optimize(curve, n_trials=15)
    assert {t.state for t in old.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    study = new_study()
    import_trials(study, old, cost="old")
    assert seen(study).has_value.all()
    # What is known of a stopped training is known of its cost too: so much for each epoch.
    np.testing.assert_allclose(
        seen(study).cost, (1.0 + seen(study).X[:, 0]) * np.array(STEPS[::-1])[seen(study).source]
    )
    study.optimize(curve, n_trials=6)
    best = recommend(study).params
    assert value_of(best, 18) <= min(value_of({"x": x, "y": y}, 18) for x, y in PLACES)
