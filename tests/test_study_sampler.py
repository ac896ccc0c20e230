from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend
from optuna_misowild.study_sampler import sampler_of


def objective(trial: optuna.Trial) -> float:
    trial.suggest_categorical("kind", ["a", "b"])
    grid = trial.suggest_categorical("grid", ["coarse", "fine", "medium"])
    return trial.suggest_float("x", 0.0, 1.0) - 10.0 * (grid == "coarse")


@pytest.mark.parametrize("preferred", ["fine", "coarse", None])
def test_a_loaded_study_still_tells_its_source_parameter(
    tmp_path: Path, preferred: str | None
) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    sampler = MisoWildSampler(source="grid", preferred_source=preferred, seed=0)
    study = optuna.create_study(study_name="s", storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=8)
    loaded = optuna.load_study(study_name="s", storage=storage)
    sources = sampler_of(loaded).view(loaded).sources
    assert sources.name == "grid"
    assert sources.choices[0] == (preferred or "coarse")
    assert recommend(loaded).params == recommend(study).params


def test_a_category_that_never_changed_is_no_source() -> None:
    study = optuna.create_study(sampler=MisoWildSampler(seed=0))
    study.enqueue_trial({"kind": "b"})
    study.optimize(objective, n_trials=1)
    study.sampler = optuna.samplers.RandomSampler()
    view = sampler_of(study).view(study)
    assert view.sources.distribution is None


def test_our_own_sampler_is_taken() -> None:
    for sampler in (MisoWildSampler(), CarboCoolingSampler(alpha=1.0)):
        study = optuna.create_study(sampler=sampler)
        assert sampler_of(study) is sampler
        study.sampler = optuna.samplers.PartialFixedSampler({"x": 0.0}, sampler)
        assert sampler_of(study) is sampler


@pytest.mark.parametrize("own", ["row 77", 1, 77])
def test_a_user_attribute_of_the_objective_confuses_nobody(
    own: object, caplog: pytest.LogCaptureFixture
) -> None:
    def with_attribute(trial: optuna.Trial) -> float:
        trial.set_user_attr("source_index", own)
        return objective(trial)

    sampler = MisoWildSampler(source="grid", preferred_source="fine", cost_attr="kwh", seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=4)  # As those of an earlier version.
    study.optimize(with_attribute, n_trials=4)
    study.sampler = optuna.samplers.RandomSampler(seed=0)
    study.optimize(with_attribute, n_trials=3)  # Their attribute is no index of ours.
    study.ask().set_user_attr("source_index", own)
    found = sampler_of(study)
    assert found.view(study).sources.choices[0] == "fine"
    assert found.settings.source == "grid"
    assert found.settings.cost_attr == "kwh"
    optuna.logging.enable_propagation()
    study.sampler = sampler
    study.optimize(objective, n_trials=1)
    assert "The preferred source is" not in caplog.text
