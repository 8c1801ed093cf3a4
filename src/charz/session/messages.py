"""What a session says beside its answers: what they leave out, what they rest on, how far it is."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType


class CharzWarning(UserWarning):
    """Something that an answer leaves out, in one line."""


def _warn(text: str) -> None:
    """Warn at the line that called charz, so that it is the one shown and filtered by."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and _is_inside(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, CharzWarning, stacklevel=level)


def _is_inside(frame: FrameType) -> bool:
    """True for a function of charz, or one of the library that stands between two of them."""
    module = str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] in ("charz", "contextlib", "functools")


Progress = Callable[[str, int], contextlib.AbstractContextManager[Callable[[str], None]]]
"""Given a title and a count of steps: a function to call with what each step did."""


def no_progress(_: str, __: int) -> contextlib.AbstractContextManager[Callable[[str], None]]:
    """Progress that nobody is shown."""
    return contextlib.nullcontext(lambda _: None)


@dataclass(frozen=True, slots=True)
class Messages:
    """Where a session says what it has to say beside its answers."""

    warn: Callable[[str], None] = _warn
    """What an answer leaves out."""
    remark: Callable[[str], None] = lambda _: None
    """What an answer rests on, and what is done."""
    progress: Progress = no_progress
    """How far long work is."""

    def once(self) -> Messages:
        """The same, which says each line once."""
        said: set[str] = set()

        def once(say: Callable[[str], None]) -> Callable[[str], None]:
            def tell(text: str) -> None:
                if text not in said:
                    said.add(text)
                    say(text)

            return tell

        return Messages(once(self.warn), once(self.remark), self.progress)
