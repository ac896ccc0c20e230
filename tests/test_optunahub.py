"""The OptunaHub package: loaded, read and run as the registry would."""

from __future__ import annotations

import inspect
from pathlib import Path
import runpy

import optuna
import optunahub
import pytest

import optuna_misowild


ROOT = Path(__file__).parents[1] / "examples" / "optunahub"
PACKAGE = ROOT / "package" / "samplers" / "misowild"


def front_matter() -> dict[str, str]:
    text = (PACKAGE / "README.md").read_text()
    assert text.startswith("---\n")
    lines = text.split("---\n")[1].splitlines()
    return dict(line.split(": ", 1) for line in lines)


def test_it_loads_from_a_local_registry_and_gives_this_package() -> None:
    module = optunahub.load_local_module("samplers/misowild", registry_root=str(ROOT / "package"))
    assert set(module.__all__) <= set(optuna_misowild.__all__)
    for name in module.__all__:
        assert getattr(module, name) is getattr(optuna_misowild, name)


def test_the_front_matter_has_what_the_registry_asks_for() -> None:
    matter = front_matter()
    assert set(matter) == {
        "author",
        "title",
        "description",
        "tags",
        "optuna_versions",
        "license",
    }
    tags = matter["tags"].strip("[]").split(", ")
    assert "sampler" in tags
    assert matter["license"] == "MIT License"
    assert (PACKAGE / "LICENSE").read_text().startswith("MIT License")


def test_its_readme_shows_the_signature_as_it_is() -> None:
    text = (PACKAGE / "README.md").read_text()
    shown = text.split("`MisoWildSampler(", 1)[1].split(")`", 1)[0]
    parameters = inspect.signature(optuna_misowild.MisoWildSampler).parameters.values()
    real = ", ".join(f"{p.name}={p.default!r}" for p in parameters)
    assert shown.replace('"', "'") == f"*, {real}"


def test_its_example_finds_the_minimum(capsys: pytest.CaptureFixture[str]) -> None:
    verbosity = optuna.logging.get_verbosity()
    try:
        namespace = runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    finally:
        optuna.logging.set_verbosity(verbosity)
    study = namespace["study"]
    assert study.best_params["x"] == pytest.approx(0.7572, abs=0.02)
    assert optuna_misowild.cumulated_cost(study) == pytest.approx(20.0, abs=2.0)
    assert "observed there: True" in capsys.readouterr().out
