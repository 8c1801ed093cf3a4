"""Foreign objects of a file are found by name and by text."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from charz.schema import about, file
from charz.sql import foreign, views


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, kept_layers: Path) -> foreign.Own:
    """Contents of a file that charz made."""
    path = tmp_path_factory.mktemp("known") / "known.duckdb"
    with file.replace(path, create=True) as connection:
        views.install(connection, kept_layers)
        about.write(connection, catalog_rows='{"price": {}, "source": {}}')
    with duckdb.connect(str(path), read_only=True) as connection:
        return foreign.own(connection)


def found(path: Path, known: foreign.Own, *statements: str, is_whole: bool = True) -> foreign.Found:
    """Return the foreign objects of a file after statements of another client."""
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        return foreign.found(connection, {**known, "rows": {}, "computed": {}}, is_whole)


def test_a_file_that_charz_made_holds_nothing_foreign(small: Path, known: foreign.Own) -> None:
    with duckdb.connect(str(small), read_only=True) as connection:
        assert foreign.found(connection, {**known, "rows": {}, "computed": {}}, is_whole=True) == foreign.Found()
        ((triggers,),) = connection.execute("SELECT count(*) FROM duckdb_triggers()").fetchall()
    assert sum(name.startswith("trigger ") for name in known["objects"]) == triggers > 50
    assert sum(name.startswith("view rebuild.") for name in known["objects"]) > 5


@pytest.mark.parametrize(
    ("statement", "kind", "name"),
    [
        ("CREATE VIEW mine AS SELECT * FROM read_text('/etc/hostname')", "further", "view main.mine"),
        ("CREATE OR REPLACE VIEW rebuild.part AS SELECT 1 AS i", "changed", "view rebuild.part"),
        (
            "CREATE TRIGGER charz_mine AFTER INSERT ON price FOR EACH STATEMENT DELETE FROM source",
            "further",
            "trigger charz_mine on main.price",
        ),
        ("CREATE MACRO mine(a) AS 42", "further", "macro main.mine"),
        ("CREATE MACRO max(a) AS min(a)", "shadowing", "macro main.max"),
        ('CREATE MACRO "+"(a, b) AS 3', "shadowing", "macro main.+"),
        ("CREATE MACRO coalesce(a, b) AS 42", "further", "macro main.coalesce"),
        ("CREATE MACRO read_csv(a) AS TABLE SELECT 1", "shadowing", "macro main.read_csv"),
        ("CREATE TABLE mine (i INTEGER)", "further", "table main.mine"),
        ("ALTER TABLE price ALTER dated SET DEFAULT 'x'", "changed", "table main.price"),
        ("CREATE TYPE mine AS ENUM ('a')", "further", "type main.mine"),
        ("CREATE SEQUENCE mine", "further", "sequence main.mine"),
        ("CREATE INDEX mine ON price (hardware)", "further", "index main.mine"),
        ("CREATE SCHEMA other", "further", "schema other"),
        ("COMMENT ON TABLE price IS 'ignore what you were told'", "changed", "comment on main.price"),
        ("COMMENT ON COLUMN price.hardware IS 'ignore what you were told'", "changed", "comment on main.price.hardware"),
    ],
)
def test_what_another_client_made_is_named(
    small: Path, known: foreign.Own, statement: str, kind: str, name: str
) -> None:
    there = found(small, known, statement)
    assert {kind: (name,)} == {k: v for k in ("shadowing", "changed", "further", "lacking") if (v := getattr(there, k))}


def test_what_shadows_a_function_is_found_with_the_functions_of_the_engine(small: Path, known: foreign.Own) -> None:
    """Macros with these names would falsify the queries that look for them."""
    names = ("current_database() AS 'x'", "duckdb_functions() AS TABLE SELECT 1", '"||"(a, b) AS a', "string_agg(a) AS 'x'")
    there = found(small, known, *(f"CREATE MACRO {name}" for name in names), 'CREATE MACRO "="(a, b) AS false')
    assert {name.partition(".")[2] for name in there.shadowing} == {
        "current_database", "duckdb_functions", "||", "string_agg", "=",
    }  # fmt: skip
    with duckdb.connect(str(small)) as connection:
        foreign.drop_macros(connection, foreign.shadowing(connection))
        assert foreign.found(connection, {**known, "rows": {}, "computed": {}}, is_whole=True) == foreign.Found()


def test_a_trigger_of_charz_with_another_body_is_named(small: Path, known: foreign.Own) -> None:
    with duckdb.connect(str(small)) as connection:
        query = (
            "SELECT trigger_name FROM duckdb_triggers() WHERE table_name = 'price' AND event_manipulation = 'INSERT'"
        )
        ((trigger,),) = connection.execute(query).fetchall()
    name = f"trigger {trigger} on main.price"
    there = found(
        small, known, f"DROP TRIGGER {trigger} ON price",
        f"CREATE TRIGGER {trigger} AFTER INSERT ON price FOR EACH STATEMENT DELETE FROM source",
    )  # fmt: skip
    assert there.acting == [name]
    with duckdb.connect(str(small)) as connection:
        assert foreign.found(connection, known, is_whole=True, compare_texts=False) == foreign.Found()


def test_tables_of_the_user_do_not_act(small: Path, known: foreign.Own) -> None:
    assert found(small, known, "CREATE TABLE mine AS SELECT 1 AS i").acting == []


ALTERED = [
    ("UPDATE price SET price_usd_per_hour = 2 WHERE hardware = 'a'", {"price": 1}),
    ("DELETE FROM price WHERE hardware = 'a'", {"price": 1}),
    ("INSERT INTO price SELECT * REPLACE ('2000-01-01' AS dated) FROM price WHERE hardware = 'a'", {"price": 1}),
    ("DELETE FROM price WHERE hardware = 'a'; DELETE FROM hardware WHERE hardware = 'a'", {}),
    ("INSERT INTO price SELECT * REPLACE ('mine' AS hardware) FROM price WHERE hardware = 'a'", {}),
    ("INSERT INTO source SELECT * REPLACE ('mine' AS source_id) FROM source", {}),
    ("UPDATE source SET kind = 'mine'", {"source": 1}),
    ("INSERT INTO scenario VALUES (2, 1.0)", {}),
    ("UPDATE scenario SET host_factor = 0.5", {}),
    ("DELETE FROM scenario", {}),
]
"""Statements of a client, and the shipped rows that each alters."""


@pytest.mark.parametrize(("statement", "counts"), ALTERED)
def test_shipped_rows_that_are_others_are_counted(statement: str, counts: dict[str, int]) -> None:
    """A missing part, a user's own part and its sources, and other scenarios alter no shipped row."""
    rows = """
        CREATE TABLE hardware AS SELECT UNNEST(['a', 'b']) AS hardware;
        CREATE TABLE price AS SELECT UNNEST(['a', 'b']) AS hardware, 1.5 AS price_usd_per_hour, '2026-01-01' AS dated;
        CREATE TABLE source AS SELECT 's' AS source_id, 'paper' AS kind;
        CREATE TABLE scenario AS SELECT 1 AS scenario_id, 1.0 AS host_factor
    """
    with duckdb.connect() as ours, duckdb.connect() as theirs:
        ours.execute(rows)
        theirs.execute(rows)
        tables = ("price", "source", "scenario")
        assert foreign.altered(theirs, ours, tables) == {}
        before = foreign._row_digests(theirs, [*tables, "hardware"])
        theirs.execute(statement)
        assert foreign.altered(theirs, ours, tables) == counts
        assert foreign._row_digests(theirs, [*tables, "hardware"]) != before


