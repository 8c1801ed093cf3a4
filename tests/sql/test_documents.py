"""The format of a file of `sql/`, and rules over all files: order, cycles, macros."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import GOOD, folder, item, with_body

from charz.schema.errors import CharzError
from charz.sql import documents, views


def parsed(text: str) -> documents.Document:
    return documents.parse(Path("4_cost/v.sql"), text)


def test_a_file_says_what_it_is() -> None:
    document = parsed(GOOD["1_hardware/rank_count.sql"].lstrip())
    assert (document.name, document.kind, document.layer) == ("rank_count", "table", "4_cost")
    assert document.description == "Levels of confidence by whether they are guesses."
    assert document.grain == ("is_guess",)
    assert [(i.name, i.description, i.line) for i in document.items] == [
        ("is_guess", "", 6),
        ("level_count", "Levels of that kind, all of them.", 9),
    ]


def test_every_kind_of_item_is_told_apart() -> None:
    document = parsed(
        with_body(
            """WITH c AS (
    SELECT 1 AS inner_item, 'a, b' AS text FROM t
)

SELECT DISTINCT
    *,
    p.* EXCLUDE (a, b),
    c.plain,
    c.plain AS renamed,
    -- A comment
    -- of two lines. [s]
    CASE
        -- Inside an item.
        WHEN x IS DISTINCT FROM 'it''s, FROM' THEN EXTRACT(year FROM d)
    END AS made_s,
    SUM(x) OVER (PARTITION BY a ORDER BY b) AS window_sum
FROM c"""
        )
    )
    assert [(i.name, i.qualifier, i.source, i.description, i.unit) for i in document.items] == [
        (None, None, None, "", None),
        (None, "p", None, "", None),
        ("plain", "c", "plain", "", None),
        ("renamed", "c", "plain", "", None),
        ("made_s", None, None, "A comment of two lines.", "s"),
        ("window_sum", None, None, "", None),
    ]


def test_of_a_union_the_first_branch_has_the_texts() -> None:
    document = parsed(with_body("SELECT\n    -- One.\n    1 AS a\nUNION ALL\nSELECT 2 AS a"))
    assert [(i.name, i.description) for i in document.items] == [("a", "One.")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1", "no `CREATE VIEW name AS`"),
        (with_body("FROM confidence"), "no SELECT at the beginning of a line"),
        (with_body("SELECT 1 + 1"), r"an output needs AS name: .*v.sql:4. Found '1 \+ 1'"),
        (with_body(item("1 AS a, FROM WHERE")), "does not parse"),
        (with_body("SELECT 1 AS a; SELECT 2"), "has exactly one statement|needs AS name"),
        (
            "-- Sum: a, seconds\n" + with_body(item("rank AS a")),
            "a sum lacks a field or has too many.*column, field, kinds",
        ),
    ],
)
def test_a_file_that_does_not_parse_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CharzError, match=message) as caught:
        views.load(folder(tmp_path, {"3_mapping/v.sql": text}))
    assert "v.sql" in caught.value.line


def test_relations_come_in_an_order_in_which_they_can_be_made(tmp_path: Path) -> None:
    loaded = views.load(folder(tmp_path, GOOD))
    assert [v.name for v in loaded] == ["rank_count", "rank_total", "rank_report"]
    assert loaded[0].is_table
    assert loaded[1].relations == ("rank_count",)
    assert loaded[2].aliases == {"r": "rank_total"}


def test_a_circle_is_printed(tmp_path: Path) -> None:
    files = {f"3_mapping/{a}.sql": with_body(item("a", b), name=a) for a, b in (("x", "y"), ("y", "z"), ("z", "x"))}
    with pytest.raises(CharzError, match="in a circle: x -> z -> y -> x"):
        views.load(folder(tmp_path, files))


def test_a_name_is_used_once(tmp_path: Path) -> None:
    text = with_body(item("meaning AS a"))
    with pytest.raises(CharzError, match="two views have the same name"):
        views.load(folder(tmp_path, {"3_mapping/v.sql": text, "4_cost/v.sql": text}))


MACROS = {
    "macro/half.sql": "-- Half of it.\nCREATE MACRO half(x) AS\n    -- Not the whole.\n    x / 2e0;",
    "macro/quarter.sql": "-- A fourth of it.\nCREATE MACRO quarter(y) AS half(half(y));",
}


def test_a_macro_is_written_out_where_it_is_called(tmp_path: Path) -> None:
    """Macros expand within others and within their own arguments, and line numbers do not change."""
    body = "SELECT\n    -- What. 'half(1)'\n    quarter(\n        rank + half\n    ) || 'half(2)' AS a,\n    half(half(b.rank)) AS half\nFROM b"
    root = folder(tmp_path, {**MACROS, "3_mapping/v.sql": with_body(body)})
    (view,) = views.load(root)
    assert view.body == (
        "SELECT\n    -- What. 'half(1)'\n    (((((rank + half) / 2e0)) / 2e0))\n\n || 'half(2)' AS a,\n    (((b.rank / 2e0)) / 2e0) AS half\nFROM b"
    )
    assert [macro.name for macro in views.formulas(root)] == ["half", "quarter"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"macro/half.sql": "SELECT 1"}, "no `CREATE MACRO name"),
        ({"macro/other.sql": "CREATE MACRO half(x) AS x;"}, "two macros have the same name"),
        ({"macro/half.sql": "CREATE MACRO half(x) AS quarter(x);"}, "in a circle: half -> quarter -> half"),
        ({"3_mapping/v.sql": with_body(item("half(1, 2) AS a"))}, "wrong number of arguments: .*v.sql. Found 2 of x"),
    ],
)
def test_a_macro_that_cannot_be_written_out_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(CharzError, match=message):
        views.load(folder(tmp_path, {**MACROS, **files}))
