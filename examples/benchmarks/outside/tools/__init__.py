"""The tools by name: which module makes each, and how it is used."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
import importlib
from typing import Any

from examples.benchmarks.outside.harness import Tool
from examples.benchmarks.outside.tasks import Task


@dataclass(frozen=True)
class Use:
    """How a tool is used.

    Attributes:
        label: Its name in tables.
        module: Which of this package makes it.
        factory: What in the module.
        settings: For the factory.
        checkpoints: Whether a training that was stopped is gone on with, at the cost of the rest.
        resumable_only: Whether it makes no difference where evaluations cannot go on.
        group: The file in ``requirements`` that says what it needs, without its suffix.
    """

    label: str
    module: str
    factory: str
    settings: dict[str, Any] = field(default_factory=dict)
    checkpoints: bool = False
    resumable_only: bool = False
    group: str = "optuna"

    def make(self, task: Task, seed: int) -> Tool:
        """Return the tool for a task; ImportError if its package is not installed."""
        module = importlib.import_module(f"examples.benchmarks.outside.tools.{self.module}")
        return getattr(module, self.factory)(task, seed, **self.settings)


def _optuna(label: str, sampler: str, pruner: str = "") -> Use:
    settings = {"sampler": sampler, "pruner": pruner}
    return Use(label, "optuna_tools", "OptunaTool", settings)


def _both(
    name: str, label: str, module: str, factory: str, group: str, **settings: Any
) -> dict[str, Use]:
    """Return a tool that asks for higher fidelities anew: paid in full, and from checkpoints."""
    return {
        name: Use(label, module, factory, settings, group=group),
        f"{name}+c": Use(
            f"{label} +c", module, factory, settings, True, resumable_only=True, group=group
        ),
    }


TOOLS: dict[str, Use] = {
    "ours-steps": Use("ours, reported steps", "misowild", "Steps", resumable_only=True),
    "ours-steps+c": Use(
        "ours, reported steps +c", "misowild", "Steps", {"checkpoints": True}, True, True
    ),
    "ours-sources": Use("ours, fidelities as sources", "misowild", "Sources"),
    "ours-preferred": Use("ours, highest fidelity only", "misowild", "Preferred"),
    "gp": _optuna("Optuna GPSampler", "gp"),
    "gp-hyperband": _optuna("Optuna GPSampler, Hyperband", "gp", "hyperband"),
    "tpe": _optuna("Optuna TPE", "tpe"),
    "tpe-hyperband": _optuna("Optuna TPE, Hyperband", "tpe", "hyperband"),
    "tpe-median": _optuna("Optuna TPE, median pruner", "tpe", "median"),
    "random": _optuna("random", "random"),
    "random-hyperband": _optuna("random, Hyperband", "random", "hyperband"),
    **_both("first-epoch", "many for one epoch", "first_epoch", "FirstEpoch", "optuna"),
    **_both("smac", "SMAC3 multi-fidelity", "smac_tool", "Smac", "smac"),
    **_both("dehb", "DEHB", "dehb_tool", "Dehb", "dehb"),
    **_both(
        "blendsearch", "FLAML BlendSearch", "flaml_tool", "Flaml", "flaml", search="blendsearch"
    ),
    **_both("cfo", "FLAML CFO", "flaml_tool", "Flaml", "flaml", search="cfo"),
    **_both("neps", "NePS Hyperband", "neps_tool", "Neps", "neps"),
    "asha": Use("Syne Tune ASHA", "syne_tool", "SyneTune", {"scheduler": "asha"}, group="syne"),
    "bohb": Use("Syne Tune BOHB", "syne_tool", "SyneTune", {"scheduler": "bohb"}, group="syne"),
    "hebo": Use("HEBO", "hebo_tool", "Hebo", group="hebo"),
}
