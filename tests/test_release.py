"""What is written in several places for those who publish the package says the same in each."""

from __future__ import annotations

from pathlib import Path
import re

from packaging.requirements import Requirement
from packaging.version import Version
import pytest
import yaml

import optuna_misowild


ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="A source distribution has no workflows.")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def project(pattern: str) -> list[str]:
    return re.findall(pattern, read("pyproject.toml"), re.MULTILINE)


def lowest_of(requirements: list[str]) -> dict[str, str]:
    """Return the lower bound of each requirement that has one."""
    parsed = [Requirement(text) for text in requirements]
    return {r.name: s.version for r in parsed for s in r.specifier if s.operator in (">=", "==")}


def dependencies() -> dict[str, str]:
    (line,) = project(r"^dependencies = \[(.*)\]$")
    return lowest_of(re.findall(r'"(.*?)"', line))


def matrix() -> dict[str, list[str]]:
    """Return all versions that the workflow of the tests names, of Python and of Optuna."""
    workflow = yaml.safe_load(read(".github/workflows/tests.yml"))
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    return {
        name: [*matrix[name], *(entry[name] for entry in matrix["include"])]
        for name in ("python", "optuna")
    }


def test_one_version_everywhere() -> None:
    version = optuna_misowild.__version__
    assert project(r'^version = "(.*)"$') == [version]
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == version
    assert f"## [{version}] - {citation['date-released']}" in read("CHANGELOG.md")
    assert yaml.safe_load(read("conda/recipe.yaml"))["context"]["version"] == version


def test_the_lowest_versions_are_those_that_are_promised() -> None:
    promised, tested = dependencies(), lowest_of(read("tests/lowest.txt").splitlines()[1:])
    (extra,) = project(r"^sklearn = \[(.*)\]$")
    all_promised = promised | lowest_of(re.findall(r'"(.*?)"', extra))
    assert all_promised.keys() == tested.keys()
    for name, version in all_promised.items():
        assert tested[name] == version or tested[name].startswith(f"{version}.")
    recipe = yaml.safe_load(read("conda/recipe.yaml"))
    run = [text.replace(" ", "") for text in recipe["requirements"]["run"][1:]]
    assert lowest_of(run) == promised
    assert min(matrix()["optuna"], key=Version) == promised["optuna"]
    hub = read("examples/optunahub/package/samplers/misowild/README.md")
    assert f"optuna_versions: [{tested['optuna']}, " in hub


def test_the_workflow_tests_the_versions_of_python_that_are_promised() -> None:
    promised = project(r'^  "Programming Language :: Python :: (3\.\d+)",$')
    assert sorted(promised, key=Version) == promised
    assert set(matrix()["python"]) == set(promised)
    assert project(r'^requires-python = ">=(.*)"$') == promised[:1]
    recipe = yaml.safe_load(read("conda/recipe.yaml"))
    assert recipe["context"]["python_min"] == promised[0]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_runs_what_it_has_pinned(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    granted = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    expected = {"publish": {"id-token": "write"}} if path.name == "release.yml" else {}
    assert {name: p for name, p in granted.items() if p is not None} == expected
    for used in re.findall(r"uses: (.*)$", text, re.MULTILINE):
        is_pinned = re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used)
        assert is_pinned or used.startswith("./.github/workflows/"), used


def test_an_action_has_one_pin() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (.*)@(.*)$", texts, re.MULTILINE))
    assert len(pins) == len({action for action, _ in pins}) > 0


def test_the_account_that_holds_the_repository_is_named_in_one_place() -> None:
    assert len(set(project(r"https://github\.com/([\w-]+)/optuna-misowild"))) == 1
    files = [*WORKFLOWS, *ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "conda/recipe.yaml"]
    files += [ROOT / "CITATION.cff", *(ROOT / ".github").rglob("*.*")]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bOWNER\b|github\.com/[\w-]+/optuna-misowild", text), path
