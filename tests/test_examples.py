"""Every example, run as its reader would, in its short mode."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess
import sys

import pytest


EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["epochs.py", "last_month.py", "simulator.py"])
def test_an_example_recommends_what_it_has_observed(name: str) -> None:
    output = run(name, "--short")
    values = [float(v) for v in re.findall(r"^trial.* value (\S+) ", output, re.MULTILINE)]
    (recommended,) = re.findall(r"^Value: (\S+), observed on the preferred", output, re.MULTILINE)
    assert float(recommended) in values
    (cost,) = re.findall(r"^Cost of these \d+ trials: (\S+) s, of which$", output, re.MULTILINE)
    shares = re.findall(r"^ +.* +(\d+) queries +(\S+) s +(\S+)%$", output, re.MULTILINE)
    assert sum(int(queries) for queries, _, _ in shares) == len(values)
    assert sum(float(spent) for _, spent, _ in shares) == pytest.approx(float(cost), abs=0.05)
    assert sum(float(share) for _, _, share in shares) == pytest.approx(100.0, abs=0.5)


def test_the_quickstart_is_the_same_at_every_run() -> None:
    outputs = [run("quickstart.py", "--short", "--n-trials", "12") for _ in range(2)]
    first, second = (re.sub(r"^Seconds: .*$", "", o, flags=re.MULTILINE) for o in outputs)
    assert first == second
    assert "TPESampler on all the data, for the same cost: " in first


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        if "__main__" in path.read_text():
            assert f"({path.name})" in index, path.name
