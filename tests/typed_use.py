"""What type checkers see of the package: mypy reads this file, and nothing runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optuna_misowild import recommend


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from typing_extensions import assert_type

    from optuna_misowild import Model

    Array = NDArray[np.float64]


def of_a_recommendation(study: Study) -> None:
    assert_type(recommend(study).trial, FrozenTrial)


def of_a_model(model: Model, params: dict[str, float], several: list[dict[str, object]]) -> None:
    assert_type(model.predict(params), tuple[float, float])
    assert_type(model.predict(several, "10%"), tuple[Array, Array])
    assert_type(model.predict_cost(params), tuple[float, float])
    assert_type(model.predict_cost(iter(several)), tuple[Array, Array])
    assert_type(model.acquisition(params), float)
    assert_type(model.acquisition(several), Array)
    assert_type(model.probability_of_feasibility(params), float)
    assert_type(model.probability_of_feasibility(several), Array)
    assert_type(model.discrepancy(params, "10%"), float | tuple[float, float])
    assert_type(model.discrepancy(several, "10%"), Array | tuple[Array, Array])
