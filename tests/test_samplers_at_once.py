"""Several workers on one study, in one process; and trials that others have left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import time
from typing import Any

import numpy as np
import optuna
import pytest
from toy_studies import METHODS
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import MisoWildSampler
from optuna_misowild import PaperMethod
from optuna_misowild.methods.base import Proposal
from optuna_misowild.study import attributes
from optuna_misowild.study import conflicts


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


def test_parallel_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine, a slow worker is not a dead one.
    monkeypatch.setattr(conflicts, "_PATIENCE_SECONDS", 60.0)
    study = study_of()
    study.optimize(toy, n_trials=24, n_jobs=4)
    points = Counter((t.params["source"], t.params["x"]) for t in study.trials)
    assert max(points.values()) == 1


@pytest.mark.parametrize("x_first", [False, True])
@pytest.mark.parametrize(
    ("n_sources", "expected"),
    [(2, [1, 0, 1, 1, 1, 1, 0, 0]), (5, [1, 2, 3, 4, 0, 1, 2, 3]), (1, [0] * 8)],
)
def test_workers_that_start_together_ask_the_cheap_sources_too(
    n_sources: int, expected: list[int], x_first: bool
) -> None:
    # None of them knows of other sources until its objective suggests one.
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    trials = [study.ask() for _ in range(8)]
    points = []
    for trial in trials:
        x = trial.suggest_float("x", 0.0, 1.0) if x_first else None
        source = trial.suggest_categorical("source", list(range(n_sources)))
        points.append((source, trial.suggest_float("x", 0.0, 1.0)))
        assert x in (None, points[-1][1])
    assert [source for source, _ in points] == expected
    assert len(set(points)) == 8
    frozen = study.get_trials(deepcopy=False)
    assert [attributes.row_of(t)[0] for t in frozen] == expected  # type: ignore[index]
    if not x_first:  # At the same rows.
        at_first = {x for source, x in points if source == 0}
        assert all({x for source, x in points if source == s} & at_first for s in expected)
    for trial in frozen:
        assert attributes.has_decided(trial)


def test_while_the_first_query_of_the_preferred_source_runs_the_models_go_on() -> None:
    """As soon as there is enough of the others; until then further rows are asked."""
    study = study_of(MisoWildSampler(seed=0))
    asked, running = [], []
    for _ in range(30):
        trial = study.ask()
        source, x = trial.suggest_categorical("source", SOURCES), trial.suggest_float("x", 0, 1)
        has_row = attributes.row_of(study.trials[-1]) is not None
        asked.append((source, has_row))
        if source == "full":
            running.append(x)
            continue
        trial.set_user_attr("cost", 0.1)
        study.tell(trial, (x - 0.4) ** 2)
    assert not all(has_row for _, has_row in asked)
    in_design = [source for source, has_row in asked if has_row]
    assert in_design.count("cheap") == 10  # Twice the rows.
    assert in_design.count("full") == len(asked[: len(in_design)]) - 10 <= 3
    assert any(abs(x - 0.4) < 0.05 for x in running)


def test_trials_that_never_begin_do_not_stop_the_design() -> None:
    study = study_of(MisoWildSampler(seed=0))
    for _ in range(4):
        study.ask()
    study.optimize(toy, n_trials=8)
    slots = {attributes.row_of(t) for t in study.get_trials(deepcopy=False)[4:]}
    assert {(1, 0), (0, 0)} <= slots
    assert len([slot for slot in slots if slot is not None and slot[0] == 1]) == 7


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


class GivenRows(PaperMethod):
    """Wants the rows that a test says."""

    wanted: Callable[[], list[tuple[int, int]]]

    def design(self, observations: Any, n_rows: int) -> list[tuple[int, int]]:
        return GivenRows.wanted()


def test_a_row_that_was_withdrawn_and_taken_by_another_is_not_asked_again() -> None:
    study = study_of(MisoWildSampler(method=GivenRows(), seed=0))
    GivenRows.wanted = staticmethod(lambda: [(0, 0)])
    first = study.ask()
    assert not first.relative_params  # It has chosen, and does not know of the sources.
    GivenRows.wanted = staticmethod(lambda: [(0, 1)])
    study.optimize(toy, n_trials=1)
    others: list[optuna.Trial] = []

    def another_row() -> list[tuple[int, int]]:
        GivenRows.wanted = staticmethod(none_any_more)
        return [(1, 0)]

    def none_any_more() -> list[tuple[int, int]]:
        GivenRows.wanted = staticmethod(lambda: [(0, 0)])
        others.append(study.ask())
        assert not others[0].relative_params
        GivenRows.wanted = staticmethod(lambda: [])
        return []

    GivenRows.wanted = staticmethod(another_row)
    toy(first)
    toy(others[0])
    assert first.params != others[0].params


def test_the_last_word_of_others_is_waited_for() -> None:
    """One that has chosen while the sources were known does not choose anew when it suggests."""
    study = study_of(n_trials=3)
    trial = study.ask()
    assert not trial.relative_params
    row = attributes.row_of(study.trials[-1])
    other = study.ask()
    assert row is not None
    attributes.write_row(study, study.trials[other.number], *row)  # And not be through with it.
    toy(trial)
    assert attributes.row_of(study.trials[trial.number]) == row


def test_of_two_at_the_same_moment_the_lower_number_keeps_its_choice() -> None:
    study = study_of(MisoWildSampler(method=SamePlace(), seed=0), n_trials=10)
    sampler = study.sampler
    assert isinstance(sampler, MisoWildSampler)
    lower, higher = study.ask(), study.ask()
    space = sampler.infer_relative_search_space(study, study.trials[0])

    def announce() -> None:  # and not be through with it
        frozen = study.get_trials(deepcopy=False)[higher.number]
        attributes.write_params(study, frozen, space, {"x": 0.5, "source": "full"})

    SamePlace.meanwhile = announce
    toy(lower)
    assert lower.params["x"] == 0.5


@pytest.mark.parametrize("method", METHODS)
def test_dead_trials_that_chose_nothing_do_not_take_the_design(method: str) -> None:
    study = study_of(MisoWildSampler(method=method, seed=0))
    for _ in range(2):
        study.ask()
    long_ago = [time.time() - 3600.0, 0.0, 0]  # By the clock of another worker.
    for trial in study.get_trials(deepcopy=False):
        trial.system_attrs["misowild:begun"] = long_ago
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