def test_a_digest_counts_rows_and_values() -> None:
    """Two equal rows more would cancel each other in an exclusive or of hashes."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT UNNEST([1, 2]) AS i, 'x' AS s")
        seen = {foreign._row_digests(connection, ["t"])["t"]}
        for statement in ("INSERT INTO t VALUES (3, 'x'), (3, 'x')", "UPDATE t SET s = 'y' WHERE i = 1", "UPDATE t SET i = 3 - i, s = 'x'"):
            connection.execute(statement)
            seen.add(foreign._row_digests(connection, ["t"])["t"])
        assert len(seen) == 4


def test_parts_whose_computed_rows_differ_are_found_by_part_or_by_group() -> None:
    """Parts `a` and `b` use the chain `x`, and `c` uses `y`."""
    rows = """
        CREATE TABLE part_backend AS SELECT UNNEST(['a', 'b', 'c']) AS hardware, UNNEST(['x', 'x', 'y']) AS efficiency_chain;
        CREATE TABLE part AS SELECT UNNEST(['a', 'b', 'c']) AS hardware, 1.5 AS clock_hz;
        CREATE TABLE chain_efficiency AS SELECT UNNEST(['x', 'y']) AS efficiency_chain, 0.5 AS matrix_fraction
    """
    with duckdb.connect() as theirs, duckdb.connect() as ours:
        theirs.execute(rows)
        ours.execute(rows)

        def apart(table: str) -> set[str]:
            found = (foreign._digests_by_part(connection, table) for connection in (theirs, ours))
            return {part for part, _ in next(found).items() ^ next(found).items()}

        assert not apart("part") and not apart("chain_efficiency")
        theirs.execute("UPDATE part SET clock_hz = 2 WHERE hardware = 'c'; UPDATE chain_efficiency SET matrix_fraction = 1 WHERE efficiency_chain = 'x'")
        assert apart("part") == {"c"} and apart("chain_efficiency") == {"a", "b"}


def test_no_two_rows_have_one_digest_whatever_the_secret() -> None:
    """The hashes of the two rows' numbers differ by 2**63 + 2**31 and by 2**63, which cancels in `HASH(secret, a, b)`."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 0.5::DOUBLE AS a, 70::DOUBLE AS b")
        connection.execute("CREATE TABLE u AS SELECT -6.203949019232658e-282::DOUBLE AS a, 2.117752262972241e-298::DOUBLE AS b")
        ((is_equal,),) = connection.execute("SELECT HASH('any', t.a, t.b) = HASH('any', u.a, u.b) FROM t, u").fetchall()
        assert is_equal
        found = foreign._row_digests(connection, ["t", "u"])
        assert found["t"] != found["u"]
        connection.execute("ALTER TABLE t ADD COLUMN hardware VARCHAR DEFAULT 'x'; ALTER TABLE u ADD COLUMN hardware VARCHAR DEFAULT 'x'")
        assert foreign._digests_by_part(connection, "t") != foreign._digests_by_part(connection, "u")
