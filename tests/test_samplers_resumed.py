"""The same trials and the same seed give the same suggestions, in whatever process."""

from __future__ import annotations

from pathlib import Path
import pickle

import optuna
from optuna.distributions import FloatDistribution
from optuna.storages import BaseStorage
from optuna.storages import InMemoryStorage
from optuna.storages import JournalStorage
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
import pytest
from toy_studies import METHODS
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import toy

from optuna_misowild import MisoWildSampler
from optuna_misowild import PaperMethod
from optuna_misowild.study.attributes import row_of


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
    kept = storage(kind, tmp_path)
    whole = study_of(
        MisoWildSampler(method=method, seed=5), storage=kept, study_name="s", n_trials=12
    )
    optuna.copy_study(
        from_study_name="s", from_storage=kept, to_storage=kept, to_study_name="copy"
    )
    whole.optimize(toy, n_trials=1)
    resumed = optuna.load_study(
        study_name="copy",
        storage=kept if kind == "memory" else storage(kind, tmp_path),
        sampler=MisoWildSampler(method=method, seed=5),
    )
    resumed.optimize(toy, n_trials=1)
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]


def test_a_study_whose_sources_shared_the_latin_hypercube_goes_on(tmp_path: Path) -> None:
    class Nested(PaperMethod):
        """The initial design of version 0.1.0."""

        nested_design = True

    kept = storage("journal", tmp_path)
    study_of(MisoWildSampler(method=Nested(), seed=5), storage=kept, study_name="s", n_trials=5)
    resumed = optuna.load_study(
        study_name="s", storage=kept, sampler=MisoWildSampler(method="paper", seed=5)
    )
    resumed.optimize(toy, n_trials=7)
    slots = [row_of(t) for t in resumed.trials]
    assert slots[:10] == [(source, row) for row in range(5) for source in range(2)]
    assert slots[10:] == [None, None]
    full, cheap = (
        [t.params["x"] for t in resumed.trials[:10] if t.params["source"] == source]
        for source in SOURCES
    )
    assert [a == b for a, b in zip(full, cheap, strict=True)] == [True] * 2 + [False] * 3


def test_without_a_seed_workers_share_the_initial_design() -> None:
    kept = InMemoryStorage()
    sampler = MisoWildSampler(method="paper", n_startup_trials=5)
    study = study_of(sampler, storage=kept, study_name="s", n_trials=4)
    again = MisoWildSampler(method="paper", n_startup_trials=5)
    resumed = optuna.load_study(study_name="s", storage=kept, sampler=again)
    resumed.optimize(toy, n_trials=6)
    full = [t.params["x"] for t in study.trials if t.params["source"] == "full"]
    assert sorted(int(5 * x) for x in full) == [0, 1, 2, 3, 4]
    other = study_of(MisoWildSampler(), n_trials=1)
    assert other.trials[0].params != study.trials[0].params


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_suggestions(method: str) -> None:
    first = study_of(MisoWildSampler(method=method, seed=7), n_trials=12)
    second = study_of(MisoWildSampler(method=method, seed=7), n_trials=12)
    other = study_of(MisoWildSampler(method=method, seed=8), n_trials=2)
    assert [t.params for t in first.trials] == [t.params for t in second.trials]
    assert [t.params for t in first.trials[:2]] != [t.params for t in other.trials]


@pytest.mark.parametrize("method", METHODS)
def test_a_pickled_sampler_goes_on_in_the_same_way(method: str) -> None:
    sampler = MisoWildSampler(method=method, seed=7)
    whole = study_of(sampler, n_trials=14)
    study = study_of(MisoWildSampler(method=method, seed=7), n_trials=12)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(toy, n_trials=2)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]


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
