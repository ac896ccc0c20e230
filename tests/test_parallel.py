"""Real processes on one study that ask at the same moment, with the same seed."""

from __future__ import annotations

from collections.abc import Iterator
import multiprocessing
import os
from pathlib import Path
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.storages import JournalStorage
from optuna.storages import RDBStorage
from optuna.storages.journal import JournalFileBackend
import pytest

from optuna_misowild import MisoWildSampler


N_WORKERS, N_ROUNDS = 3, 6
SOURCES = ["full", "cheap"]


def open_storage(url: str) -> BaseStorage:
    if url.startswith("journal:"):
        return JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    if url.startswith("sqlite"):
        return RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 60}})
    return RDBStorage(url)


def work(url: str, barrier: Any) -> None:
    study = optuna.load_study(
        study_name="s", storage=open_storage(url), sampler=MisoWildSampler(seed=0)
    )
    for _ in range(N_ROUNDS):
        barrier.wait(60)
        trial = study.ask()
        source = trial.suggest_categorical("source", SOURCES)
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_user_attr("cost", 1.0 if source == "full" else 0.1)
        barrier.wait(60)
        study.tell(trial, (x - 0.3) ** 2)


@pytest.fixture
def postgresql() -> Iterator[str]:
    """The URL of a database server of its own, in a temporary directory."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [
        Path(path) for path in [shutil.which("initdb")] if path
    ]
    if not found:
        reason = "PostgreSQL's server is not installed."
        if os.environ.get("MISOWILD_REQUIRE_SERVICES"):
            pytest.fail(reason)
        pytest.skip(reason)
    pytest.importorskip("psycopg")
    folder = tempfile.mkdtemp()
    user: dict[str, Any] = {"cwd": folder}
    if os.getuid() == 0:  # The server refuses to run as root.
        shutil.chown(folder, "postgres")
        user["user"] = "postgres"
    binaries, data = found[-1].parent, f"{folder}/data"
    subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        **user,
    )
    options = ["-c", "listen_addresses=", "-c", "fsync=off"]
    server = subprocess.Popen(
        [binaries / "postgres", "-D", data, "-k", folder, *options],
        stderr=subprocess.DEVNULL,
        **user,
    )
    try:
        ready = [binaries / "pg_isready", "-q", "-h", folder]
        for _ in range(100):
            if subprocess.run(ready).returncode == 0:
                break
            time.sleep(0.1)
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        server.send_signal(signal.SIGINT)  # Without waiting for connections to close.
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("kind", ["sqlite", "journal", "postgresql"])
def test_processes_that_ask_at_once_ask_different_things(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "postgresql":
        url = request.getfixturevalue("postgresql")
    else:
        url = f"sqlite:///{tmp_path}/s.db" if kind == "sqlite" else f"journal:{tmp_path}/s.log"
    study = optuna.create_study(study_name="s", storage=open_storage(url))
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(N_WORKERS)
    workers = [context.Process(target=work, args=(url, barrier)) for _ in range(N_WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * N_WORKERS
    points = {(t.params["source"], t.params["x"]) for t in study.trials}
    assert len(points) == len(study.trials) == N_WORKERS * N_ROUNDS
