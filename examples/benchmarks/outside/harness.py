"""One protocol for all tools: who asks pays, until the budget is spent.

A tool makes jobs. A job is a generator that yields what it wants evaluated, a ``Query``, is sent
the ``Answer``, and returns when its worker is free for another one. It may ask for the same
configuration several times: a training that is looked at on the way.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from dataclasses import field
import heapq
import itertools
import time
from typing import Any
from typing import NamedTuple
from typing import Protocol

import numpy as np

from examples.benchmarks.outside.tasks import Config
from examples.benchmarks.outside.tasks import Task
from examples.benchmarks.problem import Array


SHARES = tuple(k / 20 for k in range(1, 21))  # of the budget, where a tool is asked what it found
MAX_CURVES = 64  # that are kept, so that those of trainings in progress are
MAX_EVALUATIONS = 20_000  # of a run, reported epochs among them


class Query(NamedTuple):
    """What a job wants evaluated.

    Attributes:
        config: The configuration.
        fidelity: As the tool says it; the task rounds it.
        training: Those with equal ones, in one job, are one training that goes on. None: a
            training of its own.
    """

    config: Config
    fidelity: float
    training: int | None = None


class Answer(NamedTuple):
    """What a query gave, and what was paid for it."""

    value: float
    cost: float


Job = Generator[Query, Answer, None]


class Tool(Protocol):
    """What is compared."""

    def job(self) -> Job:
        """Return the next job."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """A query that was paid.

    Attributes:
        x: Where, shape (d,).
        fidelity: As the task rounds it.
        value: What was observed.
        cost: What was paid.
        seconds: Of thinking before it, of the processor.
        end: When it ended, in units of cost, by the clock of all workers.
    """

    x: Array
    fidelity: float
    value: float
    cost: float
    seconds: float
    end: float


@dataclass
class Ledger:
    """What evaluations cost: an epoch once, or in full.

    Attributes:
        task: What is evaluated.
        checkpoints: Whether each training is kept, so that asking for its configuration again
            goes on with it. Without, only a training in progress goes on.
    """

    task: Task
    checkpoints: bool = False
    _kept: dict[bytes, float] = field(default_factory=dict)
    _running: dict[int, tuple[bytes, float]] = field(default_factory=dict)
    _curves: dict[bytes, dict[float, Answer]] = field(default_factory=dict)

    def _ask(self, x: Array, fidelity: float) -> Answer:
        """Return value and cost from the start on."""
        task = self.task
        return Answer(float(task.value(x, fidelity)), float(task.cost(x, fidelity)))

    def _step(self, x: Array, fidelity: float) -> Answer:
        """Return the same from the whole curve, which is computed at once."""
        key = x.tobytes()
        if key not in self._curves:
            if len(self._curves) >= MAX_CURVES:
                self._curves.pop(next(iter(self._curves)))
            steps = np.array(self.task.steps, dtype=float)
            places = np.tile(x, (len(steps), 1))
            values, costs = (f(places, steps) for f in (self.task.value, self.task.cost))
            answers = map(Answer, values.tolist(), costs.tolist())
            self._curves[key] = dict(zip(self.task.steps, answers, strict=True))
        return self._curves[key][fidelity]

    def evaluate(self, query: Query) -> tuple[Array, float, Answer]:
        """Return location, fidelity as it is asked, and the answer."""
        x = self.task.location(query.config)
        fidelity = self.task.rounded(query.fidelity)
        in_steps = self.task.resumable and query.training is not None
        value, total = (self._step if in_steps else self._ask)(x, fidelity)
        key = x.tobytes()
        paid = 0.0
        if self.task.resumable:
            if query.training is not None:
                known, paid_here = self._running.get(query.training, (key, 0.0))
                paid = paid_here if known == key else 0.0
                self._running[query.training] = (key, max(paid, total))
            if self.checkpoints:
                paid = max(paid, self._kept.get(key, 0.0))
                self._kept[key] = max(paid, total)
        return x, fidelity, Answer(value, max(0.0, total - paid))


@dataclass
class Run:
    """What became of a tool on a task.

    Attributes:
        evaluations: In the order in which they ended.
        recommended: At each of the shares, the regret of what the tool recommends.
        failure: What ended it early, if it was an exception.
        seconds: Of thinking altogether.
    """

    evaluations: list[Evaluation] = field(default_factory=list)
    recommended: list[float] = field(default_factory=list)
    failure: str = ""
    seconds: float = 0.0


def incumbent(evaluations: list[Evaluation]) -> Array | None:
    """Return the best location at the highest fidelity that was asked; None if none was."""
    if not evaluations:
        return None
    top = max(e.fidelity for e in evaluations)
    return min((e for e in evaluations if e.fidelity == top), key=lambda e: e.value).x


def run(task: Task, tool: Tool, *, checkpoints: bool = False, workers: int = 1) -> Run:
    """Let a tool work until the budget would be exceeded.

    The money is the same for any number of workers. They are simulated: each evaluation takes as
    long as it costs, and what it gave is known from then on. What the evaluation that would
    exceed the budget has found is thrown away, and ends the run.
    """
    result, ledger, order = Run(), Ledger(task, checkpoints), itertools.count()
    spent, shares = 0.0, [share * task.budget for share in SHARES]
    waiting: list[tuple[float, int, Job, Evaluation, Answer]] = []

    def recommend(up_to: float) -> None:
        while shares and shares[0] <= up_to:
            result.recommended.append(_regret(task, tool, result.evaluations))
            shares.pop(0)

    def advance(job: Job | None, answer: Answer | None, now: float) -> bool:
        """Bring a worker to its next evaluation; False if there is none that can be paid."""
        nonlocal spent
        start = time.process_time()
        try:
            job, query = _next(tool, job, answer)
        except Exception as error:
            result.failure = f"{type(error).__name__}: {error}"
            return False
        seconds = time.process_time() - start
        result.seconds += seconds
        x, fidelity, paid = ledger.evaluate(query)
        number = next(order)
        if spent + paid.cost > task.budget or number >= MAX_EVALUATIONS:
            return False
        spent += paid.cost
        end = now + paid.cost
        evaluation = Evaluation(x, fidelity, paid.value, paid.cost, seconds, end)
        heapq.heappush(waiting, (end, number, job, evaluation, paid))
        return True

    going = all(advance(None, None, 0.0) for _ in range(workers))
    done = 0.0
    while waiting:
        end, _, job, evaluation, answer = heapq.heappop(waiting)
        recommend(np.nextafter(done + evaluation.cost, 0.0))
        done += evaluation.cost
        result.evaluations.append(evaluation)
        if going and spent < task.budget:
            going = advance(job, answer, end)
    recommend(task.budget)
    return result


def _next(tool: Tool, job: Job | None, answer: Answer | None) -> tuple[Job, Query]:
    """Return what a job asks next, or the next job, if there is none or it has ended."""
    for _ in range(1000):
        try:
            if job is None:
                job = tool.job()
                return job, next(job)
            assert answer is not None
            return job, job.send(answer)
        except StopIteration:
            job = None
    raise RuntimeError("a thousand jobs without an evaluation")


def _regret(task: Task, tool: Tool, evaluations: list[Evaluation]) -> float:
    """Regret of what a user who stops now would take; 1 if there is nothing to take."""
    own = getattr(tool, "recommend", None)
    x = incumbent(evaluations) if own is None else own()
    return 1.0 if x is None else task.regret(x)


def record(run: Run, digits: int = 6) -> dict[str, Any]:
    """Return a run as JSON can hold it."""
    return {
        "recommended": [float(f"{r:.{digits}g}") for r in run.recommended],
        "seconds": round(run.seconds, 3),
        "failure": run.failure,
        "evaluations": [
            [[float(f"{v:.{digits}g}") for v in e.x]]
            + [float(f"{v:.{digits}g}") for v in (e.fidelity, e.value, e.cost, e.seconds, e.end)]
            for e in run.evaluations
        ],
    }
