"""Files of an export, written in portions: parquet, CSV, or tables of one database."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from charz.schema import ddl, unfinished, user_file
from charz.schema.errors import CharzError
from charz.sql.keys import KEYS, RUN, fields, natural
from charz.sql.layers import MARTS

from .mart import quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow


KEYED_ROWS = 10_000
"""Largest number of rows of a relation with a primary key: the index takes about 100 bytes a row, more than the rows themselves."""

KEYED_MART_ROWS = 1_000_000
"""The same of a relation of the mart, by whose keys other tools join."""


class Target(Protocol):
    """Destination of rows; an unfinished one is removed."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...

    def append(self, name: str, reader: pyarrow.RecordBatchReader) -> int:
        """Append rows to a relation, which is created on first use, and return their number."""

    def byte(self, name: str) -> int | None:
        """Return the size of a finished relation's file; None where it has no file of its own. [byte]"""


class Folder:
    """A file for each relation in a new folder."""

    def __init__(
        self, folder: Path, format: str, places: dict[str, str], texts: dict[str, str], for_people: Collection[str] = ()
    ) -> None:
        """Prepare a folder: `places` are paths within it by relation, without suffix; `texts` are further files. The CSV files of
        `for_people` contain no cell that a spreadsheet would run."""
        self.folder, self.format = Path(os.path.realpath(folder)), format
        self.texts = texts
        self.guarded = frozenset(for_people) if format == "csv" else frozenset()
        self.paths = {name: f"{place}.{format}" for name, place in places.items()}
        for name in places:
            _check_file_name(name)
        self.writers: dict[str, Any] = {}
        self.held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self.folder.exists() and not self.folder.is_dir():
            raise CharzError("a file, not a folder", str(self.folder), next="name a new one")
        if self.folder.exists() and any(self.folder.iterdir()):
            raise CharzError("the folder is not empty", str(self.folder), next="name a new one")
        with contextlib.ExitStack() as held:
            self.part = held.enter_context(unfinished.folder(self.folder)) / self.folder.name
            self.part.mkdir()
            for path in self.paths.values():
                (self.part / path).parent.mkdir(parents=True, exist_ok=True)
            for name, text in self.texts.items():
                (self.part / name).write_text(text)
            self.held = held.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self.held:
            for writer in self.writers.values():
                writer.close()
            if kind is None:
                if self.folder.exists():
                    self.folder.rmdir()
                os.replace(self.part, self.folder)

    def append(self, name: str, reader: pyarrow.RecordBatchReader) -> int:
        """Append rows to a relation's file, one row group each batch."""
        if self.format == "csv":
            reader = _without_structs(reader)
        if name not in self.writers:
            self.writers[name] = _writer(self.part / self.paths[name], reader.schema, self.format)
        count = 0
        for batch in reader:
            self.writers[name].write_batch(_without_formulas(batch) if name in self.guarded else batch)
            count += batch.num_rows
        return count

    def byte(self, name: str) -> int | None:
        """Return the size of a relation's file. [byte]"""
        return (self.folder / self.paths[name]).stat().st_size


