"""The figure of worth: what the queries of each source have shown."""

from __future__ import annotations

import math

import numpy as np
import optuna
import plotly.graph_objects as go
import pytest
from studies_to_see import misleading_study

from optuna_misowild import MisoWildSampler
from optuna_misowild.visualization import plot_source_worth


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


def test_no_source_vouches_for_itself() -> None:
    """A source that contradicts the preferred one is not believed for being asked often."""
    study = misleading_study()
    more = optuna.create_study()
    more.add_trials(study.trials)
    distributions = study.trials[0].distributions
    for x in np.linspace(0.0, 1.0, 40):
        params = {"source": "wrong", "x": float(x)}
        more.add_trial(
            optuna.create_trial(
                params=params,
                distributions=distributions,
                value=math.cos(9.0 * x),
                user_attrs={"cost": 0.1},
            )
        )
    wrong = point(plot_source_worth(more, sampler=MisoWildSampler()), "wrong")
    assert "50 queries" in wrong.name
    assert wrong.name.endswith("   not worth its cost")


def test_a_source_that_was_never_asked() -> None:
    study = misleading_study(n_right=0)
    right = point(plot_source_worth(study, sampler=MisoWildSampler()), "right")
    assert right.name == "right: 0 queries, 0% of the cost<br>   never asked"
    assert right.x == (None,)
