"""What type checkers see of the package: mypy reads this file, and nothing runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_misowild import recommend


if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from typing_extensions import assert_type


def of_a_recommendation(study: Study) -> None:
    assert_type(recommend(study).trial, FrozenTrial)
