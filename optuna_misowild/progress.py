"""A progress bar of what a study has spent, where Optuna's own counts trials."""

from __future__ import annotations

from contextlib import ExitStack
from decimal import ROUND_DOWN
from decimal import Context
import math
from threading import Lock
from typing import TYPE_CHECKING
from typing import Any

import optuna

from optuna_misowild.figure_data import FigureData
from optuna_misowild.methods import arguments


if TYPE_CHECKING:
    from types import TracebackType

    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from optuna_misowild.base_sampler import MethodSampler


# More digits than are shown, fewer than sums of costs are exact to.
_EXACT = 1.0 + 1e-12


class CostProgressBar:
    """Callback that shows the cost spent of a budget, the last source and the best value.

    The best value is that of the preferred source. With a budget it also shows the remaining time,
    at the rate of spending since the bar began; in a resumed study the bar goes on where it was.
    It is drawn by tqdm, as Optuna's own is, and only on a terminal or in a notebook: where the
    output goes to a file, nothing is written. Optuna's messages are printed above the
    bar. It works with ``n_jobs`` threads, counts the trials of other workers, and can be pickled:
    the copy begins a bar of its own.

    Example:

        .. code-block:: python

            with CostProgressBar(3600) as bar:
                study.optimize(objective, callbacks=[bar, CostBudgetCallback(3600)])

    Without ``with``, call :meth:`close` when the study is over.

    Args:
        budget: The total cost that may be spent, in the unit of the costs. None for no limit:
            then there are only numbers, and no bar.
        sampler: The sampler whose settings count; by default the study's.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the budget is not positive.
    """

    def __init__(
        self, budget: float | None = None, *, sampler: MethodSampler | None = None
    ) -> None:
        if budget is not None:
            budget = arguments.number("budget", budget, positive=True)
        self._budget = budget
        self._sampler = sampler
        self._lock = Lock()
        self._bar: Any = None
        self._open = ExitStack()

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        with self._lock:
            if self._bar is None:
                self._start(self._shown(FigureData(study, self._sampler)))
            if not self._bar.disable:
                self._show(FigureData(study, self._sampler), trial)

    def __getstate__(self) -> dict[str, Any]:
        own = {"_lock", "_bar", "_open"}
        return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock(), _bar=None, _open=ExitStack())

    def __enter__(self) -> CostProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Keep the bar as it is, and free the terminal."""
        with self._lock:
            self._open.close()
            self._bar = None

    def _start(self, initial: float) -> None:
        from tqdm.auto import tqdm
        from tqdm.contrib.logging import logging_redirect_tqdm
        from tqdm.notebook import tqdm_notebook

        self._bar = tqdm(
            total=self._budget,
            initial=initial,  # What was spent before says nothing of the rate.
            bar_format=self._format(initial),
            # None: unless it is a terminal. A notebook is none, but can show it.
            disable=False if issubclass(tqdm, tqdm_notebook) else None,
        )
        self._open.callback(self._bar.close)
        if not self._bar.disable:
            logger = optuna.logging.get_logger("optuna")
            self._open.enter_context(logging_redirect_tqdm([logger]))

    def _shown(self, data: FigureData) -> float:
        # More than the total would turn the bar into a plain number.
        return min(data.view.spent, math.inf if self._budget is None else self._budget)

    def _format(self, shown: float) -> str:
        if self._budget is None:
            return "{desc} [{elapsed}]"
        # tqdm would round up.
        percentage = math.floor(100.0 * shown / self._budget * _EXACT)
        return f"{percentage:3d}%|{{bar}}| {{desc}} [{{elapsed}}<{{remaining}}]"

    def _show(self, data: FigureData, trial: FrozenTrial) -> None:
        numbers = {query.trial.number: query.source for query in data.queries}
        source = numbers.get(trial.number)
        total = "" if self._budget is None else f"/{self._budget:g}"
        cost = f"{_rounded_down(data.view.spent)}{total}"
        self._bar.n = self._shown(data)
        self._bar.bar_format = self._format(self._bar.n)
        parts = [f"cost {cost}{data.cost_unit}"]
        if len(data.labels) > 1 and source is not None:
            parts.append(f"source {data.labels[source]}")
        where = f" on {data.labels[0]}" if len(data.labels) > 1 else ""
        best = f"{data.best_verified[-1].value:.6g}" if data.best_verified else "none yet"
        parts.append(f"best{where}: {best}")
        self._bar.set_description_str(", ".join(parts), refresh=False)
        self._bar.refresh()


def _rounded_down(cost: float) -> str:
    """Return a cost to four digits, and no more than it is."""
    context = Context(prec=4, rounding=ROUND_DOWN)
    return f"{float(context.create_decimal_from_float(cost * _EXACT)):.4g}"
