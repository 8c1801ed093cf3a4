"""Compute capabilities that servers need, and parts that have less."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from charz.schema.errors import some

from . import releases

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Compute capabilities of parts, and those that releases of servers need."""

    parts: Mapping[str, str]
    """Compute capability of each part of NVIDIA."""
    needed: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)
    """Rows of `engine_requirement` by server: the number of the first release, the earliest first, and the least compute capability."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Version that answers assume for each server."""

    @classmethod
    def read(cls, connection: duckdb.DuckDBPyConnection) -> Capabilities:
        """Read the facts of a file."""
        parts = "SELECT hardware, compute_capability FROM hardware WHERE compute_capability IS NOT NULL"
        needed: dict[str, list[tuple[int, str]]] = {}
        query = "SELECT backend, since_version, least_compute_capability FROM engine_requirement"
        for backend, since, least in connection.execute(query).fetchall():
            needed.setdefault(backend, []).append((releases.number(since) or 0, least))
        assumed = "SELECT backend, engine_version FROM engine_version WHERE is_assumed"
        return cls(
            dict(connection.execute(parts).fetchall()), {backend: sorted(rows) for backend, rows in needed.items()},
            dict(connection.execute(assumed).fetchall()),
        )  # fmt: skip

    def least(self, backend: str, version: str | None) -> str | None:
        """Return the compute capability that a release of a server needs; None without a row. The version is the assumed one if none is named."""
        named = version or self.assumed.get(backend)
        at = releases.number(named) if named else None
        rows = self.needed.get(backend, ())
        found = [least for since, least in rows if at is None or since <= at]
        return found[-1] if found else None

    def lacks(self, part: str, backend: str, version: str | None) -> bool:
        """Return True if a part has a smaller compute capability than a release of a server needs."""
        least, has = self.least(backend, version), self.parts.get(part)
        return least is not None and has is not None and float(has) < float(least)

    def lacking(self, parts: Iterable[str], backends: Collection[str], versions: Collection[str | None]) -> dict[tuple[str, str], str]:
        """Return the pairs of part and server that no asked release joins, with the compute capability that the least demanding one needs."""
        return {
            (part, backend): min((least for version in versions if (least := self.least(backend, version))), key=float)
            for part in parts
            for backend in backends
            if versions and all(self.lacks(part, backend, version) for version in versions)
        }

    def ending(self, part: str, backend: str) -> tuple[str, str] | None:
        """Return the first release of a server that does not run on a part, and the compute capability that it needs; None if all run."""
        has = self.parts.get(part)
        found = [(since, least) for since, least in self.needed.get(backend, ()) if has is not None and float(has) < float(least)]
        return (releases.text(found[0][0]), found[0][1]) if found else None

    def told(self, lacking: Mapping[tuple[str, str], str], taken: Mapping[str, Any]) -> list[str]:
        """Tell for each server which parts it does not run on. `taken` gives the other server under which a part is asked, if there is one."""
        groups: dict[tuple[str, str, str | None], list[str]] = {}
        for (part, backend), least in sorted(lacking.items()):
            groups.setdefault((backend, least, taken.get(part)), []).append(f"{part} ({self.parts[part]})")
        return [
            f"{'left out' if other is None else f'asked under {other}'}: {some(parts, 3)}: {backend} needs compute capability {least}"
            for (backend, least, other), parts in groups.items()
        ]
