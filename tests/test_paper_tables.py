"""The paper's tuning tasks, recording them and replaying them."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
import optuna
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from examples.paper import record
from examples.paper import tables
from examples.paper.data import SPECS
from examples.paper.data import Dataset
from examples.paper.replay import Replay
from examples.paper.tables import TABLES
from examples.paper.tables import Row
from examples.paper.tasks import CLASSIFIERS
from examples.paper.tasks import SOURCES
from examples.paper.tasks import Forest
from examples.paper.tasks import Live
from examples.paper.tasks import Measurement
from examples.paper.tasks import Objective
from examples.paper.tasks import Params
from examples.paper.tasks import Svc
from examples.paper.tasks import source_rows


pytestmark = pytest.mark.slow


def flowers() -> Dataset:
    """Two kinds of iris that are hard to tell apart."""
    X, y = load_iris(return_X_y=True)
    return Dataset(MinMaxScaler().fit_transform(X[50:]), y[50:] - 1)


# Tasks.


def test_sources_are_stratified_and_do_not_overlap() -> None:
    y = np.repeat([1, 0], [300, 200])
    everything, *subsets = source_rows(y)
    np.testing.assert_array_equal(everything, np.arange(500))
    assert [len(rows) for rows in subsets] == [200, 150, 100, 50]
    np.testing.assert_array_equal(np.sort(np.concatenate(subsets)), np.arange(500))
    assert [y[rows].mean() for rows in subsets] == [0.6, 0.6, 0.6, 0.6]


def test_svc_error_is_that_of_ten_folds_with_the_kernel_of_the_paper() -> None:
    dataset = flowers()
    gamma = 0.4
    wrong = 0
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for train, test in folds.split(dataset.X, dataset.y):

        def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            squares = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)
            return np.exp(-squares / (2 * gamma**2))

        svc = SVC(C=3.0, kernel=kernel).fit(dataset.X[train], dataset.y[train])
        wrong += int((svc.predict(dataset.X[test]) != dataset.y[test]).sum())
    error = Svc().error(dataset.X, dataset.y, {"C": 3.0, "gamma": gamma})
    assert error == pytest.approx(wrong / len(dataset.y))
    assert 0 < error < 0.2


def test_forest_error_is_out_of_bag() -> None:
    dataset = flowers()
    error = Forest(4).error(dataset.X, dataset.y, {"n_trees": 300, "m_try": 2})
    # What it was trained on it knows by heart; by chance it would be 0.5.
    assert 0.02 < error < 0.15


@pytest.mark.parametrize(
    ("dataset", "m_try"), [("splice", (15, 45)), ("svmguide1", (1, 3)), ("magic", (3, 8))]
)
def test_range_of_m_try(dataset: str, m_try: tuple[int, int]) -> None:
    forest = Forest(SPECS[dataset].n_features)
    assert forest.m_try == m_try
    corners = forest.spread(np.array([[0.0, 0.0], [1 - 1e-12, 1 - 1e-12]]))
    np.testing.assert_array_equal(corners, [[300, m_try[0]], [700, m_try[1]]])


def test_objective_tells_the_seconds_of_the_processor_as_cost() -> None:
    objective = Objective(Svc(), Live(Svc(), flowers()))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial({"source": "40%", "C": 1.0, "gamma": 1.0})
    study.optimize(objective, n_trials=3)
    rows = source_rows(flowers().y)[1]
    expected = Svc().error(flowers().X[rows], flowers().y[rows], {"C": 1.0, "gamma": 1.0})
    assert study.trials[0].value == expected
    for trial in study.trials:
        assert 0 < trial.user_attrs["cost"] < 5
        assert 0 < trial.user_attrs["wall_s"] < 60


# Recording.


class Counting:
    """In place of training: known numbers, and a count of who asked."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.classifier = Svc()
        self.rows = dict(zip(SOURCES, source_rows(np.repeat([1, 0], [60, 40])), strict=True))
        self.asked: list[tuple[str, float, float]] = []
        self.fail_after = fail_after

    def __call__(self, source: str, params: Params) -> Measurement:
        if len(self.asked) == self.fail_after:
            raise KeyboardInterrupt
        self.asked.append((source, params["C"], params["gamma"]))
        return Measurement(0.1 * params["C"], 0.5, 1.5)


