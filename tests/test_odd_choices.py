"""Choices that are no text: lists, dicts, None, numbers that are equal to one another."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution
import optuna_dashboard
import pytest

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import recommend
from optuna_misowild import source_verdicts
from optuna_misowild.dashboard import publish
from optuna_misowild.visualization.axes import Axis


pytestmark = pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")

LISTS = [[64], [16]]
DICTS = [{"size": 64}, {"size": [8, 8]}, None]
MIXED = [None, True, 1, 0, False, "0"]
SAME_NAMES = ["[16]", [16], ["16"], 16, "16"]
NAN = [math.nan, 1.0]


def study_of(
    sources: list[Any], layers: list[Any], storage: str | None = None, **settings: Any
) -> optuna.Study:
    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", sources)
        chosen = trial.suggest_categorical("layers", layers)
        x = trial.suggest_float("x", 0.0, 1.0)
        is_first = source is preferred or source == preferred
        trial.set_user_attr("cost", 9.0 if is_first else 1.0)
        return x + (chosen is not layers[0] and chosen != layers[0])

    preferred = settings.get("preferred_source", sources[0])
    sampler = MisoWildSampler(seed=0, **settings)
    study = optuna.create_study(study_name="s", storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=10)
    return study


@pytest.mark.parametrize(
    ("sources", "layers"), [(LISTS, DICTS), (MIXED, LISTS), (SAME_NAMES, [math.nan, 1.0])]
)
def test_all_figures_and_the_note_know_them(
    tmp_path: Path, sources: list[Any], layers: list[Any]
) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study_of(sources, layers, storage)
    study = optuna.load_study(study_name="s", storage=storage)
    publish(study)
    assert "**Best verified:**" in optuna_dashboard.get_note(study)


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        (LISTS, ("[64]", "[16]")),
        (DICTS, ("{'size': 64}", "{'size': [8, 8]}", "None")),
        (MIXED, ("None", "True", "0", "0 (2)")),  # 1 is True, and 0 is False.
        (SAME_NAMES, ("[16]", "[16] (2)", "['16']", "16", "16 (2)")),
        ([math.nan, 1.0], ("nan", "1.0")),
    ],
)
def test_an_axis_has_each_choice_once(choices: list[Any], names: tuple[str, ...]) -> None:
    axis = Axis("layers", CategoricalDistribution(choices))
    assert tuple(axis.layout()["categoryarray"]) == names
    assert [axis.place(value) for value in axis.values(2)] == list(names)
    assert {axis.place(choice) for choice in choices} == set(names)


def test_verdicts_of_choices_that_cannot_be_keys_have_their_repr() -> None:
    verdicts = source_verdicts(study_of([["all"], *SAME_NAMES, {"n": 1}], ["a", "b"]))
    assert set(verdicts) == {"[16]", "'[16]'", "['16']", 16, "16", "{'n': 1}"}


def test_lists_may_be_named_and_enqueued(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    settings = {"preferred_source": [16], "query_sources": [[16], [64]]}
    study = study_of([[64], [16], [4]], [[1], [2]], storage, **settings)
    study.enqueue_trial({"source": [64], "layers": [2]})
    trial = study.ask()
    assert trial.suggest_categorical("source", [[64], [16], [4]]) == [64]
    assert not CostBudgetCallback(1e6, running="predict").is_spent(study)
    assert study.best_params["source"] == [16]
    assert all(t.params["source"] != [4] for t in study.trials)
    loaded = optuna.load_study(study_name="s", storage=storage)
    assert recommend(loaded).to_enqueue()["source"] == [16]
    mean, _ = (
        MisoWildSampler(preferred_source=[16])
        .model(loaded)
        .predict({"layers": [2], "x": 0.5}, [64])
    )
    assert mean == pytest.approx(1.5, abs=0.3)


def test_none_as_a_choice_is_no_default() -> None:
    model = MisoWildSampler().model(study_of(["fine", None], ["a", "b"]))
    point = {"layers": "a", "x": 0.5}
    assert model.predict_cost(point, None)[0] == pytest.approx(1.0, rel=0.1)
    assert model.predict_cost(point)[0] == pytest.approx(9.0, rel=0.1)
    assert model.predict_cost(point, "fine")[0] == pytest.approx(9.0, rel=0.1)
