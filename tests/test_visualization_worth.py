"""The figure of worth: what the queries of each source have shown."""

from __future__ import annotations

import math
from typing import Any

import optuna
import plotly.graph_objects as go
import pytest
from studies_to_see import misleading_study

from optuna_misowild import MisoWildSampler
from optuna_misowild import RobustMethod
from optuna_misowild import source_verdicts
from optuna_misowild.visualization import plot_source_worth
from optuna_misowild.visualization.source_worth import Worth


def point(figure: go.Figure, source: str) -> go.Scatter:
    (found,) = (t for t in figure.data if t.name is not None and t.name.startswith(f"{source}: "))
    return found


@pytest.mark.parametrize("method", ["robust", "paper"])
def test_worth_tells_a_source_that_misleads_from_one_that_helps(method: str) -> None:
    figure = plot_source_worth(misleading_study(), sampler=MisoWildSampler(method=method))
    full, right, wrong = (point(figure, name) for name in ("full", "right", "wrong"))
    assert (full.x[0], full.y[0]) == (1.0, 1.0)
    assert right.x[0] == pytest.approx(0.1, rel=0.05)
    assert right.y[0] > 0.99
    assert right.name == "right: 10 queries, 8% of the cost<br>   worth its cost"
    assert right.marker.color != "white"
    assert wrong.y[0] < 0.3
    assert wrong.name.endswith("   not worth its cost")
    assert wrong.y[0] + wrong.error_y.array[0] < 1.0


def test_a_source_that_was_hardly_asked_is_not_taken_for_a_good_one() -> None:
    study = misleading_study(n_right=4)
    right = point(plot_source_worth(study, sampler=MisoWildSampler()), "right")
    assert right.name == "right: 4 queries, 4% of the cost<br>   too few to tell"
    assert (right.y[0], right.marker.color, right.error_y.visible) == (0.0, "white", False)


def test_the_interval_is_that_of_so_many_pairs() -> None:
    wrong = point(plot_source_worth(misleading_study(), sampler=MisoWildSampler()), "wrong")
    r = wrong.y[0]
    expected = math.tanh(math.atanh(r) + 1.96 / math.sqrt(10 - 3))  # Fisher's, of ten pairs
    assert r + wrong.error_y.array[0] == pytest.approx(expected)
    expected = math.tanh(math.atanh(r) - 1.96 / math.sqrt(10 - 3))
    assert r - wrong.error_y.arrayminus[0] == pytest.approx(expected)


def test_no_source_vouches_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    fit = RobustMethod.fit

    def spy(self: RobustMethod, observations: Any, domain: Any) -> Any:
        seen.append(set(observations.source.tolist()))
        return fit(self, observations, domain)

    monkeypatch.setattr(RobustMethod, "fit", spy)
    plot_source_worth(misleading_study(), sampler=MisoWildSampler())
    assert {0, 2} in seen and {0, 1} in seen


def test_a_source_that_was_never_asked() -> None:
    study = misleading_study(n_right=0)
    right = point(plot_source_worth(study, sampler=MisoWildSampler()), "right")
    assert right.name == "right: 0 queries, 0% of the cost<br>   never asked"
    assert right.x == (None,)


@pytest.mark.parametrize("n_right, verdict", [(10, "worth its cost"), (4, "too few to tell")])
def test_the_verdicts_by_the_choices_are_those_of_the_figure(n_right: int, verdict: str) -> None:
    study = misleading_study(n_right=n_right)
    sampler = MisoWildSampler()
    verdicts = source_verdicts(study, sampler=sampler)
    assert verdicts == {"right": verdict, "wrong": "not worth its cost"}
    figure = plot_source_worth(study, sampler=sampler)
    for source, said in verdicts.items():
        assert point(figure, source).name.endswith(f"   {said}")


def test_there_are_no_verdicts_without_values_or_other_sources() -> None:
    study = optuna.create_study(sampler=MisoWildSampler())
    assert source_verdicts(study) == {}
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert source_verdicts(study) == {}


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.6, 0.9, "worth its cost"), (0.1, 0.4, "not worth its cost"), (0.3, 0.8, "cannot be told")],
)
def test_the_whole_interval_decides(low: float, high: float, verdict: str) -> None:
    # At a quarter of the cost, a correlation of a half breaks even.
    assert Worth(10, 0.1, 0.25, 0.45, low, high).verdict == verdict


def test_what_the_models_do_not_know_is_no_agreement() -> None:
    def study(lowest: float) -> optuna.Study:
        """The preferred source asked from 0 to 1/2 only, the other one from ``lowest`` on."""
        study = optuna.create_study()
        distributions: dict[str, Any] = {
            "source": optuna.distributions.CategoricalDistribution(["full", "half"]),
            "x": optuna.distributions.FloatDistribution(0.0, 1.0),
        }
        for i in range(10):
            for source, x in (("full", 0.05 * i), ("half", lowest + 0.05 * i)):
                study.add_trial(
                    optuna.create_trial(
                        params={"source": source, "x": x},
                        distributions=distributions,
                        value=math.sin(9.0 * x),
                        user_attrs={"cost": 1.0 if source == "full" else 0.1},
                    )
                )
        return study

    near, far = (
        point(plot_source_worth(study(lowest), sampler=MisoWildSampler()), "half").y[0]
        for lowest in (0.0, 0.5)
    )
    assert near > 0.95
    assert abs(far) < 0.5
