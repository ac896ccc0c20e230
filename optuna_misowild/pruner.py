"""A pruner that decides by the sampler's models whether a training goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna.pruners import BasePruner

from optuna_misowild.study.attributes import enqueued_params
from optuna_misowild.study.attributes import logger
from optuna_misowild.study.continued import beginning_of
from optuna_misowild.study.costs import cost_so_far
from optuna_misowild.study.readings import reached
from optuna_misowild.study.steps import Visit
from optuna_misowild.study.steps import may_be_steps
from optuna_misowild.study.steps import recorded_rungs
from optuna_misowild.study.steps import visit_of
from optuna_misowild.study.steps import write_meant
from optuna_misowild.study.steps import write_visit
from optuna_misowild.study.warnings import OncePerStudy
from optuna_misowild.study_sampler import own_sampler_of


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.study.source_parameter import Sources


class MisoWildPruner(BasePruner):
    """Pruner that stops a training at the step up to which its sampler has meant it.

    For studies whose sources are reported steps, ``MisoWildSampler(steps=...)``. The sampler
    chooses parameters and one of the steps. There the training stops, unless going on is the best
    query there is, at what remains of its cost. It stops earlier where it disappoints, or where
    the rest cannot be paid from the sampler's budget. Trials that were enqueued are trained to the
    end.

    At every step the cost so far is recorded: the time, or the user attribute ``cost`` that the
    objective sets before it reports. Between the steps it does nothing. It never raises, and with
    another sampler it never prunes.

    Example:

        .. code-block:: python

            import optuna
            from optuna_misowild import MisoWildPruner
            from optuna_misowild import MisoWildSampler


            def objective(trial):
                model = build(trial.suggest_float("rate", 1e-4, 1e-1, log=True))
                for epoch in range(1, 53):
                    error = model.train_one_epoch()
                    trial.report(error, epoch)
                    if trial.should_prune():
                        raise optuna.TrialPruned()
                return error


            study = optuna.create_study(
                sampler=MisoWildSampler(steps=(2, 6, 17, 52)), pruner=MisoWildPruner()
            )
            study.optimize(objective, n_trials=100)
    """

    stops_at_rungs = True  # By which a sampler knows that it may mean less than the last step.

    def __init__(self) -> None:
        self._once = OncePerStudy()

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether a trial is to stop now."""
        try:
            sampler = own_sampler_of(study)
            if sampler is not None:
                return self._stops(study, sampler, trial)
            self._never_prunes(study, type(study.sampler).__name__)
        except Exception as error:
            # What the trial was trained for would be lost.
            logger.warning(
                f"MisoWildPruner failed with {error!r} in trial {trial.number}, which goes on."
            )
        return False

    def _stops(self, study: Study, sampler: MethodSampler, trial: FrozenTrial) -> bool:
        step = trial.last_step
        if step is None:
            return False
        before, paid_before = beginning_of(trial)
        record = recorded_rungs(trial)
        if record is not None:  # Mostly there is nothing to decide, and no other trial to be read.
            passed = [rung for rung in record[1:] if before < rung <= step]
            known = visit_of(trial, max(passed)) if passed else Visit()
            if known is not None:
                return known.stops
        view = sampler.view(study)
        sources = view.sources
        if sampler.settings.steps is None and not may_be_steps(sources):
            self._never_prunes(study, f"{type(sampler).__name__} without `steps`")
        source = _source_at(sources, step)
        if source is None or sources.steps[source] <= before:
            return False
        known = visit_of(trial, sources.steps[source])
        if known is not None:
            return known.stops
        cost, is_timed = cost_so_far(trial, sampler.settings.cost_attr)
        visit = Visit(cost, is_timed)
        # Where a parameter names the source, its step is the end of the training.
        end = 0 if sources.are_rungs else sources.of_trial(trial.params)
        if source != end and not _is_given(trial):
            if source not in reached(trial, sources):  # It has reported NaN: it has diverged.
                visit = Visit(cost, is_timed, stops=True)
            else:
                verdict, training = sampler.verdict(view, trial, source, paid_before + cost)
                goes_on_to = verdict.goes_on_to
                stops = goes_on_to is None
                visit = Visit(cost, is_timed, stops, verdict.index, training.other)
                if goes_on_to is not None and goes_on_to != training.meant:
                    write_meant(study, trial, sources, goes_on_to)
        write_visit(study, trial, sources.steps[source], visit)
        return visit.stops

    def _never_prunes(self, study: Study, sampler: str) -> None:
        if self._once.first(study, "sampler"):
            logger.warning(
                f"MisoWildPruner never prunes: the study has {sampler}, which means no trial for "
                "a step. Use it with `sampler=MisoWildSampler(steps=...)`."
            )


def _source_at(sources: Sources, step: int) -> int | None:
    """Return the source of the last rung that is no later than a step, or None."""
    passed = [s for s, rung in enumerate(sources.steps) if rung <= step]
    return max(passed, key=lambda s: sources.steps[s], default=None)


def _is_given(trial: FrozenTrial) -> bool:
    """Whether a trial was enqueued by the user, rather than to retry another one."""
    return bool(enqueued_params(trial)) and "failed_trial" not in trial.system_attrs
