"""Every example, run as its reader would, in its short mode."""

from __future__ import annotations

from collections.abc import Callable
import csv
import os
from pathlib import Path
import re
import subprocess
import sys

import optuna
from optuna.distributions import CategoricalDistribution
import pytest

from examples.report import print_comparison


pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


needs_constraints = pytest.mark.skipif(
    not hasattr(optuna.Trial, "set_constraint"), reason="Optuna 5 has `Trial.set_constraint`"
)


def says_nothing_else(output: str) -> None:
    pass


def gives_last_month_a_verdict(output: str) -> None:
    assert re.search(
        r"^   last month    15 added, at no cost   (worth its|cannot be|too few)",
        output,
        re.MULTILINE,
    )
    assert "Whether the study gained by them" in output


def recommends_nothing_that_is_forbidden(output: str) -> None:
    ((kelvin, said),) = re.findall(r"^Its hot spot has (\S+) K \((\w+),", output, re.MULTILINE)
    assert said == "feasible"
    assert float(kelvin) <= 385.0
    assert re.search(r"^Trials that got too hot: [1-9]", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "says_more"),
    [
        ("boosting.py", says_nothing_else),
        ("epochs.py", says_nothing_else),
        ("last_month.py", gives_last_month_a_verdict),
        ("simulator.py", says_nothing_else),
        pytest.param(
            "constraint.py", recommends_nothing_that_is_forbidden, marks=needs_constraints
        ),
    ],
)
def test_an_example_says_what_it_recommends_and_what_that_has_cost(
    name: str, says_more: Callable[[str], None]
) -> None:
    output = run(name, "--short")
    values = [float(v) for v in re.findall(r"^trial.* value (\S+) ", output, re.MULTILINE)]
    (said,) = re.findall(
        r"^(?:Value: (\S+), observed|Not evaluated) on the preferred source", output, re.MULTILINE
    )
    assert not said or float(said) in values
    (cost,) = re.findall(r"^Cost of these \d+ trials: (\S+) s, of which$", output, re.MULTILINE)
    shares = re.findall(r"^ +.* +(\d+) queries +(\S+) s +(\S+)%(?: .*)?$", output, re.MULTILINE)
    assert sum(int(queries) for queries, _, _ in shares) == len(values)
    assert sum(float(spent) for _, spent, _ in shares) == pytest.approx(float(cost), abs=0.05)
    assert sum(float(share) for _, _, share in shares) == pytest.approx(100.0, abs=0.5)
    says_more(output)


def test_tasks_of_a_dask_cluster_query_different_things() -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("optuna_integration")
    output = run("dask_cluster.py", "--short")
    ((n_trials, *numbers),) = re.findall(r"^Trials: (\d+), (\d+) \w+, (\d+) \w+$", output, re.M)
    assert int(n_trials) == sum(map(int, numbers)) >= 12
    assert "Queries made twice: 0" in output
    assert re.search(r"^Best on the preferred source: {'source': 'fine', ", output, re.MULTILINE)


def test_checkpoints_are_found_when_the_study_is_resumed(tmp_path: Path) -> None:
    outputs = [run("checkpoints.py", "--short", "--folder", str(tmp_path)) for _ in range(2)]
    numbers = [re.findall(r"^trial +(\d+) .* value", o, re.MULTILINE) for o in outputs]
    assert numbers == [[str(i) for i in range(5)], [str(i) for i in range(5, 10)]]
    assert list(tmp_path.glob("*.pickle"))


def test_a_search_of_scikit_learn_finds_what_is_right_on_other_rows() -> None:
    output = run("sklearn_search.py", "--short")
    scores = r"^Accuracy: (\S+) in cross-validation, (\S+) on other rows$"
    ((found, elsewhere),) = re.findall(scores, output, re.MULTILINE)
    assert float(found) > 0.9 and float(elsewhere) > 0.9


