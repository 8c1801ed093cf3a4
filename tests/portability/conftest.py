"""Engines for the tests: processes that end with them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest


class Server:
    """Sail in a process of its own."""

    def __init__(self, workers: int = 0) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"sc://localhost:{self.port}"
        command = [
            sys.executable,
            "-m",
            "charz",
            "engine",
            "start",
            "--port",
            str(self.port),
            "--workers",
            str(workers),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        deadline = time.monotonic() + 120
        while not self.answers():
            assert self.process.poll() is None, "the engine ended"
            assert time.monotonic() < deadline, "the engine does not listen"
            time.sleep(0.2)

    def answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def engine() -> Iterator[Server]:
    """Local cluster of two workers, started as by `charz engine start`."""
    server = Server(workers=2)
    yield server
    server.kill()
