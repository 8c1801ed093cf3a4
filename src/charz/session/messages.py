"""What a session says beside its answers: what they leave out, what they rest on, how far it is."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass


class CharzWarning(UserWarning):
    """Something that an answer leaves out, in one line."""


def _warn(text: str) -> None:
    warnings.warn(text, CharzWarning, stacklevel=2)


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
