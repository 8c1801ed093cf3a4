"""Parts of the hardware catalog: list, show with sources, compare, check, add your own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from charz.schema import database
from charz.schema.catalog import Hardware, HardwareAlias
from charz.schema.errors import CharzError

from . import display
from .workspace import DatabaseOption, change_workspace, database_path, open_workspace

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Parts of the hardware catalog.")

PartArgument = Annotated[str, typer.Argument(help="Part, by id or any other name it has.")]
FileArgument = Annotated[Path, typer.Argument(help="YAML file of a part.")]


@contextlib.contextmanager
def _catalog_connection(db: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database, or, where there is none yet, the shipped catalog in memory."""
    if database_path(db).exists():
        with open_workspace(db) as connection:
            yield connection
        return
    from charz.hardware_catalog import loader
    from charz.schema import ddl
    from charz.sql import views

    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        loader.write(connection, loader.load())
        views.install(connection)
        yield connection


@app.command("list")
def list_parts(
    family: Annotated[str | None, typer.Option("--family", help="cpu, gpu, tpu, kpu, npu or dsp.")] = None,
    db: DatabaseOption = None,
) -> None:
    """List the parts with their peaks, memory and power."""
    query = """
        SELECT
            h.hardware, h.family, h.name, h.status, h.origin,
            (SELECT max(p.peak_ops_per_s) FROM hardware_peak AS p
             WHERE p.hardware = h.hardware AND p.precision = 'fp32' AND p.unit = 'vector'),
            (SELECT max(p.peak_ops_per_s) FROM hardware_peak AS p
             WHERE p.hardware = h.hardware AND p.precision IN ('fp16', 'bf16') AND p.accumulator <> 'fp16'),
            m.bandwidth_byte_per_s, m.capacity_byte, w.tdp_w
        FROM hardware AS h
        LEFT JOIN hardware_memory AS m ON m.hardware = h.hardware AND m.level = 'dram'
        LEFT JOIN hardware_power AS w ON w.hardware = h.hardware AND w.is_default
        WHERE ?1 IS NULL OR h.family = ?1
        ORDER BY h.family, h.hardware
    """
    with _catalog_connection(db) as connection:
        families = [
            name for (name,) in connection.execute("SELECT DISTINCT family FROM hardware ORDER BY 1").fetchall()
        ]
        rows = connection.execute(query, [family]).fetchall()
    if not rows:
        raise CharzError("no part of this family", str(family), f"there are: {', '.join(families)}")
    headers = ["part", "family", "name", "fp32 vector", "fp16/bf16", "memory speed", "memory", "TDP", ""]
    shown = [
        [
            part, kind, name, display.quantity(fp32, "ops/s"), display.quantity(half, "ops/s"),
            display.quantity(speed, "byte/s"), display.size(size), display.watts(tdp), _flags(status, origin),
        ]
        for part, kind, name, status, origin, fp32, half, speed, size, tdp in rows
    ]  # fmt: skip
    display.show(display.table(headers, shown))


def _flags(status: str, origin: str) -> str:
    flags = [status] if status != "shipping" else []
    return ", ".join(flags + (["yours"] if origin == "user" else []))


@app.command()
def show(
    part: PartArgument,
    sources: Annotated[bool, typer.Option("--sources", help="Say of each number where it comes from.")] = False,
    db: DatabaseOption = None,
) -> None:
    """Show every number of a part, with --sources where each comes from."""
    with _catalog_connection(db) as connection:
        hardware = _resolve(connection, part)
        (facts,) = connection.execute(
            "SELECT name, vendor, family, market, architecture, form_factor, status, origin, note FROM hardware"
            " WHERE hardware = ?",
            [hardware],
        ).fetchall()
        aliases = connection.execute("SELECT alias FROM hardware_alias WHERE hardware = ?", [hardware]).fetchall()
        numbers = connection.execute(
            "SELECT field, value, unit, confidence, source_id, is_edited, formula, note, locator, is_guess"
            " FROM hardware_value WHERE hardware = ? ORDER BY field",
            [hardware],
        ).fetchall()
        conflicts = connection.execute(
            "SELECT field, values_by_source, chosen, reason FROM hardware_conflict WHERE hardware = ? ORDER BY field",
            [hardware],
        ).fetchall()
    name, vendor, family, market, architecture, form_factor, status, origin, note = facts
    display.show(f"{hardware}: {name} ({vendor}, {family}, {market}, {architecture}, {form_factor}, {status})")
    if aliases:
        display.show("also: " + ", ".join(alias for (alias,) in aliases))
    for text in (note, "a part of your own" if origin == "user" else None):
        if text:
            display.show(text)
    display.show()
    if sources:
        headers = ["field", "value", "unit", "confidence", "source", "how and where"]
        shown = [
            [
                field,
                value,
                unit,
                confidence + (" (edited)" if edited else ""),
                source,
                _origin(formula, remark, locator),
            ]
            for field, value, unit, confidence, source, edited, formula, remark, locator, _ in numbers
        ]
    else:
        headers = ["field", "value", "confidence"]
        shown = [
            [field, _quantity(value, unit), (confidence or "") + (" (edited)" if edited else "")]
            for field, value, unit, confidence, _, edited, *_ in numbers
        ]
    display.show(display.table(headers, shown))
    if conflicts and sources:
        display.heading("Where sources disagree")
        display.show(display.table(["field", "values", "chosen", "reason"], conflicts))
    guesses = sum(1 for row in numbers if row[-1])
    display.note(
        f"{len(numbers)} numbers, {guesses} of them guesses"
        + ("" if sources else "; --sources says where each comes from")
    )


