"""optuna_misowild as an optimizer of carps, the community's benchmark runner (CARP-S).

    python -m carps.run "hydra.searchpath=[pkg://examples.benchmarks.outside.carps_configs]" \
        +optimizer=misowild +task/DUMMY=multifidelity seed=1

On a task with a fidelity, its rungs are the sources; on any other there is one source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from carps.optimizers.optuna import OptunaOptimizer
from carps.utils.trials import TrialInfo
from carps.utils.trials import TrialValue
from ConfigSpace import Configuration
import optuna
from optuna.distributions import CategoricalDistribution

from examples.benchmarks.outside.tasks import N_RUNGS
from examples.benchmarks.outside.tasks import REDUCTION
import optuna_misowild


if TYPE_CHECKING:
    from carps.utils.task import FidelitySpace
    from carps.utils.task import Task
    from carps.utils.types import Incumbent


SOURCE = "misowild_source"  # a name that no parameter of a task has
SECONDS_PER_MINUTE = 60.0


def rungs(space: FidelitySpace) -> tuple[float, ...]:
    """Return the fidelities that are asked, the highest first: whole ones if its ends are whole.

    They are a factor of ``REDUCTION`` apart, at most ``N_RUNGS``, none below the lowest.
    """
    low, high = space.min_fidelity, space.max_fidelity
    whole = isinstance(low, int) and isinstance(high, int)
    levels = (high / REDUCTION**k for k in range(N_RUNGS))
    kept = [round(level) if whole else level for level in levels if level >= low]
    return tuple(dict.fromkeys(kept))


class MisoWildOptimizer(OptunaOptimizer):  # type: ignore[misc]
    """carps' optimizer of Optuna's, with our sampler, fidelities as sources, and costs.

    A cost is what carps counts against the task's resources: with ``n_trials`` the share of the
    highest fidelity, with ``time_budget`` seconds, virtual ones where the task has them.

    Args:
        task: The task of carps.
        loggers: Of carps.
        seed: Of the sampler.
        sampler: Further arguments of ``MisoWildSampler``.
    """

    def __init__(
        self,
        task: Task,
        loggers: list[Any] | None = None,
        seed: int | None = None,
        **sampler: Any,
    ) -> None:
        super().__init__(task, {}, loggers)
        fidelities = task.input_space.fidelity_space
        self.fidelity_enabled = fidelities.is_multifidelity
        self.sampler_arguments = {"source": SOURCE, "seed": seed} | sampler
        if self.fidelity_enabled:
            source = CategoricalDistribution(rungs(fidelities))
            self.optuna_space = {SOURCE: source} | self.optuna_space

    def _setup_optimizer(self) -> optuna.Study:
        resources = self.task.optimization_resources
        money = resources.n_trials
        if money is None:
            money = SECONDS_PER_MINUTE * resources.time_budget
        sampler = optuna_misowild.MisoWildSampler(budget=money, **self.sampler_arguments)
        return optuna.create_study(sampler=sampler)

    def ask(self) -> TrialInfo:
        """Return the next configuration, with the fidelity that it is wanted at."""
        trial = self.solver.ask(self.optuna_space)
        values = dict(trial.params)
        budget = values.pop(SOURCE, None)
        name = f"trial_number={trial.number}"
        config = self._config(values)
        self.history[name] = (trial, config, None)
        return TrialInfo(config=config, name=name, budget=budget)

    def _config(self, values: dict[str, Any]) -> Configuration:
        return Configuration(self.configspace, values=values, allow_inactive_with_values=True)

    def tell(self, trial_info: TrialInfo, trial_value: TrialValue) -> None:
        """Record what a trial gave, and what it cost."""
        trial = self.history[trial_info.name][0]
        if self.task.optimization_resources.n_trials is not None:
            highest = self.task.input_space.fidelity_space.max_fidelity
            cost = trial_info.budget / highest if self.fidelity_enabled else 1.0
        else:
            cost = trial_value.virtual_time or trial_value.time
        if cost > 0.0:  # else the sampler takes the trial's duration
            trial.set_user_attr("cost", cost)
        super().tell(trial_info, trial_value)

    def get_current_incumbent(self) -> Incumbent:
        """Return the best that was observed at the highest fidelity; None before there is one."""
        try:
            best = self.solver.best_trial
        except ValueError:
            return None
        values = dict(best.params)
        budget = values.pop(SOURCE, None)
        info = TrialInfo(config=self._config(values), budget=budget)
        return info, TrialValue(cost=best.value)
