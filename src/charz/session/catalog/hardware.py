"""Commands about parts of the hardware catalog."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from charz.schema import user_file
from charz.schema.errors import CharzError

from ..answer import Asked, Rows, answer, of_query
from ..axes import quantity
from ..core import Core
from ..messages import Messages
from ..parameters import Amount, File, Force, Text
from ..quantities import quantity as quantity_of

if TYPE_CHECKING:
    import duckdb

    from charz.hardware_catalog.loader import Catalog
    from charz.schema.row import Row


AnyPart = Annotated[str, Text("Hardware part, by id, name or alias.")]

_FACTS = ("name", "vendor", "family", "market", "architecture", "form_factor", "status", "origin", "note")

_PART = f"""
    SELECT hardware, {", ".join(f"h.{fact}" for fact in _FACTS)}, p.dataflow
    FROM hardware AS h JOIN part AS p USING (hardware) WHERE hardware = ?
"""
"""Query for the textual facts of a part. The dataflow is the part's if stated, else the default of the family."""

_NUMBERS = ("field", "value", "unit", "standing", "is_edited", "follows_edit", "formula")

_SOURCES = ("confidence", "source_id", "derivation_rule", "note", "locator")


@dataclass(frozen=True, slots=True)
class PartText:
    """Text of a YAML file that describes a part."""

    name: str
    """Id of the part in the file."""
    text: str


def _name(text: str) -> str:
    """Check and return the id of a part, which names a file. Raises `CharzError` for an invalid id, also from a database."""
    from charz.hardware_catalog import part_file

    if not part_file.is_name(text):
        raise CharzError("not an id of a part", text, next=f"write --id with {part_file.NAME_REMEDY}")
    return text


def _written(make: Callable[..., PartText]) -> Callable[..., str]:
    """Turn a method that returns the text of a part also into a command that writes the text to a file and returns the file's name."""

    @functools.wraps(make)
    def text(self: Hardware, *args: Any, out: File | None = None, force: bool = False, **given: Any) -> str:
        made = make(self, *args, **given)
        if out is not None:
            user_file.write(Path(out), made.text.encode(), force)
        return made.text

    @functools.wraps(make)
    def rows(self: Hardware, *args: Any, out: File | None = None, force: bool = False, **given: Any) -> Rows:
        made = make(self, *args, **given)
        file = Path(out or f"{made.name}.yaml")
        user_file.write(file, made.text.encode(), force)
        return Rows(("written",), [(str(file),)])

    text.asked = Asked(rows, (), files=("out",))  # type: ignore[attr-defined]
    return text


