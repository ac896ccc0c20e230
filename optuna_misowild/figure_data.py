"""What figures, the note and the progress bar show of a study, without a word on how it is drawn.

Its trials as queries of sources, what was fitted to them, and the names that stand for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from optuna.study import StudyDirection
from optuna.trial import TrialState

from optuna_misowild.methods.outliers import clip_outliers
from optuna_misowild.recommendation import recommend_from
from optuna_misowild.study import attributes
from optuna_misowild.study.costs import costs_of
from optuna_misowild.study.costs import has_own_unit
from optuna_misowild.study.readings import ended_on
from optuna_misowild.study.readings import reached
from optuna_misowild.study.space import from_unit
from optuna_misowild.study_sampler import view_of


if TYPE_CHECKING:
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler
    from optuna_misowild.model import Model
    from optuna_misowild.recommendation import Recommendation


_LONGEST = 20  # Letters of a name that is shown.


@dataclass(frozen=True)
class Query:
    """A finished trial, as a query of a source.

    Attributes:
        trial: The trial.
        source: Index of its source, 0 being the preferred one.
        value: Its objective value; NaN if it has none.
        cost: Its cost; NaN if unknown.
        paid: What was paid for it in this study: 0 if unknown, or if it was imported.
        spent: What this trial and those that finished before it have cost together.
        feasible: Whether it meets the constraints that the user has set.
    """

    trial: FrozenTrial
    source: int
    value: float
    cost: float
    paid: float
    spent: float
    feasible: bool

    @property
    def key(self) -> tuple[int, int]:
        """The trial's number and the source: a training is an observation of several sources."""
        return self.trial.number, self.source


