"""Scopes of an evaluation: models, scenarios, parts, and parts with changed numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from charz.schema import ddl

Triple = tuple[str, str, str]
"""Part, backend and precision of a target."""

ENERGY = "energy_profile"
"""Fact whose rows override those of rules (`part_energy`): a changed energy that a part does not state is a new row."""

SUPPORT = "part_support"
"""Maintained table that joins models to parts."""

BACKENDS = "part_backend"
"""Maintained table that joins products of models to the tiles of parts."""


@dataclass(frozen=True, slots=True)
class Varied:
    """Number in which copies of a part differ from the part."""

    table: str
    key: tuple[tuple[str, str], ...]
    """Columns and values that identify the number's row; the part is one of them."""
    column: str
    values: Sequence[float] | Sequence[str] | Sequence[float | str]
    """Value of the number in each copy."""

    @property
    def hardware(self) -> str:
        """Part of the number."""
        return dict(self.key)["hardware"]


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of a part with other numbers. A copy under the part's own name replaces it."""

    base: str
    names: Sequence[str]
    varied: Sequence[Varied]


def changed(numbers: Sequence[Varied]) -> list[Copies]:
    """Replace parts by copies with some numbers changed; if a number is given twice, the last counts."""
    last = {(number.table, number.key, number.column): number for number in numbers}
    parts = dict.fromkeys(number.hardware for number in last.values())
    return [Copies(part, [part], [n for n in last.values() if n.hardware == part]) for part in parts]


@dataclass(frozen=True, slots=True)
class Ground:
    """Parts with changed numbers under their own names, evaluated once for several scopes."""

    database: str
    """Database in memory with the changed tables."""
    parts: Sequence[str]
    tables: Mapping[str, str]
    """Facts and maintained tables of the database, each with the condition on the file's rows that are used in addition."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The models, parts, scenarios and changes that relations are evaluated for; None means as in the file."""

    models: Sequence[str] | None = None
    hardware: Sequence[str] | None = None
    targets: Collection[Triple] | None = None
    scenarios: Sequence[Mapping[str, Any]] | None = None
    """Rows of `scenario` in the scope."""
    stored: Collection[int] = ()
    """Ids of the scenarios whose runs are copied from the file; other runs are evaluated."""
    runs: str = "TRUE"
    """Condition on the rows of `run`."""
    copies: Sequence[Copies] = ()
    hidden: Collection[str] = ()
    """Facts that the caller's temporary tables replace: what depends on them is evaluated again."""
    ground: Ground | None = None
    """Parts with changed numbers, already evaluated (`lay`)."""

    @property
    def changed(self) -> Sequence[str]:
        """Parts that copies replace."""
        return self.ground.parts if self.ground else [name for copies in self.copies for name in copies.names]


def stored(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the qualified name of a table of the file, even if a temporary table has its name."""
    ((current,),) = connection.execute("SELECT current_database()").fetchall()
    return f"{ddl.quote(current)}.main.{ddl.quote(name)}"


def listed(values: Collection[object]) -> str:
    """Write texts or numbers as the right side of `IN`.

    >>> listed(["a100", 8])
    "('a100', 8)"
    """
    literals = (ddl.literal(value) if isinstance(value, str) else str(value) for value in values)
    return f"({', '.join(literals) or 'NULL'})"


def scenario_rows(
    connection: duckdb.DuckDBPyConnection, scenarios: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Return rows of `scenario` by column name, all or those with some ids."""
    condition = "TRUE" if scenarios is None else f"scenario_id IN {listed(scenarios)}"
    found = connection.execute(f"SELECT * FROM scenario WHERE {condition} ORDER BY scenario_id")
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