class Hardware:
    """Parts of a session's database, or of the shipped catalog where the database does not exist."""

    def __init__(self, session: Core) -> None:
        self.session = session

    @answer()
    def list(self, *, family: Annotated[str | None, Text("cpu, gpu, tpu, kpu, npu or dsp.")] = None) -> Rows:
        """List the parts with their peaks, memory and power."""
        connection = self.session.catalog()
        if family is not None:
            _check_family(connection, family)
        query = "SELECT * FROM part_list WHERE ?1 IS NULL OR family = ?1 ORDER BY family, hardware"
        return of_query(connection.sql(query, params=[family]), "part_list")

    @answer("numbers", "part", "conflicts")
    def show(
        self,
        part: AnyPart,
        *,
        sources: Annotated[bool, Text("Show the source of each number.")] = False,
        section: Literal["numbers", "part", "conflicts"] = "numbers",
    ) -> Rows:
        """Show every number of a part, and the numbers on which sources disagree. --sources adds the source of each number."""
        connection = self.session.catalog()
        hardware = resolve(connection, part)
        if section == "part":
            return of_query(connection.sql(_PART, params=[hardware]))
        if section == "conflicts":
            query = "SELECT field, values_by_source, chosen, reason FROM hardware_conflict WHERE hardware = ? ORDER BY field"
            return of_query(connection.sql(query, params=[hardware]), "hardware_conflict")
        columns = (*_NUMBERS, *(_SOURCES if sources else ()))
        query = f"SELECT {', '.join(columns)} FROM hardware_value WHERE hardware = ? ORDER BY field"
        counted = "SELECT count(*), count(*) FILTER (is_guess) FROM hardware_value WHERE hardware = ?"
        ((count, guesses),) = connection.execute(counted, [hardware]).fetchall()
        more = "" if sources else "; --sources shows the source of each"
        self.session.messages.remark(f"{hardware} has {count} numbers, of which {guesses} are guesses{more}")
        warn(self.session.messages, connection, hardware)
        return of_query(connection.sql(query, params=[hardware]), "hardware_value")

    @answer()
    def diff(self, first: AnyPart, second: AnyPart) -> Rows:
        """Compare two parts number by number. A number per unit and a number per chip have no ratio."""
        connection = self.session.catalog()
        parts = [resolve(connection, name) for name in (first, second)]
        query = "SELECT * EXCLUDE (first_hardware, second_hardware) FROM part_difference WHERE first_hardware = ? AND second_hardware = ?"
        found = of_query(connection.sql(f"{query} ORDER BY field", params=parts), "part_difference")
        if not found.fetch():
            self.session.messages.remark(f"{parts[0]} and {parts[1]} have equal numbers")
        return found

    @_written
    def dump(
        self,
        part: AnyPart,
        *,
        id: Annotated[str | None, Text("Id of the part in the file; default PART_copy.")] = None,
        out: Annotated[File | None, Text("File to write; on the command line default ID.yaml in this folder.")] = None,
        force: Force = False,
    ) -> PartText:
        """Write a part with the sources of its numbers to a YAML file, which `charz hardware add` accepts unchanged.

        Derived numbers are left out and follow the stated numbers. To double the tiles, for example, change one number.
        """
        from charz.hardware_catalog import part_text

        connection = self.session.catalog()
        hardware = resolve(connection, part)
        name = id or f"{hardware}_copy"
        return PartText(_name(name), part_text.dumped(connection, hardware, name))

    @_written
    def template(
        self,
        family: Annotated[str, Text("cpu, gpu, tpu, kpu, npu or dsp.")],
        *,
        id: Annotated[str | None, Text("Id of the part in the file; default my_FAMILY.")] = None,
        out: Annotated[File | None, Text("File to write; on the command line default ID.yaml in this folder.")] = None,
        force: Force = False,
    ) -> PartText:
        """Write a YAML template for a part of your own, with the meaning and an example of each number."""
        from charz.hardware_catalog import part_text

        connection = self.session.catalog()
        _check_family(connection, family)
        name = id or f"my_{family}"
        return PartText(_name(name), part_text.template(connection, family, name))

    @_written
    def import_(
        self,
        *,
        scale_sim: Annotated[File | None, Text("Configuration file of SCALE-Sim.")] = None,
        timeloop: Annotated[File | None, Text("Architecture file of Timeloop in YAML.")] = None,
        clock: Annotated[Amount | None, Text("Clock, if the file states no clock, e.g. 1GHz.")] = None,
        dram: Annotated[
            Amount | None, Text("Bandwidth of main memory, if the file states no bandwidth, e.g. 25.6GB/s.")
        ] = None,
        id: Annotated[str | None, Text("Id of the part; default the file's name.")] = None,
        out: Annotated[File | None, Text("File to write; on the command line default ID.yaml in this folder.")] = None,
        force: Force = False,
    ) -> PartText:
        """Convert the array, memories and clock of a design for another tool to a part file that `charz hardware add` accepts."""
        from charz.hardware_catalog import exchange

        given = {"scale_sim": scale_sim, "timeloop": timeloop}
        named = [(kind, Path(file)) for kind, file in given.items() if file is not None]
        if len(named) != 1:
            raise CharzError("one file is needed", f"{len(named)} are named", next="name one with --scale-sim or --timeloop")
        ((kind, file),) = named
        if not file.is_file():
            raise CharzError("no such file", str(file))
        read = exchange.of_scale_sim if kind == "scale_sim" else exchange.of_timeloop
        clock_hz = None if clock is None else quantity(clock, "Hz", "clock")
        dram_byte_per_s = None if dram is None else quantity(dram, "byte/s", "dram")
        design = read(file, clock_hz, dram_byte_per_s)
        name = id or re.sub(r"[^a-z0-9_]+", "_", file.stem.lower())
        return PartText(name, exchange.part(design, name, file))

    @answer()
    def check(
        self, file: Annotated[File | None, Text("YAML file of a part; default the shipped catalog.")] = None
    ) -> Rows:
        """Check a part file or the shipped catalog, and list faults and missing numbers that predictions of time or energy need; exit code 1
        if something is listed. Valid numbers that contradict each other (`part_warning`) are reported as warnings.

        Nothing is ingested or written. The part of a file is tested with the shipped rules and scenarios, and each number that the file does
        not state is listed with its rule, and the silicon rules that its family lends. In the shipped catalog, energy
        rules of memory are also compared with documents (`energy_fact`), and parts with the rules of their silicon process
        (`silicon_check`). Deviations above a factor of 1.5 are reported as remarks.
        """
        from charz.hardware_catalog import energy_check, loader
        from charz.hardware_catalog.problem import CatalogError

        from .. import workspace

        try:
            if file is not None:
                with contextlib.closing(workspace.empty()) as shipped:
                    rows = loader.load_part(Path(file), _known(shipped))
                lacks = self._lacks_of(rows)
            else:
                rows = loader.load().rows
                lacks = _lacks(self.session.catalog())
                warn(self.session.messages, self.session.catalog())
        except CatalogError as error:
            self.session.messages.remark(f"{len(error.problems)} faults")
            return Rows(("fault",), [(str(problem),) for problem in error.problems], is_failure=True)
        for off in energy_check.off(rows) if file is None else ():
            self.session.messages.remark(off.line)
        for line in _off_process(self.session.catalog()) if file is None else ():
            self.session.messages.remark(line)
        found = f"{len(lacks)} parts and backends lack numbers" if lacks else "no part lacks a number"
        self.session.messages.remark(f"no fault in {sum(map(len, rows.values()))} rows, {found}")
        return Rows(("fault",), [(lack,) for lack in lacks], is_failure=bool(lacks))

    def _lacks_of(self, rows: Mapping[type[Row], Sequence[Row]]) -> Sequence[str]:
        """List the missing numbers that predictions for a part need, and warn of doubtful numbers. The part is inserted into a temporary database
        with the shipped parts, without models and triggers."""
        import tempfile

        from charz.schema import database
        from charz.schema.catalog.part import Hardware as Part
        from charz.sql import maintain

        from .. import workspace

        (part,) = rows[Part]
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.closing(workspace.apart(Path(folder) / "check.duckdb")) as connection,
        ):
            for made in rows.values():
                database.insert_rows(connection, made)
            maintain.refill(connection, with_runs=False)
            warn(self.session.messages, connection, part.hardware)  # type: ignore[attr-defined]
            for line in _not_stated(connection, part.hardware):  # type: ignore[attr-defined]
                self.session.messages.remark(line)
            return _lacks(connection, part.hardware)  # type: ignore[attr-defined]

    @answer(is_writing=True)
    def add(
        self,
        file: Annotated[File, Text("YAML file of a part.")],
        *,
        replace: Annotated[bool, Text("Replace a part of the same id that you added before.")] = False,
    ) -> Rows:
        """Add a part of your own from a YAML file that passes the lints of the shipped catalog."""
        file = Path(file)
        with self.session.changing() as connection:
            wanted = _insert(connection, file, replace)
            lacks = _lacks(connection, wanted)
            warn(self.session.messages, connection, wanted)
        for lack in lacks:
            self.session.messages.remark(lack)
        self.session.messages.remark(f"`charz hardware show {wanted} --sources` shows the numbers derived from the file")
        return Rows(("added",), [(wanted,)])

    @answer(is_writing=True)
    def remove(self, part: AnyPart) -> Rows:
        """Remove a part that you added."""
        from charz.sql import maintain

        with self.session.changing(create=False) as connection:
            hardware = resolve(connection, part)
            with maintain.bulk(connection):
                _remove_own(connection, hardware)
        return Rows(("removed",), [(hardware,)])

    @answer(is_writing=True)
    def sync(self, *, dry_run: Annotated[bool, Text("Show the changes without applying them.")] = False) -> Rows:
        """Update the catalog of an older database to the shipped catalog, and keep your parts and edits."""
        from charz.hardware_catalog import loader
        from charz.hardware_catalog import sync as syncing
        from charz.sql import maintain

        catalog = loader.load()
        if dry_run:
            changes = syncing.plan(self.session.connection(), catalog)
        else:
            with self.session.changing(create=False) as connection:
                changes = syncing.plan(connection, catalog)
                if changes:
                    with maintain.bulk(connection):
                        syncing.apply(connection, catalog)
        if not changes:
            self.session.messages.remark("the database already has the shipped catalog")
        kept = sum(1 for c in changes if c.action == "keep")
        self.session.messages.remark(
            f"{len(changes) - kept} rows {'would change' if dry_run else 'changed'}, {kept} edits of yours kept"
        )
        rows = [(c.action, c.table, c.key.strip("[]").replace('"', ""), c.detail) for c in changes]
        return Rows(("action", "table", "row", "what"), rows)


