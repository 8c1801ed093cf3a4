"""Row types to DDL."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charz.schema import ddl
from charz.schema.database import TABLES
from charz.schema.row import Row
from charz.schema.workload import Edge


class Sample(Row):
    """A row of every type.

    In two paragraphs.
    """

    TABLE: ClassVar[str] = "sample"
    KEY: ClassVar[tuple[str, ...]] = ("sample_id",)

    sample_id: int
    """Key."""
    size_byte: float | None
    """It's a size. [byte]"""
    name: str
    """Name."""
    is_set: bool
    """Flag."""
    made_at: datetime | None
    """When."""


def test_a_row_type_becomes_a_documented_table() -> None:
    with duckdb.connect() as connection:
        connection.execute(ddl.create_table(Sample))
        connection.execute(";".join(ddl.comments(Sample)))
        columns = connection.execute(
            "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE table_name = 'sample'"
        ).fetchall()
        comment = connection.execute("SELECT comment FROM duckdb_tables()").fetchall()[0][0]
        key = connection.execute(
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        ).fetchall()
    assert columns == [
        ("sample_id", "BIGINT", False, "Key."),
        ("size_byte", "DOUBLE", True, "It's a size. [byte]"),
        ("name", "VARCHAR", False, "Name."),
        ("is_set", "BOOLEAN", False, "Flag."),
        ("made_at", "TIMESTAMP", True, "When."),
    ]
    assert comment == "A row of every type. In two paragraphs."
    assert key == [(["sample_id"],)]


def test_a_key_that_is_not_enforced_has_no_index() -> None:
    with duckdb.connect() as connection:
        connection.execute(ddl.create_table(Edge))
        keys = "SELECT count(*) FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        assert connection.execute(keys).fetchall() == [(0,)]
    assert ddl.columns(Edge)[0].name == "model"


def test_a_field_without_documentation_is_refused() -> None:
    class Silent(Row):
        """Documented."""

        TABLE: ClassVar[str] = "silent"
        KEY: ClassVar[tuple[str, ...]] = ("a",)
        a: int

    with pytest.raises(TypeError, match=r"Silent.a has no docstring"):
        ddl.columns(Silent)


@pytest.mark.parametrize("row_type", TABLES, ids=lambda t: t.TABLE)
def test_every_table_is_documented_and_its_key_exists(row_type: type[Row]) -> None:
    columns = {c.name: c for c in ddl.columns(row_type)}
    assert all(c.description for c in columns.values())
    assert not [name for name in row_type.KEY if columns[name].is_nullable]
    assert ddl.table_description(row_type)


def test_tables_have_different_names() -> None:
    names = [t.TABLE for t in TABLES]
    assert len(names) == len(set(names))


@pytest.mark.costly("draws hundreds of texts")
@given(st.text())
def test_any_text_survives_as_a_literal(text: str) -> None:
    text = text.replace("\0", "")
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT {ddl.literal(text)}").fetchall() == [(text,)]


@given(
    st.text(alphabet=st.characters(codec="ascii", exclude_characters="[]\n"), min_size=1),
    st.sampled_from(["s", "byte/s"]),
)
def test_a_unit_is_split_from_its_description(text: str, unit: str) -> None:
    words = " ".join(text.split())
    assert ddl.split_unit(f"{text} [{unit}]") == (words, unit)