def test_recording_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    grid = record.parse_grid("-1:1:1,-2:2:2")
    record.record(tmp_path / "whole.csv", Counting(), grid)  # type: ignore[arg-type]

    path = tmp_path / "new" / "parts.csv"
    first, second = Counting(fail_after=17), Counting()
    with pytest.raises(KeyboardInterrupt):
        record.record(path, first, grid)  # type: ignore[arg-type]
    record.record(path, second, grid)  # type: ignore[arg-type]
    assert len(first.asked) == 17
    assert len(second.asked) == 3 * 3 * 5 - 17
    assert path.read_text() == (tmp_path / "whole.csv").read_text()

    rows = tables.read(path, Svc())
    assert {row.n for row in rows if row.source == 1} == {100}
    assert {row.n for row in rows if row.source == 5} == {10}
    assert rows[0] == Row(5, (-1.0, -2.0), 10, Measurement(0.01, 0.5, 1.5))


@pytest.mark.parametrize("shape", [(9, 33), (5, 17), (3, 9), (2, 2), (6, 4)])
def test_every_step_of_a_recording_completes_a_grid(shape: tuple[int, int]) -> None:
    grid = [np.arange(n, dtype=float) for n in shape]
    seen: set[tuple[float, float]] = set()
    for points in record.coarse_to_fine(grid):
        assert not seen & set(points)
        seen.update(points)
        axes = [{point[i] for point in seen} for i in (0, 1)]
        assert seen == set(itertools.product(*axes))
        assert {0.0, shape[0] - 1.0} <= axes[0]
    assert len(seen) == shape[0] * shape[1]


def test_coarser_part_of_an_interrupted_recording(tmp_path: Path) -> None:
    grid = record.parse_grid("-2:2:1,-4:4:1")
    path = tmp_path / "part.csv"
    live = Counting(fail_after=5 * 9 + 7)  # after the grid of 3 × 3 on all sources
    with pytest.raises(KeyboardInterrupt):
        record.record(path, live, grid)  # type: ignore[arg-type]
    rows = record.coarser_part(tables.read(path, Svc()), grid)
    assert len(rows) == 5 * 9
    assert {row.point for row in rows} == set(itertools.product([-2, 0, 2], [-4, 0, 4]))
    tables.write(tmp_path / "complete.csv", Svc(), rows)
    Replay(Svc(), tmp_path / "complete.csv")
    with pytest.raises(ValueError, match="missing to complete a grid"):
        Replay(Svc(), path)


