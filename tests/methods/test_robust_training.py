"""Whether a training that has reached a rung goes on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import observe

from optuna_misowild.methods.base import Observations
from optuna_misowild.methods.base import Training
from optuna_misowild.methods.base import Verdict
from optuna_misowild.methods.robust.model import RobustModel
from optuna_misowild.methods.robust.training import indices_of_going_on
from optuna_misowild.methods.robust.training import probability_of_improvement
from optuna_misowild.methods.robust.training import remaining_costs


STEPS = np.array([18.0, 6.0, 2.0])
PLACES = [0.05, 0.2, 0.45, 0.6, 0.8, 0.95]


def value_of(x: Any, source: Any) -> Any:
    return (x - 0.3) ** 2 + 0.3 / STEPS[source]


def seen(x: float, reached: int, meant: int, bias: float = 0.0, **others: Any) -> Observations:
    """Trainings to the last rung, and one at x that has got to ``reached``."""
    X = np.repeat(PLACES, 3)
    source = np.tile([2, 1, 0], len(PLACES))
    now = list(range(2, reached - 1, -1))
    if meant != reached:
        now.append(meant)
    X, source = np.append(X, [x] * len(now)), np.append(source, now)
    y = value_of(X, source) + bias * (np.arange(len(X)) >= 3 * len(PLACES))
    pending = np.zeros(len(X), dtype=bool)
    pending[-1] = meant != reached
    y[pending] = np.nan
    cost = np.where(pending, np.nan, STEPS[source])
    observations = observe(
        X[:, None], source, y, cost, n_sources=3, pending=pending, spent=108.0, **others
    )
    trial = np.append(np.repeat(np.arange(len(PLACES)), 3), [len(PLACES)] * len(now))
    return replace(observations, trial=trial)


@cache
def model() -> RobustModel:
    """What was fitted before the training."""
    before = seen(0.5, 2, 2)
    return METHOD.fit(before.only(before.trial < len(PLACES)), LINE)


def training(x: float, reached: int, meant: int, **others: Any) -> Training:
    known = {"paid": STEPS[reached], "other": -20.0, "further": tuple(range(meant)), **others}
    return Training(trial=len(PLACES), x=np.array([x]), reached=reached, meant=meant, **known)


def judged(x: float, reached: int, meant: int, bias: float = 0.0, **others: Any) -> Verdict:
    of_study = {k: others.pop(k) for k in ("budget", "n_undecided") if k in others}
    now = seen(x, reached, meant, bias, **of_study)
    return METHOD.judge(model(), now, LINE, training(x, reached, meant, **others))


def test_a_training_stops_where_it_disappoints() -> None:
    assert judged(0.3, 2, 0).goes_on_to == 0
    assert judged(0.3, 1, 0).goes_on_to == 0
    # As bad as its place, or worse than others expect of it.
    assert judged(0.88, 2, 0).goes_on_to is None
    assert judged(0.3, 2, 0, bias=0.5).goes_on_to is None
    # So does what explores, against the acquisition.
    assert judged(0.88, 2, 0, other=-np.inf).goes_on_to is None
    assert judged(0.3, 2, 0, other=-np.inf).goes_on_to == 0
    # What verifies goes on to its rung, and no further.
    assert judged(0.88, 2, 0, other=np.nan).goes_on_to == 0
    assert judged(0.3, 2, 2, other=np.nan).goes_on_to is None


def test_a_training_goes_on_beyond_its_rung_where_that_is_the_best_query() -> None:
    to_each = {rung: judged(0.3, 2, 2, further=(rung,)) for rung in (0, 1)}
    assert {rung: verdict.goes_on_to for rung, verdict in to_each.items()} == {0: 0, 1: 1}
    best = max(to_each, key=lambda rung: to_each[rung].index)
    verdict = judged(0.3, 2, 2)
    assert verdict == to_each[best]
    assert judged(0.3, 2, 2, other=verdict.index + 0.1).goes_on_to is None
    assert judged(0.3, 2, 2, other=verdict.index - 0.1).goes_on_to == best
    assert np.isnan(judged(0.3, 2, 2, further=()).index)
    assert judged(0.88, 2, 2).index < verdict.index


@pytest.mark.parametrize(
    ("budget", "to"), [(None, 0), (160.0, 0), (140.0, 0), (126.5, 0), (120.0, None)]
)
@pytest.mark.parametrize("meant", [0, 2])
def test_what_cannot_be_paid_does_not_go_on(
    budget: float | None, to: int | None, meant: int
) -> None:
    """108 are spent, 2 of the training, and 18 are held back for a trial that has just begun.

    Up to the last rung the training needs 16 more. Of 126.5, −1.5 are left: as the last query, it
    may cost 1.5 less than a typical one, which as a whole it would not.
    """
    known = {"budget": budget, "n_undecided": 1, "further": (0,)}
    assert judged(0.3, 2, meant, **known).goes_on_to == to


def test_a_training_that_was_stopped_is_resumed_where_that_is_the_best_query() -> None:
    now = METHOD.fit(seen(0.3, 2, 2), LINE)
    index = METHOD.resume(now, [training(0.3, 2, 2)])[0].index
    assert METHOD.resume(now, [training(0.3, 2, 2, other=index - 0.1)])[0].goes_on_to is not None
    assert METHOD.resume(now, [training(0.3, 2, 2, other=index + 0.1)])[0].goes_on_to is None


def test_what_an_earlier_trial_has_paid_is_not_spent_twice() -> None:
    """Of 145, 108 and its 2 are spent, 18 held back: 17 are left, which 20 more would exceed."""
    known = {"budget": 145.0, "n_undecided": 1, "further": (0,), "paid": 2.0}
    assert judged(0.3, 2, 2, **known).goes_on_to == 0
    assert judged(0.3, 2, 2, before=-20.0, **known).goes_on_to is None


def test_the_rest_of_a_training_costs_the_difference() -> None:
    assert remaining_costs(model(), [training(0.3, 2, 0)], 0)[0] == pytest.approx(16.0, rel=0.05)
    assert remaining_costs(model(), [training(0.3, 1, 0)], 0)[0] == pytest.approx(12.0, rel=0.05)
    # One that has been twice as expensive so far will be so.
    twice = training(0.3, 2, 0, paid=4.0)
    assert remaining_costs(model(), [twice], 0)[0] == pytest.approx(32.0, rel=0.05)
    unknown = training(0.3, 2, 0, paid=np.nan)
    assert remaining_costs(model(), [unknown], 0)[0] == pytest.approx(16.0, rel=0.05)


def test_the_index_is_the_acquisition_at_the_remaining_cost() -> None:
    at = training(0.3, 1, 1)
    whole = model().acquisition(at.x[None], 0)[0]
    rest = indices_of_going_on(model(), [at], 0, np.array([12.0]))[0]
    assert rest == pytest.approx(whole + model().alpha * np.log(18.0 / 12.0), abs=0.05)


def test_an_improvement_is_certain_while_there_is_nothing_to_improve_on() -> None:
    at = training(0.3, 1, 1)
    assert probability_of_improvement(replace(model(), best=np.inf), at) == 1.0
    assert probability_of_improvement(replace(model(), best=-9.0), at) == 0.0
    assert probability_of_improvement(replace(model(), best=9.0), at) == 1.0
    # As each model says, as far as it is trusted.
    both = replace(model(), best=float(model().joint.predict(at.x[None])[0][0]))
    assert probability_of_improvement(both, at) == pytest.approx(0.5)
    assert model().single is not None
    doubtful = replace(both, log_odds=0.0, single=replace(model().single, mean=1e3))
    assert probability_of_improvement(doubtful, at) < 0.5


def test_models_of_other_sources_or_parameters_decide_nothing() -> None:
    now = replace(seen(0.88, 2, 0), n_sources=4)
    assert METHOD.judge(model(), now, LINE, training(0.88, 2, 0)).goes_on_to == 0


def test_what_came_at_no_cost_does_not_make_the_preferred_source_due() -> None:
    """Twelve readings on the way of four trainings are four queries."""
    X, source = np.full(15, 0.5), np.array([0, 0, 0, *[2, 1, 1] * 4])
    free = np.array([False] * 3 + [True, True, False] * 4)
    cost = np.where(source == 0, 1.0, 1e-3)
    observations = observe(X[:, None], source, cost=cost, n_sources=3, free=free)
    assert not METHOD.is_due(observations, model())
    assert METHOD.is_due(replace(observations, free=np.zeros(15, dtype=bool)), model())
