"""Lints of the uniform tables: keys, references, classes and shares. Each is fatal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from charz.schema.catalog.efficiency import Efficiency
from charz.schema.catalog.precision import OperatorClass
from charz.schema.catalog.provenance import HardwareConflict
from charz.schema.catalog.tiling import TilingStrategy
from charz.schema.row import Row

from .lints import Context, context_of
from .problem import Problem


def check_tables(parts: Collection[str], tables: dict[type[Row], list[Row]]) -> list[Problem]:
    """List every fault of the uniform tables: repeated keys, unknown sources, unknown parts, unknown operator classes, efficiencies above
    the peak. `parts` are the known ids."""
    references = _table_references(parts, tables, context_of(tables))
    return [
        *references,
        *_unknown_classes(tables),
        *_unplaced_rows(tables),
        *_repeated_numbers(tables),
        *_impossible_shares(tables),
    ]


def _table_references(
    known_parts: Collection[str], tables: dict[type[Row], list[Row]], context: Context
) -> Iterator[Problem]:
    """Find rows of uniform tables that repeat a key, cite an unknown source or name an unknown part."""
    for row_type, rows in tables.items():
        path = Path(f"tables/{row_type.TABLE}.csv")
        yield from _repeated_keys(path, row_type, rows)
        for row in rows:
            source = getattr(row, "source_id", None)
            if source is not None and source not in context.documents:
                yield Problem(
                    path, f"{_key(row)}.source_id", source, "add the source to tables/source.csv or cite one of it"
                )
            confidence = getattr(row, "confidence", None)
            if confidence is not None and confidence not in context.confidences:
                yield Problem(
                    path,
                    f"{_key(row)}.confidence",
                    confidence,
                    f"write one of {', '.join(sorted(context.confidences))}",
                )
            part = getattr(row, "hardware", None)
            if part is not None and row_type is not HardwareConflict and part not in known_parts:
                yield Problem(path, f"{_key(row)}.hardware", part, "no such part: correct the name or add the part")


CLASS_COLUMNS = ("operator_class", "kernel_class", "producer_class", "consumer_class")
"""Columns that name a class of operators, `*` for all, a class within a module's (`norm:GroupNormAct`), an ATen operator (`aten.add`), or
one of these within attention (`attention|*`)."""


def _unknown_classes(tables: dict[type[Row], list[Row]]) -> Iterator[Problem]:
    """Find rules, policies, efficiencies and weights of a class that `operator_class` lacks: they would apply to nothing."""
    known = {row.operator_class for row in tables.get(OperatorClass, []) if isinstance(row, OperatorClass)}
    for row_type, rows in tables.items():
        path = Path(f"tables/{row_type.TABLE}.csv")
        columns = [c for c in CLASS_COLUMNS if c in row_type.model_fields and row_type is not OperatorClass]
        for row, column in ((row, column) for row in rows for column in columns):
            name = getattr(row, column).rpartition("|")[2].partition(":")[0]
            if name != "*" and "." not in name and name not in known:
                yield Problem(path, f"{_key(row)}.{column}", name, f"write one of {', '.join(sorted(known))}")


def _unplaced_rows(tables: dict[type[Row], list[Row]]) -> Iterator[Problem]:
    """Find rows that no kernel or part matches: an operator without its class, a block of queries without its range, a family without its
    class of architecture."""
    for row in tables.get(Efficiency, []):
        if isinstance(row, Efficiency) and (
            "." in row.kernel_class or (row.operator_name != "*") > ("." in row.operator_name)
        ):
            path = Path(f"tables/{Efficiency.TABLE}.csv")
            yield Problem(
                path, _key(row), row.operator_name, "write the class in kernel_class, `aten.NAME` in operator_name"
            )
        elif isinstance(row, Efficiency) and row.operator_name != "*" and row.kernel_class == "*":
            path = Path(f"tables/{Efficiency.TABLE}.csv")
            yield Problem(path, f"{_key(row)}.kernel_class", "*", "write the class of the operator")
    for row in tables.get(TilingStrategy, []):
        if isinstance(row, TilingStrategy) and (row.dataflow == "query_block") != (row.from_m is not None):
            path = Path(f"tables/{TilingStrategy.TABLE}.csv")
            yield Problem(
                path, f"{_key(row)}.from_m", row.from_m, "state from_m for a query_block, and for no other dataflow"
            )


def _repeated_numbers(tables: dict[type[Row], list[Row]]) -> Iterator[Problem]:
    """Find efficiency rows with the same number: an answer could not name the row it used."""
    numbers = Counter(row.efficiency_id for row in tables.get(Efficiency, []) if isinstance(row, Efficiency))
    for number, count in numbers.items():
        if count > 1:
            path = Path(f"tables/{Efficiency.TABLE}.csv")
            yield Problem(path, "efficiency_id", number, f"{count} rows: give the new ones {max(numbers) + 1} and more")


def _impossible_shares(tables: dict[type[Row], list[Row]]) -> Iterator[Problem]:
    """Find efficiencies above 1, which no true peak allows, or not above 0."""
    for row in tables.get(Efficiency, []):
        if isinstance(row, Efficiency) and not 0 < row.maximum_fraction <= 1:
            remedy = "a share of a peak lies above 0 and is at most 1: find the missing mechanism or the wrong peak"
            path = Path(f"tables/{Efficiency.TABLE}.csv")
            yield Problem(path, f"{_key(row)}.maximum_fraction", row.maximum_fraction, remedy)


def _repeated_keys(path: Path, row_type: type[Row], rows: Iterable[Row]) -> Iterator[Problem]:
    for key, count in Counter(_key(row) for row in rows).items():
        if count > 1:
            yield Problem(path, key, f"{count} rows", f"keep one row for each {', '.join(row_type.KEY)}")


def _key(row: Row) -> str:
    return ".".join(str(getattr(row, name)) for name in type(row).KEY)
