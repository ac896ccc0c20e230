"""What is said to the user about a study: what costs money or gives a wrong answer, once each.

Nothing here changes a suggestion. A false alarm is worse than silence, so each check speaks only
of what the sampler has seen happen. Ordinary uses hear nothing: no source parameter, costs that
are times, trials that were added.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.pruners import MedianPruner
from optuna.trial import TrialState

from optuna_misowild.gp.cost import typical_cost
from optuna_misowild.study import attributes
from optuna_misowild.study.constraints import MAX_CONSTRAINTS
from optuna_misowild.study.costs import COST_ATTR
from optuna_misowild.study.costs import costs_of
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.costs import malformed_cost
from optuna_misowild.study.costs import recorded_cost_attr
from optuna_misowild.study.failures import many_failed
from optuna_misowild.study.memory import PerStudy
from optuna_misowild.study.readings import has_failed
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.source_parameter import FIRST
from optuna_misowild.study.source_parameter import latest_distribution
from optuna_misowild.study.steps import recorded_rungs
from optuna_misowild.study.steps import visit_of


if TYPE_CHECKING:
    from collections.abc import Hashable
    from collections.abc import Iterable
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.methods.base import Method
    from optuna_misowild.study.snapshot import StudyView


# A source is clearly the cheaper one below this part of what another costs, ...
_CLEARLY_CHEAPER = 1.0 / 3.0
# ... if that is more than the noise of a clock, in seconds.
_MEASURABLE = 0.1
# Choices are compared in the medians of so many trials.
_MIN_COMPARED = 3
# So many trials are mentioned one by one.
_MAX_MALFORMED = 3
# So many pruned trials, and such a part of all, are more than an accident.
_MANY_PRUNED, _PART_PRUNED = 4, 1.0 / 3.0


class OncePerStudy:
    """Remembers what has been said about which study, while the study's storage is in use.

    Copies and pickles start anew.
    """

    def __init__(self) -> None:
        self._said = PerStudy()

    def is_said(self, study: Study, topic: Hashable) -> bool:
        """Whether a topic is done with."""
        return topic in self._said.of(study)

    def first(self, study: Study, topic: Hashable) -> bool:
        """Return whether a topic is new, once: not to two threads at the same time either."""
        token = object()
        return self._said.of(study).setdefault(topic, token) is token


class Warnings:
    """What a sampler says about the studies that it is used in.

    Args:
        sampler: Its name.
        settings: How it reads trials.
        method: Its method.
    """

    def __init__(self, sampler: str, settings: Settings, method: Method) -> None:
        self._sampler = sampler
        self._settings = settings
        self._method = method
        self._once = OncePerStudy()

    # When it is said.

    def before_suggestion(self, view: StudyView) -> None:
        """Warn of what the trials so far show."""
        self._malformed(view.study, view.trials)
        self._other_preferred_source(view)
        self._other_cost_attr(view)
        self._spent_budget(view)
        self._initial_design(view)
        self._too_many_constraints(view)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState) -> None:
        """Warn of what a trial shows that ends now, by what its objective has set.

        Only trials that the sampler has suggested come here, never those that were added.
        """
        self._malformed(study, [trial])
        if state == TrialState.COMPLETE:
            trials = attributes.all_trials(study)
            self._missing_source(study, trial, trials)
            self._mixed_costs(study, trial, trials)
            self._no_reports(study, trial)
            self._short_of_the_last_step(study, trial)
        elif state == TrialState.PRUNED:
            self._many_pruned(study, trial)
            self._pruned_without_cost(study, trial)
            self._pruned_by_default(study, trial)
        if has_failed(trial, state):
            self._many_failed(study, trial)

    def _say(self, study: Study, topic: Hashable, text: str) -> None:
        if self._once.first(study, topic):
            attributes.logger.warning(text)

    # Sources.

    def _missing_source(
        self, study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]
    ) -> None:
        """Warn if no trial has a source parameter, but arguments or the costs point to one."""
        settings, topic = self._settings, "missing source"
        name, others = settings.source, settings.query_sources
        if settings.steps is not None or self._once.is_said(study, topic):
            return
        if any(name in t.distributions for t in (trial, *trials)):
            return
        none = f"no parameter {name!r}: all trials count as one source"
        categorical = {
            key: distribution
            for key, distribution in trial.distributions.items()
            if isinstance(distribution, CategoricalDistribution)
        }
        arguments = {
            "source": None if name == Settings.source else name,
            "preferred_source": settings.preferred_source,
            "query_sources": None if others is None else list(others),
        }
        given = [f"{k}={v!r}" for k, v in arguments.items() if v is not None and v is not FIRST]
        if given:
            remedy = (
                f"Its categorical parameters are {', '.join(map(repr, categorical))}: if one of "
                "them names the source, pass its name as `source=...`"
                if categorical
                else "It has no categorical parameter: let it suggest the source by "
                f"`trial.suggest_categorical({name!r}, [...])`"
            )
            self._say(
                study,
                topic,
                f"`{', '.join(given)}` was given, but the objective has {none}. {remedy}. For a "
                "single source omit the argument.",
            )
            return
        if settings.only_preferred:
            return
        for key, distribution in categorical.items():
            compared = _compared(key, distribution, trials, settings.cost_attr)
            if compared is not None:
                self._say(
                    study,
                    topic,
                    f"The objective has {none}, but {compared}. If {key!r} names the source, pass "
                    f"`source={key!r}`: else the result may be that of a cheap source. If it is "
                    "a parameter like any other, all is well.",
                )

    def _other_preferred_source(self, view: StudyView) -> None:
        """Warn where earlier trials are marked by another preferred source.

        Finished trials cannot be marked anew.
        """
        sources = view.sources
        if sources.distribution is None or not self._once.first(view.study, "preferred source"):
            return
        wrong = [
            trial.number
            for trial in view.trials
            if trial.state == TrialState.COMPLETE
            and (index := attributes.source_index_of(trial)) is not None
            and (index == 0) != (sources.of_trial(trial.params) == 0)
        ]
        if wrong:
            attributes.logger.warning(
                f"The preferred source is {sources.choices[0]!r}, but it was another when "
                f"{len(wrong)} of the trials so far have run, such as trial {wrong[0]}. "
                "`study.best_trial` and `study.best_params` go by that and may be of another "
                "source: read the result with `recommend(study)`."
            )

    def _many_pruned(self, study: Study, trial: FrozenTrial) -> None:
        """Warn if a good part of the trials of the preferred source is pruned."""
        if self._settings.steps is not None or self._once.is_said(study, "pruned"):
            return
        trials = attributes.all_trials(study)
        sources = self._settings.sources(
            latest_distribution(self._settings.source, trials), trials
        )
        if sources.steps:  # What a training has reported is known.
            return
        has_name = sources.distribution is not None
        states = [
            TrialState.PRUNED if t.number == trial.number else t.state
            for t in trials
            if sources.of_trial(t.params) == 0 and (sources.name in t.params or not has_name)
        ]
        n_pruned, n_complete = map(states.count, (TrialState.PRUNED, TrialState.COMPLETE))
        n = n_pruned + n_complete
        if n_pruned < max(_MANY_PRUNED, _PART_PRUNED * n):
            return
        of = f" of the preferred source {sources.choices[0]!r}" if has_name else ""
        self._say(
            study,
            "pruned",
            f"{n_pruned} of {n} trials{of} were pruned. Their costs count, but the models learn "
            "nothing from a part of an evaluation. Unless you want that, create the study with "
            "`pruner=optuna.pruners.NopPruner()`, since Optuna's default prunes. What ends early, "
            "such as fewer epochs, can be a source of its own.",
        )

    def _pruned_without_cost(self, study: Study, trial: FrozenTrial) -> None:
        """Warn if what a training has cost is lost, as its objective sets that at the end only."""
        if self._settings.steps is None or self._once.is_said(study, "pruned without cost"):
            return
        cost_attr, trials = self._settings.cost_attr, attributes.all_trials(study)
        if cost_attr in trial.user_attrs or not has_own_unit(trials, cost_attr):
            return
        self._say(
            study,
            "pruned without cost",
            f"Trial {trial.number} was pruned before it has set the user attribute {cost_attr!r}, "
            "so that its cost is unknown and counts as 0. Let the objective call "
            f"`trial.set_user_attr({cost_attr!r}, ...)` with its cost so far each time before it "
            "reports.",
        )

    def _no_reports(self, study: Study, trial: FrozenTrial) -> None:
        """Warn if a training that was meant to be short has not called its pruner there."""
        record = recorded_rungs(trial)
        if record is None or record[0] == max(record) or self._once.is_said(study, "reports"):
            return
        step = record[0]
        if visit_of(trial, step) is None:
            self._say(
                study,
                "reports",
                f"Trial {trial.number} was meant for step {step}, but went on to its end, with no "
                "call of `trial.should_prune()` there. Let the objective call "
                "`trial.report(value, step)` and `trial.should_prune()` at each step, and raise "
                "`optuna.TrialPruned` where that is true.",
            )

    def _short_of_the_last_step(self, study: Study, trial: FrozenTrial) -> None:
        """Warn if full trainings end long before the last step, whose value theirs count as."""
        record, reached = recorded_rungs(trial), trial.last_step
        if record is None or reached is None or self._once.is_said(study, "last step"):
            return
        *others, last = sorted(record[1:])
        if not others or reached >= others[-1]:
            return
        visits = [visit_of(trial, step) for step in others if step <= reached]
        if any(visit is not None and visit.stops for visit in visits):
            return  # It was to stop, and has returned instead of raising `TrialPruned`.
        self._say(
            study,
            "last step",
            f"Trial {trial.number} has returned its value after step {reached}. That counts as a "
            f"value of step {last}, the last of `steps`. If trainings end at step {reached}, let "
            "`steps` end there.",
        )

    def _pruned_by_default(self, study: Study, trial: FrozenTrial) -> None:
        """Warn if Optuna's default pruner decides in the place of the models."""
        pruner = study.pruner
        is_default = type(pruner) is MedianPruner and vars(pruner) == vars(MedianPruner())
        if self._settings.steps is not None and is_default:
            self._say(
                study,
                "default pruner",
                f"Trial {trial.number} was pruned by MedianPruner, Optuna's default, which does "
                "not know the models. Pass `pruner=MisoWildPruner()` to `create_study`, and to "
                "`load_study` too.",
            )

    # Failures and constraints.

    def _many_failed(self, study: Study, trial: FrozenTrial) -> None:
        if self._once.is_said(study, "failed"):
            return
        said = many_failed(trial, attributes.all_trials(study), self._settings.source)
        if said is not None:
            self._say(study, "failed", said)

    def _too_many_constraints(self, view: StudyView) -> None:
        ignored = view.ignored_constraints
        if ignored:
            self._say(
                view.study,
                "constraints",
                f"The search heeds {MAX_CONSTRAINTS} constraints, those that most trials have, "
                f"and ignores {len(ignored)} more, such as {ignored[0]!r}. Several can be one: "
                "their largest value.",
            )

    # The initial design.

    def _initial_design(self, view: StudyView) -> None:
        """Compare what it costs with the budget; when it is over, the sources with each other."""
        study = view.study
        if self._once.is_said(study, "initial design"):
            return
        observations = view.design_observations
        if self._method.design(observations, view.n_rows):
            self._budget_of_design(view)
        elif not (observations.pending & (observations.design_row >= 0)).any():
            if self._once.first(study, "initial design"):
                self._cheapest_is_preferred(view)

    def _budget_of_design(self, view: StudyView) -> None:
        budget = self._settings.budget
        if budget is None or view.spent >= budget:
            return
        seen = view.design_observations
        n_preferred = sum(s == 0 for s, _ in self._method.design(seen, view.n_rows))
        if len(seen.costed(0)) < min(n_preferred, 2):
            return  # One cost alone may be far from the others.
        n_rest, rest = rest_of_design(view, self._method)
        if view.spent + rest > budget:
            self._say(
                view.study,
                "budget of the design",
                f"`budget={budget:g}` is less than what the initial design costs: the trials so "
                f"far have cost {view.spent:g}, and {what_remains(n_rest, rest)}. Nothing remains "
                f"to optimise with. Raise `budget`, which is in {unit_of(view)}, or lower "
                f"`n_startup_trials={view.n_rows}`.",
            )

    def _cheapest_is_preferred(self, view: StudyView) -> None:
        if self._settings.preferred_source is not FIRST:
            return
        observations, choices = view.design_observations, view.sources.choices
        costs = {
            source: float(np.median(observations.cost[observations.costed(source)]))
            for source in observations.queryable
            if len(observations.costed(source))
        }
        others = [source for source in observations.queryable if source > 0]
        if not others or len(costs) < len(observations.queryable):
            return
        least = min(costs[source] for source in others)
        if not _is_clearly_cheaper(costs[0], least, view.trials):
            return
        expensive = choices[max(others, key=lambda source: costs[source])]
        compared = ", ".join(f"{choices[s]!r} {costs[s]:.3g}" for s in others)
        attributes.logger.warning(
            f"The preferred source {choices[0]!r}, the first choice of {view.sources.name!r}, is "
            f"by far the cheapest: it costs {costs[0]:.3g} in the median, {compared}. If "
            f"{expensive!r} is what you want to optimise, list it first or pass "
            f"`preferred_source={expensive!r}`; if not, `preferred_source={choices[0]!r}` says so."
        )

    # Costs and budget.

    def _malformed(self, study: Study, trials: Iterable[FrozenTrial]) -> None:
        """Warn once of each trial whose records make no sense, and of the first such costs."""
        for trial in trials:
            topic = ("malformed", trial.number)
            if self._once.is_said(study, topic):
                continue
            problems = [attributes.malformed(trial)]
            cost = malformed_cost(trial, self._settings.cost_attr)
            if cost is not None:
                problems.append(self._of_malformed_cost(study, cost))
            said = " ".join(problem for problem in problems if problem is not None)
            if said:
                attributes.logger.warning(said)
            if said or cost is not None or trial.state.is_finished():
                self._once.first(study, topic)

    def _of_malformed_cost(self, study: Study, problem: str) -> str | None:
        counts = range(_MAX_MALFORMED)
        new = next((i for i in counts if self._once.first(study, ("malformed cost", i))), None)
        if new is None:
            return None
        if self._settings.budget is not None:
            problem += " It does not count towards the budget."
        if new == _MAX_MALFORMED - 1:
            problem += " Further trials with such a cost are not mentioned."
        return problem

    def _mixed_costs(
        self, study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]
    ) -> None:
        """Warn where only a part of the completed trials has a cost that the objective sets."""
        if self._once.is_said(study, "mixed costs"):
            return
        cost_attr = self._settings.cost_attr
        has_own = cost_attr in trial.user_attrs
        for other in trials:
            if (
                other.state == TrialState.COMPLETE
                and other.number != trial.number
                and attributes.source_index_of(other) is not None  # It ran under one of ours.
                and _sets_cost(other, cost_attr) != has_own
            ):
                break
        else:
            return
        having, lacking = (trial, other) if has_own else (other, trial)
        self._say(
            study,
            "mixed costs",
            f"Trial {having.number} has set the user attribute {cost_attr!r} = "
            f"{having.user_attrs[cost_attr]!r}, but trial {lacking.number} has not, and its "
            "seconds may be another unit. While at least half of the completed trials have "
            "set it, the others count as of unknown cost, else as seconds together with it. "
            f"Let the objective call `trial.set_user_attr({cost_attr!r}, ...)` in every "
            "trial, or in none.",
        )

    def _other_cost_attr(self, view: StudyView) -> None:
        """Warn where a study is resumed without the name that its costs have had so far."""
        recorded, cost_attr = recorded_cost_attr(view.trials), self._settings.cost_attr
        if recorded not in (COST_ATTR, cost_attr):
            self._say(
                view.study,
                "other cost",
                f"The trials so far have recorded their costs as {recorded!r}, but "
                f"{self._sampler} looks for {cost_attr!r}. If they are the same costs, pass "
                f"`cost_attr={recorded!r}` to the sampler again.",
            )

    def _spent_budget(self, view: StudyView) -> None:
        budget = self._settings.budget
        if budget is not None and view.spent >= budget:
            self._say(
                view.study,
                "spent budget",
                f"The budget of {budget:g} is spent: the trials so far have cost "
                f"{view.spent:g}. {self._sampler} goes on without regard to cost. "
                "`CostBudgetCallback` stops a study after a trial; check "
                "`CostBudgetCallback.is_spent(study)` before `study.optimize` to run none.",
            )

    # Search space.

    def independent_sampling(self, study: Study, trial: FrozenTrial, param_name: str) -> None:
        """Warn that a parameter is drawn by the independent sampler, once, as Optuna's do."""
        topic = ("independent", param_name)
        if self._once.is_said(study, topic):
            return
        if any(t.state == TrialState.COMPLETE for t in attributes.all_trials(study)):
            self._say(
                study,
                topic,
                f"The parameter {param_name!r} of trial {trial.number} is sampled independently "
                f"of the others by {self._sampler}, and will be wherever it is conditional. One "
                "that is new, or has a new range, is optimised as soon as three completed trials "
                "in a row have it so. Set `warn_independent_sampling=False` if this is intended.",
            )


