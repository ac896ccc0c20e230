"""What a sampler takes besides time: how long its import lasts, and how much memory it holds.

    python -m examples.benchmarks.footprint

Each figure is of a new process, which imports what a user of the sampler would. Seconds are the
median of several; the row "optuna" is what all of them have in common. Memory is the peak of the
process, the interpreter and its libraries included, after two suggestions at the end of a study
of n trials in four parameters.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys


# GPSampler imports PyTorch, and TPESampler scipy, when they first suggest something.
IMPORTS = {
    "optuna": "import optuna",
    "robust": "import optuna, optuna_misowild",
    "gp": "import optuna, torch",
    "tpe": "import optuna, scipy.special",
}
SECONDS = "import time; start = time.perf_counter(); {imports}; print(time.perf_counter() - start)"
PEAK = """
import resource, sys
{imports}
from examples.benchmarks.study import Session, Task
optuna.logging.set_verbosity(optuna.logging.ERROR)
session = Session({method!r}, Task(4, {n_sources}), {n})
for _ in range(2):
    session.seconds_of_one_trial()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
"""


def printed(code: str) -> float:
    """Run a program in a new process and return the number that it prints."""
    return float(subprocess.check_output([sys.executable, "-W", "ignore", "-c", code]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n", nargs="+", type=int, default=[200, 1000])
    parser.add_argument("--repetitions", type=int, default=7)
    args = parser.parse_args()

    print(f"| sampler | import, s | {' | '.join(f'peak MiB, {n} trials' for n in args.n)} |")
    print("|---" * (2 + len(args.n)) + "|")
    for method, imports in IMPORTS.items():
        code = SECONDS.format(imports=imports)
        printed(code)  # The files are then in the cache of the system.
        seconds = statistics.median(printed(code) for _ in range(args.repetitions))
        peaks = [
            f"{printed(PEAK.format(imports=imports, method=method, n_sources=s, n=n)):.0f}"
            if method != "optuna"
            else ""
            for n in args.n
            for s in [5 if method == "robust" else 1]
        ]
        print(f"| {method} | {seconds:.2f} | {' | '.join(peaks)} |", flush=True)


if __name__ == "__main__":
    main()
