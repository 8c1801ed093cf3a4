"""Rows that a method returns. Python shows them as a polars frame, the command line as a table or a file."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from charz.schema import damage

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow

P = ParamSpec("P")
S = TypeVar("S")

PIECE_ROWS = 8192
"""Largest number of rows of an Arrow table that are converted to tuples at once."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with named columns in SI units, from a query or from Python."""

    columns: tuple[str, ...]
    source: duckdb.DuckDBPyRelation | pl.DataFrame | pyarrow.Table | Sequence[Sequence[Any]]
    views: tuple[str, ...] = ()
    """Views whose column descriptions apply."""
    is_failure: bool = False
    """True if the rows report a fault: the command then exits with code 1."""
    guard: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    """Context in which the query runs."""
    check: Callable[[], None] = lambda: None
    """Function that raises `CharzError` once the time limit is exceeded."""
    bare: frozenset[str] = frozenset()
    """Columns printed without conversion, because their unit is unknown in spite of the ending of their names."""
    header: str = ""
    """Model, part and conditions common to all rows, printed above the table if no column contains them."""
    verdict: str = ""
    """Lines above the table that tell what to choose."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of columns that no view describes, or that mean something else than in the view."""
    page: Rows | None = None
    """Rows that a page shows in place of these."""
    beside: tuple[tuple[str, Rows], ...] = ()
    """Further tables of a page, each after its title."""

    def fetch(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        return [row for piece in self.pieces() for row in piece]

    def pieces(self, most_rows: int = PIECE_ROWS) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows as tuples. An Arrow table is converted in portions, since tuples take ten times the memory of Arrow columns."""
        source: Any = self.source
        if isinstance(source, Sequence):
            yield [tuple(row) for row in source]
        elif hasattr(source, "to_pylist"):
            for start in range(0, source.num_rows, most_rows):
                self.check()
                yield list(zip(*map(_values, source.slice(start, most_rows).columns), strict=True))
        else:
            with self.guard():
                found = source.fetchall() if hasattr(source, "fetchall") else source.rows()
            yield found

    def first(self, most_rows: int) -> tuple[list[tuple[Any, ...]], int]:
        """Return the first rows as tuples, and the number of all rows."""
        source: Any = self.source
        if hasattr(source, "to_pylist"):
            return next(self.pieces(most_rows), []), source.num_rows
        rows = self.fetch()
        return rows[:most_rows], len(rows)

    def arrow(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        source: Any = self.source
        return source if hasattr(source, "to_pylist") else self.frame().to_arrow()

    def frame(self) -> pl.DataFrame:
        """Return the rows as a polars frame."""
        import polars as pl

        if isinstance(self.source, Sequence):
            return pl.DataFrame(self.fetch(), schema=list(self.columns), orient="row", infer_schema_length=None)
        with self.guard():
            if hasattr(self.source, "to_pylist"):
                return cast("pl.DataFrame", pl.from_arrow(self.source))
            return self.source if isinstance(self.source, pl.DataFrame) else self.source.pl()


def _values(column: pyarrow.ChunkedArray) -> list[Any]:
    """Convert a column to Python values. Times outside Python's range, such as dates B.C., become the text that DuckDB writes."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        import duckdb
        import pyarrow

        with duckdb.connect() as connection:
            texts = connection.from_arrow(pyarrow.table([column], ["value"])).project("value::VARCHAR")
            return [text for (text,) in texts.fetchall()]


def of_arrow(table: pyarrow.Table, check: Callable[[], None] = lambda: None) -> Rows:
    """Wrap an Arrow table; `check` raises `CharzError` once the time limit is exceeded."""
    return Rows(tuple(table.column_names), table, check=check)


def of_frame(frame: pl.DataFrame, *views: str) -> Rows:
    """Wrap a polars frame."""
    return Rows(tuple(frame.columns), frame, views)


def of_query(relation: duckdb.DuckDBPyRelation, *views: str) -> Rows:
    """Wrap a query."""
    return Rows(tuple(relation.columns), relation, views)


@dataclass(frozen=True, slots=True)
class Asked:
    """Properties of a method that the command line reads."""

    rows: Callable[..., Rows]
    """Method that returns `Rows` in place of a frame."""
    sections: tuple[str, ...]
    """Names of the tables that the parameter `section` selects, the default first."""
    more: tuple[str, ...] = ()
    """Names of further tables, which the command prints with `--full`."""
    is_writing: bool = False
    """True if the method changes the database."""
    alone: tuple[str, ...] = ()
    """Names of further tables that answer a different question. The option of the same name prints such a table alone."""
    files: tuple[str, ...] = ()
    """Parameters that name a file to write. The command then prints the file's name instead of tables."""
    instead: tuple[str, ...] = ()
    """Parameters that ask for one table instead of all sections."""
    first: tuple[str, ...] = ()
    """Names of the tables that a command without `--section` and `--full` prints as text; empty for `sections`."""
    common: tuple[str, ...] = ()
    """Names of the options that `--help` shows, in its order; `--help-all` shows the others too. Empty if `--help` shows all."""


def _path_of(owner: Any) -> Path:
    """Return the database of a session, or of a group of its methods."""
    path: Path = getattr(owner, "session", owner).path
    return path


def answer(
    *sections: str,
    more: tuple[str, ...] = (),
    is_writing: bool = False,
    alone: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    instead: tuple[str, ...] = (),
    first: tuple[str, ...] = (),
    common: tuple[str, ...] = (),
) -> Callable[[Callable[Concatenate[S, P], Rows]], Callable[Concatenate[S, P], pl.DataFrame]]:
    """Turn a method that returns rows into a method that returns a frame, and into a command of the same name."""

    def decorated(body: Callable[Concatenate[S, P], Rows]) -> Callable[Concatenate[S, P], pl.DataFrame]:
        @functools.wraps(body)
        def method(self: S, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame:
            with damage.named(_path_of(self)):
                from .notebook import Frame

                rows = body(self, *args, **kwargs)
                session: Any = getattr(self, "session", self)
                session.remind()
                return Frame.of(rows.frame(), rows.bare)

        method.asked = Asked(body, sections, more, is_writing, alone, files, instead, first, common)  # type: ignore[attr-defined]
        return cast("Callable[Concatenate[S, P], pl.DataFrame]", method)

    return decorated
