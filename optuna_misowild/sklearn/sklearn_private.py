"""What is private in scikit-learn and serves a search that is not its own: all of it is here.

There is no public way to make ``cv_results_``, to route metadata, or to fit and score one fold.
"""

from __future__ import annotations

from sklearn.base import _fit_context as fit_context
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score as fit_and_score
from sklearn.model_selection._validation import _insert_error_scores as insert_error_scores
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as report_failures,
)
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import Interval
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_method_params as check_fit_params
from sklearn.utils.validation import _num_samples as n_rows


__all__ = [
    "SEARCH_CONSTRAINTS",
    "BaseSearchCV",
    "Interval",
    "StrOptions",
    "check_fit_params",
    "fit_and_score",
    "fit_context",
    "insert_error_scores",
    "n_rows",
    "report_failures",
    "safe_indexing",
]

SEARCH_CONSTRAINTS = BaseSearchCV.__dict__["_parameter_constraints"]