def rest_of_design(view: StudyView, method: Method) -> tuple[int, float]:
    """Return how many trials of the initial design remain, and what they will cost at least.

    Sources that have not been observed yet count as free.
    """
    seen = view.design_observations
    rest = [source for source, _ in method.design(seen, view.n_rows)]
    known = [seen.cost[seen.costed(source)] for source in rest]
    return len(rest), math.fsum(typical_cost(costs) for costs in known if (costs > 0.0).any())


def what_remains(n: int, rest: float) -> str:
    """Return in words how many trials of the design remain, and what they will cost at least."""
    remain, are = ("remains", "is") if n == 1 else ("remain", "are")
    if rest == 0.0:  # None of their sources has a cost yet.
        return f"{n} {remain}"
    return f"the {n} that {remain} {are} predicted to cost {rest:.4g} at least"


def unit_of(view: StudyView) -> str:
    """Return in words what the costs of a study are measured in."""
    if view.has_own_unit:
        return f"the unit of {view.cost_attr!r}, which the objective sets"
    return f"seconds, since the objective does not set {view.cost_attr!r}"


def _is_clearly_cheaper(cost: float, other: float, trials: Sequence[FrozenTrial]) -> bool:
    is_noise = other < _MEASURABLE and any(map(attributes.is_timed, trials))
    return cost < _CLEARLY_CHEAPER * other and not is_noise