@pytest.mark.parametrize(
    "text", ["1:2", "a:2:1,0:1:1", "0:1:0.3,0:1:1", "0:1:0,0:1:1", "2:1:1,0:1:1"]
)
def test_ranges_that_make_no_sense(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        record.parse_grid(text)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("dataset", ["splice", "svmguide1"])
def test_default_grid_is_that_of_the_shipped_tables(classifier: str, dataset: str) -> None:
    made = CLASSIFIERS[classifier](SPECS[dataset].n_features)
    rows = tables.read(TABLES / f"{classifier}_{dataset}.csv", made)
    grid = record.default_grid(made)
    assert {row.point for row in rows} == set(itertools.product(*(v.tolist() for v in grid)))


# Tables and replay.


def test_table_of_another_classifier_and_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    tables.append(path, Svc(), Row(1, (0.0, 1.0), 10, Measurement(0.1, 1.0, 2.0)))
    with pytest.raises(ValueError, match="should have the columns source, n_trees, m_try, n"):
        tables.read(path, Forest(4))
    with path.open("a") as file:
        file.write("1,0.0,2.0,10,0.1")  # a process killed while it was writing
    with pytest.raises(ValueError, match=r"table.csv, line 3"):
        tables.read(path, Svc())


def hand_made(path: Path) -> Path:
    """A table of 2 × 3 points whose numbers are easy to work with."""
    for source in range(1, 6):
        for i, j in itertools.product(range(2), range(3)):
            measured = Measurement(0.1 * source + 0.01 * (i + 10 * j), 10.0 ** (i + j), 100.0**i)
            tables.append(path, Svc(), Row(source, (2.0 * i, float(j)), 10, measured))
    return path


def test_replay_interpolates_errors_and_the_logarithm_of_seconds(tmp_path: Path) -> None:
    replay = Replay(Svc(), hand_made(tmp_path / "table.csv"))
    assert replay("100%", {"C": 1.0, "gamma": 1.0}) == Measurement(
        pytest.approx(0.1), pytest.approx(1.0), pytest.approx(1.0)
    )
    # log10 C halfway between 0 and 2; log10 gamma halfway between 1 and 2.
    middle = replay("10%", {"C": 10.0, "gamma": 10**1.5})
    assert middle.error == pytest.approx(0.5 + 0.01 * (0.5 + 15))
    assert middle.cpu_s == pytest.approx(10.0**2)
    assert middle.wall_s == pytest.approx(10.0)
    assert replay.lowest_error == pytest.approx(0.1)
    # The mean of 10^(i + j) over i in [0, 1] and j in [0, 2].
    mean = (9 / np.log(10)) * (99 / np.log(10)) / 2
    assert replay.mean_cpu_s == pytest.approx(mean, rel=0.02)


def test_replay_keeps_to_the_grid_at_its_border(tmp_path: Path) -> None:
    replay = Replay(Svc(), hand_made(tmp_path / "table.csv"))
    outside = replay("100%", {"C": 100.0 * (1 + 1e-12), "gamma": 100.0})
    assert outside.error == pytest.approx(0.1 + 0.01 * 21)


def test_incomplete_recording_is_refused(tmp_path: Path) -> None:
    path = hand_made(tmp_path / "table.csv")
    with pytest.raises(FileNotFoundError, match="no recording at"):
        Replay(Svc(), tmp_path / "none.csv")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:9] + lines[10:]))
    with pytest.raises(
        ValueError, match="source 2: 5 rows, and 1 missing to complete a grid of 2 × 3"
    ):
        Replay(Svc(), path)
    path.write_text("".join(lines[:-6]))
    with pytest.raises(ValueError, match="source 5: 0 rows"):
        Replay(Svc(), path)


SHIPPED = {
    "svc_splice": (0.0806, 3175),
    "svc_svmguide1": (0.0291, 7089),
    "rf_splice": (0.0255, 3175),
    "rf_svmguide1": (0.0271, 7089),
    "rf_magic": (0.1176, 19020),
    "svc_magic": (0.1363, 19020),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_tables_are_complete(name: str) -> None:
    lowest, n = SHIPPED[name]
    classifier, dataset = name.split("_")
    made = CLASSIFIERS[classifier](SPECS[dataset].n_features)
    path = TABLES / f"{name}.csv"
    replay = Replay(made, path)
    assert round(replay.lowest_error, 4) == lowest
    rows = tables.read(path, made)
    assert {row.n for row in rows if row.source == 1} == {n}
    spread = made.spread(np.random.default_rng(0).random((500, 2)))
    for source in range(len(SOURCES)):
        assert np.isfinite(replay.cpu_s(source, spread)).all()
        assert (replay.error(source, spread) < 0.6).all()
    # The grid spans the search space: nothing is clipped.
    low, high = made.spread(np.zeros(2)), made.spread(np.full(2, 1 - 1e-12))
    np.testing.assert_allclose(replay.points.min(axis=0), low)
    np.testing.assert_allclose(replay.points.max(axis=0), high)
