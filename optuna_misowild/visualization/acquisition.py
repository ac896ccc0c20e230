"""What the sampler would do next, and why."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.figure_data import FigureData
from optuna_misowild.figure_data import shorten
from optuna_misowild.gp.threads import single_blas_thread
from optuna_misowild.study.space import decode
from optuna_misowild.visualization._figure import no_model_figure
from optuna_misowild.visualization.over_params import figure_over_params
from optuna_misowild.visualization.quantity import Mark
from optuna_misowild.visualization.quantity import Quantity
from optuna_misowild.visualization.sample import highest


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.study import Study
    import plotly.graph_objects as go

    from optuna_misowild.base_sampler import MethodSampler


# This part of the lowest values has one colour: the logarithm falls without bound near queries.
_CUT = 0.25
# e^20 times less expected improvement for the cost is nothing, where the scale is logarithmic.
_DEPTH = 20.0


def plot_acquisition(
    study: Study, params: Sequence[str] | None = None, *, sampler: MethodSampler | None = None
) -> go.Figure:
    """Plot how much the sampler wants to query each source, over the parameters.

    A star marks the query that it would choose now. The title says what the models predict
    there, and each source has the best acquisition that it offers beside its name. With two
    parameters there is a panel of contours per source, in the same colours; points show where it
    was queried. With any other number there is a panel per parameter that shows a line per
    source; all other parameters are those of the star.

    How to read it: the larger, the sooner it is queried, on any source. For the robust method and
    cost-cooling the scale is logarithmic: one more is e times the expected improvement, by what
    the query says of the preferred source, for the same cost. Gaps are where a source is excluded
    because it is not much cheaper than the preferred one. The star may be elsewhere than the
    maximum: on the preferred source, because it has not been queried for long.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_acquisition

            figure = plot_acquisition(study, ["x", "y"])
            figure.write_html("acquisition.html")

    Args:
        study: A study, finished or running.
        params: Names of the parameters to show; by default all.
        sampler: The sampler whose method and settings count; by default the study's. If that is
            another kind, as in a study that was loaded, a ``MisoWildSampler()`` with the source
            parameter and the preferred source that the trials record.

    Returns:
        A :class:`plotly.graph_objects.Figure`.

    Raises:
        ImportError: If plotly is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If the study has several objectives, or lacks the sampler's preferred source,
            or a name in ``params`` is not that of a parameter that all completed trials have.
    """
    return acquisition_figure(FigureData(study, sampler), params)


def acquisition_figure(data: FigureData, params: Sequence[str] | None = None) -> go.Figure:
    """Return the figure of :func:`plot_acquisition`."""
    title = "Acquisition Plot"
    model = data.model
    if model is None:
        return no_model_figure(title, data)

    def predict(
        params: list[dict[str, Any]], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        value = np.asarray(model.acquisition(params, data.choice(source)))
        return np.where(np.isfinite(value), value, np.nan), None

    queryable = [s for s in data.view.sources.queryable if s in data.modelled]
    initial = _initial_sources(data)
    following = None if initial else _propose(data, queryable)
    start = [] if following is None else [following.params]

    def caption(source: int) -> str:
        def acquisition(params: list[dict[str, Any]]) -> NDArray[np.float64]:
            return np.asarray(model.acquisition(params, data.choice(source)))

        value = highest(data.view, acquisition, start)
        return f"{data.labels[source]}: " + (
            f"{value:.3g}" if math.isfinite(value) else "excluded"
        )

    quantity = Quantity(
        title="Acquisition",
        predict=predict,
        sources=queryable,
        captions=[caption(source) for source in queryable],
        centre=data.centre if following is None else following.params,
        marks=[]
        if following is None
        else [Mark("Next", "star", following.params, following.source)],
        colorscale="Greens",
        cut=_CUT,
        centre_is_said=following is not None,
        depth=_DEPTH if data.sampler.method.logarithmic_acquisition else math.inf,
    )
    if following is None:
        why = f"Next: {data.labels[initial[0]]}, by the initial design"
    else:
        choice = data.choice(following.source)
        value, value_std = model.predict(following.params, choice)
        cost, _ = model.predict_cost(following.params, choice)
        why = (
            f"Next: {data.labels[following.source]} at {_text(following.params)}; predicted value "
            f"{data.sign * value:.4g} ± {value_std:.2g}, cost {cost:.3g}{data.cost_unit}"
        )
    return figure_over_params(data, params, quantity, title, why)


@dataclass(frozen=True)
class _Next:
    source: int
    params: dict[str, Any]


def _initial_sources(data: FigureData) -> list[int]:
    """Return the sources that the initial design has still to query, the next one first."""
    view = data.view
    slots = data.sampler.method.design(view.design_observations, view.n_rows)
    return [source for source, _ in slots]


def _propose(data: FigureData, sources: Sequence[int]) -> _Next:
    view = data.view
    with single_blas_thread():
        proposal = data.sampler.method.propose(
            view.observations, view.domain, rng=np.random.default_rng(0), sources=sources
        )
    return _Next(proposal.source, decode(view.space, proposal.x))


def _text(params: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{shorten(name)} = {value:.4g}"
        if isinstance(value, float)
        else f"{shorten(name)} = {shorten(str(value))}"
        for name, value in params.items()
    )
