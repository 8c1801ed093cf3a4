"""Pages of commands whose parameter `html` names a file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec

from charz.schema import user_file

from .answer import Rows

P = ParamSpec("P")


def paged(body: Callable[P, Rows]) -> Callable[P, Rows]:
    """Let a command write its answer as a page too, which contains its messages. A remark names the file."""

    @functools.wraps(body)
    def run(*given: P.args, **options: P.kwargs) -> Rows:
        if options.get("html") is None:
            return body(*given, **options)
        from .page import answered

        out, session = Path(str(options["html"])), _session(given)
        user_file.check(out, bool(options.get("force")))
        before, said = session.messages, []

        def heard(say: Callable[[str], None]) -> Callable[[str], None]:
            def tell(text: str) -> None:
                said.append(text)
                say(text)

            return tell

        session.messages = replace(before, warn=heard(before.warn), remark=heard(before.remark)).once()
        try:
            rows = body(*given, **options)
        finally:
            session.messages = before
        signature = inspect.signature(body)
        asked = {
            name: value
            for name, value in signature.bind(*given, **options).arguments.items()
            if name not in ("self", "html", "force") and str(value) != str(signature.parameters[name].default)
        }
        user_file.write(out, answered.text(session, body.__name__, asked, rows, said), bool(options.get("force")))
        session.messages.remark(f"page: {out}")
        return rows

    return run


def _session(given: tuple[Any, ...]) -> Any:
    """Return the session among the arguments of a method."""
    return given[0]
