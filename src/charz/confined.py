"""Restrictions of memory, file writing and network that a process imposes on itself before it runs a user's SQL."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

_PAUSE_S = 0.02

_NO_NEW_PRIVILEGES = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_ABI_WITH_TRUNCATE, _ABI_WITH_NETWORK = 3, 4
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_BIND_AND_CONNECT_TCP = 0b11
"""Constants of Linux's landlock, include/uapi/linux/landlock.h; its call numbers are equal on every architecture."""

_THREAD_BYTE, _OTHER_BYTE = 10 * 2**20, 512 * 2**20
"""Sizes of a thread's stack, and of other memory that is reserved but never touched: 350 MB in DuckDB 2.0 while it spills, measured.
`watch_memory` counts touched memory."""


def limit_memory(most_byte: int) -> None:
    """Limit this process to `most_byte` beyond its present memory, plus memory that is reserved but never touched; on Linux only."""
    taken = _data_byte()
    if taken is not None:
        threads = (os.cpu_count() or 1) + 8
        limit = taken + most_byte + threads * _THREAD_BYTE + _OTHER_BYTE
        with contextlib.suppress(ValueError):  # a lower limit exists already
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def watch_memory(most_byte: int, exceeded: Callable[[int], None]) -> None:
    """Call `exceeded` with the bytes in use, from a thread, when the use grows by more than `most_byte`; on Linux only."""
    before = _resident_byte()
    if before is None:
        return

    def watch() -> None:
        while (now := _resident_byte() or 0) <= before + most_byte:
            time.sleep(_PAUSE_S)
        exceeded(now)

    threading.Thread(target=watch, daemon=True).start()


def limit_writing(folder: Path, most_byte: int) -> bool:
    """Allow this thread, and processes that it starts later, to write only in one folder, in files of at most `most_byte`, and to open no network
    connections. Return False and change nothing if the system cannot enforce this."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    abi = library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if abi < _ABI_WITH_TRUNCATE or not _restricted(library, abi, folder):
        return False
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_byte, most_byte))
    return True


def _restricted(library: ctypes.CDLL, abi: int, folder: Path) -> bool:
    writing = _WRITE_FILE | _REMOVE_AND_MAKE | _REFER | _TRUNCATE
    handled = struct.pack("@QQ", writing, _BIND_AND_CONNECT_TCP)
    size = 16 if abi >= _ABI_WITH_NETWORK else 8
    rules = library.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if rules < 0:
        return False
    beneath = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = struct.pack("=Qi", writing, beneath)
        return (
            library.syscall(_ADD_RULE, rules, ctypes.c_int(_RULE_PATH_BENEATH), allowed, ctypes.c_uint32(0)) == 0
            and library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
            and library.syscall(_RESTRICT_SELF, rules, ctypes.c_uint32(0)) == 0
        )
    finally:
        os.close(beneath)
        os.close(rules)


def _resident_byte() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return None


def _data_byte() -> int | None:
    """Return the private writable memory of this process, which Linux counts against the limit. [byte]"""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except FileNotFoundError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), None)
