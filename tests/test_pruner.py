"""The pruner that decides by the models, and the study that it makes."""

from __future__ import annotations

import pickle
from typing import Any

from curve_studies import PLACES
from curve_studies import STEPS
from curve_studies import add
from curve_studies import curve
from curve_studies import study_of
from curve_studies import value_of
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest
from toy_studies import warnings_of

from optuna_misowild import MisoWildPruner
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import recommend
from optuna_misowild.study.attributes import RUNG_KEY
from optuna_misowild.study.steps import recorded_rungs
from optuna_misowild.study.steps import visit_of
from optuna_misowild.study_sampler import view_of


def run_by(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return study.trials[len(PLACES) :]


@pytest.fixture(scope="module")
def finished() -> optuna.Study:
    study = study_of()
    study.optimize(curve, n_trials=8)
    return study


def test_a_training_stops_at_a_rung_and_no_later_than_it_is_meant_for(
    finished: optuna.Study,
) -> None:
    assert {2, 18} <= {trial.last_step for trial in run_by(finished)} <= set(STEPS)
    for trial in run_by(finished):
        record = recorded_rungs(trial)
        assert record is not None and record[1:] == list(STEPS)
        assert trial.last_step is not None
        assert trial.last_step <= record[0]  # It may have stopped earlier.
        is_complete = trial.state == TrialState.COMPLETE
        assert is_complete == (trial.last_step == 18)
        visits = {step: visit_of(trial, step) for step in STEPS if step <= trial.last_step}
        for step, visit in visits.items():
            assert visit is not None
            assert visit.stops == (step == trial.last_step and not is_complete)


def test_the_optimum_is_found_and_an_epoch_is_paid_once(finished: optuna.Study) -> None:
    best = recommend(finished)
    assert best.verified
    np.testing.assert_allclose([best.params["x"], best.params["y"]], [0.3, 0.6], atol=0.1)
    costs = [t.last_step * (1.0 + t.params["x"]) for t in finished.trials if t.last_step]
    assert cumulated_cost(finished) == pytest.approx(sum(costs))
    seen = MisoWildSampler(steps=STEPS).view(finished).observations
    assert seen.spent == pytest.approx(sum(costs))
    # What a rung has cost is what the pruner has seen there.
    x = np.array([finished.trials[n].params["x"] for n in seen.trial])
    steps = np.array([18, 6, 2])[seen.source]
    known = np.isfinite(seen.cost)
    np.testing.assert_allclose(seen.cost[known], (steps * (1.0 + x))[known])


def test_the_cost_that_the_pruner_has_seen_counts_not_the_part_of_the_steps() -> None:
    study = study_of()
    study.add_trial(
        optuna.create_trial(
            state=TrialState.PRUNED,
            params={"x": 0.5, "y": 0.5},
            distributions=dict.fromkeys("xy", FloatDistribution(0.0, 1.0)),
            intermediate_values={2: 1.0, 6: 1.0},
            user_attrs={"cost": 9.0},
            system_attrs={
                RUNG_KEY: [6, *STEPS],
                f"{RUNG_KEY}:2": [7.0, False, False, None, None],
                f"{RUNG_KEY}:6": [8.0, True, True, None, None],  # Seconds: another unit.
            },
        )
    )
    seen = study.sampler.view(study).observations
    np.testing.assert_array_equal(seen.cost[-2:], [7.0, 9.0])


@pytest.mark.parametrize("sampler", [optuna.samplers.RandomSampler(), MisoWildSampler()])
def test_it_says_once_that_another_sampler_means_no_step(
    sampler: optuna.samplers.BaseSampler, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(curve, n_trials=3)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert warnings_of(caplog).count("never prunes") == 1


@pytest.mark.parametrize("steps", [None, STEPS])
def test_where_the_source_is_a_number_of_epochs_its_training_may_end(
    steps: tuple[int, ...] | None, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(trial: optuna.Trial) -> float:
        n_epochs = trial.suggest_categorical("source", STEPS[::-1])
        params = {name: trial.suggest_float(name, 0.0, 1.0) for name in "xy"}
        for epoch in range(1, n_epochs + 1):
            trial.set_user_attr("cost", float(epoch))
            trial.report(value_of(params, epoch), epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value_of(params, n_epochs)

    sampler = MisoWildSampler(steps=steps, seed=0, budget=300.0)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(objective, n_trials=25)
    ends = {
        (t.params["source"], t.state == TrialState.COMPLETE, t.last_step) for t in study.trials
    }
    assert {(step, True, step) for step in STEPS} <= ends
    assert all(is_complete == (last == step) for step, is_complete, last in ends)
    assert recommend(study).verified
    assert not warnings_of(caplog)


def test_it_never_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any) -> Any:
        raise RuntimeError("broken")

    study = study_of()
    monkeypatch.setattr(MisoWildSampler, "verdict", broken)
    study.optimize(curve, n_trials=1)
    assert study.trials[-1].state == TrialState.COMPLETE
    assert "RuntimeError('broken') in trial 12, which goes on" in warnings_of(caplog)


def asked_for(study: optuna.Study) -> optuna.Trial:
    trial = study.ask()
    for name in "xy":
        trial.suggest_float(name, 0.0, 1.0)
    return trial


def test_asked_again_it_says_the_same_and_decides_at_the_rungs_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = study_of()
    asked = []
    original = MisoWildSampler.verdict

    def counted(self: MisoWildSampler, view: Any, trial: Any, source: int, paid: float) -> Any:
        asked.append(source)
        return original(self, view, trial, source, paid)

    monkeypatch.setattr(MisoWildSampler, "verdict", counted)
    trial = asked_for(study)
    said = []
    for epoch in range(1, 8):
        trial.report(100.0 * epoch, epoch)  # It disappoints.
        said += [trial.should_prune(), trial.should_prune()]
    # Who does not heed it is told again.
    assert said == [False] * 2 + [True] * 12
    assert asked == [2, 1]


def test_a_training_that_reports_nan_at_a_rung_stops() -> None:
    study = study_of()
    study.enqueue_trial({"x": 0.5})
    for is_given in (True, False):
        trial = asked_for(study)
        trial.report(1.0, 1)
        assert not trial.should_prune()
        trial.report(float("nan"), 2)
        assert trial.should_prune() is not is_given  # That is what the user has asked for.
        study.tell(trial, state=TrialState.PRUNED)
    seen = MisoWildSampler(steps=STEPS).view(study).observations
    np.testing.assert_array_equal(seen.trial[seen.failed], [12, 13])


def test_automatic_steps_follow_from_the_first_training_to_the_end() -> None:
    sampler = MisoWildSampler(steps="auto", seed=0)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(curve, n_trials=3)
    assert [trial.last_step for trial in study.trials] == [18, 2, 2]


def test_an_enqueued_trial_is_trained_to_the_end() -> None:
    study = study_of()
    study.enqueue_trial({"x": 0.99, "y": 0.01})
    study.optimize(curve, n_trials=1)
    assert study.trials[-1].state == TrialState.COMPLETE


def test_a_retried_trial_reaches_its_rungs_anew() -> None:
    study = study_of()
    inherited = {
        "failed_trial": 3,
        "fixed_params": {"x": 0.9, "y": 0.1},
        RUNG_KEY: [6, *STEPS],
        f"{RUNG_KEY}:2": [1.0, False, False, None, None],
    }
    study.add_trial(optuna.create_trial(state=TrialState.WAITING, system_attrs=inherited))
    study.optimize(curve, n_trials=1)
    visits = [visit_of(study.trials[-1], step) for step in (2, 6)]
    assert [(v.cost, v.stops) for v in visits if v] == [(2 * 1.9, False), (6 * 1.9, True)]


def test_a_value_that_is_returned_when_told_to_stop_is_of_that_rung() -> None:
    study = study_of()
    add(study, 0.3, 0.6, 18)
    trial = asked_for(study)
    trial.report(-1.0, 1)
    assert not trial.should_prune()
    trial.report(100.0, 2)
    assert trial.should_prune()
    study.tell(trial, -1.0)
    seen = MisoWildSampler(steps=STEPS).view(study).observations
    assert (seen.source[-1], seen.y[-1], seen.trial[-1]) == (2, -1.0, trial.number)
    assert study.best_trial.number == 12
    best = recommend(study)
    assert (best.params == trial.params) == (not best.verified)


def test_there_is_a_recommendation_from_the_first_trial_on() -> None:
    sampler = MisoWildSampler(steps=STEPS, seed=1)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(curve, n_trials=1)
    first = recommend(study)
    assert first.params == study.trials[0].params
    assert (first.source, first.verified) == (2, False)
    study.optimize(curve, n_trials=4)
    best = min(study.trials, key=lambda trial: value_of(trial.params, 2))
    assert best.number > 0 and recommend(study).params == best.params
    # Now one to the end, where the short ones were best.
    study.optimize(curve, n_trials=1)
    assert [trial.last_step for trial in study.trials] == [2, 2, 2, 2, 2, 18]
    assert recommend(study).verified and recommend(study).params == best.params
    # The first that is not verified is trained to the end.
    study.enqueue_trial(first.to_enqueue())
    study.optimize(curve, n_trials=1)
    assert study.trials[-1].last_step == 18


def test_epochs_are_a_parameter_and_a_training_may_stop_before() -> None:
    choices = CategoricalDistribution((18, 6, 2))
    sampler = MisoWildSampler(seed=0, n_startup_trials=1)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    for i, (x, y) in enumerate(PLACES):
        n = STEPS[::-1][i // 4]
        params = {"x": x, "y": y, "source": n}
        unit = dict.fromkeys("xy", FloatDistribution(0.0, 1.0))
        study.add_trial(
            optuna.create_trial(
                value=value_of(params, n),
                params=params,
                distributions={**unit, "source": choices},
                intermediate_values={t: value_of(params, t) for t in range(1, n + 1)},
                user_attrs={"cost": float(n)},
            )
        )
    study.enqueue_trial({"source": 6})
    for chosen in (6, None):
        trial = study.ask()
        n = trial.suggest_categorical("source", choices.choices)
        assert chosen in (n, None)
        for name in "xy":
            trial.suggest_float(name, 0.0, 1.0)
        for epoch in range(1, n + 1):
            trial.report(100.0, epoch)
            stops = trial.should_prune()
            # The one that was enqueued is trained to its end, the other disappoints.
            assert stops == (chosen is None and 2 <= epoch < n)
        study.tell(trial, 100.0)


@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_it_works_with_threads_and_where_a_study_is_resumed(storage: Any, tmp_path: Any) -> None:
    if storage is not None:
        storage = f"sqlite:///{tmp_path / 'study.db'}"
    study = study_of(storage=storage, study_name="steps", direction="maximize", sign=-1.0)
    study.optimize(lambda trial: curve(trial, sign=-1.0), n_trials=2, n_jobs=2)
    if storage is not None:
        sampler, pruner = pickle.loads(pickle.dumps((study.sampler, study.pruner)))
        study = optuna.load_study(
            storage=storage, study_name="steps", sampler=sampler, pruner=pruner
        )
    study.optimize(lambda trial: curve(trial, sign=-1.0), n_trials=1)
    assert len(run_by(study)) == 3
    assert {t.last_step for t in run_by(study)} <= set(STEPS)
    assert recommend(study).value >= study.best_value


def test_where_its_sampler_has_no_model_a_training_goes_to_its_rung() -> None:
    """Asked for in one process, and trained in another."""
    study = study_of()
    trial = asked_for(study)
    record = recorded_rungs(study.trials[-1])
    assert record is not None
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    said = {}
    for epoch in range(1, 18):
        trial.report(100.0, epoch)
        said[epoch] = trial.should_prune()
    assert [step for step, stops in said.items() if stops] == list(range(record[0], 18))


def test_the_user_is_told_where_money_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of()
    trial = asked_for(study)
    trial.report(100.0, 2)
    assert trial.should_prune()
    study.tell(trial, state=TrialState.PRUNED)
    assert warnings_of(caplog).count("before it has set the user attribute 'cost'") == 1
    record = {RUNG_KEY: [2, *STEPS], "failed_trial": 3, "fixed_params": {"x": 0.1, "y": 0.1}}
    study.add_trial(optuna.create_trial(state=TrialState.WAITING, system_attrs=record))
    study.tell(asked_for(study), 1.0)
    assert warnings_of(caplog).count("with no call of `trial.should_prune()` there") == 1


def test_where_reports_are_rare_no_place_is_trained_twice() -> None:
    """The first report after step 1 is after step 3 too: nothing is known of step 1."""

    def rare(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for epoch in range(5, 28):
            if epoch % 5 == 0 or epoch == 27:
                trial.report((x - 0.3) ** 2 + 1.0 / epoch, epoch)
                if trial.should_prune():
                    raise optuna.TrialPruned
        return (x - 0.3) ** 2

    sampler = MisoWildSampler(steps=(1, 3, 9, 27), seed=0)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(rare, n_trials=7)
    states = [t.state == TrialState.COMPLETE for t in study.trials]
    assert states == [n == 5 for n in range(7)]  # The best of the short ones, to the end.
    places = [t.params["x"] for t in study.trials]
    assert places[5] in places[:5]
    assert len(set(places)) == 6


def test_the_default_pruner_in_place_of_ours_is_said(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=MisoWildSampler(steps=STEPS, seed=0))
    study.optimize(curve, n_trials=8)
    assert any(trial.state == TrialState.PRUNED for trial in study.trials)
    assert warnings_of(caplog).count("was pruned by MedianPruner, Optuna's default") == 1


@pytest.mark.parametrize("last", [6, 17, 18])
def test_trainings_that_end_long_before_the_last_step_are_said(
    last: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Those that go on between the last two steps, and report rarely, are fine."""
    study = optuna.create_study(
        sampler=MisoWildSampler(steps=(*STEPS, 54), seed=0), pruner=optuna.pruners.NopPruner()
    )

    def ends_at(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for epoch in range(1, last + 1):
            trial.report(x + 1.0 / epoch, epoch)
        return x

    study.optimize(ends_at, n_trials=3)
    said = f"Trial 0 has returned its value after step {last}. That counts as a value of step 54"
    assert warnings_of(caplog).count(said) == (0 if last == 18 else 1)
    assert warnings_of(caplog).count("has returned its value after step") == (last < 18)


def test_a_training_that_returns_when_told_to_stop_has_not_ended_early(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def returns(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", 0.0, 1.0)
        for epoch in range(1, 19):
            trial.report(value + 1.0 / epoch, epoch)
            if trial.should_prune():
                break
        return value

    sampler = MisoWildSampler(steps=STEPS, seed=0)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(returns, n_trials=3)
    assert study.trials[0].last_step == 2
    assert "has returned its value" not in warnings_of(caplog)


def test_many_trainings_that_report_nan_are_said(caplog: pytest.LogCaptureFixture) -> None:
    def diverges(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0.0, 1.0)
        for epoch in range(1, 19):
            trial.report(float("nan"), epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return 0.0

    sampler = MisoWildSampler(steps=STEPS, seed=0)
    study = optuna.create_study(sampler=sampler, pruner=MisoWildPruner())
    study.optimize(diverges, n_trials=5)
    assert "reported NaN" not in warnings_of(caplog)
    study.optimize(diverges, n_trials=2)
    assert warnings_of(caplog).count("6 of the last 6 trials have failed or reported NaN") == 1


def test_a_study_that_is_only_looked_at_stops_as_it_did(finished: optuna.Study) -> None:
    """It has Optuna's sampler and pruner, which mean nothing."""
    looked_at = optuna.load_study(study_name=finished.study_name, storage=finished._storage)
    assert not isinstance(looked_at.pruner, MisoWildPruner)
    assert view_of(looked_at, None)[1].sources.queryable == (0, 1, 2)
    running = optuna.load_study(
        study_name=finished.study_name, storage=finished._storage, sampler=finished.sampler
    )
    assert view_of(running, None)[1].sources.queryable == (0,)
