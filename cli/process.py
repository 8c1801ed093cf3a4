"""Preparation of the process: standard streams, and signals that interrupt it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from types import FrameType

from charz.schema import unfinished

GRACE_S = 0.5
"""Longest time that a native call, mostly the planning of a statement, may delay a signal. [s]"""

_is_terminated = False
_is_heard = threading.Event()
"""Event set once the main thread has received the signal."""


def prepare() -> None:
    """Open closed standard streams, escape characters that the locale cannot print, and treat SIGTERM like Ctrl-C. Both signals end the
    process soon, even during a native call."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        _fill(descriptor, name, mode)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        signal.signal(signal.SIGINT, _interrupt)
    _watch()


def interrupted() -> int:
    """Report that the run was interrupted, and return its exit code."""
    word, code = ("terminated", 143) if _is_terminated else ("interrupted", 130)
    print(f"charz: {word}", file=sys.stderr)
    return code


def _fill(descriptor: int, name: str, mode: str) -> None:
    """Open the null device in place of a closed stream, since the next opened file, such as a database, would receive that stream's output.
    Standard output becomes read-only, so that no answer is lost silently."""
    if getattr(sys, name) is not None:
        return
    opened = os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
    setattr(sys, name, os.fdopen(descriptor, mode))


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _is_terminated
    _is_heard.set()
    _is_terminated = number == signal.SIGTERM
    raise KeyboardInterrupt


def _watch() -> None:
    """Observe signals in a separate thread as they arrive, since the main thread receives a signal only after a native call returns."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # a child handles its own signals
    threading.Thread(target=_end_unheard, args=(reader,), daemon=True).start()


def _end_unheard(reader: int) -> None:
    """End the process on a signal that the main thread does not receive in time."""
    global _is_terminated
    while True:
        (number,) = os.read(reader, 1)
        is_asked = number in (signal.SIGINT, signal.SIGTERM)
        if not is_asked or _is_heard.wait(GRACE_S) or unfinished.is_finishing():
            continue
        _is_terminated = number == signal.SIGTERM
        for child in multiprocessing.active_children():
            child.kill()
        unfinished.remove()
        os._exit(interrupted())
