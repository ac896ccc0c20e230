"""The samplers that users create."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from optuna_misowild.base_sampler import MethodSampler
from optuna_misowild.methods.base import Method
from optuna_misowild.methods.carbo import CostCooling
from optuna_misowild.methods.paper import PaperMethod
from optuna_misowild.methods.robust import RobustMethod
from optuna_misowild.study.costs import COST_ATTR
from optuna_misowild.study.snapshot import Settings
from optuna_misowild.study.source_parameter import FIRST


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial


_METHODS: dict[str, type[Method]] = {"robust": RobustMethod, "paper": PaperMethod}


class MisoWildSampler(MethodSampler):
    """Sampler for several information sources whose cost changes over the search space.

    The objective suggests, beside its parameters, the source to evaluate them on: the full data
    or a subset, a fine or a coarse simulation. The sampler learns from all sources, queries the
    one that says most for its cost, and finds the best parameters of the preferred one: the idea
    of MISO-wiLDCosts (Candelieri and Archetti 2021), by default in a form that does not depend
    on the units of the objective and the cost, and is not misled by a biased source.

    A study without a source parameter works as well: the steps at which an iterative learner
    reports its value can be its sources (``steps``), or it is cost-aware optimisation. Constraints
    that the objective sets (``trial.set_constraint``; at most ten) are learnt on each source, and
    so is where trials fail: such places are avoided.

    Example:

        .. code-block:: python

            import optuna
            from optuna_misowild import MisoWildSampler


            def objective(trial):
                source = trial.suggest_categorical("source", ["full", "10%"])
                x = trial.suggest_float("x", -10, 10)
                return evaluate(x, source)


            study = optuna.create_study(sampler=MisoWildSampler())
            study.optimize(objective, n_trials=50)
            study.best_params  # The best on the preferred source, "full".

    What is known of a study is read from its trials at every call, so that a resumed study, or
    another worker with the same seed, goes on in the same way.

    Args:
        method: ``"robust"``; ``"paper"``, MISO-wiLDCosts as published; or a configured method
            object such as ``PaperMethod(m=2.0)``.
        source: Name of the categorical parameter that names the source.
        preferred_source: The choice whose optimum is sought; by default the first one.
        budget: The total cost that may be spent, in the unit of the costs; used for planning
            (``CostBudgetCallback`` stops a study). None for no limit.
        cost_attr: User attribute of a trial that holds its cost. If the objective does not set
            it, it is the trial's wall-clock time in seconds, without that of the suggestion.
            Another name than ``"cost"`` is recorded in the trials, so that callbacks and figures
            find it.
        n_startup_trials: Number of rows of the initial design: locations per source with
            ``method="paper"``; with the default as many for the preferred source alone, while
            cheap sources may have more and less for it. By default one more than there are
            parameters, at least 5 and at most 10.
        query_sources: The choices that may be queried; trials on the others are only read.
            By default all.
        steps: Steps of ``trial.report`` that are the sources of a study without a source
            parameter: two to eight in increasing order, the last of which is the preferred one.
            ``"auto"``: up to six, spaced geometrically over what the longest training has
            reported. A training gives the value of each step that it passes. Where the choices of
            the source parameter are numbers of epochs, and the objective reports them, its
            trials do so without this argument.
        checkpoints: Whether a trial may go on with the training of an earlier one that was
            stopped: :func:`continued_from` returns which, and its cost is only that of the rest.
        constraints_func: Takes a finished trial to its constraints, a sequence of numbers that
            are at most 0 where they are met, as with Optuna's samplers. It is called after each
            complete or pruned trial; what it raises stops the study, and the trial is kept. With
            Optuna 5 it is deprecated: let the objective call ``trial.set_constraint``.
        independent_sampler: Sampler for parameters that not all trials have (conditional search
            spaces). By default they are drawn uniformly.
        warn_independent_sampling: Whether to warn, once for each, of parameters that are sampled
            independently.
        seed: Seed of the suggestions. With the same seed, the same trials and ``n_jobs=1`` the
            suggestions are the same.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense. A preferred source or query
            sources that are no choices of the source parameter are noticed when an objective
            first suggests it.
    """

    def __init__(
        self,
        *,
        method: str | Method = "robust",
        source: str = "source",
        preferred_source: Any = FIRST,
        budget: float | None = None,
        cost_attr: str = COST_ATTR,
        n_startup_trials: int | None = None,
        query_sources: Sequence[Any] | None = None,
        steps: Sequence[int] | str | None = None,
        checkpoints: bool = False,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            method=_method_of(method),
            settings=Settings(
                source=source,
                preferred_source=preferred_source,
                query_sources=query_sources,
                cost_attr=cost_attr,
                budget=budget,
                n_startup_trials=n_startup_trials,
                steps=steps,  # type: ignore[arg-type]  # Which makes a tuple of a sequence.
                checkpoints=checkpoints,
            ),
            constraints_func=constraints_func,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            seed=seed,
        )


class CarboCoolingSampler(MethodSampler):
    """Sampler for one expensive source whose cost varies: cost-cooling of CArBO.

    It maximises EI(x)/c(x)^α, where α falls from 1 to 0 while the budget is spent: cheap
    locations first, then the best ones whatever they cost (Lee et al. 2020). If the study has a
    source parameter, the preferred source is always queried, and trials on the others are ignored.

    Example:

        .. code-block:: python

            # The cost is the seconds of a trial, as the objective sets no other.
            study = optuna.create_study(sampler=CarboCoolingSampler(budget=3600))
            study.optimize(objective, callbacks=[CostBudgetCallback(3600)])

    Args:
        budget: τ, the total cost that may be spent, in the unit of the costs. It may be omitted
            if ``alpha`` is given.
        alpha: A fixed α: 1.0 gives the expected improvement per unit cost, 0.0 the plain
            expected improvement. By default it is cooled.
        initial_design: ``"lhs"``, a Latin hypercube of ``n_startup_trials`` locations, up to
            three times as many while they are but a plateau; or ``"cost-effective"``, CArBO's
            own: cheap and distant locations, one after the other, until an eighth of the budget
            is spent.
        source: Name of the categorical parameter that names the source, if there is one.
        preferred_source: The choice that is queried; by default the first one.
        cost_attr: User attribute of a trial that holds its cost. If the objective does not set
            it, it is the trial's wall-clock time in seconds, without that of the suggestion.
            Another name than ``"cost"`` is recorded in the trials, so that callbacks and figures
            find it.
        n_startup_trials: Size of the Latin hypercube. By default one more than there are
            parameters, at least 5 and at most 10.
        constraints_func: Takes a finished trial to its constraints, a sequence of numbers that
            are at most 0 where they are met, as with Optuna's samplers. It is called after each
            complete or pruned trial; what it raises stops the study, and the trial is kept. With
            Optuna 5 it is deprecated: let the objective call ``trial.set_constraint``.
        independent_sampler: Sampler for parameters that not all trials have (conditional search
            spaces). By default they are drawn uniformly.
        warn_independent_sampling: Whether to warn, once for each, of parameters that are sampled
            independently.
        seed: Seed of the suggestions.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument has a value that makes no sense, or if there is no budget to
            cool by or to design by.
    """

    def __init__(
        self,
        budget: float | None = None,
        *,
        alpha: float | None = None,
        initial_design: str = "lhs",
        source: str = "source",
        preferred_source: Any = FIRST,
        cost_attr: str = COST_ATTR,
        n_startup_trials: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        seed: int | None = None,
    ) -> None:
        method = CostCooling(alpha=alpha, initial_design=initial_design)
        if budget is None and alpha is None:
            raise ValueError(
                "`budget` must be given to cool by, or `alpha` fixed: 1.0 for the expected "
                "improvement per unit cost, 0.0 for the plain one."
            )
        if budget is None and initial_design == "cost-effective":
            raise ValueError(
                "`budget` must be given for `initial_design='cost-effective'`, which spends an "
                "eighth of it."
            )
        super().__init__(
            method=method,
            settings=Settings(
                source=source,
                preferred_source=preferred_source,
                cost_attr=cost_attr,
                budget=budget,
                n_startup_trials=n_startup_trials,
            ),
            constraints_func=constraints_func,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            seed=seed,
        )


def _method_of(method: str | Method) -> Method:
    if isinstance(method, str):
        if method not in _METHODS:
            raise ValueError(f"`method` must be one of {sorted(_METHODS)}, but got {method!r}.")
        return _METHODS[method]()
    if not isinstance(method, Method):
        raise TypeError(
            f"`method` must be one of {sorted(_METHODS)} or a method object such as "
            f"PaperMethod(), but got {method!r}."
        )
    if isinstance(method, type):
        name = method.__name__
        raise TypeError(
            f"`method` must be a method object, but got the class {name}. Did you mean {name}()?"
        )
    return method
