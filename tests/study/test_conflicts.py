"""Workers that choose at the same moment, made to coincide: all but one give way.

The space has few points, so that methods which know the same choose the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
import threading
from typing import Any

import optuna
from optuna.storages import InMemoryStorage
from optuna.storages import JournalStorage
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
import pytest
from toy_studies import METHODS
from toy_studies import SOURCES

from optuna_misowild import MisoWildSampler
from optuna_misowild import base_sampler
from optuna_misowild.methods.base import Proposal
from optuna_misowild.study import attributes
from optuna_misowild.study.conflicts import must_give_way
from optuna_misowild.study.initial_design import InitialDesign
from optuna_misowild.study.snapshot import StudyView
from optuna_misowild.study.space import encode


N_VALUES = 12
N_STARTUP = 2


class Interleaved(MisoWildSampler):
    """Lets something happen between its choice and its telling the others of it."""

    meanwhile: Callable[[], object] | None = None

    def _interrupt(self) -> None:
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()

    def _propose(self, *args: Any, **kwargs: Any) -> Proposal:
        proposal = super()._propose(*args, **kwargs)
        self._interrupt()
        return proposal

    def _design(self, *args: Any) -> InitialDesign:
        design = super()._design(*args)
        next_slot = design.next_slot

        def next_slot_and_interrupt(allowed: tuple[int, ...]) -> tuple[int, int] | None:
            slot = next_slot(allowed)
            if slot is not None:
                self._interrupt()
            return slot

        design.next_slot = next_slot_and_interrupt  # type: ignore[method-assign]
        return design


def choose(trial: optuna.Trial) -> tuple[str, int]:
    return trial.suggest_categorical("source", SOURCES), trial.suggest_int("n", 1, N_VALUES)


def objective(trial: optuna.Trial) -> float:
    source, n = choose(trial)
    trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
    return (n - 4.0) ** 2 + (3.0 if source == "full" else n % 3)


def storage_of(kind: str, folder: Path) -> Any:
    if kind == "journal":
        return JournalStorage(JournalFileBackend(f"{folder}/s.log"))
    return RDBStorage(f"sqlite:///{folder}/s.db") if kind == "sqlite" else InMemoryStorage()


def two_workers(method: str, storage: Any, n_trials: int) -> list[optuna.Study]:
    """Return the study as two workers with the same settings have it."""
    study = optuna.create_study(study_name="s", storage=storage)
    workers = [
        optuna.load_study(
            study_name="s",
            storage=storage,
            sampler=Interleaved(method=method, n_startup_trials=N_STARTUP, seed=0),
        )
        for _ in range(2)
    ]
    for i in range(n_trials):
        workers[i % 2].optimize(objective, n_trials=1)
    assert len(study.trials) == n_trials
    return workers


def sampler_of(study: optuna.Study) -> Interleaved:
    assert isinstance(study.sampler, Interleaved)
    return study.sampler


def never(*args: Any, **kwargs: Any) -> bool:
    return False


def keep(_: Any, __: Any, ___: Any, slot: tuple[int, int], ____: Any) -> tuple[int, int]:
    return slot


# Before the method has its model (n_trials = 0: the initial design) and after.
N_BEFORE = [0, 10]


@pytest.mark.parametrize("resolved", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "then", "n_before"),
    [
        *(
            ("memory", then, n)
            for then in ("runs", "has finished", "has failed")
            for n in N_BEFORE
        ),
        ("journal", "has finished", 10),
        ("sqlite", "has finished", 10),
    ],
)
def test_a_choice_that_another_has_made_meanwhile_is_made_anew(
    kind: str,
    then: str,
    method: str,
    n_before: int,
    resolved: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where no conflict is resolved, they coincide, which shows that this test means something.
    if not resolved:
        monkeypatch.setattr(base_sampler, "must_give_way", never)
        monkeypatch.setattr(base_sampler.MethodSampler, "_confirm_slot", keep)
    # In the initial design nobody counts on those that have begun before and say nothing.
    monkeypatch.setattr(attributes, "_DECISION_SECONDS", 0.0)
    slow, fast = two_workers(method, storage_of(kind, tmp_path), n_before)
    thinking, other = slow.ask(), fast.ask()

    def choose_and_go_on() -> None:
        value = objective(other)
        if then == "has finished":
            fast.tell(other, value)
        elif then == "has failed":
            fast.tell(other, state=optuna.trial.TrialState.FAIL)

    sampler_of(slow).meanwhile = choose_and_go_on
    assert (choose(thinking) != choose(other)) is resolved
    assert sampler_of(slow).meanwhile is None


@pytest.mark.parametrize("n_before", N_BEFORE)
@pytest.mark.parametrize("method", METHODS)
def test_of_two_that_have_both_told_the_same_the_earlier_goes_first(
    method: str, n_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither has known of the other when it chose, and both have told when they look: the later
    # one withdraws, and the earlier one waits for that and keeps its choice.
    monkeypatch.setattr(attributes, "_DECISION_SECONDS", 0.0)
    workers = two_workers(method, InMemoryStorage(), n_before)
    trials = [worker.ask() for worker in workers]
    told, have_looked = threading.Barrier(2), set[int]()
    looks = Counter[tuple[int, int]]()  # by trial, and how many sources it knows of

    def look_when_both_have_told(view: Any, *args: Any, **kwargs: Any) -> bool:
        looks[view.asking, len(view.sources)] += 1
        if view.asking not in have_looked:
            have_looked.add(view.asking)
            told.wait(30)
        return must_give_way(view, *args, **kwargs)

    monkeypatch.setattr(base_sampler, "must_give_way", look_when_both_have_told)
    chosen = threading.Barrier(2)
    for worker in workers:
        sampler_of(worker).meanwhile = lambda: chosen.wait(30)
    threads = [threading.Thread(target=choose, args=(trial,)) for trial in trials]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    earlier, later = (trial.number for trial in trials)
    n_known = len(SOURCES) if n_before else 1
    assert looks.pop((earlier, n_known)) == 1
    assert looks.pop((later, n_known)) == 2
    # The first ones of the default choose again once they know that there are cheap sources; the
    # earlier one may know it before it is through. Then they may meet once more.
    again = method == "robust" and n_before == 0
    assert (1 <= looks[later, len(SOURCES)] <= 2) is again
    assert looks[earlier, len(SOURCES)] <= 2 * again
    assert looks.total() <= 3 * again
    assert choose(trials[0]) != choose(trials[1])


def test_a_worker_that_died_with_its_choice_announced_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, fast = two_workers("robust", InMemoryStorage(), 10)
    earlier, later = slow.ask(), fast.ask()

    class Killed(BaseException):
        pass

    def die(*args: Any, **kwargs: Any) -> bool:
        raise Killed

    def announce_and_die() -> None:
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(base_sampler, "must_give_way", die)
            choose(later)

    alone = two_workers("robust", InMemoryStorage(), 10)[0].ask()
    sampler_of(slow).meanwhile = announce_and_die
    assert choose(earlier) == choose(alone)
    announced = attributes.params_of(
        slow.trials[later.number], slow.get_trials(deepcopy=False)[0].distributions
    )
    assert announced == earlier.params


@pytest.mark.parametrize("n_before", N_BEFORE)
@pytest.mark.parametrize("method", METHODS)
def test_threads_that_all_choose_before_any_of_them_tells(
    method: str, n_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attributes, "_DECISION_SECONDS", 0.0)
    n_threads, storage = 4, InMemoryStorage()
    two_workers(method, storage, n_before)
    barrier = threading.Barrier(n_threads)
    trials: list[optuna.Trial] = []
    errors: list[BaseException] = []

    def work() -> None:
        sampler = Interleaved(method=method, n_startup_trials=N_STARTUP, seed=0)
        study = optuna.load_study(study_name="s", storage=storage, sampler=sampler)
        sampler.meanwhile = lambda: barrier.wait(30)
        trial = study.ask()
        trials.append(trial)
        try:
            barrier.wait(30)  # All have begun before any of them looks.
            choose(trial)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    # While the space is not known, different rows may be the same in it.
    queries = [attributes.row_of(t) for t in storage.get_all_trials(0)[-n_threads:]]
    if n_before:
        assert queries == [None] * n_threads
        queries = [choose(trial) for trial in trials]
    assert len(set(queries)) == n_threads


@pytest.mark.parametrize("method", METHODS)
def test_the_next_of_thousands_of_choices_is_another_query(method: str) -> None:
    choices = list(range(3000))
    sampler = MisoWildSampler(method=method, n_startup_trials=N_STARTUP, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: float(t.suggest_categorical("c", choices) % 7), n_trials=4)
    study.enqueue_trial({"c": 1500})
    study.ask(study.trials[0].distributions)
    asking = study.ask()
    view = StudyView(study, sampler.settings, asking=asking.number)
    for choice, same in ((1500, True), (1499, False), (1501, False)):
        x = encode(view.space, [{"c": choice}])[0]
        assert must_give_way(view, None, Proposal(0, x)) is same
