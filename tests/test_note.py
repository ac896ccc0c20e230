"""The note: what is said of a study in words."""

from __future__ import annotations

import optuna
from optuna.trial import TrialState
import pytest
from studies_to_see import added
from studies_to_see import infeasible_best
from studies_to_see import study_of
from studies_to_see import told

from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend
from optuna_misowild.dashboard import note_of
from optuna_misowild.figure_data import FigureData


def test_what_the_user_has_constrained_is_not_recommended() -> None:
    study = infeasible_best()
    full = [t.value for t in study.trials[:-1] if t.params["source"] == "full" and t.value]
    note = note_of(FigureData(study))
    assert "-99" not in note
    assert f"| {min(full):.6g} |  |\n" in note
    assert f"**Best verified:** {min(full):.6g} on full" in note
    assert recommend(study, sampler=MisoWildSampler()).trial != study.trials[-1]


def test_all_trials_are_counted_and_what_is_unknown_is_nothing() -> None:
    study = told(
        [("full", 0.1, 1.0, 2.0), ("half", 0.2, None, 0.5), ("half", 0.3, 7.25, None)],
    )
    study.ask(dict(study.trials[0].distributions))
    note = note_of(FigureData(study, MisoWildSampler(budget=10.0)))
    assert "**Spent:** 2.5 of 10 (25%) by 1 running, 2 complete, 1 fail trials." in note
    assert "| **full** (preferred) | 1 | 2 | 80% | 1 |  |" in note
    assert "| half | 2 | 0.5 | 20% | 7.25 | too few values of both |" in note
    assert "| tenth | 0 | 0 | 0% |  | never queried |" in note


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize(("n_trials", "verified"), [(20, False), (60, True)])
def test_what_is_recommended_has_its_numbers(
    direction: str, n_trials: int, verified: bool
) -> None:
    study = study_of(n_trials, direction=direction)
    sampler = MisoWildSampler()
    best = recommend(study, sampler=sampler)
    assert best.verified == verified
    probability = f"{best.probability:.2g}"
    how = (
        f"verified on full: {best.value:.6g}"
        if verified
        else f"not verified on full yet, feasible with probability {probability}"
    )
    note = note_of(FigureData(study, sampler))
    expected = f"the model expects {best.mean:.6g} ± {best.std:.2g} there."
    assert f"**Recommended:** x = {best.params['x']:.5g}; {how}; {expected}\n" in note


def test_what_costs_nothing_has_no_shares() -> None:
    assert "| **objective** (preferred) | 3 | 0 |  | 0.01 |  |" in note_of(FigureData(added()))


def test_names_are_not_read_as_signs() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("kind_*", ["a`\n# b"])
        return trial.suggest_float("<x>", 0.25, 0.75)

    study = optuna.create_study()
    study.enqueue_trial({"<x>": 0.5})
    study.optimize(objective, n_trials=1)
    note = note_of(FigureData(study))
    text = "kind\\_\\* = a\\` \\# b, \\<x\\> = 0.5"
    assert f"**Recommended:** {text}; verified on objective: 0.5; the" in note
    assert f"**Best verified:** 0.5 on objective, by trial 0: {text}." in note


def test_what_has_failed_only_has_a_note() -> None:
    study = told([("half", 0.5, None, 1.0)])
    assert study.trials[0].state == TrialState.FAIL
    note = note_of(FigureData(study))
    assert "| half | 1 | 1 | 100% |  |  |" in note
    assert "**Recommended:** nothing yet." in note