class Database:
    """Tables of one new database file, without views and triggers, in the storage format of a given DuckDB version."""

    def __init__(
        self,
        path: Path,
        storage: str,
        memory: str,
        texts: Mapping[str, Mapping[str | None, str]] | None = None,
        keys: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Prepare a database: `memory` limits DuckDB, e.g. `1GB`; `texts` are comments by relation and column; `keys` identify the rows of a relation."""
        self.path, self.storage, self.memory = Path(os.path.realpath(path)), storage, memory
        self.texts, self.keys = texts or {}, keys or {}
        self.counts: dict[str, int] = {}

    def __enter__(self) -> Self:
        import duckdb

        from charz.schema.database import BLOCK_BYTE

        self._check_is_new()
        with contextlib.ExitStack() as held:
            self.part = held.enter_context(unfinished.folder(self.path)) / self.path.name
            self.connection = held.enter_context(duckdb.connect(config={"memory_limit": self.memory}))
            place = f"{ddl.literal(str(self.part))} AS exported (STORAGE_VERSION {ddl.literal(self.storage)}, BLOCK_SIZE {BLOCK_BYTE})"
            try:
                self.connection.execute(f"ATTACH {place}")
            except duckdb.InvalidInputException as error:
                raise CharzError("unknown storage", self.storage, "a version of DuckDB", "write e.g. v1.5.0") from error
            self.connection.execute(f"USE exported; CREATE SCHEMA {MARTS}")
            self.held = held.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self.held:
            if kind is None:
                self._declare_keys()
            self.connection.close()
            if kind is None:
                self._check_is_new()
                os.replace(self.part, self.path)

    def _declare_keys(self) -> None:
        """Declare primary keys, by which other tools join, except for tables whose index exceeds the memory, and for keys with nulls."""
        for name, key in self.keys.items():
            most = KEYED_MART_ROWS if name.startswith(f"{MARTS}.") else KEYED_ROWS
            if not 0 < self.counts.get(name, 0) <= most:
                continue
            columns = natural(key)
            listed = ", ".join(map(ddl.quote, columns))
            nulls = " OR ".join(f"{ddl.quote(column)} IS NULL" for column in columns)
            if not _count(self.connection, f"SELECT COUNT(*) FROM {quoted(name)} WHERE {nulls}"):
                self.connection.execute(f"ALTER TABLE {quoted(name)} ADD PRIMARY KEY ({listed})")

    def _check_is_new(self) -> None:
        if self.path.exists():
            raise CharzError("the file exists already", str(self.path), next="name a new one")

    def append(self, name: str, reader: pyarrow.RecordBatchReader) -> int:
        """Append rows to a table, with the fields of `run` as columns, since no key may contain a struct."""
        self.connection.register("arriving", reader)
        rows = f"SELECT {', '.join(fields(reader.schema.names))} FROM arriving"
        if name not in self.counts:
            count = _count(self.connection, f"CREATE TABLE {quoted(name)} AS {rows}")
            texts = self.texts.get(name, {})
            if "run" in texts:
                texts = {column: text for column, text in texts.items() if column != "run"} | {key: KEYS[key] for key in RUN}
            for column, text in texts.items():
                place = f"COLUMN {quoted(name)}.{ddl.quote(column)}" if column else f"TABLE {quoted(name)}"
                self.connection.execute(f"COMMENT ON {place} IS {ddl.literal(text)}")
        else:
            count = _count(self.connection, f"INSERT INTO {quoted(name)} {rows}")
        self.counts[name] = self.counts.get(name, 0) + count
        return count

    def byte(self, name: str) -> int | None:
        """Return None, since all tables share the file."""
        return None


def _count(connection: duckdb.DuckDBPyConnection, statement: str) -> int:
    ((count,),) = connection.execute(statement).fetchall()
    return int(count)


def _without_structs(reader: pyarrow.RecordBatchReader) -> pyarrow.RecordBatchReader:
    """Write structs such as `run` as texts, which `COPY ... FROM` reads as structs again."""
    import duckdb
    import pyarrow

    names = [ddl.quote(field.name) for field in reader.schema if pyarrow.types.is_struct(field.type)]
    if not names:
        return reader
    texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in names)
    return duckdb.connect().from_arrow(reader).project(f"* REPLACE ({texts})").to_arrow_reader()


def _without_formulas(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    import pyarrow

    for number, field in enumerate(batch.schema):
        if pyarrow.types.is_string(field.type):
            coded = batch.column(number).dictionary_encode()
            texts = [user_file.no_formula(text) for text in coded.dictionary.to_pylist()]
            batch = batch.set_column(number, field, pyarrow.array(texts, field.type).take(coded.indices))
    return batch


def _check_file_name(name: str) -> None:
    """Raise `CharzError` for a relation whose name is not valid as a file name."""
    if "/" in name or "\0" in name or name.startswith("."):
        raise CharzError("not a valid file name", name, "a table or view of the database", "rename it there")


def _writer(path: Path, schema: pyarrow.Schema, format: str) -> Any:
    if format == "csv":
        from pyarrow import csv

        return csv.CSVWriter(str(path), schema)  # quotes every text, which keeps empty and missing ones apart
    from pyarrow import parquet

    return parquet.ParquetWriter(str(path), schema, compression="zstd")
