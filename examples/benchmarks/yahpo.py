"""Tuning tasks of YAHPO Gym as problems: learning curves, and boosting on parts of the data.

The benchmark (Pfisterer, Schneider, Moosbauer, Binder, Bischl, 2022) fits a neural network to
what many thousand configurations gave, and publishes it as an ONNX file per scenario:
https://github.com/slds-lmu/yahpo_data. A clone of that repository is the folder that is asked
for here; nothing but onnxruntime is needed to read it.

- lcbench: Zimmer, Lindauer, Hutter (2021), Auto-PyTorch Tabular. Networks with seven parameters,
  trained for up to 52 epochs. A training passes all the smaller numbers of epochs.
- rbv2_xgboost: Binder, Pfisterer, Bischl (2020). Gradient boosting with ten parameters, on parts
  of the data: sources that are hardly cheap, and partly useless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from functools import lru_cache
from functools import partial
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Integer
from examples.benchmarks.problem import Parameter
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Real
from examples.benchmarks.problem import Source


if TYPE_CHECKING:
    from onnxruntime import InferenceSession


_SHORTEST = 1e-3  # seconds; the surrogate may say less


@dataclass(frozen=True)
class Scenario:
    """One of the scenarios of the benchmark.

    Attributes:
        name: Its directory in the folder.
        parameters: The search space.
        fidelity: The input that tells the source.
        levels: Its values, one per source, the preferred one first.
        inputs: All continuous inputs in the order of the model.
        constants: Those that are always the same.
        categories: The categorical inputs in the order of the model, and what they always are;
            None for the one that tells the task.
        accuracy: Which output is the accuracy.
        best: Its best value.
        seconds: Which output is the time of training.
        resumable: Whether an evaluation can go on from that of a cheaper source.
        minima: The lowest value of the preferred source for each task, as found by the best 30 of
            2^15 random points, each followed by 2,400 random steps of decreasing length.
    """

    name: str
    parameters: tuple[Parameter, ...]
    fidelity: str
    levels: tuple[float, ...]
    inputs: tuple[str, ...]
    constants: Mapping[str, float]
    categories: Mapping[str, str | None]
    accuracy: int
    best: float
    seconds: int
    resumable: bool
    minima: Mapping[str, float]

    def problems(self, folder: Path) -> dict[str, Problem]:
        """Return the problem of each task, by the names of the command line."""
        return {f"{self.name}-{task}": self.problem(folder, task) for task in self.minima}

    def problem(self, folder: Path, task: str) -> Problem:
        """Return the problem of finding the best configuration for a task."""
        return Problem(
            name=f"{self.name}-{task}",
            parameters=self.parameters,
            sources=tuple(
                Source(
                    partial(self.value, folder=folder, task=task, level=level),
                    partial(self.cost, folder=folder, task=task, level=level),
                    size=level,
                )
                for level in self.levels
            ),
            minimum=self.minima[task],
            evaluations=20,
            resumable=self.resumable,
            requires="onnxruntime",
        )

    def value(self, x: Array, *, folder: Path, task: str, level: float) -> Array:
        """Return the share of wrong predictions at x (..., d)."""
        return 1.0 - self._outputs(x, folder, task, level)[..., self.accuracy] / self.best

    def cost(self, x: Array, *, folder: Path, task: str, level: float) -> Array:
        """Return the seconds of training at x (..., d)."""
        return np.maximum(self._outputs(x, folder, task, level)[..., self.seconds], _SHORTEST)

    def _outputs(self, x: Array, folder: Path, task: str, level: float) -> Array:
        known = {**self.constants, self.fidelity: level}
        column = {p.name: j for j, p in enumerate(self.parameters)}
        X = x.reshape(-1, len(self.parameters))
        continuous = np.empty((len(X), len(self.inputs)), np.float32)
        for j, name in enumerate(self.inputs):
            continuous[:, j] = X[:, column[name]] if name in column else known[name]
        _, codes = _model(folder / self.name)
        category = tuple(codes[name][value or task] for name, value in self.categories.items())
        outputs = _run(folder / self.name, category, continuous.tobytes())
        return outputs.reshape(*x.shape[:-1], -1)


@lru_cache(maxsize=1)
def _run(folder: Path, category: tuple[int, ...], continuous: bytes) -> Array:
    """Return all outputs, a row per location: those of the last call, if it was the same.

    So that a value and its cost are one call.
    """
    session, _ = _model(folder)
    names = [i.name for i in session.get_inputs()]
    X = np.frombuffer(continuous, np.float32).reshape(-1, session.get_inputs()[1].shape[1])
    categorical = np.tile(np.array(category, np.int32), (len(X), 1))
    outputs = session.run(None, dict(zip(names, (categorical, X), strict=True)))[0]
    return np.asarray(outputs, dtype=float)


@cache
def _model(folder: Path) -> tuple[InferenceSession, dict[str, dict[str, int]]]:
    """Return the surrogate of a scenario, and the numbers that stand for its categories."""
    from onnxruntime import InferenceSession
    from onnxruntime import SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    return session, json.loads((folder / "encoding.json").read_text())


LCBENCH = Scenario(
    name="lcbench",
    parameters=(
        Integer("batch_size", 16, 512, log=True),
        Real("learning_rate", 1e-4, 1e-1, log=True),
        Real("momentum", 0.1, 0.99),
        Real("weight_decay", 1e-5, 1e-1),
        Integer("num_layers", 1, 5),
        Integer("max_units", 64, 1024, log=True),
        Real("max_dropout", 0.0, 1.0),
    ),
    fidelity="epoch",
    levels=(52, 17, 6, 2),
    inputs=(
        "epoch",
        "batch_size",
        "learning_rate",
        "momentum",
        "weight_decay",
        "num_layers",
        "max_units",
        "max_dropout",
    ),
    constants={},
    categories={"OpenML_task_id": None},
    accuracy=1,
    best=100.0,
    seconds=0,
    resumable=True,
    minima={
        "7593": 0.08302459716796876,
        "34539": 0.008535919189453125,
        "126025": 0.005274124145507812,
        "126026": 0.002515411376953125,
        "126029": 0.007162017822265625,
        "167083": 0.19022544860839843,
        "167104": 0.047946624755859375,
        "167149": 0.00514892578125,
        "167152": 0.01284942626953125,
        "167161": 0.08212165832519532,
        "167168": 0.10573440551757812,
        "167181": 0.057144851684570314,
        "167184": 0.14657508850097656,
        "167185": 0.020340957641601563,
        "167190": 0.0443115234375,
        "167200": 0.09721000671386719,
        "167201": 0.13929084777832032,
        "168331": 0.1311890411376953,
        "168335": 0.0030403900146484374,
        "168868": 0.0024317169189453126,
        "168908": 0.07907386779785157,
        "168910": 0.11119964599609375,
        "189862": 0.04664924621582031,
        "189865": 0.009673690795898438,
        "189866": 0.05303207397460938,
        "189873": 0.007582321166992188,
        "189905": 0.03134796142578125,
        "189906": 0.047249069213867186,
        "189908": 0.044730758666992186,
    },
)
XGBOOST = Scenario(
    name="rbv2_xgboost",
    parameters=(
        Integer("nrounds", 7, 2981, log=True),
        Real("eta", 9.2e-4, 1.0, log=True),
        Real("gamma", 4.6e-5, 7.38, log=True),
        Real("lambda", 9.2e-4, 1096.0, log=True),
        Real("alpha", 9.2e-4, 1096.0, log=True),
        Real("subsample", 0.1, 1.0),
        Integer("max_depth", 1, 15),
        Real("min_child_weight", 2.72, 148.0, log=True),
        Real("colsample_bytree", 0.01, 1.0),
        Real("colsample_bylevel", 0.01, 1.0),
    ),
    fidelity="trainsize",
    levels=(1.0, 0.3, 0.1, 0.03),
    inputs=(
        "nrounds",
        "eta",
        "gamma",
        "lambda",
        "alpha",
        "subsample",
        "max_depth",
        "min_child_weight",
        "colsample_bytree",
        "colsample_bylevel",
        "rate_drop",
        "skip_drop",
        "trainsize",
        "repl",
    ),
    constants={"repl": 10.0, "rate_drop": 0.0, "skip_drop": 0.0},
    categories={
        "task_id": None,
        "booster": "gbtree",
        "num.impute.selected.cpo": "impute.mean",
    },
    accuracy=0,
    best=1.0,
    seconds=6,
    resumable=False,
    minima={
        "12": 0.011465609073638916,
        "54": 0.16363483667373657,
        "1461": 0.047942161560058594,
        "1468": 0.04354846477508545,
        "1489": 0.03783601522445679,
        "40979": 0.008550107479095459,
        "40984": 0.005231499671936035,
        "41212": 0.09382611513137817,
    },
)


def problems(folder: Path) -> dict[str, Problem]:
    """Return all problems that a clone of yahpo_data gives."""
    return {**LCBENCH.problems(folder), **XGBOOST.problems(folder)}
