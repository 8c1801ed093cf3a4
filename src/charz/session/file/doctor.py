"""The command that diagnoses and repairs a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from charz.schema.errors import some

from ..answer import Rows, answer
from ..axes import names
from ..parameters import AnyModels, Parts, Text
from .check import Check, Every
from .refresh import Refresh
from .sample import Grid

if TYPE_CHECKING:
    from charz.sql.foreign import Found

_FINDING = ("what", "is_well", "found", "next")

_LISTED = 5
"""Number of names that a finding lists before it counts the rest."""


class Doctor(Check, Refresh):
    """Diagnosis and repair of a file."""

    @answer("findings", alone=("invariants",), is_writing=True)
    def doctor(
        self,
        models: AnyModels = None,
        *,
        on: Parts = None,
        repair: Annotated[bool, Text("Install the views and triggers of this version of charz again, and evaluate their tables.")] = False,
        every: Every = False,
        section: Literal["findings", "invariants"] = "findings",
    ) -> Rows:
        """Check the database, and list findings with remedies: charz's version, foreign and missing objects, triggers, maintained tables,
        keys, invariants and the lints of the catalog. Exit code 1 if something is wrong.

        `--invariants` lists every invariant, maintained table and trigger with the number of rows that violate it. A large database is
        checked on a sample of targets that includes every model, part and scenario; `--every` checks all targets, and named models and
        parts limit the check. `--repair` installs views and triggers again and evaluates every maintained table; models and edits stay.
        """
        self.stays_here("a check of the file")
        from charz.sql import views

        if repair:
            with self.changing(create=False, repairs=True) as connection:
                views.install(connection, commits=True)
                self._refreshed(connection, every=True)
        if section == "invariants":
            return self._violations(self._grid(models, on), every)
        self._is_lenient = True
        try:
            return self._findings(models, on, every)
        finally:
            self._is_lenient = False

    def _grid(self, models: AnyModels, on: Parts) -> Grid:
        """Return the targets of the named models and parts, by default of all models and parts."""
        chosen = [self.model_name(name) for name in names(models)] or self._names("model")
        return Grid(self.connection(), chosen, [self.part_name(name) for name in names(on)] or self._names("hardware"))

    def _findings(self, models: AnyModels, on: Parts, every: bool) -> Rows:
        """Return each finding about the file."""
        from charz.schema import database

        rows = [self._version(), *self._cache()]
        found = self._found()
        rows += [self._foreign(found), self._shipped(found)]
        if found.shadowing:
            self.messages.remark("further checks run once no macro replaces a function")
            return Rows(_FINDING, rows, is_failure=True)
        rows.append(self._lacking())
        if not rows[-1][1]:
            self.messages.remark("further checks run once nothing is missing")
            return Rows(_FINDING, rows, is_failure=True)
        grid = self._grid(models, on)
        with self.messages.progress("doctor", self._step_count(grid, every)) as done:
            checked = [*self._maintained(grid, every, done), *self._missing()]
            broken = {name: count for name, count in self._counts(grid, every, done).items() if count}
        rows += [_finding(kind, of, "rebuilt by `charz doctor --repair`") for kind, of in _by_kind(checked).items()]
        repeated = database.repeated_keys(self.connection())
        rows.append(_finding("key", repeated, "ingest the model again with --force"))
        rows.append(
            _finding("answer at hand", self._answers(grid, every), "`charz doctor --repair` evaluates them again")
        )
        rows.append(_finding("invariant", broken, "`charz doctor --invariants` lists them"))
        rows.append(self._linted())
        self.messages.remark(f"tables of runs and invariants were checked on {self._extent_of(grid, every)}")
        return Rows(_FINDING, rows, is_failure=not all(row[1] for row in rows))

    def _version(self) -> tuple[str, bool, str, str]:
        from charz.schema import about
        from charz.sql import views

        known = about.read(self.connection())
        is_same = known.get("views_fingerprint") == views.fingerprint()
        found = f"charz {known.get('charz_version')}, layout {known.get(about.LAYOUT)}, views {known.get('views_fingerprint')}"
        return "version", is_same, found, "" if is_same else "`charz doctor --repair` installs this charz's views"

    def _cache(self) -> list[tuple[str, bool, str, str]]:
        """Check the user's cache: report the cached files, or the reason why the cache is unusable."""
        from charz.schema import cache

        if fault := cache.fault_of_folder():
            return [("cache", False, fault, "set XDG_CACHE_HOME and XDG_STATE_HOME to folders that you own")]
        files = cache.contents()
        total = sum(byte for _, byte in files)
        found = some([f"{name.partition('.')[0]} {byte / 10**6:.1f} MB" for name, byte in files], _LISTED)
        text = f"{total / 10**6:.1f} MB of at most {cache.MOST_BYTE // 10**6} in {cache.folder()}: {found}"
        return [("cache", total <= cache.MOST_BYTE, text, "")]

    def _found(self) -> Found:
        """Find the differences between the file's objects and those of charz, including triggers and comments."""
        from charz.schema import about
        from charz.sql import foreign, views

        from .. import workspace

        is_same = about.read(self.connection()).get("views_fingerprint") == views.fingerprint()
        return foreign.found(self.connection(), workspace.own(), is_whole=True, compare_texts=is_same)

    def _foreign(self, found: Found) -> tuple[str, bool, str, str]:
        """Report objects that charz did not create, or that were changed."""
        objects = [*found.shadowing, *(n for n in found.changed if not n.startswith("rows of ")), *found.further]
        next = "drop them, or write with --trust; `charz doctor --repair --trust` drops macros that replace functions"
        return "foreign object", not objects, some(sorted(objects), _LISTED) or "none", next if objects else ""

    def _shipped(self, found: Found) -> tuple[str, bool, str, str]:
        """Report changed shipped rows. The check always passes, since users may edit shipped rows."""
        from charz.sql import foreign

        from .. import workspace

        with contextlib.closing(workspace.empty()) as ours:
            altered = foreign.altered(self.connection(), ours, found.tables)
        text = ", ".join(f"{table} {count}" for table, count in sorted(altered.items()))
        next = "`charz hardware sync` lists them; rows that you edited are no fault" if altered else ""
        return "shipped row", True, text or "all as shipped", next

    def _lacking(self) -> tuple[str, bool, str, str]:
        """Find views, macros, columns and descriptions of charz that the file lacks or that were changed."""
        from charz.sql import foreign

        from .. import workspace

        with contextlib.closing(workspace.empty()) as own:
            lacking = foreign.lacking(self.connection(), own)
        is_of_tables = any(name.startswith("column ") for name in lacking)
        next = "ingest again into a new file" if is_of_tables else "`charz doctor --repair` restores them"
        return "missing object", not lacking, some(lacking, _LISTED) or "none", next if lacking else ""

    def _answers(self, grid: Grid, every: bool) -> dict[str, int]:
        """Count the precomputed rows that differ from the live views, by view."""
        from charz.sql import answers

        with self.cursor() as cursor:
            return answers.differences(cursor, grid.scope(every))

    def _linted(self) -> tuple[str, bool, str, str]:
        """Apply the lints of the catalog to the file's catalog."""
        from charz.hardware_catalog import sync, table_lints
        from charz.hardware_catalog.part import SECTIONS
        from charz.hardware_catalog.uniform import TYPES

        tables = {t: sync.stored(self.connection(), t) for t in (*TYPES.values(), *SECTIONS.values())}
        problems = table_lints.check_tables(self._names("hardware"), tables)
        next = "correct the rows with a DuckDB client" if problems else ""
        return "catalog lint", not problems, some([str(problem) for problem in problems], _LISTED) or "no fault", next


def _by_kind(rows: Iterable[tuple[str, str, int, str]]) -> dict[str, dict[str, int]]:
    """Group the names with a count above 0 by kind. A kind without such names stays as an empty group."""
    found: dict[str, dict[str, int]] = {}
    for kind, name, count, _ in rows:
        of_kind = found.setdefault(kind, {})
        if count:
            of_kind[name] = count
    return found


def _finding(what: str, counts: Mapping[str, int], next: str) -> tuple[str, bool, str, str]:
    found = some([f"{name} {count}" for name, count in counts.items()], _LISTED)
    return what, not counts, found or "all well", next if counts else ""


