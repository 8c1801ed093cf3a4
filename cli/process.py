"""What the command's process is given, made fit: standard streams, and the signal that asks it to end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from types import FrameType

from charz.schema import unfinished

GRACE_S = 0.5
"""How long a native call, a statement that is planned mostly, may keep a signal from the program. [s]"""

_is_terminated = False
_is_heard = threading.Event()
"""Set once the program itself has been told."""


def prepare() -> None:
    """Fill standard streams that are closed, print what the locale cannot as escapes, and take SIGTERM as Ctrl-C; either ends
    the process soon, whatever native call it is in."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        _fill(descriptor, name, mode)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        signal.signal(signal.SIGINT, _interrupt)
    _watch()


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


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _is_terminated
    _is_heard.set()
    _is_terminated = number == signal.SIGTERM
    raise KeyboardInterrupt


def _watch() -> None:
    """Let a thread see each signal as it comes: the program itself sees it when its native call returns."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # signals of a child are its own
    threading.Thread(target=_end_unheard, args=(reader,), daemon=True).start()


def _end_unheard(reader: int) -> None:
    """End the process on a signal that the program is not told of in time."""
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