def test_the_quickstart_is_the_same_at_every_run() -> None:
    outputs = [run("quickstart.py", "--short", "--budget", "0.4") for _ in range(2)]
    first, second = (re.sub(r"^Seconds: .*$", "", o, flags=re.MULTILINE) for o in outputs)
    assert first == second
    # What both have found, and when.
    rows = re.findall(r"^  (misowild|tpe-hyperband) +(\S+) +(\S+) +(\S+) +(\d+)$", first, re.M)
    (ours, theirs) = ((quarter, half, end) for _, quarter, half, end, _ in rows)
    assert float(theirs[-1]) > 0.0
    lines = re.findall(r"^trial +\d+ +(\d+) .*value (\S+)   cost \S+   total (\S+)$", first, re.M)
    for part, shown in zip((0.25, 0.5, 2.0), ours, strict=True):
        seen = [
            10.0 ** float(value)
            for step, value, total in lines
            if step == "9" and float(total) <= part * 0.4
        ]
        if seen:
            assert float(shown) == pytest.approx(min(seen), abs=1e-3)
        else:
            assert shown == "none"
    (recommended,) = re.findall(r"^Value: (\S+), observed", first, re.MULTILINE)
    assert 10.0 ** float(recommended) == pytest.approx(float(ours[-1]), abs=1e-3)
    assert re.findall(r"^ +(\d+) +\d+ queries", first, re.MULTILINE)[0] == "9"


def test_the_table_of_the_quickstart_goes_on_where_it_was(tmp_path: Path) -> None:
    known = tmp_path / "table.csv"
    known.write_text(
        "misowild,0,nan,0.3,0.1\ntpe,0,0.4,0.3,0.2\nmisowild,1,0.4,0.2,0.2\ntpe,1,0.2,0.2,0.15\n"
    )
    arguments = ("--seeds", "2", "--only", "misowild", "tpe", "--file", str(known))
    output = run("quickstart_table.py", *arguments).splitlines()
    assert output[2:] == [
        "| misowild | none | 0.2500 | 0.1500 | 0.1000, 0.2000 |  |",
        "| tpe | 0.3000 | 0.2500 | 0.1750 | 0.1500, 0.2000 | 1 of 2 |",
    ]


def test_the_table_in_seconds_goes_on_where_it_was(tmp_path: Path) -> None:
    known = tmp_path / "table.csv"
    known.write_text("misowild,0,nan,0.3,0.1\n")
    names = ("misowild", "misowild-full", "first-epoch")
    arguments = ("--seconds", "1", "--seeds", "1", "--only", *names, "--file", str(known))
    output = run("epochs_table.py", *arguments).splitlines()
    assert output[-3] == "| misowild | none | 0.3000 | 0.1000 | 0.1000, 0.1000 |  |"
    assert [line.split(" | ")[0] for line in output[-3:]] == [f"| {name}" for name in names]
    losses = {name: values for name, _, *values in csv.reader(known.read_text().splitlines())}
    assert {name: len(values) for name, values in losses.items()} == dict.fromkeys(names, 3)


def test_a_comparison_counts_values_of_the_preferred_source_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def study(*trials: tuple[str, float, float]) -> optuna.Study:
        result = optuna.create_study()
        for source, value, cost in trials:
            result.add_trial(
                optuna.create_trial(
                    params={"source": source},
                    distributions={"source": CategoricalDistribution(["full", "cheap"])},
                    value=value,
                    user_attrs={"cost": cost, "source_index": int(source == "cheap")},
                    system_attrs={"constraints": [float(source == "cheap")]},
                )
            )
        return result

    studies = {
        "ours": study(("full", 0.3, 4.0), ("cheap", 0.1, 2.0), ("full", 0.2, 14.0)),
        "early": study(("full", 0.25, 5.0), ("full", 0.5, 18.0)),
        "late": study(("full", 0.4, 10.0), ("full", 0.15, 11.0)),
    }
    print_comparison(studies, "full")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-3:]]
    assert rows == [
        ["ours", "0.3000", "0.3000", "0.2000", "3"],
        ["early", "0.2500", "0.2500", "0.2500", "2"],
        ["late", "none", "0.4000", "0.1500", "2"],
    ]


@pytest.mark.parametrize(
    ("command", "package", "install"),
    [
        (["examples/quickstart.py", "--versus", "gp"], "torch", '-e ".[benchmarks]"'),
        (["-m", "examples.savings"], "torch", '-e ".[benchmarks]"'),
        (["examples/boosting.py", "--library", "lightgbm"], "lightgbm", "lightgbm"),
    ],
)
def test_a_missing_package_is_said_before_any_work_is_done(
    command: list[str], package: str, install: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find_spec = util.find_spec\n"
        f"util.find_spec = lambda name: None if name == {package!r} else find_spec(name)\n"
    )
    root = EXAMPLES.parent
    path = os.pathsep.join([str(tmp_path), str(root)])
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": path},
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{package} is missing.")
    assert line.endswith(f"python -m pip install {install}")


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        if "__main__" in path.read_text():
            assert f"({path.name})" in index, path.name
