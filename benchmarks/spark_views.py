"""Compares every model view on Spark 4 with a JVM with DuckDB's rows, as the tests do for Sail.

    python -m benchmarks.spark_views PYTHON

Each view is evaluated once, from the rows that Spark returned for the views that it reads, because Spark analyzes nested views in
full each time. PYTHON is the interpreter of an environment with `pyspark` of the client's version, which contains Spark, and Java
17.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from . import study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def main() -> None:
    """Evaluate, compare, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path)
    given = parser.parse_args()
    from portability import test_sail

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, server(given.python) as address:
        there = Path(folder)
        (there / "out").mkdir()
        (there / "given").mkdir()
        exported = test_sail.export(there / "out")
        with _session(address) as session:
            version = session.version
            for answers in test_sail.evaluated(exported, session, there / "given", (), is_stacked=False):
                found = {model.name: test_sail.differences(answers, "sail", model) for model in answers.models}
                refused = answers.refused
    rows = [{"view": name, "what": "refused", "how": text[:120]} for name, text in refused.items()]
    rows += [{"view": name, "what": "differs", "how": str(how)[:120]} for name, how in found.items() if how]
    text = [
        f"Spark {version} with a JVM, `local[2]`: {len(found)} views, {len(refused)} refused, "
        f"{sum(bool(how) for how in found.values())} with rows that differ by more than 1e-9; "
        f"{time.monotonic() - began:.0f} s of wall time."
    ]
    tables = [("Views that are not equal", pl.DataFrame(rows))] if rows else []
    study.print_wide()
    print("\n".join(text))
    for heading, frame in tables:
        print(heading, frame, sep="\n")


def free_port() -> int:
    """Find a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def await_listener(port: int) -> None:
    """Wait until a process listens on the port. Raise `TimeoutError` after two minutes."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")


@contextlib.contextmanager
def server(python: Path, cores: int = 2) -> Iterator[str]:
    """Start Spark with a number of cores and yield its address; its Python workers run `python`."""
    said = subprocess.run(
        [python, "-c", "import pyspark; print(pyspark.__path__[0])"], capture_output=True, text=True, check=True
    )
    home = Path(said.stdout.strip())
    jar = next((home / "jars").glob("spark-connect_2.13-*.jar"))
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": port, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": cores,
        "spark.connect.grpc.maxInboundMessageSize": 1 << 28,
    }  # fmt: skip
    command = [
        str(home / "bin" / "spark-submit"),
        "--master",
        f"local[{cores}]",
        "--driver-memory",
        "4g",
        "--class",
        SERVER,
    ]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    env = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": str(python)}
    process = subprocess.Popen(
        [*command, str(jar)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        await_listener(port)
        yield f"sc://localhost:{port}"
    finally:
        os.killpg(process.pid, 9)
        process.wait()


@contextlib.contextmanager
def _session(address: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(address).create()
    yield session
    session.stop()


if __name__ == "__main__":
    main()
