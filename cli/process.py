"""What the command's process is given, made fit: standard streams, and the signal that asks it to end."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_is_terminated = False


def prepare() -> None:
    """Fill standard streams that are closed, print what the locale cannot as escapes, and take SIGTERM as Ctrl-C."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        _fill(descriptor, name, mode)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _terminate)


def interrupted() -> int:
    """Say that the run was asked to end, and give its exit code."""
    word, code = ("terminated", 143) if _is_terminated else ("interrupted", 130)
    print(f"charz: {word}", file=sys.stderr)
    return code


def _fill(descriptor: int, name: str, mode: str) -> None:
    """Put the empty device in a closed stream's place, else the next file opened, a database perhaps, would be written to
    as that stream. Standard output stays one that takes nothing: an answer that goes nowhere is an error."""
    if getattr(sys, name) is not None:
        return
    opened = os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
    setattr(sys, name, os.fdopen(descriptor, mode))


def _terminate(number: int, frame: FrameType | None) -> None:
    global _is_terminated
    _is_terminated = True
    raise KeyboardInterrupt
