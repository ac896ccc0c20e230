"""What is said to the user about a study: likely mistakes, each of them once.

Nothing here changes a suggestion. A false alarm is worse than silence, so each check speaks only
of what the sampler has seen happen, and leaves ordinary uses alone: no source parameter, costs
that are times, trials that were added.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from optuna.trial import TrialState

from optuna_misowild.study import attributes
from optuna_misowild.study.constraints import MAX_CONSTRAINTS
from optuna_misowild.study.costs import COST_ATTR
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.costs import malformed_cost
from optuna_misowild.study.costs import recorded_cost_attr
from optuna_misowild.study.design_budget import rest_of_design
from optuna_misowild.study.design_budget import unit_of
from optuna_misowild.study.design_budget import what_is_left
from optuna_misowild.study.failures import many_failed
from optuna_misowild.study.missing_source import CLEARLY_CHEAPER
from optuna_misowild.study.missing_source import MEASURABLE
from optuna_misowild.study.missing_source import missing_source
from optuna_misowild.study.missing_source import only_source
from optuna_misowild.study.once import OncePerStudy
from optuna_misowild.study.once import PerStudy
from optuna_misowild.study.once import UncheckedTrials
from optuna_misowild.study.pruned import many_pruned
from optuna_misowild.study.source_parameter import FIRST


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.methods.base import Method
    from optuna_misowild.study.snapshot import Settings
    from optuna_misowild.study.snapshot import StudyView


# "costs", "Cost" and "cost_" are as close to "cost"; "cos" and "post" are not.
_CLOSE = 0.88
# So many trials are told of one by one.
_MAX_MALFORMED = 3
# A budget for more evaluations of the preferred source than this is as good as none.
_MANY_EVALUATIONS = 1000


class Advice:
    """What a sampler says about the studies that it is used in.

    Args:
        sampler: Its name.
        settings: How it reads trials.
        method: Its method.
        n_startup_trials: Number of rows of its initial design.
    """

    def __init__(
        self, sampler: str, settings: Settings, method: Method, n_startup_trials: int
    ) -> None:
        self._sampler = sampler
        self._settings = settings
        self._method = method
        self._n_startup_trials = n_startup_trials
        self._once = OncePerStudy()
        self._unchecked = PerStudy(UncheckedTrials)

    # When it is said.

    def before_suggestion(self, view: StudyView) -> None:
        """Say what the trials so far tell."""
        self._malformed(view.study, view.trials)
        self._other_preferred_source(view)
        self._other_cost_attr(view)
        self._spent_budget(view)
        self._expensive_sources(view)
        self._initial_design(view)
        self._too_many_constraints(view)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState) -> None:
        """Say what a trial tells that ends now, by the attributes that its objective has set.

        Only trials that the sampler has suggested come here, never those that were added.
        """
        self._malformed(study, [trial])
        if state == TrialState.COMPLETE:
            trials = attributes.all_trials(study)
            self._missing_source(study, trial, trials)
            self._mixed_costs(study, trial, trials)
        elif state == TrialState.PRUNED:
            self._pruned(study, trial)
        elif state == TrialState.FAIL:
            self._failed(study, trial)

    # Sources.

    def _missing_source(
        self, study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]
    ) -> None:
        if self._once.is_said(study, "missing source"):
            return
        said = missing_source(self._settings, trial, trials)
        if said is not None and self._once.first(study, "missing source"):
            attributes.logger.warning(said)
            return
        said = only_source(self._settings, trial, trials)
        if said is not None and self._once.first(study, "only source"):
            attributes.logger.info(said)

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

    def _expensive_sources(self, view: StudyView) -> None:
        choices = view.sources.choices
        observations = view.design_observations
        if not view.space or not observations.cost[observations.costed(0)].any():
            return  # Where the preferred source is free, what else would one observe?
        if self._method.design(observations, self._n_startup_trials):
            return
        ratios = self._method.too_expensive(view.observations, view.domain)
        for source, ratio in ratios.items():
            if not self._once.first(view.study, f"expensive source {source}"):
                continue
            said = (
                f"Source {choices[source]!r} is dropped, unless later costs say otherwise: it "
                f"costs {ratio:.3g} times as much as {choices[0]!r}, above `max_cost_ratio`."
            )
            if self._once.first(view.study, "expensive source"):
                said += (
                    " Offer a cheaper one in its place, or raise the limit with "
                    "`MisoWildSampler(method=RobustMethod(max_cost_ratio=...))`."
                )
                if not has_own_unit(view.trials, view.cost_attr):
                    said += (
                        " If these seconds are mostly the noise of the clock, let the objective "
                        f"set a cost of your own: `trial.set_user_attr({view.cost_attr!r}, ...)`."
                    )
            attributes.logger.warning(said)

    def _pruned(self, study: Study, trial: FrozenTrial) -> None:
        """Warn if a good part of the trials of the preferred source is pruned."""
        if self._once.is_said(study, "pruned"):
            return
        said = many_pruned(self._settings, trial, attributes.all_trials(study))
        if said is not None and self._once.first(study, "pruned"):
            attributes.logger.warning(said)

    # Failures and constraints.

    def _failed(self, study: Study, trial: FrozenTrial) -> None:
        if self._once.is_said(study, "failed"):
            return
        said = many_failed(trial, attributes.all_trials(study), self._settings.source)
        if said is not None and self._once.first(study, "failed"):
            attributes.logger.warning(said)

    def _too_many_constraints(self, view: StudyView) -> None:
        ignored = view.ignored_constraints
        if ignored and self._once.first(view.study, "constraints"):
            attributes.logger.warning(
                f"The search heeds {MAX_CONSTRAINTS} constraints, those that most trials have, "
                f"and ignores {len(ignored)} more, such as {ignored[0]!r}. Several can be one: "
                "their largest value."
            )

    # The initial design.

    def _initial_design(self, view: StudyView) -> None:
        """Compare what it costs with the budget; when it is over, the sources with each other."""
        study = view.study
        if self._once.is_said(study, "initial design"):
            return
        observations = view.design_observations
        if self._method.design(observations, self._n_startup_trials):
            self._budget_of_design(view)
        elif not (observations.pending & (observations.row >= 0)).any():
            if self._once.first(study, "initial design"):
                self._cheapest_is_preferred(view)
                self._lasting_budget(view)

    def _budget_of_design(self, view: StudyView) -> None:
        budget = self._settings.budget
        if budget is None or view.spent >= budget or len(view.design_observations.costed(0)) < 2:
            return  # One cost alone may be far from the others.
        n_left, rest = rest_of_design(view, self._method, self._n_startup_trials)
        if view.spent + rest > budget and self._once.first(view.study, "budget of the design"):
            attributes.logger.warning(
                f"`budget={budget:g}` is less than what the initial design costs: the trials so "
                f"far have cost {view.spent:g}, and {what_is_left(n_left, rest)}. Nothing is left "
                f"to optimise with. Raise `budget`, which is in {unit_of(view)}, or lower "
                f"`n_startup_trials={self._n_startup_trials}`."
            )

    def _lasting_budget(self, view: StudyView) -> None:
        budget, observations = self._settings.budget, view.design_observations
        costs = observations.cost[observations.costed(0)]
        cost = float(np.median(costs)) if len(costs) else 0.0
        if budget is None or cost == 0.0 or budget / cost < _MANY_EVALUATIONS:
            return
        if cost < MEASURABLE and any(map(attributes.is_timed, view.trials)):
            return
        attributes.logger.info(
            f"`budget={budget:g}` would pay for {budget / cost:.0f} evaluations of the preferred "
            f"source, which cost {cost:.3g} in the median so far: the sampler plans as if there "
            f"were no budget. It is in {unit_of(view)}."
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
        if not costs[0] < CLEARLY_CHEAPER * least:
            return
        if least < MEASURABLE and any(map(attributes.is_timed, view.trials)):
            return
        dearest = choices[max(others, key=lambda source: costs[source])]
        compared = ", ".join(f"{choices[s]!r} {costs[s]:.3g}" for s in others)
        attributes.logger.warning(
            f"The preferred source {choices[0]!r}, the first choice of {view.sources.name!r}, is "
            f"by far the cheapest: it costs {costs[0]:.3g} in the median, {compared}. If "
            f"{dearest!r} is what you want to optimise, list it first or pass "
            f"`preferred_source={dearest!r}`; if not, `preferred_source={choices[0]!r}` says so."
        )

    # Costs and budget.

    def _malformed(self, study: Study, trials: Iterable[FrozenTrial]) -> None:
        """Warn once of each trial whose records make no sense, and of the first such costs."""
        unchecked = self._unchecked.of(study)
        for trial in trials:
            if trial.number not in unchecked:
                continue
            problems = [attributes.malformed(trial)]
            cost = malformed_cost(trial, self._settings.cost_attr)
            if cost is not None:
                problems.append(self._of_malformed_cost(study, cost))
            said = " ".join(problem for problem in problems if problem is not None)
            if said:
                attributes.logger.warning(said)
            if said or cost is not None or trial.state.is_finished():
                unchecked.discard(trial.number)

    def _of_malformed_cost(self, study: Study, problem: str) -> str | None:
        counts = range(_MAX_MALFORMED)
        new = next((i for i in counts if self._once.first(study, f"malformed cost {i}")), None)
        if new is None:
            return None
        if self._settings.budget is not None:
            problem += " It does not count towards the budget."
        if new == _MAX_MALFORMED - 1:
            problem += " Further trials with such a cost are not told."
        return problem

    def _mixed_costs(
        self, study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]
    ) -> None:
        """Warn where only a part of the completed trials has a cost that the objective sets."""
        if self._once.is_said(study, "mixed costs"):
            return
        cost_attr = self._settings.cost_attr
        has_own = cost_attr in trial.user_attrs
        other = next(
            (
                t
                for t in trials
                if t.state == TrialState.COMPLETE
                and t.number != trial.number
                and attributes.source_index_of(t) is not None  # It ran under a sampler of ours.
                and _sets_cost(t, cost_attr) != has_own
            ),
            None,
        )
        if other is None:
            if not has_own:
                self._misnamed_cost(study, trial)
        elif self._once.first(study, "mixed costs"):
            having, lacking = (trial, other) if has_own else (other, trial)
            attributes.logger.warning(
                f"Trial {having.number} has set the user attribute {cost_attr!r} = "
                f"{having.user_attrs[cost_attr]!r}, but trial {lacking.number} has not, and its "
                "seconds may be another unit. While at least half of the completed trials have "
                "set it, the others count as of unknown cost, else as seconds together with it. "
                f"Let the objective call `trial.set_user_attr({cost_attr!r}, ...)` in every "
                "trial, or in none."
            )

    def _misnamed_cost(self, study: Study, trial: FrozenTrial) -> None:
        cost_attr = self._settings.cost_attr
        for name, value in trial.user_attrs.items():
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or name == attributes.SOURCE_INDEX_ATTR:
                continue
            likeness = SequenceMatcher(None, name.lower(), cost_attr.lower()).ratio()
            likely = likeness >= _CLOSE or name == COST_ATTR
            if likely and self._once.first(study, "misnamed cost"):
                attributes.logger.warning(
                    f"Trial {trial.number} has the user attribute {name!r} = {value!r}, but no "
                    f"{cost_attr!r}: its cost is its duration in seconds. If {name!r} is meant to "
                    f"be the cost, pass `cost_attr={name!r}` to the sampler, or set {cost_attr!r}."
                )

    def _other_cost_attr(self, view: StudyView) -> None:
        """Warn where a study is resumed without the name that its costs have had so far."""
        recorded, cost_attr = recorded_cost_attr(view.trials), self._settings.cost_attr
        if recorded in (COST_ATTR, cost_attr):
            return
        if self._once.first(view.study, "other cost"):
            attributes.logger.warning(
                f"The trials so far have recorded their costs as {recorded!r}, but "
                f"{self._sampler} looks for {cost_attr!r}. If they are the same costs, pass "
                f"`cost_attr={recorded!r}` to the sampler again."
            )

    def _spent_budget(self, view: StudyView) -> None:
        budget = self._settings.budget
        if budget is None or view.spent < budget:
            return
        if self._once.first(view.study, "spent budget"):
            attributes.logger.warning(
                f"The budget of {budget:g} is spent: the trials so far have cost {view.spent:g}. "
                f"{self._sampler} goes on without regard to cost. `CostBudgetCallback` stops a "
                "study after a trial; ask `CostBudgetCallback.is_spent(study)` before "
                "`study.optimize` to run none."
            )

    # Search space.

    def independent_sampling(self, study: Study, trial: FrozenTrial, param_name: str) -> None:
        """Warn that a parameter is left to the independent sampler, once."""
        topic = f"independent {param_name}"
        if self._once.is_said(study, topic):
            return
        if not any(t.state == TrialState.COMPLETE for t in attributes.all_trials(study)):
            return
        if self._once.first(study, topic):
            attributes.logger.warning(
                f"The parameter {param_name!r} of trial {trial.number} is sampled independently "
                f"of the others by {self._sampler}, and will be wherever it is conditional. One "
                "that is new, or has a new range, is optimised as soon as three completed trials "
                "in a row have it so. Set `warn_independent_sampling=False` if this is intended."
            )


def _sets_cost(trial: FrozenTrial, cost_attr: str) -> bool:
    return cost_attr in trial.user_attrs and not attributes.is_timed(trial)
