"""The format of a file of `sql/`, and what follows from all of them: order, circles, chains."""

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
        (with_body("SELECT 1 AS a; SELECT 2"), "holds one statement|needs AS name"),
        ("-- Link: 1\n" + with_body("SELECT\n    *\nFROM previous"), "no link is meant by `previous`"),
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


def test_a_mechanism_is_a_link_put_between_two_others(tmp_path: Path) -> None:
    def link(name: str, number: int, source: str) -> str:
        return f"-- Link: {number}\n" + with_body(
            f"SELECT\n    *,\n    -- What.\n    1 AS {name}_x\nFROM {source}", name
        )

    files = {
        "4_cost/first.sql": link("first", 10, "confidence"),
        "4_cost/third.sql": link("third", 30, "previous"),
        "4_cost/whole.sql": with_body("SELECT\n    *\nFROM last_link AS p", "whole"),
    }
    root = folder(tmp_path, files)
    assert {v.name: v.relations for v in views.load(root)}["third"] == ("first",)
    folder(tmp_path, {"4_cost/second.sql": link("second", 20, "previous")})
    read = {v.name: v.relations for v in views.load(root)}
    assert read["second"] == ("first",)
    assert read["third"] == ("second",)
    assert read["whole"] == ("third",)
    folder(tmp_path, {"4_cost/second.sql": link("second", 10, "previous")})
    with pytest.raises(CharzError, match="two links have the same number"):
        views.load(root)