def resolve(connection: duckdb.DuckDBPyConnection, part: str) -> str:
    """Return the id of a part, given its id, name or alias."""
    from charz.hardware_catalog import names

    return names.resolve(connection, part)


def _check_family(connection: duckdb.DuckDBPyConnection, family: str) -> None:
    families = [f for (f,) in connection.execute("SELECT DISTINCT family FROM hardware ORDER BY 1").fetchall()]
    if family not in families:
        raise CharzError("no part of this family", family, f"there are: {', '.join(families)}")


def _insert(connection: duckdb.DuckDBPyConnection, file: Path, replace: bool = False) -> str:
    """Add the part of a file after checks against the database, and return its id."""
    from charz.hardware_catalog import part_file
    from charz.schema import database
    from charz.sql import maintain

    wanted = part_file.parsed(file)[0].hardware
    if replace:
        with maintain.bulk(connection):
            _remove_own(connection, wanted)
            for rows in _new_rows(connection, file).values():
                database.insert_rows(connection, rows)
        return wanted
    made = _new_rows(connection, file)
    with maintain.one_part(connection, wanted, made):
        for rows in made.values():
            database.insert_rows(connection, rows)
    return wanted


def _new_rows(connection: duckdb.DuckDBPyConnection, file: Path) -> dict[str, Sequence[Row]]:
    """Return the rows of a file's part by table, without documents that the database describes already."""
    from charz.hardware_catalog import loader
    from charz.hardware_catalog.calibration import store
    from charz.schema.catalog.efficiency import FIRST_OWN_ID, Efficiency
    from charz.schema.catalog.source import Source

    known = _known(connection)
    rows = loader.load_part(file, known)
    rows[Source] = [row for row in rows[Source] if row not in known.rows[Source]]
    rows[Efficiency] = [*store.numbered(rows[Efficiency], store.taken(connection), FIRST_OWN_ID)]  # type: ignore[arg-type]
    return {row_type.TABLE: made for row_type, made in rows.items() if made}


