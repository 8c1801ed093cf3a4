"""Messages of a session: warnings, remarks and progress."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType


class CharzWarning(UserWarning):
    """A one-line warning about something that an answer leaves out."""


def _warn(text: str) -> None:
    """Warn at the line that called charz, so that Python shows that line and filters apply to it."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and _is_inside(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, CharzWarning, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    """Return True for a function of charz, or of a library that calls charz back."""
    module = str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] in ("charz", "contextlib", "functools")


Progress = Callable[[str, int], contextlib.AbstractContextManager[Callable[[str], None]]]
"""Function that takes a title and a number of steps and returns a context. The context yields a function to call with the result of each step."""


def no_progress(_: str, __: int) -> contextlib.AbstractContextManager[Callable[[str], None]]:
    """Report no progress."""
    return contextlib.nullcontext(lambda _: None)


Status = Callable[[], contextlib.AbstractContextManager[Callable[[str], None]]]
"""Function that returns a context. The context yields a function to call with what is done from now on."""


def no_status() -> contextlib.AbstractContextManager[Callable[[str], None]]:
    """Report nothing of what is done."""
    return contextlib.nullcontext(lambda _: None)


@dataclass(frozen=True, slots=True)
class Messages:
    """Receivers of a session's messages."""

    warn: Callable[[str], None] = _warn
    """Receiver of warnings: parts, conditions or numbers that an answer leaves out."""
    remark: Callable[[str], None] = lambda _: None
    """Receiver of remarks: assumptions of an answer, and actions of charz."""
    progress: Progress = no_progress
    """Receiver of the progress of long work."""
    status: Status = no_status
    """Receiver of what is done now, in long work whose steps differ."""

    def once(self) -> Messages:
        """Return receivers that drop repeated lines."""
        said: set[str] = set()

        def once(say: Callable[[str], None]) -> Callable[[str], None]:
            def tell(text: str) -> None:
                if text not in said:
                    said.add(text)
                    say(text)

            return tell

        return Messages(once(self.warn), once(self.remark), self.progress, self.status)
