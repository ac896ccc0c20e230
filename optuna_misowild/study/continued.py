"""Trainings that go on from the checkpoint of an earlier trial, which was stopped at a rung."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

from optuna.trial import TrialState

from optuna_misowild.study import attributes
from optuna_misowild.study import optuna_private
from optuna_misowild.study.attributes import CONTINUED_KEY


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial


class Continuation(NamedTuple):
    """From where a training goes on.

    Attributes:
        number: Number of the earlier trial, whose checkpoint it is.
        step: The last step of that; the next one is the first to be trained and reported.
    """

    number: int
    step: int


def continued_from(trial: Trial) -> Continuation | None:
    """Return from where a training goes on; None if it begins anew.

    For objectives that save a checkpoint before they raise ``TrialPruned``, and samplers with
    ``checkpoints=True``. Call it when the parameters have been suggested: they are those of the
    earlier trial. What the trial costs is only what it trains itself.

    Example:

        .. code-block:: python

            def objective(trial):
                rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
                earlier = continued_from(trial)
                if earlier is None:
                    model, done = build(rate), 0
                else:
                    model, done = load(earlier.number), earlier.step
                for epoch in range(done + 1, 53):
                    error = model.train_one_epoch()
                    trial.report(error, epoch)
                    if trial.should_prune():
                        save(model, trial.number)
                        raise optuna.TrialPruned()
                return error

    Args:
        trial: The trial of the objective.
    """
    record = _record(optuna_private.stored_attrs(trial.study, trial))
    return None if record is None else Continuation(*record[:2])


def write_continued(study: Study, trial: FrozenTrial, number: int, step: int, cost: float) -> None:
    """Record that a trial goes on from another one, and what had been paid until then."""
    paid = cost if math.isfinite(cost) else None
    optuna_private.write_system_attr(study, trial, CONTINUED_KEY, [number, step, paid])


def record_of_beginning(trial: FrozenTrial, *, with_cost: bool) -> dict[str, Any]:
    """Return the system attribute by which a trial goes on from another one, for a copy of it."""
    record = _record(trial.system_attrs)
    if record is None:
        return {}
    number, step, cost = record
    return {CONTINUED_KEY: [number, step, cost if with_cost and math.isfinite(cost) else None]}


def beginning_of(trial: FrozenTrial) -> tuple[int, float]:
    """Return the step after which a training has begun, and what had been paid until then.

    −1 and 0 if it did not go on from another one; the cost is NaN if it is unknown.
    """
    record = _record(trial.system_attrs)
    return (-1, 0.0) if record is None else (record[1], record[2])


def own_params(study: Study, trial: FrozenTrial) -> Mapping[str, Any]:
    """Return the parameters of the trial that another one goes on from; none if it does not."""
    record = _record(optuna_private.stored_attrs(study, trial))
    if record is None:
        return {}
    trials = attributes.all_trials(study)
    return next((t.params for t in trials if t.number == record[0]), {})


def stopped_trainings(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials that were pruned and that no other one has gone on from.

    Those of another study are out of reach, and so are the numbers that they name.
    """
    own = [trial for trial in trials if not attributes.is_imported(trial)]
    followed = {
        record[0]
        for trial in own
        if trial.state != TrialState.FAIL and (record := _record(trial.system_attrs)) is not None
    }
    return [t for t in own if t.state == TrialState.PRUNED and t.number not in followed]


def _record(system_attrs: Mapping[str, Any]) -> tuple[int, int, float] | None:
    value: Any = system_attrs.get(CONTINUED_KEY)
    if not attributes.is_record_of_beginning(value):
        return None
    number, step, paid = value
    return number, step, math.nan if paid is None else float(paid)
