"""A decorator for methods that return an object in Python and write a file on the command line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from charz.schema import user_file
from charz.schema.errors import CharzError

from .answer import Asked, Rows


def saving(example: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn a method with a parameter `out` into a command that writes its picture to the file `out` and returns the file's name. The error for a
    missing `out` suggests the file name `example`."""

    def decorated(draw: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(draw)
        def rows(self: Any, *args: Any, out: str | Path | None = None, **given: Any) -> Rows:
            if out is None:
                raise CharzError("no file to draw into", next=f"write e.g. --out {example}")
            user_file.check(Path(out), given.get("force", False))
            draw(self, *args, out=out, **given)
            return Rows(("picture",), [(str(out),)])

        draw.asked = Asked(rows, (), files=("out",))  # type: ignore[attr-defined]
        return draw

    return decorated
