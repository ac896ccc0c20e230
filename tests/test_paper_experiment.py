"""Runs of the paper's experiments: to their end, after an interruption, from the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
import optuna
from optuna.trial import TrialState
import pytest

from examples.paper import experiment
from examples.paper import results
from examples.paper import run as command
from examples.paper.experiment import Run
from examples.paper.experiment import Task
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Objective
from optuna_misowild import Recommendation


pytestmark = pytest.mark.slow

TASK = Task("svc", "splice")


def nothing() -> None:
    pass


def finish(run: Run, path: Path) -> results.Result:
    experiment.execute(run, experiment.open_storage(path), nothing)
    (result,) = (result for result in results.read(path) if result.name == run.name)
    return result


@pytest.mark.parametrize("method", ["robust", "carbo", "tpe", "random"])
def test_run_ends_with_its_best_error_on_all_the_data(method: str, tmp_path: Path) -> None:
    counted = []
    run = Run(TASK, method, seed=3, evaluations=12, budget=50.0)
    path = tmp_path / "studies.log"
    experiment.execute(run, experiment.open_storage(path), lambda: counted.append(1))
    (result,) = results.read(path)
    assert (result.classifier, result.dataset, result.mode) == ("svc", "splice", "replay")
    assert (result.method, result.seed, result.evaluations) == (method, 3, 12)
    assert len(result.values) == len(result.costs) == len(counted) == 12
    assert result.error == result.values[result.on_all_data].min()
    assert not result.verified_at_end
    assert result.on_all_data.all() == (method != "robust")

    # The costs are those of the table.
    study = optuna.load_study(study_name=run.name, storage=experiment.open_storage(path))
    table = experiment.replay(TASK)
    for trial, cost in zip(study.trials, result.costs, strict=True):
        x = np.array([trial.params["C"], trial.params["gamma"]])
        assert cost == pytest.approx(table.cpu_s(SOURCES.index(trial.params["source"]), x))


def test_paper_and_cost_cooling_start_from_the_same_locations(tmp_path: Path) -> None:
    path = tmp_path / "studies.log"
    paper = finish(Run(TASK, "paper", seed=1, evaluations=25), path)
    carbo = finish(Run(TASK, "carbo", seed=1, evaluations=5, budget=50.0), path)
    assert paper.on_all_data.sum() == 5
    np.testing.assert_array_equal(np.sort(paper.values[paper.on_all_data]), np.sort(carbo.values))
    np.testing.assert_array_equal(np.sort(paper.costs[paper.on_all_data]), np.sort(carbo.costs))


def test_paper_verifies_its_recommendation_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"C": 10.0, "gamma": 1.0}

    def unverified(study: optuna.Study) -> Recommendation:
        return Recommendation(
            params,
            "10%",
            0.01,
            0.0,
            study.trials[0],
            False,
            0.01,
            _source_param="source",
            _preferred_source=SOURCES[0],
        )

    monkeypatch.setattr(experiment, "recommend", unverified)
    result = finish(Run(TASK, "paper", seed=1, evaluations=6), tmp_path / "studies.log")
    measured = experiment.replay(TASK)(SOURCES[0], params)
    assert result.verified_at_end
    assert result.error == measured.error
    assert len(result.costs) == 7
    assert result.costs[-1] == measured.cpu_s


@pytest.mark.parametrize("method", ["paper", "carbo"])
def test_interrupted_run_goes_on_as_if_nothing_had_happened(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(TASK, method, seed=0, evaluations=9, budget=50.0)
    whole = finish(run, tmp_path / "whole.log")

    path = tmp_path / "parts.log"
    call = Objective.__call__

    def killed(self: Objective, trial: optuna.Trial) -> float:
        if trial.number == 6:
            raise SystemExit  # Optuna leaves the trial running, as a killed process does.
        return call(self, trial)

    monkeypatch.setattr(Objective, "__call__", killed)
    with pytest.raises(SystemExit):
        finish(run, path)
    assert results.read(path) == []
    monkeypatch.undo()
    resumed = finish(run, path)
    assert len(resumed.values) == 9
    # The evaluation that was lost is asked for again, and all after it are the same.
    np.testing.assert_allclose(resumed.values, whole.values, rtol=1e-5)
    study = optuna.load_study(study_name=run.name, storage=experiment.open_storage(path))
    assert [t.number for t in study.trials if t.state == TrialState.FAIL] == [6]


def test_resumed_random_search_does_not_repeat_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(TASK, "random", seed=0, evaluations=6)
    path = tmp_path / "studies.log"
    call = Objective.__call__

    def killed(self: Objective, trial: optuna.Trial) -> float:
        if trial.number == 3:
            raise SystemExit
        return call(self, trial)

    monkeypatch.setattr(Objective, "__call__", killed)
    with pytest.raises(SystemExit):
        finish(run, path)
    monkeypatch.undo()
    assert len(set(finish(run, path).costs)) == 6


def test_same_run_with_other_settings_is_refused(tmp_path: Path) -> None:
    run = Run(TASK, "random", seed=0, evaluations=4)
    path = tmp_path / "studies.log"
    finish(run, path)
    finish(run, path)  # Nothing is left to do.
    with pytest.raises(ValueError, match="with evaluations 4, not 5: use another --storage"):
        finish(replace(run, evaluations=5), path)


def arguments(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "argv", ["run", *text.split()])


def test_command_replays_and_reports_and_does_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("examples.paper.report.write_figures", lambda figures, folder: None)
    text = (
        f"--dataset svmguide1 --classifier rf --methods carbo,random --runs 2 --evaluations 6 "
        f"--jobs 2 --storage {tmp_path}/studies.log --output {tmp_path}"
    )
    arguments(monkeypatch, text)
    command.main()
    assert "4 runs to do, 0 of 4 are done." in capsys.readouterr().out
    assert len(results.read(tmp_path / "studies.log")) == 4
    assert "| RF | SVMGUIDE(1) | `random` | 2 |" in (tmp_path / "report.md").read_text()
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 5

    command.main()
    assert "0 runs to do, 4 of 4 are done." in capsys.readouterr().out
    arguments(monkeypatch, text.replace("--evaluations 6", "--evaluations 7"))
    with pytest.raises(SystemExit, match="rf-svmguide1-replay-carbo-0: ValueError: The storage"):
        command.main()


def test_missing_recordings_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments(monkeypatch, f"--tables {tmp_path} --dataset splice --classifier svc")
    with pytest.raises(SystemExit, match="nothing to run"):
        command.main()
    message = capsys.readouterr().err
    assert "Left out: svc on splice" in message
    assert "examples.paper.record --classifier svc --dataset splice" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--dataset mnist", "'mnist' is none of splice, svmguide1, magic, all"),
        ("--methods robust,bohb", "'bohb' is none of robust, "),
        ("--runs 0", "'0' is not a positive integer"),
        ("--live --replay", "not allowed with"),
    ],
)
def test_wrong_arguments(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments(monkeypatch, text)
    with pytest.raises(SystemExit):
        command.main()
    assert message in capsys.readouterr().err


def test_live_cost_cooling_needs_to_know_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments(monkeypatch, f"--live --tables {tmp_path} --dataset magic --classifier svc")
    with pytest.raises(
        SystemExit, match="needs a --budget where no table tells costs: svc on magic"
    ):
        command.main()


def test_live_without_data_says_so_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments(monkeypatch, f"--live --data-dir {tmp_path} --dataset svmguide1 --classifier rf")
    with pytest.raises(SystemExit, match=r"SVMGUIDE\(1\) is in no local folder"):
        command.main()