def _known(connection: duckdb.DuckDBPyConnection) -> Catalog:
    """Return the database's rows that the lints of a part need: parts, sources, families, formats and ranges of numbers."""
    from charz.hardware_catalog.loader import Catalog
    from charz.hardware_catalog.sync import stored
    from charz.schema.catalog.energy import SiliconRule
    from charz.schema.catalog.part import Hardware as Part
    from charz.schema.catalog.part import HardwareAlias, HardwareFamily
    from charz.schema.catalog.precision import Precision
    from charz.schema.catalog.provenance import NumberRule
    from charz.schema.catalog.source import Confidence, Source
    from charz.schema.catalog.tiling import TilingStrategy

    row_types = (
        Part, HardwareAlias, HardwareFamily, Precision, Source, Confidence, NumberRule, TilingStrategy, SiliconRule,
    )  # fmt: skip
    return Catalog({row_type: stored(connection, row_type) for row_type in row_types})


def _off_process(connection: duckdb.DuckDBPyConnection) -> Sequence[str]:
    """Return a line for each part that deviates from the rules of its silicon process by more than `silicon_check` allows."""
    query = "SELECT hardware, quantity, ruled, stated, factor FROM silicon_check WHERE is_off ORDER BY quantity, factor DESC, 1"
    return [
        f"{part}: {quantity} {ruled:.4g} by the rules of its process, {stated:.4g} as stated: {factor:.2g} times apart"
        for part, quantity, ruled, stated, factor in connection.execute(query).fetchall()
    ]


