"""The timing of the samplers, and the check that the default method has not become bad."""

from __future__ import annotations

import sys

import numpy as np
from optuna.trial import TrialState
import pytest

from examples.benchmarks import footprint
from examples.benchmarks.study import Session
from examples.benchmarks.study import Task
from optuna_misowild.gp.fit import fit_gp


pytestmark = pytest.mark.slow


def test_session_goes_on_with_a_study_on_all_sources() -> None:
    session = Session("robust", Task(3, 4), 21)
    sources = [trial.params["source"] for trial in session.study.trials]
    assert np.bincount(sources).tolist() == [6, 5, 5, 5]
    assert session.seconds_of_one_trial() > 0.0
    *_, last = session.study.trials
    assert (last.number, last.state) == (21, TrialState.COMPLETE)
    x = np.array([last.params[name] for name in session.task.space])
    recorded = (last.value, last.user_attrs["cost"])
    assert recorded == session.task.evaluate(x, last.params["source"])


def test_ratios_are_those_of_the_medians_of_later_suggestions() -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import speed

    timings = [
        speed.Timing("gp", 50, 2, 1, (9.0, 0.2, 0.1, 0.3)),
        speed.Timing("robust", 50, 2, 1, (9.0, 0.1, 0.1, 0.1)),
        speed.Timing("robust", 50, 2, 5, (9.0, 0.4, 0.4, 0.4)),
    ]
    ratios = [line.rsplit("|")[-2].strip() for line in speed.markdown(timings).splitlines()[2:]]
    assert ratios == ["1.00", "0.50", "2.00"]
    assert speed.overview(timings, "robust").endswith("| 50 | 0.50, 2.00 of 0.20 s |")
    figure = speed.ratio_figure(timings, "robust")
    assert [list(trace.y) for trace in figure.data] == [pytest.approx([0.5]), pytest.approx([2.0])]


def test_sizes_within_the_initial_design_are_not_timed() -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import speed

    timings = speed.measure(["random", "robust"], 20, 2, [1, 4, 5], 1)
    assert [(t.method, t.n_sources) for t in timings] == [
        ("random", 1),
        ("robust", 1),
        ("robust", 4),
    ]


@pytest.mark.parametrize(
    ("regrets", "passed", "runs"),
    [
        ({1: 0.1}, True, "1 run"),
        ({1: 0.9, 5: 0.1}, True, "5 runs"),
        ({1: 0.9, 5: 0.9}, False, "5 runs"),
    ],
)
def test_check_fails_when_chance_is_better_in_several_runs(
    monkeypatch: pytest.MonkeyPatch, regrets: dict[int, float], passed: bool, runs: str
) -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import check

    def found(problem: object, method: str, seeds: range, quantile: float = 0.5) -> float:
        return 0.2 if method == check.CHANCE else regrets[len(seeds)]

    monkeypatch.setattr(check, "found", found)
    outcome, text = check.check_quality("branin")
    assert outcome == passed
    assert runs in text and "at most 0.2000" in text


def test_check_asks_for_less_where_no_method_is_told_from_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import check

    def found(problem: object, method: str, seeds: range, quantile: float = 0.5) -> float:
        return quantile if method == check.CHANCE else 0.5

    monkeypatch.setattr(check, "found", found)
    assert not check.check_quality("rf-magic")[0]
    assert check.check_quality("rf-splice")[0]


@pytest.mark.parametrize(("ratio", "passed"), [(2.9, True), (3.1, False)])
def test_check_fails_when_suggestions_are_slow_again_and_again(
    monkeypatch: pytest.MonkeyPatch, ratio: float, passed: bool
) -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import check
    from examples.benchmarks import speed

    attempts = []

    def measure(methods: list[str], n: int, *args: object) -> list[speed.Timing]:
        attempts.append(methods)
        slow = 10.0 if len(attempts) < 3 else ratio
        pairs = zip(methods, (1.0, slow), strict=True)
        return [speed.Timing(m, n, 4, 5, (s, s)) for m, s in pairs]

    monkeypatch.setattr(check.speed, "measure", measure)
    monkeypatch.setattr(check.speed, "one_thread", lambda: None)
    outcome, text = check.check_speed()
    assert outcome == passed
    assert f"ratio {ratio:.2f}" in text
    assert attempts == [["gp", "robust"]] * 3


def test_bound_counts_what_the_models_compute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import bound

    monkeypatch.setattr(bound.speed, "one_thread", lambda: None)
    monkeypatch.setattr(
        sys, "argv", ["bound", "--n", "40", "--sources", "2", "--suggestions", "2"]
    )
    bound.main()
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]]
        for line in capsys.readouterr().out.splitlines()
        if len(cells := line.split("|")) > 2
    }
    for label in ("conditioning", "posterior of the candidates", "climbs"):
        spent, _, kernel_values, least = map(float, rows[label])
        assert 0.0 < least < spent and kernel_values > 0.0
    total, *_, least = (float(cell) for cell in rows["together"] if cell)
    assert 0.0 < least < total


def test_products_are_counted_by_hand() -> None:
    pytest.importorskip("torch")
    from examples.benchmarks import bound

    X, source = np.random.default_rng(0).random((5, 2)), np.array([0, 0, 0, 1, 1])
    model = fit_gp(X, X[:, 0], source=source, offsets=np.zeros(2))
    # 5·5 values of the kernel and, within the other source, 2·2.
    assert bound.of_factor(model) == (pytest.approx(5**3 / 3), 29)
    assert bound.of_inverse_factor(model) == (pytest.approx(5**3 / 3), 0)
    # For each of three: triangular for f_1; for δ_2, the last two rows, a product of 2 by 2.
    assert bound.of_posterior(model, X[:3], (0, 1)) == (3 * (25 + 2 * 2 * 2), 3 * 7)
    # With gradients at two of them of f_2: two triangular products for each f_1 and f_2.
    of_climb = bound.of_posterior(model, X[:3], [[0], [1], [1]], gradient=True)
    assert of_climb == (2 * 5 * 25, 3 * 5 + 2 * 2)
    # A product of five values of the kernel by one vector, and of two; two gradients of each.
    assert bound.of_means(model, X[:3], (0, 1)) == (3 * 2 * 7, 3 * 7)
    assert bound.of_means(model, X[:3], (0, 1), gradient=True) == (3 * 2 * 7 * 3, 3 * 7)


def test_footprint_is_that_of_a_new_process() -> None:
    assert footprint.printed("print(6.5)") == 6.5
    imports = footprint.IMPORTS["robust"]
    peak = footprint.PEAK.format(imports=imports, method="robust", n_sources=2, n=20)
    assert 20.0 < footprint.printed(peak) < 2000.0
