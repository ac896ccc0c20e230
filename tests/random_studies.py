"""Random search spaces, sources and histories, with everything in them that Optuna admits."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
import math
from typing import Any

from hypothesis import strategies as st
import optuna
from optuna.distributions import BaseDistribution
from optuna.distributions import CategoricalDistribution
from optuna.distributions import FloatDistribution
from optuna.distributions import IntDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial
from optuna.trial import TrialState

from optuna_misowild import CarboCoolingSampler
from optuna_misowild import MisoWildSampler


SOURCE = "source"
# True == 1 and 0 == False: Optuna cannot tell these apart, and records the first of them.
MIXED_CHOICES = [None, 0, "full", True, "0", 1.5, 1, False, "", "True", -1, "10 %"]
FINISHED = [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED]
COSTS = [0, 0.0, 1e-300, 1e300, -1.0, math.nan, math.inf, "12 s", None, True, 10**400]
VALUES = [0.0, 1.0, 1e300, -1e300, math.inf, -math.inf, 5e-324, 1e30, 1.7e308, -1.7e308]


@st.composite
def distributions(draw: st.DrawFn) -> BaseDistribution:
    """A parameter of any kind that Optuna has."""
    kind = draw(st.sampled_from(["float", "log", "step", "int", "int log", "choice", "one"]))
    if kind == "float":
        low, width = draw(st.floats(-1e6, 1e6)), draw(st.sampled_from([1e-3, 1.0, 1e9]))
        return FloatDistribution(low, low + width)
    if kind == "log":
        low = 10.0 ** draw(st.integers(-9, 3))
        return FloatDistribution(low, low * 10.0 ** draw(st.integers(1, 12)), log=True)
    if kind == "step":
        step = draw(st.sampled_from([0.1, 0.25, 3.0]))
        low = draw(st.integers(-5, 5)) * step
        return FloatDistribution(low, low + step * draw(st.integers(0, 50)), step=step)
    if kind == "int":
        low, high = draw(st.sampled_from([(1, 3), (-4, 4), (0, 1), (1, 10**9), (-(10**12), 7)]))
        return IntDistribution(low, high, step=draw(st.sampled_from([1, 1, 1, 2])))
    if kind == "int log":
        return IntDistribution(1, draw(st.sampled_from([2, 8, 1000, 10**9])), log=True)
    if kind == "choice":
        return CategoricalDistribution(
            draw(st.lists(st.sampled_from(MIXED_CHOICES), min_size=1, max_size=6))
        )
    value = draw(st.integers(-3, 3))
    return draw(st.sampled_from([IntDistribution(value, value), FloatDistribution(value, value)]))


@st.composite
def values_of(draw: st.DrawFn, distribution: BaseDistribution) -> Any:
    """A value of a parameter, often one at an end of its range."""
    if isinstance(distribution, CategoricalDistribution):
        return draw(st.sampled_from(distribution.choices))
    if isinstance(distribution, IntDistribution):
        n_steps = (distribution.high - distribution.low) // distribution.step
        return distribution.low + distribution.step * draw(st.integers(0, n_steps))
    assert isinstance(distribution, FloatDistribution)
    if distribution.step is not None:
        n_steps = round((distribution.high - distribution.low) / distribution.step)
        value = distribution.low + distribution.step * draw(st.integers(0, n_steps))
        return min(value, distribution.high)
    return draw(st.floats(distribution.low, distribution.high))


objective_values = st.one_of(st.floats(-10.0, 10.0), st.sampled_from(VALUES))
cost_attrs = st.one_of(
    st.just({}),
    st.builds(lambda cost: {"cost": cost}, st.floats(1e-3, 1e3)),
    st.builds(lambda cost: {"cost": cost}, st.sampled_from(COSTS)),
)


@dataclass(frozen=True)
class Setting:
    """What a study is about, and the sampler it uses."""

    space: Mapping[str, BaseDistribution]
    sources: CategoricalDistribution | None
    direction: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """All parameters, the source first."""
        if self.sources is None:
            return dict(self.space)
        return {SOURCE: self.sources, **self.space}

    def sampler(self) -> BaseSampler:
        """A new sampler."""
        if self.kind == "carbo":
            arguments = {k: v for k, v in self.arguments.items() if k != "query_sources"}
            return CarboCoolingSampler(alpha=1.0, **arguments)
        return MisoWildSampler(method=self.kind, **self.arguments, warn_independent_sampling=False)

    def study(self, trials: Sequence[FrozenTrial] = ()) -> optuna.Study:
        """A new study with these trials in it."""
        study = optuna.create_study(sampler=self.sampler(), direction=self.direction)
        study.add_trials(trials)
        return study

    def suggest(self, trial: optuna.Trial) -> dict[str, Any]:
        """Suggest all parameters, as an objective does."""
        for name, distribution in self.distributions.items():
            trial._suggest(name, distribution)
        return trial.params

    def queryable(self) -> set[int]:
        """The choices of the source that may be asked, in Optuna's own numbers."""
        assert self.sources is not None
        choices = self.arguments.get("query_sources", self.sources.choices)
        if self.kind == "carbo":
            choices = [self.arguments.get("preferred_source", self.sources.choices[0])]
        return {int(self.sources.to_internal_repr(choice)) for choice in choices}

    def is_inside(self, params: Mapping[str, Any]) -> bool:
        """Whether each parameter is a value of its distribution, and a plain one."""
        return all(
            distribution._contains(distribution.to_internal_repr(params[name]))
            and type(params[name]).__module__ == "builtins"
            for name, distribution in self.distributions.items()
        )


