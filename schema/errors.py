"""The one exception that charz shows its users."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence


class CharzError(Exception):
    """A mistake or condition that the user can correct.

    `what` went wrong, `where` (file, field, name), what `exists` there instead, what to do `next`. The text is one line.
    """

    def __init__(self, what: str, where: str = "", exists: str = "", next: str = "") -> None:
        self.what, self.where, self.exists, self.next = (_one_line(p) for p in (what, where, exists, next))
        super().__init__(self.line)

    @property
    def line(self) -> str:
        """`what: where. Exists. Next.`, without the empty parts."""
        head = f"{self.what}: {self.where}" if self.where else self.what
        sentences = [part.rstrip(".!") for part in (head, self.exists, self.next) if part] or ["unknown error"]
        return ". ".join([sentences[0], *map(_begun, sentences[1:])]) + "."

    def __reduce__(self) -> tuple[type[CharzError], tuple[str, str, str, str]]:
        """Return the four parts to pickle, so that a worker process can send the error."""
        return type(self), (self.what, self.where, self.exists, self.next)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error: torch and the engine wrap it in their own errors, and the engine reports it as a bare
    RuntimeError if it is interrupted while it returns rows."""
    while error is not None:
        is_engine = (
            type(error).__name__ in ("RuntimeError", "InterruptException") and "interrupted" in str(error).lower()
        )
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error) or is_engine:
            return True
        error = error.__cause__ or error.__context__
    return False


MOST = 24
"""Number of names that an error lists if none is near: enough for all precision policies."""


def unknown_name(kind: str, name: str, known: Iterable[str], next: str = "") -> CharzError:
    """Return the error for an unknown name, with the nearest known ones."""
    names = sorted(set(known))
    near = nearest_names(name, names)
    if near:
        exists = f"nearest: {', '.join(near)}"
    elif names:
        exists = f"there are {some(names, MOST)}"
    else:
        exists = "there are none yet"
    return CharzError(f"unknown {kind}", name, exists, next)


def some(names: Sequence[str], most: int) -> str:
    """Join the first names, and count the rest: `a, b and 1 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def nearest_names(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the names most like `name`, those that contain it first."""
    names = list(known)
    lowered = name.lower()
    containing = sorted((n for n in names if lowered and lowered in n.lower()), key=len)
    similar = difflib.get_close_matches(lowered, [n.lower() for n in names], n=count, cutoff=0.6)
    by_lower = {n.lower(): n for n in names}
    return list(dict.fromkeys(containing + [by_lower[s] for s in similar]))[:count]


def _begun(sentence: str) -> str:
    """Begin the sentence with a capital, unless it begins with code: `hf:NAME`, `torch.export.save(...)`, `pip install`."""
    begins_with_word = re.match(r"[a-z]+[,:;]?(\s|$)", sentence) and not sentence.startswith("pip ")
    return sentence[0].upper() + sentence[1:] if begins_with_word else sentence


def printable(text: str) -> str:
    """Escape control characters (`\\\\x1b`) so that no terminal obeys them; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_written_out(c) if unicodedata.category(c) in _OBEYED and c not in "\n\t" else c for c in text)


_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control, direction, lone surrogate and line characters."""


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _one_line(text: str) -> str:
    return printable(" ".join(str(text).split()))
