"""Resolution of a part's name as people write it: `RTX 4090`, `i7-13700K` and `4090` mean one part, `h100` means three and is refused with
their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

import duckdb

from charz.schema.errors import CharzError, nearest_names

LIST_COMMAND = "`charz hardware list` shows all"

NEAREST = 3
"""Number of parts that the error for an unknown name lists."""


def resolve(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Resolve `name` to the id of a part.

    Raises:
        CharzError: no part, or several, have such a name; the nearest ones are listed.
    """
    if connection.execute("SELECT 1 FROM hardware WHERE hardware = ?", [name]).fetchall():
        return name
    parts = connection.execute("SELECT hardware, name FROM hardware ORDER BY hardware").fetchall()
    aliases = connection.execute("SELECT alias, hardware FROM hardware_alias ORDER BY alias").fetchall()
    names = [(hardware, hardware) for hardware, _ in parts]
    names += [(alias, hardware) for alias, hardware in aliases]
    names += [(full_name, hardware) for hardware, full_name in parts]
    return match(name, names)


def match(name: str, names: Iterable[tuple[str, str]]) -> str:
    """Resolve `name` among pairs of a name and its part, in order of precedence."""
    pairs = list(names)
    for same in (lambda known: known == name, lambda known: _plain(known) == _plain(name)):
        exact = list(dict.fromkeys(part for known, part in pairs if same(known)))
        if exact:
            return exact[0]
    wanted = _plain(name)
    containing = list(dict.fromkeys(part for known, part in pairs if wanted and wanted in _plain(known)))
    if len(containing) == 1:
        return containing[0]
    ending = sorted({part for known, part in pairs if known == part and wanted and _plain(part).endswith(wanted)})
    if len(ending) == 1 and all(_plain(part).startswith(_plain(ending[0])) for part in containing):
        return ending[0]  # `4090` means the desktop part, not a laptop's; `orin` does not mean the processor of a board with that name
    if containing:
        shown = ", ".join(sorted(containing)[:12])
        more = f", and {len(containing) - 12} more" if len(containing) > 12 else ""
        raise CharzError("several parts have this name", name, f"candidates: {shown}{more}", "name one of them")
    part_of = dict(reversed(pairs))
    near = list(dict.fromkeys(part_of[known] for known in nearest_names(name, part_of, count=3 * NEAREST)))
    exists = f"nearest: {', '.join(near[:NEAREST])}" if near else "no part has a similar name"
    raise CharzError("unknown part", name, exists, LIST_COMMAND)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9+]", "", name.lower())
