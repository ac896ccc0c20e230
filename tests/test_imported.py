"""Trials of an earlier study: known, paid for already, and no recent queries."""

from __future__ import annotations

from datetime import datetime
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
import pytest
from robust_observations import LINE
from robust_observations import METHOD
from robust_observations import observe
from toy_studies import METHODS
from toy_studies import OPTIMUM
from toy_studies import SOURCES
from toy_studies import study_of
from toy_studies import toy
from toy_studies import warnings_of

from optuna_misowild import CostBudgetCallback
from optuna_misowild import MisoWildSampler
from optuna_misowild import cumulated_cost
from optuna_misowild import import_trials
from optuna_misowild import recommend
from optuna_misowild.figure_data import FigureData
from optuna_misowild.methods.robust import RobustMethod


ALL = [*SOURCES, "last month"]
X = {"x": FloatDistribution(0.0, 1.0)}


def bowl(trial: optuna.Trial) -> float:
    return (trial.suggest_float("x", 0.0, 1.0) - OPTIMUM) ** 2


def last_month(n_trials: int = 12, **attrs: Any) -> optuna.Study:
    """A study of another sampler, without a source parameter, whose trials took a minute each."""
    study = optuna.create_study()
    begin = datetime(2026, 1, 1)
    for i in range(n_trials):
        trial = optuna.create_trial(
            params={"x": i / n_trials},
            distributions=X,
            value=(i / n_trials - OPTIMUM) ** 2,
            user_attrs=attrs,
        )
        trial.datetime_start, trial.datetime_complete = begin, begin + timedelta(minutes=1)
        study.add_trial(trial)
    return study