def _quantity(value: float | None, unit: str | None) -> str:
    """A number in its display unit; what is counted or named, as a year or a process node, as it is."""
    if value is not None and unit in ("count", "ops", "year", "nm", None):
        return f"{value:g}{' nm' if unit == 'nm' else ''}"
    return display.quantity(value, unit or "")


def _origin(formula: str | None, note: str | None, locator: str | None) -> str:
    return "; ".join(text for text in (formula, note, locator) if text)


@app.command()
def diff(first: PartArgument, second: PartArgument, db: DatabaseOption = None) -> None:
    """Compare two parts number by number."""
    query = """
        SELECT
            coalesce(a.field, b.field), a.value, b.value, coalesce(a.unit, b.unit), b.value / nullif(a.value, 0)
        FROM (SELECT * FROM hardware_value WHERE hardware = ?) AS a
        FULL JOIN (SELECT * FROM hardware_value WHERE hardware = ?) AS b ON b.field = a.field
        WHERE a.value IS DISTINCT FROM b.value
        ORDER BY 1
    """
    with _catalog_connection(db) as connection:
        one, two = _resolve(connection, first), _resolve(connection, second)
        rows = connection.execute(query, [one, two]).fetchall()
    if not rows:
        display.note(f"{one} and {two} agree in every number")
        return
    shown = [
        [field, _quantity(a, unit), _quantity(b, unit), "" if ratio is None else f"{ratio:.3g} x"]
        for field, a, b, unit, ratio in rows
    ]
    display.show(display.table(["field", one, two, "ratio"], shown))


@app.command()
def check(
    file: Annotated[Path | None, typer.Argument(help="YAML file of a part; without one, the shipped catalog.")] = None,
) -> None:
    """Apply every lint to a part file, or to the whole shipped catalog; exit code 1 at a fault."""
    from charz.hardware_catalog import loader
    from charz.hardware_catalog.problem import CatalogError

    try:
        catalog = loader.load()
        rows = loader.load_part(file, catalog) if file else catalog.rows
    except CatalogError as error:
        for problem in error.problems:
            display.show(str(problem))
        display.note(f"{len(error.problems)} faults")
        raise typer.Exit(1) from error
    display.note(f"no fault in {sum(map(len, rows.values()))} rows of {len(rows[Hardware])} parts")


@app.command()
def add(
    file: FileArgument,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of a part of your own.")] = False,
    db: DatabaseOption = None,
) -> None:
    """Add a part of your own from a YAML file, checked by the lints of the shipped catalog."""
    from charz.hardware_catalog import loader, part_file
    from charz.hardware_catalog.sync import stored

    wanted = part_file.read(file).hardware
    with change_workspace(db) as connection:
        if replace:
            _remove_own(connection, wanted)
        catalog = loader.load()
        catalog.rows[Hardware] = stored(connection, Hardware)
        catalog.rows[HardwareAlias] = stored(connection, HardwareAlias)
        for rows in loader.load_part(file, catalog).values():
            database.insert_rows(connection, rows)
    display.note(f"added {wanted}; `charz hardware show {wanted} --sources` shows what the family rules filled in")


@app.command()
def remove(part: PartArgument, db: DatabaseOption = None) -> None:
    """Remove a part of your own."""
    with change_workspace(db, create=False) as connection:
        hardware = _resolve(connection, part)
        _remove_own(connection, hardware)
    display.note(f"removed {hardware}")


@app.command()
def sync(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change and change nothing.")] = False,
    db: DatabaseOption = None,
) -> None:
    """Bring the shipped catalog into an older database, keeping your parts and edits."""
    from charz.hardware_catalog import loader
    from charz.hardware_catalog import sync as syncing
    from charz.sql import maintain

    catalog = loader.load()
    if dry_run:
        with open_workspace(db) as connection:
            changes = syncing.plan(connection, catalog)
    else:
        with change_workspace(db, create=False) as connection:
            changes = syncing.plan(connection, catalog)
            if changes:
                with maintain.bulk(connection):
                    syncing.apply(connection, catalog)
    if not changes:
        display.note("the database has this catalog already")
        return
    shown = [[c.action, c.table, c.key.strip("[]").replace('"', ""), c.detail] for c in changes]
    display.show(display.table(["action", "table", "row", "what"], shown))
    kept = sum(1 for c in changes if c.action == "keep")
    display.note(f"{len(changes) - kept} rows {'would change' if dry_run else 'changed'}, {kept} edits of yours kept")


def _resolve(connection: duckdb.DuckDBPyConnection, part: str) -> str:
    from charz.hardware_catalog import names

    return names.resolve(connection, part)


def _remove_own(connection: duckdb.DuckDBPyConnection, hardware: str) -> None:
    """Delete every row of a part of the user's; a shipped part stays, an unknown one is no matter."""
    found = connection.execute("SELECT origin FROM hardware WHERE hardware = ?", [hardware]).fetchall()
    if found and found[0][0] != "user":
        raise CharzError("a part of the shipped catalog", hardware, next="give yours another id")
    for row_type in database.TABLES:
        if row_type.__module__ == Hardware.__module__ and "hardware" in row_type.model_fields:
            connection.execute(f"DELETE FROM {row_type.TABLE} WHERE hardware = ?", [hardware])
