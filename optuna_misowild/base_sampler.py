"""What the samplers share: from Optuna's calls to a method's proposal, and back."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
import math
import time
from typing import TYPE_CHECKING
from typing import Any
import warnings

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.trial import Trial
from optuna.trial import TrialState

from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.methods import arguments
from optuna_misowild.methods.base import Proposal
from optuna_misowild.methods.unobserved import nearest_unobserved
from optuna_misowild.model import Model
from optuna_misowild.study import attributes
from optuna_misowild.study.conflicts import must_give_way
from optuna_misowild.study.continued import own_params
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.costs import write_cost_attr
from optuna_misowild.study.costs import write_duration_as_cost
from optuna_misowild.study.initial_design import InitialDesign
from optuna_misowild.study.initial_design import Rows
from optuna_misowild.study.memory import PerStudy
from optuna_misowild.study.optuna_private import partially_fixed
from optuna_misowild.study.readings import ended_on
from optuna_misowild.study.seed import study_seed
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.snapshot import StudyView
from optuna_misowild.study.space import decode
from optuna_misowild.study.space import encode_known
from optuna_misowild.study.space import from_unit
from optuna_misowild.study.steps import forget_visits
from optuna_misowild.study.steps import meant_for
from optuna_misowild.study.steps import write_meant
from optuna_misowild.study.warnings import Warnings
from optuna_misowild.trainings import judged
from optuna_misowild.trainings import resumed
from optuna_misowild.trainings import resumed_row
from optuna_misowild.trainings import running_training
from optuna_misowild.trainings import write_beginning


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.methods.base import Method
    from optuna_misowild.methods.base import Training
    from optuna_misowild.methods.base import Verdict


# Workers that ask at the same moment look this often at what the others have chosen meanwhile.
_MAX_REVISIONS = 3


class MethodSampler(BaseSampler):
    """What the samplers share: Optuna's contract on the one side, a method on the other.

    It keeps no state but its settings: what is known of a study is read from its trials. The
    models of the latest suggestion are kept for the trainings that go on meanwhile.

    Args:
        method: What chooses the queries.
        settings: How the trials are to be read.
        constraints_func: Takes a trial to its constraints, or None.
        independent_sampler: Sampler for parameters that not all trials have, or None.
        warn_independent_sampling: Whether to warn when it is used.
        seed: Seed of the suggestions, or None.
    """

    means_rungs = True  # By which is known that a study is not only looked at.

    def __init__(
        self,
        *,
        method: Method,
        settings: Settings,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None,
        independent_sampler: BaseSampler | None,
        warn_independent_sampling: bool,
        seed: int | None,
    ) -> None:
        self._method = method
        self._settings = replace(settings, only_preferred=method.only_preferred)
        if independent_sampler is not None and not isinstance(independent_sampler, BaseSampler):
            raise TypeError(
                "`independent_sampler` must be an Optuna sampler or None, but got "
                f"{independent_sampler!r}."
            )
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = arguments.flag(
            "warn_independent_sampling", warn_independent_sampling
        )
        if constraints_func is not None:
            if not callable(constraints_func):
                raise TypeError(
                    "`constraints_func` must be a function of a trial or None, but got "
                    f"{constraints_func!r}."
                )
            if hasattr(Trial, "set_constraint"):
                warnings.warn(
                    "`constraints_func` is deprecated, as in all samplers of Optuna since 5.0.0. "
                    "Let the objective call `trial.set_constraint(name, value)` instead.",
                    FutureWarning,
                    stacklevel=3,  # Where the user creates the sampler.
                )
        self._constraints_func = constraints_func
        self._seed = None if seed is None else arguments.integer("seed", seed, least=0)
        self._latest = PerStudy()
        self._warnings = Warnings(type(self).__name__, self._settings, self._method)

    def reseed_rng(self) -> None:
        # Nothing of our own to reseed: every trial has a random stream of its own, given by the
        # seed and the trial's number, so that parallel trials differ already.
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    # The calls that a trial makes, in their order.

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        attributes.write_begin(study, trial)
        forget_visits(study, trial)
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        view = self.view(study)
        space = dict(view.space)
        if (space or view.has_only_sources) and view.sources.distribution is not None:
            space[self._settings.source] = view.sources.distribution
        return space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        _require_one_objective(study)
        start = time.perf_counter()
        params = self._choose(study, trial, search_space)
        attributes.write_thinking(study, trial, time.perf_counter() - start)
        return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        _require_one_objective(study)
        if self._settings.checkpoints:
            own = own_params(study, trial)
            if param_name in own:
                return own[param_name]
        slot = attributes.read_row(study, trial)
        if param_name == self._settings.source:
            if slot is not None:
                slot = self._confirm_slot(study, trial, slot, param_distribution)
            sources = self._settings.sources(param_distribution)
            index = slot[0] if slot is not None and slot[0] in sources.queryable else 0
            return sources.choices[index]
        if slot is not None:
            # Of the first trials the source may be fixed before any trial has shown its choices.
            known = trial.distributions.get(self._settings.source)
            named = self._settings.sources(known).of_trial(trial.params) if known else None
            source = slot[0] if named is None else named
            u = self._rows(study).coordinate(param_name, source, slot[1])
            return from_unit(param_distribution, u)
        if self._warn_independent_sampling:
            self._warnings.independent_sampling(study, trial, param_name)
        if self._independent_sampler is not None:
            return self._independent_sampler.sample_independent(
                study, trial, param_name, param_distribution
            )
        rng = np.random.default_rng([self._entropy(study), trial.number, *param_name.encode()])
        return from_unit(param_distribution, rng.random())

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        independent = self._independent_sampler
        if independent is not None:
            # First, since it may set constraints, to which we add one.
            with _kept(trial, f"The independent sampler, {type(independent).__name__}, after"):
                independent.after_trial(study, trial, state, values)
        try:
            if state in (TrialState.COMPLETE, TrialState.PRUNED):
                self._record_constraints(study, trial)
        finally:  # What the user's function raises stops the study, as with Optuna's samplers.
            with _kept(trial, "Recording the source and the cost of"):
                self._record(study, trial, state)
            with _kept(trial, "Looking for likely mistakes in"):
                self._warnings.after_trial(study, trial, state)

    def _record_constraints(self, study: Study, trial: FrozenTrial) -> None:
        if self._constraints_func is None:
            return
        constraints = None
        try:
            constraints = _numbers(self._constraints_func(trial))
        finally:
            attributes.write_constraints(study, trial, constraints)

    def _record(self, study: Study, trial: FrozenTrial, state: TrialState) -> None:
        cost_attr = self._settings.cost_attr
        write_cost_attr(study, trial, cost_attr)
        if cost_attr not in trial.user_attrs and not has_own_unit(
            attributes.all_trials(study), cost_attr
        ):
            write_duration_as_cost(study, trial, cost_attr)
        distribution = trial.distributions.get(self._settings.source)
        sources = self._settings.sources(distribution, attributes.all_trials(study))
        index = sources.of_trial(trial.params)
        assert index is not None
        if sources.are_rungs:
            index = ended_on(trial, sources, is_complete=state == TrialState.COMPLETE)
        is_marked = distribution is not None or sources.are_rungs
        attributes.write_source(study, trial, index, constrained=is_marked)

    # How a trial is chosen.

    def _choose(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
        source_distribution: BaseDistribution | None = None,
    ) -> dict[str, Any]:
        """Return the next query; empty if its parameters are to be sampled one by one.

        It is one that no other worker has chosen meanwhile. The distribution of the source
        parameter may be known before any trial has it.
        """
        attributes.withdraw(study, trial)
        fixed = _fixed_params(study, trial)
        is_given = bool(attributes.enqueued_params(trial))
        for revision in range(_MAX_REVISIONS + 1):
            view = StudyView(
                study,
                self._settings,
                asking=trial.number,
                source_distribution=source_distribution,
            )
            earlier: FrozenTrial | None = None
            allowed = self._allowed_sources(view, fixed)
            if view.sources.are_rungs and is_given:  # To the end; where it is retried, as before.
                allowed = (meant_for(trial, view.sources),)
            design = self._design(view, fixed)
            # Not while waiting for storage or other workers: the limit is the whole process's.
            with single_blas_thread():
                if revision == 0:
                    self._warnings.before_suggestion(view)
                slot = design.next_slot(allowed)
            if slot is not None:
                # Through `sample_independent`, parameter by parameter: not all are known yet.
                if revision == _MAX_REVISIONS:  # A row that nobody else takes.
                    slot = slot[0], view.n_rows + trial.number
                proposal = Proposal(slot[0], design.location(*slot))
                if self._settings.checkpoints and not fixed:
                    earlier = resumed_row(view, *slot)
            elif search_space:
                with single_blas_thread():
                    proposal = self._propose(view, trial, fixed, allowed, revision)
                    if self._settings.checkpoints and not fixed:
                        proposal, earlier = resumed(
                            self._method, view, proposal, allowed, search_space
                        )
            else:
                return {}
            if view.sources.are_rungs:  # First: what others read next is a query of this rung.
                write_meant(study, trial, view.sources, proposal.source)
            if slot is not None:
                attributes.write_row(study, trial, *slot)
            params = self._params(view, proposal, search_space)
            if earlier is not None:
                write_beginning(study, trial, view, earlier)
                params = {n: earlier.params[n] for n in search_space if n in earlier.params}
            if params:
                attributes.write_params(study, trial, search_space, params)
            if not must_give_way(view, slot, proposal if params else None):
                break
            if revision < _MAX_REVISIONS:
                attributes.withdraw(study, trial)
        return params if slot is None else {}

    def _confirm_slot(
        self,
        study: Study,
        trial: FrozenTrial,
        slot: tuple[int, int],
        source_distribution: BaseDistribution,
    ) -> tuple[int, int]:
        """Return the (source, row) of a trial that suggests its source, which makes it known.

        The first trials choose while nobody knows of other sources. If their choice is not what
        the initial design wants with these, they choose again; where parameters of the row have
        been suggested, only the source.
        """
        if attributes.has_announced(study, trial, self._settings.source):
            return slot
        start = time.perf_counter()
        view = StudyView(
            study, self._settings, trial.number, source_distribution=source_distribution
        )
        seen = view.design_observations
        wanted = self._method.design(seen, view.n_rows)
        if not wanted or slot in wanted[: 1 + int(seen.pending.sum())]:
            return slot
        if trial.params:
            at_row = seen.source[seen.design_row == slot[1]]
            slot = next(((s, slot[1]) for s, _ in wanted if s not in at_row), slot)
        else:
            self._choose(study, trial, {}, source_distribution)
            # Others may have taken the last rows meanwhile, and what was withdrawn: a new one.
            slot = attributes.read_row(study, trial) or (slot[0], view.n_rows + trial.number)
        attributes.write_row(study, trial, *slot)
        thinking = attributes.thinking_of(trial) + time.perf_counter() - start
        attributes.write_thinking(study, trial, thinking)
        return slot

    def _propose(
        self,
        view: StudyView,
        trial: FrozenTrial,
        fixed: dict[str, Any],
        allowed: tuple[int, ...],
        revision: int,
    ) -> Proposal:
        """Return what the method suggests."""
        rng = np.random.default_rng([self._entropy(view.study), trial.number, revision])
        location = encode_known(view.space, fixed)
        if view.has_only_sources:
            proposal = Proposal(allowed[0], location)
        elif revision < _MAX_REVISIONS:
            proposal = self._method.propose(
                view.observations, view.domain, rng=rng, sources=allowed, fixed=location
            )
            if view.sources.steps and proposal.model is not None:
                self._latest.of(view.study).update(
                    {"model": proposal.model, trial.number: proposal.value}
                )
        else:  # The others always chose the same: keep out of their way.
            x = np.where(np.isnan(location), rng.random(len(location)), location)
            proposal = Proposal(allowed[0], np.where(np.isnan(location), view.domain.snap(x), x))
        return nearest_unobserved(
            proposal, *view.observed(), view.domain, fixed=location, allowed=allowed, rng=rng
        )

    def _params(
        self, view: StudyView, proposal: Proposal, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the parameters of a proposal, as far as they are in the search space."""
        params = decode(view.space, proposal.x)
        if view.sources.distribution is not None:
            params[self._settings.source] = view.sources.choices[proposal.source]
        return {name: params[name] for name in search_space if name in params}

    def _allowed_sources(self, view: StudyView, fixed: dict[str, Any]) -> tuple[int, ...]:
        if view.sources.distribution is not None and self._settings.source in fixed:
            index = view.sources.of_trial(fixed)
            if index is not None:
                return (index,)
        return view.sources.queryable

    def _entropy(self, study: Study) -> int:
        return study_seed(study) if self._seed is None else self._seed

    def _design(self, view: StudyView, fixed: dict[str, Any]) -> InitialDesign:
        return InitialDesign(self._method, self._rows(view.study), view, fixed)

    def _rows(self, study: Study) -> Rows:
        return Rows(self._entropy(study), self._settings.block, self._method.nested_design)

    def verdict(
        self, view: StudyView, trial: FrozenTrial, source: int, paid: float
    ) -> tuple[Verdict, Training]:
        """Return whether a training that has reached a source goes on, and what was judged.

        By the models of the latest suggestion in this process, which know by now what the training
        has reported. Where the method has none, a training stops at the rung it is meant for.
        """
        latest = self._latest.of(view.study)
        training = running_training(view, trial, source, paid, latest.get(trial.number, math.nan))
        with single_blas_thread():
            return judged(self._method, latest.get("model"), view, training), training

    # Looking inside.

    @property
    def method(self) -> Method:
        """The method, with its constants."""
        return self._method

    @property
    def n_startup_trials(self) -> int | None:
        """Number of rows of the initial design, or None if it follows from the parameters."""
        return self._settings.n_startup_trials

    @property
    def budget(self) -> float | None:
        """The total cost that may be spent, or None."""
        return self._settings.budget

    @property
    def settings(self) -> Settings:
        """How the trials of a study are read."""
        return self._settings

    def view(self, study: Study, trials: list[FrozenTrial] | None = None) -> StudyView:
        """Return what the sampler knows of a study as it is now, or by trials that were read."""
        _require_one_objective(study)
        return StudyView(study, self._settings, trials=trials)

    def model(self, study: Study) -> Model:
        """Return the models fitted to the trials of a study as they are now.

        Args:
            study: A study with at least one finished trial that has a value.

        Returns:
            The model that the next suggestion would use.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If the study has several objectives, or lacks the preferred source, or if
                there is nothing to fit yet.
        """
        require_study(study)
        return self.model_of(self.view(study))

    def model_of(self, view: StudyView) -> Model:
        """Return the models fitted to the trials of a view; see :meth:`model`."""
        if not view.observations.has_value.any():
            raise ValueError(
                "There is no model yet: none of the study's "
                f"{len(view.trials)} trials has finished with a value."
            )
        with single_blas_thread():
            fitted = self._method.fit(view.observations, view.domain)
        return Model(fitted, view.space, view.sources)


