"""Where each source misleads."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from optuna_misowild.figure_data import FigureData
from optuna_misowild.visualization._figure import empty_figure
from optuna_misowild.visualization._figure import no_model_figure
from optuna_misowild.visualization.over_params import figure_over_params
from optuna_misowild.visualization.quantity import Quantity
from optuna_misowild.visualization.quantity import recommended
from optuna_misowild.visualization.sample import spread_params


if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from optuna.study import Study
    import plotly.graph_objects as go

    from optuna_misowild.base_sampler import MethodSampler


def plot_discrepancy(
    study: Study, params: Sequence[str] | None = None, *, sampler: MethodSampler | None = None
) -> go.Figure:
    """Plot where each source misleads: its predicted discrepancy from the preferred source.

    A difference that is the same everywhere does not mislead, so the mean over the space is
    taken out and written beside the name of the source, with its scale ρ_s. The second line of
    the title has the discrepancy at the star, as ``Model.discrepancy`` gives it, mean included.
    With two parameters there is a panel of contours per source, and below its standard
    deviation; points show where the source was queried. With any other number there is a panel
    per parameter that shows a line per source, with a band of one standard deviation.

    How to read it: where the discrepancy is 0, the source ranks parameters as the preferred one
    does (or the other way round if ρ_s is negative). Where it is negative in a study that
    minimises, or positive in one that maximises, the source flatters: it draws the search to
    places that are worse than they data. What matters is its size in comparison with the
    differences in the objective. For the robust method it is δ_s = f_s − ρ_s·f_1; for the
    paper's, it is η, the distance between the augmented model and that of the source, from
    which nothing is taken out.

    Example:

        .. code-block:: python

            from optuna_misowild.visualization import plot_discrepancy

            figure = plot_discrepancy(study)
            figure.write_html("discrepancy.html")

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
    return discrepancy_figure(FigureData(study, sampler), params)


def discrepancy_figure(data: FigureData, params: Sequence[str] | None = None) -> go.Figure:
    """Return the figure of :func:`plot_discrepancy`."""
    title = "Discrepancy Plot"
    model = data.model
    if model is None:
        return no_model_figure(title, data)
    others = data.modelled[1:]
    if not others:
        return empty_figure(title, "There is no other source than the preferred one.")

    def signed(
        params: list[dict[str, Any]], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        result = model.discrepancy(params, data.choice(source))
        if isinstance(result, tuple):
            return data.sign * result[0], result[1]
        return np.asarray(result), None  # A distance, which has no sign.

    rho = getattr(model, "rho", None)  # Only the robust method has it.
    sample = spread_params(data.view)
    offsets = {}
    for source in others:
        mean, std = signed(sample, source)
        offsets[source] = 0.0 if std is None else float(mean.mean())

    def predict(
        params: list[dict[str, Any]], source: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        mean, std = signed(params, source)
        return mean - offsets[source], std

    def caption(source: int) -> str:
        if rho is None:
            return data.labels[source]
        numbers = (f"scale {rho[source]:.2g}", f"mean {offsets[source]:+.3g}")
        return "<br>".join([data.labels[source], *(f"<sup>{number}</sup>" for number in numbers)])

    text = ""
    if rho is not None and data.recommendation is not None:
        at_star = []
        for source in others:
            mean, std = signed([data.centre], source)
            assert std is not None
            one = f"{data.labels[source]} {mean[0]:+.3g} ± {std[0]:.2g}"
            at_star.append(one.replace(" ", "\u00a0"))  # Stays on one line.
        text = f"Without its mean over the space. At the star, with it: {', '.join(at_star)}"
    quantity = Quantity(
        title="Discrepancy",
        predict=predict,
        sources=others,
        captions=[caption(source) for source in others],
        centre=data.centre,
        marks=recommended(data),
        colorscale="RdBu",
        low_is_dark=data.is_maximised,
        midpoint=0.0,
    )
    return figure_over_params(data, params, quantity, title, text)
