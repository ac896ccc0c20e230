"""The problems of YAHPO Gym, on small models with the same inputs and outputs."""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np
from numpy.testing import assert_allclose
import optuna
import pytest

from examples.benchmarks import quality
from examples.benchmarks.methods import METHODS
from examples.benchmarks.problem import Integer
from examples.benchmarks.yahpo import LCBENCH
from examples.benchmarks.yahpo import XGBOOST
from examples.benchmarks.yahpo import problems


FOLDER = Path(__file__).parent / "yahpo_stand_in"

needs_onnxruntime = pytest.mark.skipif(
    not quality.is_installed("onnxruntime"), reason="needs onnxruntime"
)


@needs_onnxruntime
def test_inputs_and_outputs_of_a_learning_curve_are_where_the_model_has_them() -> None:
    problem = LCBENCH.problem(FOLDER, "34539")
    x = np.array(
        [[64.0, 1e-2, 0.5, 1e-3, 3.0, 128.0, 0.2], [32.0, 1e-3, 0.9, 1e-4, 1.0, 64.0, 0.8]]
    )
    for source, epochs in enumerate((52, 17, 6, 2)):
        value, cost = problem.evaluate(source, x)
        # The model gives the epochs as seconds and the batch size as accuracy in per cent,
        # each plus the number of the task.
        assert_allclose(cost, epochs + 3.0)
        assert_allclose(value, 1.0 - (x[:, 0] + 3.0) / 100.0)
    assert problem.evaluate(0, x[0])[0].shape == ()


@needs_onnxruntime
def test_boosting_has_its_part_of_the_data_and_its_constants() -> None:
    x = np.arange(10.0)
    outputs = XGBOOST._outputs(x, FOLDER, "12", 0.3)
    # The model gives its inputs, plus the numbers of task, booster and imputation.
    assert_allclose(outputs - 8.0, [*x, 0.0, 0.0, 0.3, 10.0], atol=1e-5)
    assert XGBOOST.cost(x, folder=FOLDER, task="12", level=0.3) == pytest.approx(6.0 + 8.0)


def test_tasks_kept_aside_are_not_among_the_problems() -> None:
    names = set(problems(FOLDER))
    assert {"lcbench-34539", "rbv2_xgboost-12"} <= names
    aside = ("3945", "146212", "168329", "168330", "189354", "189909")
    assert not names & {f"lcbench-{task}" for task in aside}


def test_integer_on_a_logarithmic_scale_is_drawn_as_optuna_does() -> None:
    integer = Integer("units", 16, 512, log=True)
    values = integer.scale(np.array([0.0, 0.5, 1.0 - 1e-12]))
    assert values.tolist() == [16.0, 89.0, 512.0]
    trial = optuna.create_study().ask()
    integer.suggest(trial)
    assert trial.distributions["units"] == optuna.distributions.IntDistribution(16, 512, log=True)


@needs_onnxruntime
def test_training_that_goes_on_pays_an_epoch_once() -> None:
    problem = LCBENCH.problem(FOLDER, "34539")
    trial = optuna.create_study().ask()
    evaluation = quality.evaluate(
        problem, METHODS["tpe-hyperband"], trial, np.random.default_rng(0)
    )
    assert evaluation.cost == pytest.approx(52 + 3.0)


@needs_onnxruntime
def test_folder_on_the_command_line_adds_its_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["quality", "--problems", "lcbench-34539", "--methods", "random", "--seeds", "1"]
    arguments += ["--max-trials", "3", "--output", str(tmp_path / "quality.csv")]
    monkeypatch.setattr(sys, "argv", [*arguments, "--yahpo-data", str(FOLDER)])
    quality.main()
    assert "lcbench-34539" in capsys.readouterr().out
    assert len(quality.read(tmp_path / "quality.csv")) == 3

    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        quality.main()
    assert "no lcbench-34539; there are forrester" in capsys.readouterr().err
