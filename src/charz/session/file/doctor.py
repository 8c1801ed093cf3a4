"""The command that diagnoses and repairs a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import names
from ..parameters import AnyModels, Parts, Text
from .check import Check, Every
from .refresh import Refresh
from .sample import Grid

_FINDING = ("what", "is_well", "found", "next")


class Doctor(Check, Refresh):
    """Diagnosis and repair of a file."""

    @answer("findings", alone=("invariants",), is_writing=True)
    def doctor(
        self,
        models: AnyModels = None,
        *,
        on: Parts = None,
        repair: Annotated[bool, Text("Install this charz's views and triggers and rebuild their tables.")] = False,
        every: Every = False,
        section: Literal["findings", "invariants"] = "findings",
    ) -> Rows:
        """Check the file: charz's version, foreign and missing objects, triggers, maintained tables, keys, invariants and the lints
        of the catalog, each with what was found and what to do. Exit code 1 if something is wrong.

        `--invariants` lists every invariant, maintained table and trigger with the number of rows that violate it. A large file is examined
        on a sample of its targets that has every model, part and scenario; `--every` takes all, models and parts only these.
        `--repair` installs views and triggers anew and evaluates every maintained table; models and what people wrote stay.
        """
        self.stays_here("a check of the file")
        from charz.schema import database
        from charz.sql import views

        if repair:
            with self.changing(create=False) as connection:
                views.install(connection)
                self._refreshed(connection)
        chosen = [self.model_name(name) for name in names(models)] or self._names("model")
        parts = [self.part_name(name) for name in names(on)] or self._names("hardware")
        grid = Grid(self.connection(), chosen, parts)
        if section == "invariants":
            return self._violations(grid, every)
        rows = [self._version(), self._foreign(), self._lacking()]
        if not rows[-1][1]:
            self.messages.remark("the rest is checked once nothing is missing")
            return Rows(_FINDING, rows, is_failure=True)
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

    def _foreign(self) -> tuple[str, bool, str, str]:
        """Find views, triggers and macros that are not charz's."""
        from .. import workspace

        try:
            workspace.check_own(self.connection(), self.path)
        except CharzError as error:
            return "foreign object", False, error.exists, "drop them, or write with --trust"
        return "foreign object", True, "none", ""

    def _lacking(self) -> tuple[str, bool, str, str]:
        """Find views, macros, columns and descriptions of charz that are missing or changed."""
        from charz.sql import foreign

        from .. import workspace

        with contextlib.closing(workspace.empty()) as own:
            lacking = foreign.lacking(self.connection(), own)
        is_of_tables = any(name.startswith("column ") for name in lacking)
        next = "ingest again into a new file" if is_of_tables else "`charz doctor --repair` restores them"
        return "missing object", not lacking, _some(lacking) or "none", next if lacking else ""

    def _answers(self, grid: Grid, every: bool) -> dict[str, int]:
        """Count the rows at hand that differ from the live views, by relation."""
        from charz.sql import answers

        with self.cursor() as cursor:
            return answers.differences(cursor, grid.scope(every))

    def _linted(self) -> tuple[str, bool, str, str]:
        """Check the catalog of the file by its lints."""
        from charz.hardware_catalog import lints, sync
        from charz.hardware_catalog.part import SECTIONS
        from charz.hardware_catalog.uniform import TYPES

        tables = {t: sync.stored(self.connection(), t) for t in (*TYPES.values(), *SECTIONS.values())}
        problems = lints.check_tables(self._names("hardware"), tables)
        next = "correct the rows with a DuckDB client" if problems else ""
        return "catalog lint", not problems, _some([str(problem) for problem in problems]) or "no fault", next


def _by_kind(rows: Iterable[tuple[str, str, int, str]]) -> dict[str, dict[str, int]]:
    """Group names with rows by kind; a kind without such names is empty."""
    found: dict[str, dict[str, int]] = {}
    for kind, name, count, _ in rows:
        of_kind = found.setdefault(kind, {})
        if count:
            of_kind[name] = count
    return found


def _finding(what: str, counts: Mapping[str, int], next: str) -> tuple[str, bool, str, str]:
    found = _some([f"{name} {count}" for name, count in counts.items()])
    return what, not counts, found or "all well", next if counts else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