def three(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", ALL)
    assert source != "last month"
    trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
    return bowl(trial) + (0.0 if source == "full" else 0.1)


def sampler(**kwargs: Any) -> MisoWildSampler:
    return MisoWildSampler(query_sources=SOURCES, seed=0, **kwargs)


def view_of(study: optuna.Study) -> Any:
    return study.sampler.view(study)  # type: ignore[attr-defined]


# What is imported.


@pytest.mark.parametrize("method", METHODS)
def test_a_study_goes_on_from_last_months_trials(method: str) -> None:
    study = study_of(sampler(method=method))
    assert import_trials(study, last_month(), source="last month", choices=ALL) == 12
    study.optimize(three, n_trials=24)
    seen = view_of(study).observations
    assert seen.source.tolist()[:12] == [2] * 12
    assert seen.n_imported == 12
    assert study.best_trial.params["source"] == "full"
    assert len(seen.valued(0)) >= METHOD.n_mixture or method == "paper"
    assert recommend(study).verified or method == "paper"


def test_the_choices_are_those_of_the_trials_so_far() -> None:
    study = study_of(sampler())
    study.optimize(three, n_trials=1)
    import_trials(study, last_month(), source="last month")
    assert study.trials[-1].distributions["source"] == CategoricalDistribution(ALL)
    study.optimize(three, n_trials=2)


def test_trials_without_a_source_are_of_the_preferred_one() -> None:
    study = study_of(MisoWildSampler(preferred_source="cheap", seed=0))
    import_trials(study, last_month(), choices=SOURCES)
    assert {t.params["source"] for t in study.trials} == {"cheap"}
    assert study.best_value == min(t.value for t in study.trials)
    single = study_of(MisoWildSampler(seed=0))
    import_trials(single, last_month())
    single.optimize(bowl, n_trials=3)
    assert view_of(single).observations.source.tolist() == [0] * 15


def test_trials_keep_their_own_sources() -> None:
    old = study_of(MisoWildSampler(seed=0), n_trials=9)
    for kwargs in ({}, {"choices": SOURCES}, {"source": None}):
        study = study_of(MisoWildSampler(seed=0))
        import_trials(study, old, **kwargs)
        assert [t.params for t in study.trials] == [t.params for t in old.trials]
        assert study.best_params == old.best_params
    with pytest.raises(ValueError, match=r"several sources: 'cheap', 'full'\. Import"):
        import_trials(study_of(sampler()), old, source="last month", choices=ALL)


def test_a_source_that_is_none() -> None:
    study = study_of(MisoWildSampler(seed=0))
    import_trials(study, last_month(), source=None, choices=["full", None])
    assert {t.params["source"] for t in study.trials} == {None}


def test_only_what_tells_something_is_imported() -> None:
    old = last_month(2)
    for state in (TrialState.FAIL, TrialState.PRUNED, TrialState.WAITING, TrialState.RUNNING):
        old.add_trial(optuna.create_trial(state=state, params={"x": 0.9}, distributions=X))
    old.add_trial(optuna.create_trial(state=TrialState.FAIL))
    study = study_of(MisoWildSampler(seed=0))
    assert import_trials(study, old) == 4
    states = [t.state.name for t in study.trials]
    assert states == ["COMPLETE", "COMPLETE", "FAIL", "PRUNED"]


def test_parameters_that_the_old_trials_lack() -> None:
    def objective(trial: optuna.Trial) -> float:
        return bowl(trial) + (trial.suggest_float("z", 1e-2, 1e2, log=True) - 0.5) ** 2

    space = {"z": FloatDistribution(1e-2, 1e2, log=True)}
    study = study_of(MisoWildSampler(seed=0))
    with pytest.raises(ValueError, match=r"`params` has \['z'\], which no trial.*distributions="):
        import_trials(study, last_month(), params={"z": 0.5})
    import_trials(study, last_month(), params={"z": 0.5}, distributions=space)
    study.optimize(objective, n_trials=4)
    assert view_of(study).observations.X.shape == (16, 2)

    study = study_of(MisoWildSampler(seed=0))
    study.optimize(objective, n_trials=1)
    import_trials(study, last_month(), params={"z": 0.5})
    assert view_of(study).observations.X.shape == (13, 2)


def test_a_program_that_is_resumed_imports_nothing_twice(tmp_path: Path) -> None:
    old = last_month(3)
    old.add_trials(old.trials[:1])  # The same once more: a noisy objective is asked again.
    for expected in (4, 0, 2):
        study = study_of(
            sampler(),
            storage=f"sqlite:///{tmp_path / 'study.db'}",
            study_name="study",
            load_if_exists=True,
        )
        if expected == 2:
            old.add_trials(old.trials[1:3])
        added = import_trials(study, old.trials, source="last month", choices=ALL)
        assert added == expected
        study.optimize(three, n_trials=1)
    assert len(study.trials) == 9


def test_constraints_of_the_user_keep_their_meaning() -> None:
    old = last_month(4)
    attrs = {"constraints": [1.0]}
    old.add_trial(
        optuna.create_trial(params={"x": 0.3}, distributions=X, value=-5.0, system_attrs=attrs)
    )
    study = study_of(MisoWildSampler(seed=0))
    import_trials(study, old, choices=SOURCES)
    assert recommend(study).value > -5.0


# What it costs.


@pytest.mark.parametrize(
    "cost", [None, 7.0, "old", lambda trial: 5.0], ids=["none", "7", "old", "f"]
)
def test_what_is_imported_is_paid_for(cost: Any, caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(sampler(budget=6.0))
    import_trials(study, last_month(), source="last month", choices=ALL, cost=cost)
    callback = CostBudgetCallback(6.0)
    assert cumulated_cost(study) == 0.0
    assert not callback.is_spent(study)
    study.optimize(three, n_trials=40, callbacks=[callback])
    ours = [t.user_attrs["cost"] for t in study.trials[12:]]
    assert 6.0 <= cumulated_cost(study) < 7.0
    assert cumulated_cost(study) == pytest.approx(sum(ours))
    seen = view_of(study).observations
    assert seen.spent == pytest.approx(sum(ours))
    assert 0.0 < seen.initial_spent < 4.0
    data = FigureData(study)
    assert data.queries[-1].spent == pytest.approx(sum(ours))
    assert sum(query.paid for query in data.queries) == pytest.approx(sum(ours))
    expected = {None: np.nan, 7.0: 7.0, "old": 60.0}.get(cost, 5.0)
    np.testing.assert_array_equal(seen.cost[:12], expected)
    assert "spent" not in warnings_of(caplog)
    assert "user attribute" not in warnings_of(caplog)


def test_old_costs_do_not_decide_the_unit() -> None:
    """Where the objective sets no cost, the seconds count, whatever was imported."""
    study = study_of(MisoWildSampler(seed=0))
    import_trials(study, last_month(cost=3.0), cost="old")
    study.optimize(bowl, n_trials=3)
    assert [t.user_attrs["cost"] for t in study.trials[:12]] == [3.0] * 12
    seen = view_of(study).observations
    assert np.isfinite(seen.cost).all()
    assert 0.0 < cumulated_cost(study) < 3.0


def test_a_budget_that_cannot_be_kept_is_told_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def free(trial: optuna.Trial) -> float:
        trial.set_user_attr("cost", 0.0)
        return bowl(trial)

    study = study_of(MisoWildSampler(seed=0))
    import_trials(study, last_month(), cost=5.0)
    study.optimize(free, n_trials=4, callbacks=[CostBudgetCallback(3.0)])
    assert "The budget of 3 cannot be kept: none of the 3 finished trials" in caplog.text


def test_old_costs_drop_no_source() -> None:
    """Old seconds of the preferred source are no measure for what a cheap one costs now."""
    study = study_of(MisoWildSampler(seed=0))
    import_trials(study, last_month(cost=0.001), choices=SOURCES)
    study.optimize(toy, n_trials=10)
    assert sum(t.params["source"] == "cheap" for t in study.trials) > 1


# When it ran.


def test_imported_trials_are_no_latest_ones() -> None:
    """None of the gates, which look at the latest queries, takes them for such."""
    last = [0.1, 0.5, 0.9, 0.51, 0.49, 0.52, 0.505]
    X, y = np.array(last)[:, None], [1.0, 0.0, 1.0, *[1e-4] * 4]
    for n_imported, is_closed in ((3, True), (4, False)):
        seen = observe(X, [0] * 7, y, n_imported=n_imported)
        assert (METHOD.closed_region(seen, METHOD.fit(seen, LINE)) is not None) is is_closed

    X = np.array([0.05, 0.5, 0.9, 0.95, 0.0, 0.1, 0.2, 0.3, 0.4])[:, None]
    y, source = [3.0, 2.0, -1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0], [1] * 4 + [0] * 5
    method = RobustMethod(promise_queries=3)
    assert method.promise(observe(X, source, y, n_imported=6), LINE, (0, 1)) == 0.9
    assert method.promise(observe(X, source, y, n_imported=7), LINE, (0, 1)) is None

    X, source = np.linspace(0.0, 1.0, 13)[:, None], [0] * 3 + [1] * 10
    model = METHOD.fit(observe(X, source, X[:, 0]), LINE)
    assert METHOD.is_due(observe(X, source, n_imported=2), model)
    assert not METHOD.is_due(observe(X, source, n_imported=13), model)


def test_the_first_query_after_a_hundred_good_trials_is_a_good_one() -> None:
    """Trials close to the optimum are no sign that the search creeps around it."""
    optimum = np.array([0.3, 0.6, 0.45, 0.7])
    space = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(4)}

    def objective(trial: optuna.Trial) -> float:
        source = trial.suggest_categorical("source", SOURCES)
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        x = [trial.suggest_float(name, 0.0, 1.0) for name in space]
        return float(np.sum((x - optimum) ** 2))

    near = optimum + 0.01 * np.random.default_rng(0).standard_normal((100, 4))
    near[:30] = np.random.default_rng(1).random((30, 4))
    near[30] = optimum + 0.001
    study = study_of(MisoWildSampler(seed=0))
    old = [
        optuna.create_trial(
            params=dict(zip(space, x, strict=True)),
            distributions=space,
            value=float(np.sum((x - optimum) ** 2)),
        )
        for x in near.tolist()
    ]
    import_trials(study, old, choices=SOURCES)
    study.optimize(objective, n_trials=1)
    x = np.array([study.trials[-1].params[name] for name in space])
    assert np.linalg.norm(x - optimum) < 0.05


def test_imported_later_they_still_come_first() -> None:
    study = study_of(sampler())
    study.optimize(three, n_trials=6)
    import_trials(study, last_month(), source="last month")
    old = optuna.create_study()
    narrow = {"x": FloatDistribution(0.0, 0.4)}
    for i in range(4):
        old.add_trial(optuna.create_trial(params={"x": i / 10}, distributions=narrow, value=i))
    import_trials(study, old, source="last month")
    view = view_of(study)
    assert view.observations.trial.tolist() == [*range(6, 22), *range(6)]
    assert view.space["x"].high == 1.0  # The range is that of this study.


# What is refused.


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"source": "last month"}, ValueError, r"Pass `choices=\[\.\.\.\]`"),
        ({"source": "last", "choices": ALL}, ValueError, r"'last', which is not a choice.*full"),
        ({"choices": "full"}, TypeError, "`choices` must be a list"),
        ({"choices": ["fine"]}, ValueError, "'full', which is not a choice"),
        ({"cost": "seconds"}, ValueError, '`cost` must be a number, a function, "old" or None'),
        ({"cost": -1.0}, ValueError, "`cost` must be finite and 0 or more"),
        ({"cost": lambda trial: "a"}, TypeError, r"`cost\(trial\)` must be a number"),
        (
            {"distributions": {"x": FloatDistribution(0.0, 0.5)}},
            ValueError,
            r"Trial 7 of `old` cannot be imported: .*'x'",
        ),
    ],
)
def test_mistakes_are_named(kwargs: dict[str, Any], error: type[Exception], message: str) -> None:
    study = study_of(MisoWildSampler(preferred_source="full"))
    with pytest.raises(error, match=message):
        import_trials(study, last_month(), **kwargs)
    assert not study.trials


def test_studies_that_do_not_go_together() -> None:
    study = study_of(sampler())
    for old, error, message in (
        (optuna.create_study(direction="maximize"), ValueError, "direction of `study`, MINIMIZE"),
        (optuna.create_study(directions=["minimize"] * 2), ValueError, "MINIMIZE, MINIMIZE"),
        (study, ValueError, "another study"),
        ("last month", TypeError, "an Optuna study or a list"),
        ([0.5], TypeError, "must consist of Optuna trials, but has 0.5"),
        ([optuna.create_trial(values=[1.0, 2.0])], ValueError, "several values"),
    ):
        with pytest.raises(error, match=message):
            import_trials(study, old)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({"choices": [*ALL, "more"], "source": "last month"}, "source"),
        ({"distributions": {"x": FloatDistribution(1e-3, 1.0, log=True)}}, "x"),
    ],
)
def test_what_optuna_would_refuse_is_refused_before_anything_is_added(
    kwargs: dict[str, Any], name: str
) -> None:
    study = study_of(sampler())
    study.optimize(three, n_trials=1)
    with pytest.raises(ValueError, match=f"parameter '{name}' of trial .*same choices"):
        import_trials(study, last_month().trials[1:], **kwargs)
    assert len(study.trials) == 1
