"""The command that starts an engine on this machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..parameters import Text

if TYPE_CHECKING:
    from ..core import Core

LEAST_PORT, MOST_PORT = 1, 65535


class Engine:
    """Engine on this machine, for tests and first steps."""

    def __init__(self, session: Core) -> None:
        self.session = session

    @answer()
    def start(
        self,
        *,
        port: Annotated[int, Text("Port on which the engine listens.", least=LEAST_PORT, most=MOST_PORT)] = 50051,
        ip: Annotated[str, Text("Address on which the engine listens; 0.0.0.0 lets other machines connect without a password.")] = "127.0.0.1",
        workers: Annotated[int, Text("Number of worker processes; 0 runs the engine in a single process.", least=0, most=64)] = 0,
        dry: Annotated[bool, Text("Print the command without running it.")] = False,
    ) -> Rows:  # fmt: skip
        """Start the engine Sail on this machine until interrupted. Use it with `charz --engine sc://localhost:50051`.

        Sail implements the protocol Spark Connect. It comes with `pip install 'charz-dnn[spark]'` and needs no Java.
        On a cluster, start Sail or Spark 4 there instead.
        """
        try:
            import pysail  # noqa: F401
        except ImportError as error:
            raise CharzError("no engine is installed", "pysail", next="pip install 'charz-dnn[spark]'") from error
        command = [sys.executable, "-P", "-m", "pysail", "spark", "server", "--ip", ip, "--port", str(port)]
        settings = {}
        if workers:
            settings = {"SAIL_MODE": "local-cluster", "SAIL_CLUSTER__WORKER_INITIAL_COUNT": str(workers)}
        self.session.messages.remark(f"use the engine with --engine sc://localhost:{port}; Ctrl-C stops it")
        if not dry:
            sys.stdout.flush()
            os.execve(sys.executable, command, {**os.environ, **settings})
        given = " ".join([*(f"{name}={value}" for name, value in settings.items()), *command])
        return Rows(("command", "address"), [(given, f"sc://localhost:{port}")])
