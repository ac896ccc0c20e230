"""Everything that may happen to a study, in any order: asked, told, enqueued, added, looked at."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine
from hypothesis.stateful import initialize
from hypothesis.stateful import invariant
from hypothesis.stateful import precondition
from hypothesis.stateful import rule
import optuna
from optuna.trial import TrialState
import pytest
from random_studies import SOURCE
from random_studies import Setting
from random_studies import cost_attrs
from random_studies import histories
from random_studies import objective_values
from random_studies import settings
from random_studies import values_of

from optuna_misowild import cumulated_cost
from optuna_misowild import recommend


# Random ranges are seldom a multiple of their step.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The distribution is specified by", "ignore:The value nan is not acceptable"
)

KINDS = ["robust", "paper", "carbo"]


class Study(RuleBasedStateMachine):
    """A study with the samplers of all methods, and one of Optuna's, taking turns."""

    setting: Setting

    @initialize(setting=settings(max_params=3))
    def begin(self, setting: Setting) -> None:
        self.setting = setting
        self.study = setting.study()
        self.samplers: list[optuna.samplers.BaseSampler] = [
            replace(setting, kind=kind).sampler() for kind in KINDS
        ]
        self.samplers.append(optuna.samplers.RandomSampler(seed=0))
        self.running: list[optuna.Trial] = []
        # What each trial has ended with, by its number.
        self.paid: dict[int, tuple[TrialState, float | None]] = {}

    def ask(self, sampler: int) -> optuna.Trial:
        self.study.sampler = self.samplers[sampler]
        trial = self.study.ask()
        self.running.append(trial)
        return trial

    @rule(sampler=st.integers(0, 3))
    def ask_for_everything(self, sampler: int) -> None:
        trial = self.ask(sampler)
        params = self.setting.suggest(trial)
        assert self.setting.is_inside(params)
        enqueued = self.study.trials[trial.number].system_attrs.get("fixed_params", {})
        for name, value in enqueued.items():
            assert params[name] == value

    @rule(sampler=st.integers(0, 3), n_params=st.integers(0, 3))
    def ask_for_some(self, sampler: int, n_params: int) -> None:
        trial = self.ask(sampler)
        for name, distribution in list(self.setting.distributions.items())[:n_params]:
            value = trial._suggest(name, distribution)
            assert distribution._contains(distribution.to_internal_repr(value))

    @precondition(lambda self: self.running)
    @rule(
        data=st.data(),
        attrs=cost_attrs,
        value=st.one_of(objective_values, st.just(math.nan)),
        state=st.sampled_from([TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED]),
    )
    def tell(self, data: st.DataObject, attrs: Any, value: float, state: TrialState) -> None:
        trial = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        for name, cost in attrs.items():
            trial.set_user_attr(name, cost)
        if state == TrialState.COMPLETE and math.isnan(value):
            self.study.tell(trial, value)  # It has failed.
            state = TrialState.FAIL
        elif state == TrialState.COMPLETE:
            self.study.tell(trial, value)
        else:
            self.study.tell(trial, state=state)
        told = value if state == TrialState.COMPLETE else None
        self.paid[trial.number] = state, told

    @rule(data=st.data(), n_params=st.integers(0, 4))
    def enqueue(self, data: st.DataObject, n_params: int) -> None:
        names = list(self.setting.distributions.items())[:n_params]
        self.study.enqueue_trial({name: data.draw(values_of(dist)) for name, dist in names})

    @rule(data=st.data())
    def add_trials(self, data: st.DataObject) -> None:
        for trial in data.draw(histories(self.setting, max_size=3)):
            self.study.add_trial(trial)
            if trial.state.is_finished():
                self.paid[len(self.study.trials) - 1] = trial.state, trial.value

    @rule(sampler=st.integers(0, 2))
    def look(self, sampler: int) -> None:
        self.study.sampler = self.samplers[sampler]
        view = self.study.sampler.view(self.study)  # type: ignore[attr-defined]
        seen = view.observations
        # Cost-cooling learns from the preferred source only.
        learnt = seen.valued(0) if KINDS[sampler] == "carbo" else seen.has_value.nonzero()[0]
        if not len(learnt):
            with pytest.raises(ValueError, match="nothing to recommend yet"):
                recommend(self.study)
            return
        recommendation = recommend(self.study)
        assert recommendation.trial.state == TrialState.COMPLETE
        of_preferred = [
            t
            for t in self.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
            if view.space.keys() <= t.params.keys() and view.sources.of_trial(t.params) == 0
            if math.isfinite(t.value)
        ]
        if of_preferred and KINDS[sampler] != "paper":
            assert recommendation.verified
        sources = view.sources.distribution  # None until a trial has named its source.
        if recommendation.verified and sources is not None:
            preferred = self.setting.arguments.get("preferred_source", sources.choices[0])
            assert recommendation.source == preferred
            assert recommendation.to_enqueue()[SOURCE] == preferred
        model = self.study.sampler.model(self.study)  # type: ignore[attr-defined]
        params = recommendation.params
        for asked in (model.predict(params), model.predict_cost(params)):
            assert not any(math.isnan(number) or number == -math.inf for number in asked)
        assert not math.isnan(model.acquisition(params))

    @invariant()
    def nothing_is_lost(self) -> None:
        trials = self.study.get_trials(deepcopy=False)
        finished = {t.number: (t.state, t.value) for t in trials if t.state.is_finished()}
        assert finished.keys() == self.paid.keys()
        for number, (state, value) in self.paid.items():
            assert finished[number] == (state, value)
        assert 0.0 <= cumulated_cost(self.study) < math.inf


TestStudy = pytest.mark.filterwarnings("error:.*:RuntimeWarning")(Study.TestCase)
TestStudy.settings = hypothesis_settings(stateful_step_count=20)
