"""Views without stars give the same columns and rows, for engines without `* EXCLUDE`."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from charz.schema import database, ddl
from charz.sql import layers, portable, views

COLUMNS = {"t": ["a", "b", "c"], "u": ["a", "d"]}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT t.*, u.d FROM t JOIN u ON u.a = t.a",
        "SELECT *, a + 1 AS e FROM t",
        "SELECT * EXCLUDE (b) FROM t",
        "SELECT x.* EXCLUDE (a, b), x.a AS z FROM t AS x",
        "SELECT * FROM t JOIN u USING (a)",
        "SELECT * FROM t SEMI JOIN u ON u.a = t.a",
        "WITH w AS (SELECT *, 1 AS one FROM t), v AS (SELECT w.*, d FROM w JOIN u ON u.a = w.a) SELECT * EXCLUDE (c) FROM v",
        "SELECT * FROM (SELECT * EXCLUDE (c) FROM t) AS s",
        "SELECT * FROM t UNION ALL SELECT * FROM t",
        "WITH w AS (SELECT * FROM t UNION ALL SELECT * FROM t) SELECT * FROM w WHERE EXISTS (SELECT * FROM u WHERE u.a = w.a)",
        "SELECT * FROM t CROSS JOIN (VALUES (1), (2)) AS v (w)",
        "SELECT a + 1 AS e, e + 2 AS f, f - e AS g FROM t",
        "SELECT * EXCLUDE (b), a + b AS e, e + b AS b, b - 1 AS f FROM t",
        "SELECT COUNT(*) AS n FROM t",
        "SELECT c, ANY_VALUE(COLUMNS(* EXCLUDE (c))) FROM t GROUP BY c",
        "SELECT t.a, MAX(COLUMNS(t.* EXCLUDE (a))), SUM(u.d) AS d FROM t JOIN u ON u.a = t.a GROUP BY t.a",
        "SELECT * FROM t WHERE a IN (SELECT a FROM (SELECT * FROM u) AS q)",
    ],
)
def test_a_star_is_written_out(query: str) -> None:
    text = portable.expanded(query, COLUMNS, Path("v.sql"))
    assert "EXCLUDE" not in text
    assert "*" not in text.replace("COUNT(*)", "")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS a, i + 1 AS b, 'x' AS c FROM range(3) AS r (i)")
        connection.execute("CREATE TABLE u AS SELECT i AS a, i * 2 AS d FROM range(2) AS r (i)")
        expected, given = connection.sql(query), connection.sql(text)
        assert given.columns == expected.columns
        assert sorted(given.fetchall()) == sorted(expected.fetchall())


def test_an_output_named_beside_it_is_written_out() -> None:
    text = portable.expanded("SELECT a + 1 AS e, e * 2 AS f, f + b AS b, b AS g FROM t", COLUMNS, Path("v.sql"))
    expected = "SELECT a + 1 AS e, (a + 1) * 2 AS f, ((a + 1) * 2) + b AS b, b AS g FROM t"
    assert " ".join(text.split()).replace("( ", "(").replace(" )", ")") == expected  # `b` of the table


@pytest.mark.slow("translates and binds every file")
def test_the_shipped_views_give_the_same_columns() -> None:
    columns = {t.TABLE: list(t.model_fields) for t in database.TABLES}
    with duckdb.connect() as connection:
        for row_type in database.TABLES:
            connection.execute(ddl.create_table(row_type))
        for view in (v for v in views.load() if v.layer not in (layers.ANSWER, layers.MART)):
            outputs = connection.execute(f"DESCRIBE {view.body}").fetchall()
            definition = ", ".join(f"{ddl.quote(name)} {kind}" for name, kind, *_ in outputs)
            if view.layer in layers.MODELS:
                text = portable.portable(view, columns)
                assert connection.execute(f"DESCRIBE {text}").fetchall() == outputs, view.name
            connection.execute(f"CREATE TABLE {ddl.quote(view.name)} ({definition})")
            columns[view.name] = [name for name, *_ in outputs]
