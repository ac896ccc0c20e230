"""Trainings that go on from a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from curve_studies import PLACES
from curve_studies import STEPS
from curve_studies import study_of
from curve_studies import value_of
import numpy as np
import optuna
from optuna.trial import TrialState
import pytest

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import RobustMethod
from optuna_misowild import continued_from
from optuna_misowild import cumulated_cost
from optuna_misowild.methods.base import Training
from optuna_misowild.methods.base import Verdict
from optuna_misowild.methods.robust.fit import query_costs
from optuna_misowild.methods.robust.model import RobustModel
from optuna_misowild.study import attributes
from optuna_misowild.study.attributes import CONTINUED_KEY
from optuna_misowild.study.attributes import RUNG_KEY


def sampler(**kwargs: Any) -> MisoWildSampler:
    return MisoWildSampler(
        steps=STEPS, checkpoints=True, seed=0, n_startup_trials=1, budget=400.0, **kwargs
    )


def resumed(trial: optuna.Trial) -> float:
    """Train from the checkpoint of an earlier trial, if there is one; the cost is of the rest."""
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in "xy"}
    begin = continued_from(trial)
    first = 1 if begin is None else begin.step + 1
    value = 0.0
    for epoch in range(first, 19):
        value = value_of(params, epoch)
        trial.set_user_attr("cost", (epoch + 1 - first) * (1.0 + params["x"]))
        trial.report(value, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def add_stopped(study: optuna.Study, x: float) -> None:
    """Add a training that was stopped after six epochs."""
    params = {"x": x, "y": 0.6}
    cost = 1.0 + x
    study.add_trial(
        optuna.create_trial(
            state=TrialState.PRUNED,
            params=params,
            distributions=study.trials[0].distributions,
            intermediate_values={epoch: value_of(params, epoch) for epoch in range(1, 7)},
            user_attrs={"cost": 6 * cost},
            system_attrs={
                RUNG_KEY: [6, *STEPS],
                f"{RUNG_KEY}:2": [2 * cost, False, False, None, None],
                f"{RUNG_KEY}:6": [6 * cost, False, True, None, None],
            },
        )
    )


@pytest.fixture(scope="module")
def finished() -> optuna.Study:
    """With one training that was stopped, and promises more than anything else."""
    study = study_of(sampler=sampler())
    add_stopped(study, 0.3)

    def resume(self: RobustMethod, model: Any, trainings: Sequence[Training]) -> list[Verdict]:
        verdicts = [Verdict(None)] * len(trainings)
        for i, training in enumerate(trainings):
            if training.trial == len(PLACES):
                assert (training.reached, training.further) == (1, (0,))
                assert training.paid == pytest.approx(7.8)
                verdicts[i] = Verdict(0, training.other + 1.0)
        return verdicts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RobustMethod, "resume", resume)
        study.optimize(resumed, n_trials=2)
    return study


def test_a_training_that_promises_most_for_its_rest_goes_on(finished: optuna.Study) -> None:
    first = finished.trials[len(PLACES) + 1]
    assert first.system_attrs[CONTINUED_KEY] == [len(PLACES), 6, pytest.approx(7.8)]
    assert first.params == {"x": 0.3, "y": 0.6}
    assert min(first.intermediate_values) == 7
    assert first.state == TrialState.COMPLETE
    # Once it has gone on, no other goes on from it.
    assert CONTINUED_KEY not in finished.trials[-1].system_attrs


def test_of_several_that_promise_more_the_best_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(sampler=sampler())
    for x in (0.3, 0.5, 0.7):
        add_stopped(study, x)
    gains = {0.3: 1.0, 0.5: 3.0, 0.7: 2.0}

    def resume(self: RobustMethod, model: Any, trainings: Sequence[Training]) -> list[Verdict]:
        of_x = {round(float(t.x[0]), 6): t for t in trainings}
        assert set(gains) <= set(of_x)
        return [
            Verdict(0, t.other + gains[x]) if x in gains else Verdict(None)
            for x, t in of_x.items()
        ]

    monkeypatch.setattr(RobustMethod, "resume", resume)
    study.optimize(resumed, n_trials=1)
    assert study.trials[-1].system_attrs[CONTINUED_KEY][0] == len(PLACES) + 1
    assert study.trials[-1].params == {"x": 0.5, "y": 0.6}


def test_only_the_rest_is_paid_and_the_models_know_the_whole(finished: optuna.Study) -> None:
    first = finished.trials[len(PLACES) + 1]
    assert first.user_attrs["cost"] == pytest.approx(12 * 1.3)
    own = [trial.user_attrs["cost"] for trial in finished.trials]
    assert cumulated_cost(finished) == pytest.approx(sum(own))
    seen = sampler().view(finished).observations
    rows = seen.trial == first.number
    # It tells nothing of the steps before it; its cost is that of the whole training.
    np.testing.assert_array_equal(seen.source[rows], [0])
    np.testing.assert_allclose(seen.cost[rows], [18 * 1.3])


def test_no_epoch_of_the_same_parameters_is_trained_twice() -> None:
    """Also where what has stopped is verified, or is the best row of the initial design."""
    sampler = MisoWildSampler(steps=STEPS, checkpoints=True, seed=0, budget=150.0)
    study = study_of(sampler=sampler, empty=True)
    study.optimize(resumed, callbacks=[CostBudgetCallback(150.0)])
    trained: dict[tuple[float, ...], list[int]] = {}
    for trial in study.trials:
        trained.setdefault(tuple(trial.params.values()), []).extend(trial.intermediate_values)
    assert all(len(epochs) == len(set(epochs)) for epochs in trained.values())
    rows = [attributes.row_of(trial) for trial in study.trials]
    assert any(
        row is not None and row[0] == 0 and CONTINUED_KEY in trial.system_attrs
        for row, trial in zip(rows, study.trials, strict=True)
    )


def test_without_a_visit_costs_are_in_proportion_to_the_steps_of_the_rest() -> None:
    study = study_of(sampler=sampler())
    study.add_trial(
        optuna.create_trial(
            state=TrialState.PRUNED,
            params={"x": 0.5, "y": 0.5},
            distributions=study.trials[0].distributions,
            intermediate_values=dict.fromkeys(range(3, 11), 1.0),
            user_attrs={"cost": 16.0},
            system_attrs={RUNG_KEY: [18, *STEPS], CONTINUED_KEY: [5, 2, 3.0]},
        )
    )
    seen = sampler().view(study).observations
    # 2 of the 8 epochs of the rest... up to step 6, 4 of them: 3 + 16 · 4/8.
    np.testing.assert_array_equal(seen.source[-2:], [1, 0])
    np.testing.assert_allclose(seen.cost[-2:], [11.0, np.nan])


@pytest.mark.parametrize(("paid", "rest"), [(7.8, 12 * 1.3), (None, 18 * 1.3)])
def test_of_a_training_that_goes_on_the_rest_is_still_to_be_paid(
    paid: float | None, rest: float
) -> None:
    study = study_of(sampler=sampler())
    add_stopped(study, 0.3)
    spent = cumulated_cost(study)
    study.add_trial(
        optuna.create_trial(
            state=TrialState.RUNNING,
            params={"x": 0.3, "y": 0.6},
            distributions=study.trials[0].distributions,
            system_attrs={RUNG_KEY: [18, *STEPS], CONTINUED_KEY: [len(PLACES), 6, paid]},
        )
    )
    assert CostBudgetCallback(spent + 0.95 * rest).is_spent(study)
    assert not CostBudgetCallback(spent + 1.05 * rest).is_spent(study)
    # So the sampler plans.
    model = sampler().method.fit(sampler().view(study).observations, sampler().view(study).domain)
    assert isinstance(model, RobustModel)
    assert 400.0 - spent - model.limit.cost == pytest.approx(rest, rel=0.05)


def test_a_query_that_has_gone_on_costs_the_rest(finished: optuna.Study) -> None:
    view = sampler().view(finished)
    seen, cost = view.observations, RobustMethod().fit_costs(view.observations, view.domain)
    own = np.flatnonzero(seen.trial == len(PLACES) + 1)
    np.testing.assert_allclose(query_costs(seen, cost)[own], [12 * 1.3])


def test_a_trial_that_begins_anew_continues_none() -> None:
    study = study_of(sampler=sampler())
    study.enqueue_trial({"x": 0.1, "y": 0.2})
    trial = study.ask()
    for name in "xy":
        trial.suggest_float(name, 0.0, 1.0)
    assert continued_from(trial) is None


def test_conditional_parameters_are_those_of_the_earlier_trial() -> None:
    study = study_of(sampler=sampler(warn_independent_sampling=False))
    study.ask()
    attributes.optuna_private.write_system_attr(
        study, study.trials[-1], CONTINUED_KEY, [0, 6, None]
    )
    own = study.sampler.sample_independent(
        study, study.trials[-1], "x", study.trials[0].distributions["x"]
    )
    assert own == study.trials[0].params["x"]


@pytest.mark.parametrize("wrong", [[1, 2], [1, 2, -3.0], [-1, 2, 3.0], "1", [1, 2, "3"]])
def test_malformed_records_are_skipped_and_said(wrong: Any) -> None:
    study = study_of(sampler=sampler())
    trial = study.ask()
    attributes.optuna_private.write_system_attr(study, study.trials[-1], CONTINUED_KEY, wrong)
    assert continued_from(trial) is None
    said = attributes.malformed(study.trials[-1])
    assert said is not None and CONTINUED_KEY in said


def test_checkpoints_need_steps() -> None:
    with pytest.raises(ValueError, match="needs `steps`"):
        MisoWildSampler(checkpoints=True)
    with pytest.raises(TypeError, match="checkpoints"):
        MisoWildSampler(steps=STEPS, checkpoints=1)  # type: ignore[arg-type]
