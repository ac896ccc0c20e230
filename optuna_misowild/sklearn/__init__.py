"""The search for users of scikit-learn: its conventions outside, an Optuna study inside.

Nothing else of the package imports it, so that scikit-learn remains optional.

It may import the roof.
"""

from optuna_misowild.sklearn.search import MisoWildSearchCV


__all__ = ["MisoWildSearchCV"]
