"""Rents of parts that the user states, in place of the file's or where the file has none."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ParamSpec

from charz.schema.errors import CharzError

from ..answer import Rows
from ..parameters import Names
from ..scoped import Scoped

P = ParamSpec("P")

STATED = "stated by the user"
"""Confidence in a stated rent."""


def parsed(given: Names | None, part_name: Callable[[str], str]) -> dict[str, float]:
    """Parse items such as `kpu_t64=0.5` into rents by part. [USD/h]"""
    texts = [given] if isinstance(given, str) else list(given or ())
    rents = {}
    for item in (item.strip() for text in texts for item in text.split(",")):
        part, _, amount = item.partition("=")
        try:
            usd = float(amount)
        except ValueError:
            usd = math.nan
        if not 0.0 <= usd < math.inf:
            raise CharzError("not a rent", f"--rent {item}", next="write PART=USD, the price of an hour, e.g. kpu_t64=0.5")
        rents[part_name(part)] = usd
    return rents


def rented(body: Callable[P, Rows]) -> Callable[P, Rows]:
    """Let a command answer at the rents of its parameter `rent`: on a session of its own, since answers at hand contain the file's prices."""

    @functools.wraps(body)
    def run(*given: P.args, **options: P.kwargs) -> Rows:
        stated: Any = options.get("rent")
        if stated is None:
            return body(*given, **options)
        session: Any = given[0]
        priced = session.child(session._scope)
        priced.access = replace(session.access, is_live=True)
        priced.rents = parsed(stated, session.part_name)
        asked: Any = body
        answered: Rows = asked(priced, *given[1:], **options)
        return answered

    return run


def state(scoped: Scoped, rents: Mapping[str, float]) -> None:
    """Replace the rents of these parts in a question that was not evaluated yet."""
    scoped.execute("CREATE OR REPLACE TEMP TABLE price AS SELECT * FROM price WHERE NOT list_contains(?, hardware)", [list(rents)])
    dated = datetime.now(UTC).strftime("%Y-%m")
    for part, usd in rents.items():
        columns = "hardware, price_usd_per_hour, dated, source_id, confidence"
        scoped.execute(f"INSERT INTO temp.price ({columns}) VALUES (?, ?, ?, 'assumption', ?)", [part, usd, dated, STATED])