def _not_stated(connection: duckdb.DuckDBPyConnection, hardware: str) -> list[str]:
    """Return a line for each number that a part does not state, with its formula, and a line for the silicon rules that depend on its family."""
    query = "SELECT field, is_guess, value, unit, formula FROM hardware_value WHERE hardware = ? AND stated_value IS NULL"
    lines = [
        f"{'assumed' if is_guess else 'derived'}: {field} = {quantity_of(value, unit)}{f' ({formula})' if formula else ''}"
        for field, is_guess, value, unit, formula in sorted(connection.execute(query, [hardware]).fetchall())
        if value is not None
    ]
    ruled = "SELECT quantity, value FROM part_rule WHERE hardware = ? AND row_key = '*' AND quantity IN"
    of_family = "(SELECT quantity FROM silicon_rule WHERE family <> '*' AND row_key = '*') ORDER BY quantity"
    lent = ", ".join(f"{name} {value:g}" for name, value in connection.execute(f"{ruled} {of_family}", [hardware]).fetchall())
    ((family,),) = connection.execute("SELECT family FROM hardware WHERE hardware = ?", [hardware]).fetchall()
    more = "another family lends other values, and so other area, static power and energy"
    return [*lines, f"family {family} lends {lent}: {more}"]


def _lacks(connection: duckdb.DuckDBPyConnection, hardware: str | None = None) -> list[str]:
    """Return a line for each missing number that predictions for a part, or for any part, need, with the remedy."""
    order = "ORDER BY hardware, backend, lack"
    found = connection.execute(f"SELECT hardware, reason, next FROM part_lack {order}").fetchall()
    return [f"{part}: {reason}; {next}" for part, reason, next in found if hardware in (None, part)]


def warn(messages: Messages, connection: duckdb.DuckDBPyConnection, hardware: str | None = None) -> None:
    """Warn of valid numbers of a part, or of any part, that contradict each other."""
    from charz.sql.scopes import stored

    # The view of the file, since a session with an engine replaces views about models.
    query = f"SELECT hardware, reason, next FROM {stored(connection, 'part_warning')} ORDER BY hardware, warning"
    for part, reason, next in connection.execute(query).fetchall():
        if hardware in (None, part):
            messages.warn(f"{part}: {reason}; {next}")


def _remove_own(connection: duckdb.DuckDBPyConnection, hardware: str) -> None:
    """Delete every row of a user's part. Raise `CharzError` for a shipped part, ignore an unknown part."""
    from charz.hardware_catalog.sync import shipped_sources
    from charz.schema import catalog, database

    found = connection.execute("SELECT origin FROM hardware WHERE hardware = ?", [hardware]).fetchall()
    if found and found[0][0] != "user":
        raise CharzError("a part of the shipped catalog", hardware, next="give your part another id")
    scope = f"hardware:{hardware}"
    cited = "SELECT source_id FROM hardware_provenance WHERE hardware = ? UNION SELECT source_id FROM efficiency WHERE scope = ?"
    own = {source for (source,) in connection.execute(cited, [hardware, scope]).fetchall()} - shipped_sources(connection)
    connection.execute("DELETE FROM efficiency WHERE scope = ? AND backend = '*' AND kernel_class = '*'", [scope])
    for row_type in database.TABLES:
        if row_type.__module__.startswith(catalog.__name__) and "hardware" in row_type.model_fields:
            connection.execute(f"DELETE FROM {row_type.TABLE} WHERE hardware = ?", [hardware])
    for source in sorted(own):
        others = "SELECT source_id FROM hardware_provenance UNION SELECT source_id FROM efficiency"
        connection.execute(f"DELETE FROM source WHERE source_id = ? AND source_id NOT IN ({others})", [source])
