"""The one exception of charz that a user is meant to read."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable


class CharzError(Exception):
    """Something the user can put right.

    `what` went wrong, `where` (file, field, name), what `exists` there instead, what to do `next`.
    Its text is one line.
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
        """Pickles by its four parts, so that it crosses from a worker process."""
        return type(self), (self.what, self.where, self.exists, self.next)


def is_interrupt(error: BaseException | None) -> bool:
    """True where Ctrl-C lies at the bottom of an error: torch and the engine wrap it in errors of their own, and the
    engine, asked to stop while it hands over rows, says so in a bare RuntimeError."""
    while error is not None:
        is_engine = (
            type(error).__name__ in ("RuntimeError", "InterruptException") and "interrupted" in str(error).lower()
        )
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error) or is_engine:
            return True
        error = error.__cause__ or error.__context__
    return False


MOST = 24
"""Names that an error lists when none is near: all precision policies."""


def unknown_name(kind: str, name: str, known: Iterable[str], next: str = "") -> CharzError:
    """The error for a name that does not exist, with the nearest ones that do."""
    names = sorted(set(known))
    near = nearest_names(name, names)
    if near:
        exists = f"nearest: {', '.join(near)}"
    elif names:
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        exists = f"there are {', '.join(names[:MOST])}{more}"
    else:
        exists = "there are none yet"
    return CharzError(f"unknown {kind}", name, exists, next)


def nearest_names(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Names most like `name`, those that contain it first."""
    names = list(known)
    lowered = name.lower()
    containing = sorted((n for n in names if lowered and lowered in n.lower()), key=len)
    similar = difflib.get_close_matches(lowered, [n.lower() for n in names], n=count, cutoff=0.6)
    by_lower = {n.lower(): n for n in names}
    return list(dict.fromkeys(containing + [by_lower[s] for s in similar]))[:count]


def _begun(sentence: str) -> str:
    """The sentence with a capital, unless it begins with code: `hf:NAME`, `torch.export.save(...)`, `pip install`."""
    begins_with_word = re.match(r"[a-z]+[,:;]?(\s|$)", sentence) and not sentence.startswith("pip ")
    return sentence[0].upper() + sentence[1:] if begins_with_word else sentence


def printable(text: str) -> str:
    """Text whose control characters are written out (`\\x1b`), so that no terminal obeys them; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_written_out(c) if unicodedata.category(c) in _OBEYED and c not in "\n\t" else c for c in text)


_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of control, direction, lone surrogate and line characters."""


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _one_line(text: str) -> str:
    return printable(" ".join(str(text).split()))