@st.composite
def settings(draw: st.DrawFn, max_params: int = 4) -> Setting:
    names = [f"p{i}" for i in range(draw(st.integers(1, max_params)))]
    space = {name: draw(distributions()) for name in names}
    choices = draw(
        st.one_of(
            st.none(),
            st.lists(st.sampled_from(MIXED_CHOICES), min_size=1, max_size=12, unique_by=repr),
        )
    )
    sources = None if choices is None else CategoricalDistribution(choices)
    kind = draw(st.sampled_from(["robust", "paper", "carbo"]))
    arguments: dict[str, Any] = {
        "seed": draw(st.integers(0, 5)),
        "n_startup_trials": draw(st.integers(1, 3)),
    }
    if sources is not None and draw(st.booleans()):
        arguments["preferred_source"] = draw(st.sampled_from(sources.choices))
    if sources is not None and draw(st.booleans()):
        others = draw(st.lists(st.sampled_from(sources.choices), max_size=3))
        arguments["query_sources"] = [
            arguments.get("preferred_source", sources.choices[0]),
            *others,
        ]
    if draw(st.booleans()):
        arguments["budget"] = draw(st.sampled_from([1e-3, 10.0, 1e6]))
    return Setting(
        space, sources, draw(st.sampled_from(["minimize", "maximize"])), kind, arguments
    )


@st.composite
def histories(draw: st.DrawFn, setting: Setting, max_size: int = 12) -> list[FrozenTrial]:
    """Trials of a study that other samplers, other workers and people have left."""
    constant = draw(st.booleans())
    states = st.sampled_from([*FINISHED, TrialState.RUNNING])
    trials = []
    for state in draw(st.lists(states, max_size=max_size)):
        params = {name: draw(values_of(d)) for name, d in setting.distributions.items()}
        if state != TrialState.COMPLETE and draw(st.booleans()):
            # It ended, or is, before its last parameters.
            params = dict(list(params.items())[: draw(st.integers(0, len(params)))])
        value = 1.0 if constant else draw(objective_values)
        trials.append(
            optuna.create_trial(
                state=state,
                params=params,
                distributions={name: setting.distributions[name] for name in params},
                value=value if state == TrialState.COMPLETE else None,
                user_attrs=draw(cost_attrs),
            )
        )
    return trials