def require_study(study: Any) -> None:
    """Raise a ``TypeError`` if it is no study."""
    if not isinstance(study, optuna.Study):
        raise TypeError(f"`study` must be an Optuna study, but got {study!r}.")


def _require_one_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"`study` has {len(study.directions)} objectives (multi-objective optimisation), but "
            "the samplers optimise one."
        )


@contextmanager
def _kept(trial: FrozenTrial, what: str) -> Iterator[None]:
    """Log what is raised inside, after an objective has been paid for.

    Optuna would store the trial and then stop the study.
    """
    try:
        yield
    except Exception as error:
        attributes.logger.warning(
            f"{what} trial {trial.number} failed with {error!r}. The trial is kept."
        )


def _fixed_params(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """Return the parameters of a trial that are not ours to choose.

    Those it was enqueued with, those of a ``PartialFixedSampler`` around this one, and those
    that it has already.
    """
    return {
        **attributes.enqueued_params(trial),
        **partially_fixed(study.sampler),
        **trial.params,
    }


def _numbers(constraints: Any) -> tuple[float, ...]:
    """Return what a ``constraints_func`` has returned, as it is recorded."""
    try:
        values = tuple(map(float, constraints))
    except (TypeError, ValueError):
        raise TypeError(
            f"`constraints_func` must return a sequence of numbers, but returned {constraints!r}."
        ) from None
    if any(map(math.isnan, values)):
        raise ValueError(f"`constraints_func` must not return NaN, but returned {constraints!r}.")
    return values
