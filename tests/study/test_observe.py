"""What is remembered of finished trials changes nothing but the time that reading takes."""

from __future__ import annotations

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState
import pytest

from optuna_misowild.study.observe import Reader
from optuna_misowild.study.observe import read
from optuna_misowild.study.source_parameter import sources_of


SPACE = {"x": FloatDistribution(0.0, 10.0)}
ONE_SOURCE = sources_of("source", None, None, None)


def observe(study: optuna.Study, high: float = 10.0, cost_attr: str = "cost") -> list[list[float]]:
    space = {"x": FloatDistribution(0.0, high)}
    trials = study.get_trials(deepcopy=False)
    history = read(study, trials, Reader(ONE_SOURCE, space, cost_attr, has_own_unit=True))
    seen = history.in_space(None)
    return [seen.X[:, 0].tolist(), seen.y.tolist(), seen.cost.tolist()]


def add(study: optuna.Study, x: float, value: float) -> None:
    attrs = {"cost": value, "seconds": 2.0 * value}
    study.add_trial(
        optuna.create_trial(params={"x": x}, distributions=SPACE, value=value, user_attrs=attrs)
    )


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the trials that are read, each time that one is."""
    numbers: list[int] = []
    whole = Reader.read

    def counted(self: Reader, trial: FrozenTrial) -> object:
        numbers.append(trial.number)
        return whole(self, trial)

    monkeypatch.setattr(Reader, "read", counted)
    return numbers


@pytest.mark.parametrize("url", [None, "sqlite:///{folder}/study.db"])
def test_finished_trials_are_read_once(
    numbers: list[int], url: str | None, tmp_path: object
) -> None:
    study = optuna.create_study(storage=url and url.format(folder=tmp_path))
    add(study, 1.0, 3.0)
    add(study, 2.0, 4.0)
    study.ask()
    assert observe(study) == observe(study) == [[0.1, 0.2], [3.0, 4.0], [3.0, 4.0]]
    assert numbers == [0, 1, 2, 2]
    study.tell(2, state=TrialState.FAIL)
    observe(study)
    observe(study)
    assert numbers[4:] == [2]


def test_trials_that_are_read_otherwise_are_read_anew() -> None:
    study = optuna.create_study()
    add(study, 1.0, 3.0)
    for _ in range(2):
        assert observe(study) == [[0.1], [3.0], [3.0]]
        assert observe(study, high=5.0) == [[0.2], [3.0], [3.0]]
        assert observe(study, cost_attr="seconds") == [[0.1], [3.0], [6.0]]


def test_a_study_of_the_same_name_has_trials_of_its_own(tmp_path: object) -> None:
    for value in (3.0, 4.0):
        study = optuna.create_study(study_name="again", storage=f"sqlite:///{tmp_path}/study.db")
        add(study, 1.0, value)
        assert observe(study) == [[0.1], [value], [value]]
        optuna.delete_study(study_name="again", storage=study._storage)
    study = optuna.create_study(study_name="again")
    for value in (3.0, 4.0):
        add(study, 1.0, value)
        assert observe(study)[1][-1] == value
        optuna.delete_study(study_name="again", storage=study._storage)
        study = optuna.create_study(study_name="again", storage=study._storage)