class FigureData:
    """A study at one moment, as its figures show it: its trials are read once.

    Args:
        study: The study.
        sampler: The sampler whose method and settings count; None for one that fits the study.
    """

    def __init__(self, study: Study, sampler: MethodSampler | None = None) -> None:
        self.study = study
        self.sampler, self.view = view_of(study, sampler)

    # The sources.

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the sources, the preferred one first, and not too long to be shown."""
        sources = self.view.sources
        if sources.distribution is None and not sources.are_rungs:
            return ("objective",)
        if sources.are_rungs:
            return tuple(f"step {step}" for step in sources.steps)
        return distinct([str(choice) for choice in sources.choices])

    @cached_property
    def modelled(self) -> tuple[int, ...]:
        """The sources that the method has a model of."""
        only_preferred = self.view.settings.only_preferred
        return (0,) if only_preferred else tuple(range(len(self.labels)))

    def choice(self, source: int) -> Any:
        """Return the choice of the source parameter that stands for a source."""
        return self.view.sources.choices[source]

    # The trials.

    @cached_property
    def queries(self) -> list[Query]:
        """The finished trials in the order in which they finished."""
        view = self.view
        known = costs_of(view.trials, view.settings.cost_attr)
        finished = [
            pair for pair in zip(view.trials, known, strict=True) if pair[0].state.is_finished()
        ]
        finished.sort(key=lambda pair: _time_of_end(pair[0]))
        result = []
        spent = 0.0
        for trial, cost in finished:
            paid = cost if math.isfinite(cost) and not attributes.is_imported(trial) else 0.0
            spent += paid
            source, value = self._outcome(trial)
            if source is not None:
                feasible = attributes.is_feasible(trial, view.sources.name)
                result.append(Query(trial, source, value, cost, paid, spent, feasible))
        return result

    def _outcome(self, trial: FrozenTrial) -> tuple[int | None, float]:
        """Return the source of a finished trial, and its value; of rungs, the last it reached."""
        sources = self.view.sources
        if not sources.are_rungs:
            return sources.of_trial(trial.params), _value(trial)
        is_complete = trial.state == TrialState.COMPLETE
        source = ended_on(trial, sources, is_complete=is_complete)
        if is_complete:
            return source, _value(trial)
        return source, reached(trial, sources).get(source, (0, math.nan))[1]

    @cached_property
    def valued(self) -> list[Query]:
        """The queries that have a finite value."""
        return [query for query in self.queries if math.isfinite(query.value)]

    @cached_property
    def is_maximised(self) -> bool:
        """Whether the study maximises."""
        return self.study.direction == StudyDirection.MAXIMIZE

    @property
    def sign(self) -> float:
        """What takes the minimised sense of the models to the sense of the study."""
        return -1.0 if self.is_maximised else 1.0

    @cached_property
    def best_verified(self) -> list[Query]:
        """The queries of the preferred source that were each the best one so far."""
        best: list[Query] = []
        for query in self.valued:
            if query.source == 0 and query.feasible:
                if not best or self.sign * query.value < self.sign * best[-1].value:
                    best.append(query)
        return best

    @cached_property
    def cost_unit(self) -> str:
        """What stands behind a cost: `` s`` if they are the seconds that trials took."""
        trials, attribute = self.view.trials, self.view.settings.cost_attr
        known = any(math.isfinite(query.cost) for query in self.queries)
        return " s" if known and not has_own_unit(trials, attribute) else ""

    def cost_title(self, title: str) -> str:
        """Return the title of an axis of costs."""
        return f"{title} (s)" if self.cost_unit else title

    @cached_property
    def moved_in(self) -> dict[tuple[int, int], float]:
        """The values that were moved in before the models were fitted, by :attr:`Query.key`."""
        seen = self.view.observations
        if not self.sampler.method.moves_outliers or not len(seen):
            return {}
        rows = np.flatnonzero(seen.has_value)
        if not self.modelled[1:]:
            rows = rows[seen.source[rows] == 0]
        fitted = clip_outliers(seen.y[rows], seen.source[rows])
        moved = fitted < seen.y[rows]
        trials, sources = seen.trial[rows[moved]].tolist(), seen.source[rows[moved]].tolist()
        values = (self.sign * fitted[moved]).tolist()
        return dict(zip(zip(trials, sources, strict=True), values, strict=True))

    # What was fitted.

    @cached_property
    def model(self) -> Model | None:
        """The models; None while no trial has a value, or all trials have no parameter in common.

        That is said in the log.
        """
        if not self.valued:
            attributes.logger.warning("Your study does not have any completed trials.")
            return None
        if not self.view.space:
            attributes.logger.warning(
                "Your study does not have a parameter that all completed trials have."
            )
            return None
        return self.sampler.model_of(self.view)

    @cached_property
    def recommendation(self) -> Recommendation | None:
        """What the method recommends; None while there is nothing to recommend."""
        try:
            return recommend_from(self.sampler, self.view)
        except ValueError:
            return None

    @cached_property
    def centre(self) -> dict[str, Any]:
        """The parameters that slices go through: the recommended ones, else the middle ones."""
        params = {} if self.recommendation is None else self.recommendation.params
        return {
            name: params[name] if name in params else from_unit(distribution, 0.5)
            for name, distribution in self.view.space.items()
        }

    def hover(self, query: Query) -> str:
        """Return what the mouse shows of a query."""
        lines = [
            f"<b>Trial {query.trial.number}</b>",
            f"source: {self.labels[query.source]}",
            f"value: {query.value:.6g}"
            if math.isfinite(query.value)
            else f"state: {query.trial.state.name}",
            f"cost: {query.cost:.4g}" if math.isfinite(query.cost) else "cost: unknown",
        ]
        if query.key in self.moved_in:
            lines.insert(3, f"for the model: {self.moved_in[query.key]:.6g}")
        lines += [
            f"{name}: {value:.5g}" if isinstance(value, float) else f"{name}: {value}"
            for name, value in query.trial.params.items()
            if name != self.view.sources.name
        ]
        return "<br>".join(lines)


def _value(trial: FrozenTrial) -> float:
    if trial.state != TrialState.COMPLETE or trial.value is None:
        return math.nan
    return trial.value


def _time_of_end(trial: FrozenTrial) -> tuple[float, int]:
    time = trial.datetime_complete or trial.datetime_start
    return (math.inf if time is None else time.timestamp()), trial.number


def shorten(name: str) -> str:
    """Return a name of at most twenty letters; a longer one keeps its beginning and its end."""
    if len(name) <= _LONGEST:
        return name
    end = _LONGEST // 2
    return f"{name[: _LONGEST - end - 1]}…{name[-end:]}"


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names shortened; those that are then the same get a number."""
    result: list[str] = []
    for name in names:
        label, number = shorten(name), 1
        while label in result:
            number += 1
            label = f"{shorten(name)} ({number})"
        result.append(label)
    return tuple(result)
