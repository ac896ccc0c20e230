"""The rooms of the package: which may import which, and who may know of Optuna."""

from __future__ import annotations

import ast
from pathlib import Path
import subprocess
import sys

from optuna.samplers import BaseSampler
import pytest

import optuna_misowild


PACKAGE = Path(optuna_misowild.__file__).parent
# What a room may import besides itself. The roof is what lies at the top of the package.
ALLOWED: dict[str, set[str]] = {
    "gp": set(),
    "optim": {"gp"},
    "methods": {"gp", "optim"},
    "study": {"methods", "optim", "gp"},
    "visualization": {"roof", "study", "methods", "optim", "gp"},
    "roof": {"study", "methods", "optim", "gp"},
    "sklearn": {"roof"},
}
# The front door, and what builds figures on demand: they stand beside the roof, not under it.
MAY_DRAW = {Path("__init__.py"), Path("dashboard.py")}
KNOW_OPTUNA = {"study", "roof", "visualization", "sklearn"}
PRIVATE_NAMES = Path("study/optuna_private.py")
PRIVATE_NAMES_OF_SKLEARN = Path("sklearn/sklearn_private.py")
METHODS = {"RobustMethod", "PaperMethod", "CostCooling"}
NAME_METHODS = {Path("__init__.py"), Path("samplers.py")}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
TREES = {path: ast.parse((PACKAGE / path).read_text(encoding="utf-8")) for path in FILES}


def room_of(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else "roof"


def imported(path: Path) -> list[str]:
    """Return the dotted names of all that a file imports, also within functions."""
    names = []
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def room_of_import(name: str) -> str | None:
    """Return the room that an imported name lies in, or None if it is not ours."""
    package, _, rest = name.partition(".")
    if package != "optuna_misowild":
        return None
    first = rest.split(".")[0]
    return first if (PACKAGE / first).is_dir() and first else "roof"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_one_way(path: Path) -> None:
    room = room_of(path)
    allowed = {None, room, *ALLOWED[room]} | ({"visualization"} if path in MAY_DRAW else set())
    wrong = [name for name in imported(path) if room_of_import(name) not in allowed]
    assert not wrong, f"{path} of {room!r} must not import {wrong}"


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) not in KNOW_OPTUNA], ids=str)
def test_numerics_know_nothing_of_optuna(path: Path) -> None:
    assert not [name for name in imported(path) if name.split(".")[0] == "optuna"]


def test_modules_import_each_other_without_a_cycle() -> None:
    graph = {}
    for path in FILES:
        name = ".".join(("optuna_misowild", *path.with_suffix("").parts)).removesuffix(".__init__")
        graph[name] = imported(path)

    def targets(name: str) -> set[str]:
        found = set()
        for target in graph[name]:
            parent = target.rpartition(".")[0]
            found |= {target} & graph.keys() or {parent} & graph.keys()
        return found - {name}

    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in sorted(targets(name)):
                visit(target, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


@pytest.mark.parametrize("room", sorted(set(ALLOWED) - {"roof"}))
def test_each_room_says_in_three_lines_what_lives_in_it(room: str) -> None:
    text = ast.get_docstring(TREES[Path(room, "__init__.py")])
    assert text is not None
    what, *_, imports = text.split("\n\n")
    assert "\n" not in what
    assert "may import" in imports
    # An unknown name here is a room that it may not import.
    assert {name for name in ALLOWED if f"`{name}`" in imports} == ALLOWED[room] - {"roof"}


def test_the_roof_is_thin() -> None:
    assert len([path for path in FILES if room_of(path) == "roof"]) <= 15


@pytest.mark.parametrize("path", [path for path in FILES if path != PRIVATE_NAMES], ids=str)
def test_private_names_of_optuna_stand_in_one_file(path: Path) -> None:
    """Elsewhere, what begins with an underscore belongs to the class at hand, or the file."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            owner = node.value.id if isinstance(node.value, ast.Name) else None
            is_own = owner in ("self", "cls") and not hasattr(BaseSampler, node.attr)
            assert is_own or node.attr.startswith("__"), f"{path}:{node.lineno} {node.attr}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_private_module_of_optuna_is_imported(path: Path) -> None:
    names = [name.split(".") for name in imported(path)]
    assert not [parts for parts in names if parts[0] == "optuna" and "._" in ".".join(parts)]


@pytest.mark.parametrize(
    "path", [path for path in FILES if path != PRIVATE_NAMES_OF_SKLEARN], ids=str
)
def test_private_names_of_scikit_learn_stand_in_one_file(path: Path) -> None:
    names = [name for name in imported(path) if name.split(".")[0] == "sklearn"]
    assert not [name for name in names if "._" in name]
    assert not names or room_of(path) == "sklearn"


@pytest.mark.parametrize(
    "path", [p for p in FILES if p not in NAME_METHODS and room_of(p) != "methods"], ids=str
)
def test_only_the_registry_names_the_methods(path: Path) -> None:
    """A new method is a class and an entry: nobody else asks which one it is."""
    nodes = list(ast.walk(TREES[path]))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not METHODS & used
    assert not [name for name in imported(path) if name.rpartition(".")[2] in METHODS]


@pytest.mark.parametrize("module", ["optuna_misowild", "optuna_misowild.worth"])
def test_an_import_loads_nothing_heavy(module: str) -> None:
    heavy = {"plotly", "scipy.stats", "sklearn", "torch", "tqdm.notebook"}
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not heavy & set(done.stdout.split())
