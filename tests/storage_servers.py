"""The storages that several processes can share, each with its server if it needs one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import multiprocessing
import os
from pathlib import Path
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import Any

import optuna
import pytest

from examples.benchmarks.storages import open_storage


KINDS = ["sqlite", "journal", "postgresql", "grpc"]

# Processes that are forked from one which has loaded the libraries, and nothing else.
processes = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
if os.name == "posix":
    processes.set_forkserver_preload(
        ["optuna_misowild", "optuna.storages", "sqlalchemy", "scipy.optimize", "scipy.stats"]
    )


@contextmanager
def url_of(kind: str, folder: Path) -> Iterator[str]:
    """Give what :func:`open_storage` opens, in any process."""
    if kind == "postgresql":
        with postgresql() as url:
            yield url
    elif kind == "grpc":
        with grpc_proxy(f"sqlite:///{folder}/s.db") as url:
            yield url
    else:
        yield f"journal:{folder}/s.log" if kind == "journal" else f"sqlite:///{folder}/s.db"


@contextmanager
def grpc_proxy(url: str) -> Iterator[str]:
    """Optuna's proxy of a database, in a process of its own."""
    pytest.importorskip("grpc")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")  # gRPC does not like to be forked.
    server = context.Process(target=_serve, args=(url, port), daemon=True)
    server.start()
    try:
        storage = open_storage(f"grpc:{port}")
        assert isinstance(storage, optuna.storages.GrpcStorageProxy)
        storage.wait_server_ready(timeout=60)
        storage.close()
        yield f"grpc:{port}"
    finally:
        server.terminate()
        server.join(30)


def _serve(url: str, port: int) -> None:
    storage = optuna.storages.get_storage(url)
    optuna.storages.run_grpc_proxy_server(storage, host="localhost", port=port)


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of a database server of its own, in a temporary directory."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [
        Path(path) for path in [shutil.which("initdb")] if path
    ]
    if not found or os.name != "posix":
        reason = "PostgreSQL's server is not installed, or not used on this system."
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
