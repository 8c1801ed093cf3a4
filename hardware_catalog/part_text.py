"""Export of a database's part as a YAML file that could be its source, and of a family's template to fill in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import duckdb

from charz.schema import ddl
from charz.schema.catalog.energy import EnergyProfile
from charz.schema.catalog.part import Hardware, HardwareCluster
from charz.schema.catalog.source import Source
from charz.schema.row import Row
from charz.schema.units import readable

from .lints import CLOSURE_TOLERANCE
from .part import EFFICIENCIES, ENERGY_UNITS, ORDINALS, SECTIONS, numeric_columns, unit_of
from .part_file import SCHEMA
from .sync import shipped_sources

EDITED = "edited"
"""Source, in the file itself, of numbers changed in the database without a source."""
DATASHEET = "{}_datasheet"
"""Source, in the file itself, of a template's numbers, by the part's id: a database has one document per name."""

Record = dict[str, Any]


def dumped(connection: duckdb.DuckDBPyConnection, hardware: str, name: str) -> str:
    """Write the YAML of a part under another id, each number with its source; it can be added unchanged."""
    return "".join(f"{line}\n" for line in _Writer(connection, hardware).lines(name))


def template(connection: duckdb.DuckDBPyConnection, family: str, name: str) -> str:
    """Write the YAML of a family's template, each number with its meaning and the part's datasheet as its source; it can be added
    unchanged."""
    query = """
        SELECT h.hardware FROM hardware_family AS f JOIN hardware AS h USING (family)
        WHERE family = ? ORDER BY h.hardware <> f.template_part, h.hardware LIMIT 1
    """
    ((example,),) = connection.execute(query, [family]).fetchall()
    return "".join(f"{line}\n" for line in _Template(connection, example, DATASHEET.format(name)).lines(name))


class _Writer:
    """A writer of the lines of a part's file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, hardware: str) -> None:
        self.connection, self.hardware = connection, hardware
        self.provenance = {row["field"]: row for row in self.rows("hardware_provenance")}
        self.shipped = shipped_sources(connection)
        self.sources: dict[str, Record] = {}

    def rows(self, table: str, order: str = "ALL") -> list[Record]:
        """Return the rows of the part in a table."""
        query = f"SELECT * FROM {table} WHERE hardware = ? ORDER BY {order}"
        return list(self.connection.sql(query, params=[self.hardware]).pl().iter_rows(named=True))

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the file."""
        body = [
            *self.top(name), *self.sections(), *self.peaks(), *self.energy(), *self.efficiency(), *self.conflicts(),
        ]  # fmt: skip
        yield from self.heading()
        yield f"schema: {SCHEMA}"
        yield f"id: {_text(name)}"
        if self.sources:
            yield "sources:"
            for source_id, source in self.sources.items():
                fields = ", ".join(f"{column}: {_text(value)}" for column, value in source.items() if value is not None)
                yield f"  {_text(source_id)}: {{{fields}}}"
        yield from body

    def heading(self) -> Iterator[str]:
        """Yield the comment lines at the top."""
        yield f"# {self.hardware} as stored in a charz database. `charz hardware add` accepts it unchanged."
        yield "# Derived numbers are not listed: they follow from these."

    def top(self, name: str) -> Iterator[str]:
        """Yield the columns of `hardware`."""
        (row,) = self.rows("hardware")
        for column in Hardware.model_fields:
            if column in ("hardware", "origin") or row[column] is None:
                continue
            is_number = column in numeric_columns("hardware")
            value = self.leaf(f"hardware.{column}", row[column]) if is_number else _text(self.word(column, row[column]))
            yield self.line(0, Hardware, column, value)

    def word(self, column: str, value: Any) -> Any:
        """Return the text of a column of `hardware`."""
        return value

    def sections(self) -> Iterator[str]:
        """Yield the sections whose rows each have a name."""
        for section, row_type in SECTIONS.items():
            if section in ("hardware", "peak"):
                continue
            rows = self.rows(row_type.TABLE, "cluster_rank, cluster" if section == "cluster" else "ALL")
            if rows:
                yield f"{section}:"
            for row in rows:
                key = row[row_type.KEY[1]]
                yield f"  {_text(key)}:"
                yield from self.columns(section, row_type, row, (key,), indent=4)

    def peaks(self) -> Iterator[str]:
        """Yield the list of peaks."""
        row_type = SECTIONS["peak"]
        yield "peak:"
        for row in self.rows(row_type.TABLE):
            key = (row["precision"], row["unit"], row["accumulator"])
            for number, line in enumerate(self.columns("peak", row_type, row, key, indent=4, with_key=True)):
                yield f"  - {line.lstrip()}" if number == 0 else line

    def columns(
        self, section: str, row_type: type[Row], row: Record, key: tuple[str, ...], indent: int, with_key: bool = False
    ) -> Iterator[str]:
        """Yield the columns of one row that are not null."""
        skipped = {"hardware", "cluster_rank"} if with_key else {"cluster_rank", *row_type.KEY}
        for column in row_type.model_fields:
            if column in skipped or row[column] is None:
                continue
            value = row[column]
            if column in numeric_columns(section):
                text = self.leaf(".".join((section, *key, column)), value)
            else:
                text = _number(value) if column in ORDINALS and not isinstance(value, bool) else _text(value)
            yield self.line(indent, row_type, column, text)

    def energy(self) -> Iterator[str]:
        """Yield the coefficients that the part states itself."""
        rows = self.rows(EnergyProfile.TABLE)
        if rows:
            yield f"energy_scope: {rows[0]['scope']}"
            yield "energy:"
        for what in ENERGY_UNITS:
            of_kind = [row for row in rows if row["what"] == what]
            if of_kind:
                yield f"  {what}:"
            for row in of_kind:
                known = {**row, "unit": ENERGY_UNITS[what], "note": None}
                yield f"    {row['key']}: {self.cited(row['value'], known)}"

    def efficiency(self) -> Iterator[str]:
        """Yield the shares of the peak that the part states for every backend and kernel class."""
        rows = self.shares([f"hardware:{self.hardware}"])
        if rows:
            yield "efficiency:"
        for resource, row in rows.items():
            known = {**row, "unit": "fraction", "formula": None}
            yield f"  {resource}: {self.cited(row['maximum_fraction'], known)}"

    def shares(self, scopes: list[str]) -> dict[str, Record]:
        """Return the row of each resource for every backend and kernel class, from the first of some scopes that has one."""
        query = """
            SELECT * FROM efficiency
            WHERE backend = '*' AND kernel_class = '*' AND operator_name = '*' AND precision_class = '*' AND memory_format = '*'
            AND half_work = 0 AND list_contains($1, scope) AND list_contains($2, resource) ORDER BY list_position($1, scope) DESC
        """
        found = self.connection.sql(query, params=[scopes, list(EFFICIENCIES)]).pl().iter_rows(named=True)
        return {row["resource"]: row for row in found}

    def conflicts(self) -> Iterator[str]:
        """Yield the numbers on which sources disagree."""
        for number, row in enumerate(self.rows("hardware_conflict")):
            if number == 0:
                yield "conflicts:"
            columns = [f"{name}: {_text(value)}" for name, value in row.items() if name != "hardware"]
            yield f"  - {{{', '.join(columns)}}}"

    def leaf(self, field: str, value: float) -> str:
        """Write a number with its provenance."""
        known = self.provenance.get(field)
        column = field.rpartition(".")[2]
        if known is None or known["catalog_value"] != value:
            return self.cited(value, {"unit": unit_of(column), "source_id": EDITED, "confidence": "assumed"})
        return self.cited(value, known)

    def cited(self, value: float, known: Mapping[str, Any]) -> str:
        """Write a leaf of the file and describe its source if it does not ship."""
        source = known["source_id"]
        self.cite(source)
        parts = [
            f"value: {_number(value)}", f"unit: {known['unit']}", f"source: {_text(source)}",
            f"confidence: {known['confidence']}",
        ]  # fmt: skip
        parts += [f"{name}: {_text(known[name])}" for name in ("formula", "note") if known.get(name)]
        return f"{{{', '.join(parts)}}}"

    def cite(self, source: str) -> None:
        """Describe a source in the file if the catalog does not ship it."""
        if source == EDITED:
            self.sources[EDITED] = {
                "kind": "assumption", "locator": "edited in a charz database", "what": "changed by hand, no document read",
            }  # fmt: skip
            return
        query = "SELECT * FROM source WHERE source_id = ?"
        if source not in self.shipped:
            for row in self.connection.sql(query, params=[source]).pl().iter_rows(named=True):
                self.sources[source] = {name: row[name] for name in Source.model_fields if name != "source_id"}

    def line(self, indent: int, row_type: type[Row], column: str, value: str) -> str:
        """Write one column."""
        return f"{' ' * indent}{column}: {value}"


class _Template(_Writer):
    """A writer of a file to fill in: the numbers of an example, each with its meaning."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, hardware: str, datasheet: str) -> None:
        super().__init__(connection, hardware)
        self.datasheet = datasheet
        query = "SELECT field, value FROM part_number WHERE hardware = ? AND value IS NOT NULL"
        self.defaults: dict[str, float] = dict(connection.execute(query, [hardware]).fetchall())

    def heading(self) -> Iterator[str]:
        yield "# A part of your own: enter its numbers, with the document each comes from, and add it with `charz hardware add`."
        yield "# A number that you omit is derived from the rest, or unknown; confidence states how far to trust a number"
        yield f"# (vendor_doc, measured, assumed, ...). The numbers here are examples, near those of {self.hardware}."
        yield "# A unit may be any multiple: GHz, KiB, MB, GB/s, TOPS, mW; `charz hardware check` lists faults."
        yield "# A line that ends in (required) is needed. Remove the first `#` of an optional line to state its number; it shows"
        yield "# the default that charz derives from the other numbers, or the unit where the number is unknown."

    def word(self, column: str, value: Any) -> Any:
        replaced = {"name": "My part", "vendor": "me", "architecture": "Mine", "status": "announced", "note": None}
        return replaced.get(column, value)

    def top(self, name: str) -> Iterator[str]:
        self.cite(self.datasheet)
        yield from (line for line in super().top(name) if not line.startswith(("note:", "compute_capability:")))
        if not self.rows(Hardware.TABLE)[0]["dataflow"]:
            text = self.line(0, Hardware, "dataflow", '"weight_stationary"').partition("#")
            yield f"# {text[0]}# For a cluster with array_rows and array_columns:{text[2]}"

    def rows(self, table: str, order: str = "ALL") -> list[Record]:
        """Return the rows of the example; a part with arrays gets a dataflow and the array of its peak."""
        found = super().rows(table, order)
        if table == HardwareCluster.TABLE:
            return [{**row, **self.array(row)} for row in found]
        if table == Hardware.TABLE and any(row["array_rows"] for row in self.rows(HardwareCluster.TABLE)):
            return [{**row, "dataflow": row["dataflow"] or self.dataflow()} for row in found]
        return found

    def array(self, cluster: Record) -> Record:
        """Derive a square array from the cluster's highest matrix peak, if its family computes in arrays and the array is unknown."""
        query = """
            SELECT MAX(k.peak_ops_per_s) FROM hardware_peak AS k JOIN hardware AS h USING (hardware) JOIN hardware_family AS f USING (family)
            WHERE hardware = ? AND k.cluster = ? AND k.unit = 'matrix' AND f.architecture_class = 'systolic'
        """
        ((peak,),) = self.connection.execute(query, [self.hardware, cluster["cluster"]]).fetchall()
        clock = cluster["clock_matrix_hz"] or cluster["clock_boost_hz"]
        if cluster["array_rows"] or not (peak and clock):
            return {}
        elements = peak / (2 * cluster["unit_count"] * clock)
        side = round(elements**0.5)
        is_square = abs(elements / side**2 - 1) <= CLOSURE_TOLERANCE if side > 1 else False
        return {"array_rows": side, "array_columns": side} if is_square else {}

    def dataflow(self) -> str | None:
        """Return the dataflow of the part's family, or of the first family of its class that has one."""
        query = """
            SELECT o.dataflow
            FROM hardware AS h JOIN hardware_family AS f USING (family) JOIN hardware_family AS o USING (architecture_class)
            WHERE h.hardware = ? AND o.dataflow IS NOT NULL ORDER BY o.family <> f.family, o.family
        """
        found = self.connection.execute(query, [self.hardware]).fetchall()
        return str(found[0][0]) if found else None

    def energy(self) -> Iterator[str]:
        return iter(())

    def efficiency(self) -> Iterator[str]:
        (row,) = self.rows(Hardware.TABLE)
        yield "# Shares of the peaks that kernels reach. Without them those of the family hold, which may differ by class of kernel."
        yield "efficiency:"
        for resource, known in self.shares([f"family:{row['family']}", "*"]).items():
            leaf = self.cited(known["maximum_fraction"], {"unit": "fraction"})
            yield f"  # {resource}: {leaf}  # {EFFICIENCIES[resource]}"

    def conflicts(self) -> Iterator[str]:
        return iter(())

    def cited(self, value: float, known: Mapping[str, Any]) -> str:
        shown, unit = readable(value, known["unit"])
        return f"{{value: {_number(shown)}, unit: {unit}, source: {_text(self.datasheet)}, confidence: assumed}}"

    def cite(self, source: str) -> None:
        self.sources[self.datasheet] = {
            "kind": "vendor_doc",
            "locator": "title, page and address",
            "what": "summary",
        }

    def line(self, indent: int, row_type: type[Row], column: str, value: str) -> str:
        described = next(c.description for c in ddl.columns(row_type) if c.name == column)
        first = re.split(r"\. (?=[A-Z])|; (?=joins)", described)[0].rstrip("., ")
        is_optional = type(None) in get_args(row_type.model_fields[column].annotation)
        return f"{super().line(indent, row_type, column, value)}  # {first}{'' if is_optional else ' (required)'}"

    def columns(self, section: str, row_type: type[Row], row: Record, *args: Any, **given: Any) -> Iterator[str]:
        derived = row_type.RATIO_TO.values()
        kept = {column: None if column in derived else value for column, value in row.items()}
        yield from super().columns(section, row_type, kept, *args, **given)
        key, indent = args[0], given["indent"]
        for column in row_type.model_fields:
            if column in numeric_columns(section) and kept[column] is None and column not in derived:
                value = self.defaults.get(".".join((section, *key, column)))
                text = f"{{unit: {unit_of(column)}}}" if value is None else self.cited(value, {"unit": unit_of(column)})
                yield f"{' ' * indent}# {self.line(0, row_type, column, text)}"


def _number(value: float) -> str:
    """Write a number as YAML 1.1 reads it: an exponent has a point and a sign."""
    if float(value).is_integer() and abs(value) < 1e7:
        return str(int(value))
    mantissa, e, exponent = repr(float(value)).partition("e")
    if not e:
        return mantissa
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}e{int(exponent):+d}"


def _text(value: Any) -> str:
    """Write a text as YAML reads it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(str(value), ensure_ascii=False)