def _compared(
    name: str,
    distribution: CategoricalDistribution,
    trials: Sequence[FrozenTrial],
    cost_attr: str,
) -> str | None:
    """Return what choices cost, if the first costs by far the most, as a source would."""
    by_choice: list[list[float]] = [[] for _ in distribution.choices]
    for trial, cost in zip(trials, costs_of(trials, cost_attr), strict=True):
        same = trial.distributions.get(name) == distribution
        if trial.state == TrialState.COMPLETE and math.isfinite(cost) and same:
            by_choice[int(distribution.to_internal_repr(trial.params[name]))].append(cost)
    if not all(by_choice):
        return None
    medians = [float(np.median(own)) for own in by_choice]
    cheapest = int(np.argmin(medians))
    if min(len(by_choice[0]), len(by_choice[cheapest])) < _MIN_COMPARED or medians[0] < max(
        medians
    ):
        return None
    if not _is_clearly_cheaper(medians[cheapest], medians[0], trials):
        return None
    return (
        f"{name!r} = {distribution.choices[0]!r} costs {medians[0]:.3g} in the median, and "
        f"{distribution.choices[cheapest]!r} only {medians[cheapest]:.3g}"
    )


def _sets_cost(trial: FrozenTrial, cost_attr: str) -> bool:
    return cost_attr in trial.user_attrs and not attributes.is_timed(trial)
