"""What a method answers: rows that become a polars frame for Python, and text for the command line."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
"""Rows of an Arrow table that are tuples at a time."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with named columns, in SI units: those of a query, or made in Python."""

    columns: tuple[str, ...]
    source: duckdb.DuckDBPyRelation | pl.DataFrame | pyarrow.Table | Sequence[Sequence[Any]]
    views: tuple[str, ...] = ()
    """Views whose texts document the columns."""
    is_failure: bool = False
    """Whether what was found is wrong: the command ends with exit code 1."""
    guard: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    """What a query runs in."""
    check: Callable[[], None] = lambda: None
    """Raises `CharzError` where the time to hand the rows over is up."""
    bare: frozenset[str] = frozenset()
    """Columns whose numbers are shown as they are, since no unit is known of them, whatever their names end in."""
    header: str = ""
    """Model, part and conditions that all rows are of, where no column says so: shown above a table."""

    def fetch(self) -> list[tuple[Any, ...]]:
        """The rows as tuples."""
        return [row for piece in self.pieces() for row in piece]

    def pieces(self, most_rows: int = PIECE_ROWS) -> Iterator[list[tuple[Any, ...]]]:
        """The rows as tuples, of an Arrow table at most so many at a time: as tuples they take ten times the memory."""
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
        """The first rows as tuples, and how many there are in all."""
        source: Any = self.source
        if hasattr(source, "to_pylist"):
            return next(self.pieces(most_rows), []), source.num_rows
        rows = self.fetch()
        return rows[:most_rows], len(rows)

    def arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        source: Any = self.source
        return source if hasattr(source, "to_pylist") else self.frame().to_arrow()

    def frame(self) -> pl.DataFrame:
        """The rows as a polars frame."""
        import polars as pl

        if isinstance(self.source, Sequence):
            return pl.DataFrame(self.fetch(), schema=list(self.columns), orient="row", infer_schema_length=None)
        with self.guard():
            if hasattr(self.source, "to_pylist"):
                return cast("pl.DataFrame", pl.from_arrow(self.source))
            return self.source if isinstance(self.source, pl.DataFrame) else self.source.pl()


def _values(column: pyarrow.ChunkedArray) -> list[Any]:
    """A column of an Arrow table; of times that Python cannot hold, before Christ and the like, the engine's texts."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        import duckdb
        import pyarrow

        with duckdb.connect() as connection:
            texts = connection.from_arrow(pyarrow.table([column], ["value"])).project("value::VARCHAR")
            return [text for (text,) in texts.fetchall()]


def of_arrow(table: pyarrow.Table, check: Callable[[], None] = lambda: None) -> Rows:
    """Rows of an Arrow table, handed over until `check` raises."""
    return Rows(tuple(table.column_names), table, check=check)


def of_frame(frame: pl.DataFrame, *views: str) -> Rows:
    """Rows of a polars frame."""
    return Rows(tuple(frame.columns), frame, views)


def of_query(relation: duckdb.DuckDBPyRelation, *views: str) -> Rows:
    """Rows of a query."""
    return Rows(tuple(relation.columns), relation, views)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line reads off a method."""

    rows: Callable[..., Rows]
    """The method before its answer is a frame."""
    sections: tuple[str, ...]
    """Tables that it can answer with, by the parameter `section`; the first is its default."""
    more: tuple[str, ...] = ()
    """Further ones, which the command shows with `--full`."""
    is_writing: bool = False
    """Whether it changes the database."""
    alone: tuple[str, ...] = ()
    """Further ones that answer a question of their own: shown where they are asked for, each by an option of its name."""
    files: tuple[str, ...] = ()
    """Parameters that name a file to write in place of every table; the answer is its name."""
    instead: tuple[str, ...] = ()
    """Parameters that ask for one table in place of every section."""


def _path_of(owner: Any) -> Path:
    """The database of a session, or of what has methods for one."""
    path: Path = getattr(owner, "session", owner).path
    return path


def answer(
    *sections: str,
    more: tuple[str, ...] = (),
    is_writing: bool = False,
    alone: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    instead: tuple[str, ...] = (),
) -> Callable[[Callable[Concatenate[S, P], Rows]], Callable[Concatenate[S, P], pl.DataFrame]]:
    """Make a method that gives rows one that returns a frame, and a command of its name."""

    def decorated(body: Callable[Concatenate[S, P], Rows]) -> Callable[Concatenate[S, P], pl.DataFrame]:
        @functools.wraps(body)
        def method(self: S, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame:
            with damage.named(_path_of(self)):
                from .notebook import Frame

                rows = body(self, *args, **kwargs)
                session: Any = getattr(self, "session", self)
                session.remind()
                return Frame.of(rows.frame(), rows.bare)

        method.asked = Asked(body, sections, more, is_writing, alone, files, instead)  # type: ignore[attr-defined]
        return cast("Callable[Concatenate[S, P], pl.DataFrame]", method)

    return decorated
