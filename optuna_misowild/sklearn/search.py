"""The search as an estimator of scikit-learn."""

from __future__ import annotations

import math
from numbers import Integral
from numbers import Real
import time
from typing import TYPE_CHECKING
from typing import Any
import warnings

import numpy as np
from optuna.storages import BaseStorage
from sklearn.base import clone
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils import get_tags
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel

from optuna_misowild.sklearn.distributions import parameters_of
from optuna_misowild.sklearn.evaluation import Evaluation
from optuna_misowild.sklearn.evaluation import check_metric
from optuna_misowild.sklearn.fingerprint import fingerprints
from optuna_misowild.sklearn.resources import ROWS
from optuna_misowild.sklearn.resources import sources_of
from optuna_misowild.sklearn.results import tabulate
from optuna_misowild.sklearn.sklearn_private import SEARCH_CONSTRAINTS
from optuna_misowild.sklearn.sklearn_private import BaseSearchCV
from optuna_misowild.sklearn.sklearn_private import Interval
from optuna_misowild.sklearn.sklearn_private import StrOptions
from optuna_misowild.sklearn.sklearn_private import check_fit_params
from optuna_misowild.sklearn.sklearn_private import fit_context
from optuna_misowild.sklearn.sklearn_private import n_rows
from optuna_misowild.sklearn.sklearn_private import report_failures
from optuna_misowild.sklearn.stages import Stages
from optuna_misowild.sklearn.trials import Trials


if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


# What is the best of fewer evaluations is a matter of luck.
_FEWEST = 3


class MisoWildSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search for the best parameters of an estimator, by cross-validation on all and on less.

    It is used like scikit-learn's ``RandomizedSearchCV``. For every evaluation
    :class:`~optuna_misowild.MisoWildSampler` chooses the parameters, and whether to use all rows
    or a part of them, by what earlier evaluations have shown and cost. Only those on all rows are
    ranked and can be best.

    Example:

        .. code-block:: python

            search = MisoWildSearchCV(
                make_pipeline(StandardScaler(), SVC()),
                {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-5, 1.0)},
                budget=60,  # Seconds.
            )
            search.fit(X, y)
            search.best_params_, search.best_score_, search.predict(X)

    Args:
        estimator: What is to be tuned. It must have a ``score`` method, or ``scoring`` is given.
        param_distributions: For each parameter a distribution or a list. Distributions are SciPy's
            frozen ones or Optuna's.
        resource: What an evaluation can use less of: ``"n_samples"``, the rows that are fitted, or
            the name of an integer parameter of the estimator, such as ``"n_estimators"``. Its
            value in the estimator is then the most, and what the result has. Ensembles with
            ``warm_start`` are fitted in stages: by ``n_estimators``, or ``max_iter`` of boosting,
            also as the last step of a pipeline. Else every evaluation fits anew.
        fractions: Parts of the resource that an evaluation can use, 1 among them. Smaller parts of
            the rows lie inside the larger ones; each has its share of every class or range of the
            target, and splits no group. All rows that a fold leaves out are scored. ``"auto"`` are
            1, 0.2 and 0.05, without parts of less than 30 rows.
        budget: Seconds that all evaluations together may cost: fits and scores of all folds, and
            choosing the parameters. None: see ``n_iter``.
        n_iter: Without a ``budget``, the evaluations may cost as much as so many on all rows, by
            the mean cost of those so far.
        scoring: As in scikit-learn's searches. With several metrics, ``refit`` must name the one
            that is optimised.
        n_jobs: Number of folds that are evaluated at once, as in scikit-learn.
        refit: Whether to fit the best parameters on all data in the end; with several metrics, the
            name of the one that is optimised. A function gets the part of ``cv_results_`` that is
            ranked, and returns the index of the best in it.
        cv: As in scikit-learn's searches. The folds are made once.
        verbose: 1 shows a progress bar on a terminal, more also what scikit-learn prints of
            every fit.
        pre_dispatch: As in scikit-learn's searches.
        random_state: Seed of the search. Costs are measured, so that the same seed gives a similar
            search, and not quite the same one.
        error_score: Score of a fit that fails, or ``"raise"``. A fit that fails on a part of the
            resource never raises, and says nothing of the other parts.
        return_train_score: Whether ``cv_results_`` has training scores.
        storage: Optuna storage, or its URL, for the trials. None keeps them in memory.
        study_name: Name of the study. A search with the name of an earlier one in the same storage
            resumes it: ``budget`` and ``n_iter`` then count both.

    Attributes:
        cv_results_: As in scikit-learn's searches, with the columns ``source``, ``n_resources``
            and ``cost``. Only rows of the preferred source, all of the resource, have a rank. A
            fit in stages has a row for each that it has reached, with what that has added to its
            times and its cost.
        best_estimator_, best_params_, best_score_, best_index_: As in scikit-learn's searches.
        scorer_, n_splits_, refit_time_, multimetric_: As in scikit-learn's searches.
        study_: The Optuna study. Its trials have what ``cv_results_`` has.

    Raises:
        TypeError: In ``fit``, if an argument has the wrong type.
        ValueError: In ``fit``, if an argument has a value that makes no sense, if all fits on all
            rows fail, or if a score in the stored study depends on something else than one of this
            search would.
    """

    _parameter_constraints: dict[str, Any] = {
        **SEARCH_CONSTRAINTS,
        "param_distributions": [dict],
        "resource": [str],
        "fractions": [list, tuple, np.ndarray, StrOptions({"auto"})],
        "budget": [Interval(Real, 0, None, closed="neither"), None],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "storage": [str, BaseStorage, None],
        "study_name": [str, None],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        resource: str = ROWS,
        fractions: Any = "auto",
        budget: float | None = None,
        n_iter: int = 30,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | str = math.nan,
        return_train_score: bool = False,
        storage: str | BaseStorage | None = None,
        study_name: str | None = None,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.resource = resource
        self.fractions = fractions
        self.budget = budget
        self.n_iter = n_iter
        self.random_state = random_state
        self.storage = storage
        self.study_name = study_name

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        tags.array_api_support = False
        return tags

    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, **params: Any) -> MisoWildSearchCV:
        """Search, and fit the best parameters on all data.

        Args:
            X: Rows to fit and to score, of any kind that the estimator takes.
            y: Their target, or None.
            **params: As in scikit-learn's searches: ``groups`` for the splitter, and what the
                estimator's ``fit`` and the scorer take, such as ``sample_weight``.
        """
        scorer, _ = self._get_scorers()
        is_multimetric = isinstance(self.scoring, (list, tuple, set, dict))
        if is_multimetric:
            check_metric(self.refit, getattr(scorer, "_scorers", ()))
        X, y = indexable(X, y)
        params = check_fit_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        splitting = routed.splitter.split
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = [(_rows(train), _rows(test)) for train, test in cv.split(X, y, **splitting)]
        if not splits:
            raise ValueError("No fits were performed. Was the CV iterator empty?")
        self.n_splits_ = len(splits)

        if self.resource in self.param_distributions:
            raise ValueError(
                f"Cannot use parameter {self.resource} as the resource since it is part of the "
                "searched parameters."
            )
        parameters = parameters_of(self.param_distributions)
        sources = sources_of(
            self.estimator,
            self.resource,
            self.fractions,
            y=y,
            groups=splitting.get("groups"),
            splits=splits,
            n_samples=n_rows(X),
        )
        stages = None
        if self.resource != ROWS and len(sources) > 1:
            stages = Stages.of_estimator(self.estimator, self.resource)
        trials = Trials.of_study(
            self.storage,
            self.study_name,
            resource=self.resource,
            sources=sources,
            parameters=parameters,
            in_stages=stages is not None,
            # Without a storage nothing can be resumed.
            depends_on={}
            if self.storage is None
            else fingerprints(
                X=X,
                y=y,
                splits=splits,
                estimator=self.estimator,
                resource=self.resource,
                parameters=parameters,
                scoring=self.scoring,
                refit=self.refit,
                fit_params=params,
            ),
        )
        self.study_ = trials.study
        with Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch) as parallel:
            evaluation = Evaluation(
                estimator=clone(self.estimator),
                X=X,
                y=y,
                scorer=scorer,
                metric=self.refit,
                parallel=parallel,
                settings={
                    "fit_params": routed.estimator.fit,
                    "score_params": routed.scorer.score,
                    "return_train_score": self.return_train_score,
                    "verbose": self.verbose,
                },
                error_score=self.error_score,
                stages=stages,
            )
            errors = trials.search(
                evaluation,
                budget=self.budget,
                n_iter=self.n_iter,
                seed=_seed(self.random_state),
                shows_progress=self.verbose > 0,
            )
        report_failures(errors, self.error_score)
        self._tell(trials, is_multimetric)
        # Several scorers are one object, which has them by their names.
        self.scorer_ = getattr(scorer, "_scorers", scorer)
        if self.refit:
            self._refit(X, y, routed.estimator.fit)
        return self

    def _tell(self, trials: Trials, is_multimetric: bool) -> None:
        """Set the attributes that tell the results."""
        error_score = math.nan if self.error_score == "raise" else self.error_score
        everything, preferred, where = tabulate(
            trials.rows(),
            self.n_splits_,
            self._format_results,
            error_score=float(error_score),
        )
        if self.budget is not None and len(where) < _FEWEST:
            warnings.warn(
                f"The budget of {self.budget:g} s was spent after {len(where)} of the evaluations "
                "on all of the resource, which cost "
                f"{preferred['cost'].mean():.2g} s each: the best is little more than a random "
                "one. Raise the budget.",
                UserWarning,
                stacklevel=4,
            )
        self.cv_results_ = everything
        self.multimetric_ = is_multimetric or "mean_test_score" not in everything
        metric = self.refit if self.multimetric_ else "score"
        best = self._select_best_index(self.refit, metric, preferred)
        self.best_index_ = int(where[best])
        if not callable(self.refit):
            self.best_score_ = preferred[f"mean_test_{metric}"][best]
        self.best_params_ = preferred["params"][best]

    def _refit(self, X: Any, y: Any, fit_params: Mapping[str, Any]) -> None:
        estimator = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        start = time.perf_counter()
        self.best_estimator_ = estimator.fit(X, **({} if y is None else {"y": y}), **fit_params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_


def _rows(index: Any) -> NDArray[np.int_]:
    """Return the numbers of the rows that a splitter names: those, or a mask."""
    rows = np.asarray(index)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _seed(random_state: Any) -> int | None:
    if random_state is None:
        return None
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
