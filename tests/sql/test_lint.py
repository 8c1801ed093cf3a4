"""Rules for files of `sql/`, one by one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from folders import GOOD, folder, item, with_body

from charz.sql import lint, views


def test_good_files_have_no_problems(tmp_path: Path) -> None:
    assert lint.check(folder(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (item("rank / rank AS a"), "a division needs NULLIF"),
        (item("rank / 0 AS a"), "a division needs NULLIF"),
        (item("LOG(rank) AS a"), "LOG() does not port"),
        (item("1.5 * CAST(rank AS DOUBLE) AS a"), "1.5 is a DECIMAL; write 1.5e0"),
        (item("SUM(rank) AS a"), "column a is HUGEINT; cast it"),
        (item("kind AS a", "source GROUP BY ALL"), "GROUP BY ALL does not port"),
        (
            item("kind AS a", "source QUALIFY ROW_NUMBER() OVER (PARTITION BY kind ORDER BY source_id) = 1"),
            "QUALIFY does not port",
        ),
        ("WITH t AS MATERIALIZED (SELECT 1 AS a)\n" + item("a", "t"), "MATERIALIZED does not port"),
        (item("a", "(SELECT DISTINCT ON (rank) rank AS a FROM confidence) AS t"), "DISTINCT ON does not port"),
        ("WITH RECURSIVE t AS (SELECT 1 AS a)\n" + item("a", "t"), "RECURSIVE does not port"),
        (item("LIST_SUM([1, 2]) AS a"), "LIST_SUM() does not port"),
        (item("CAST(rank * 0.5e0 AS BIGINT) AS a"), "FLOOR or ROUND first"),
        ("WITH source AS (SELECT 'x' AS a)\n" + item("a", "source"), "WITH source hides the table"),
        (item("a", "nowhere"), "neither a view nor a table"),
        (item("LAG(rank, 1, 0) OVER (ORDER BY rank) AS a"), "write COALESCE(LAG(x)"),
        (item("LAG(rank) OVER (ORDER BY -rank) AS a"), "a window is ordered by columns"),
        (item("rank // 2 AS a"), "// does not port"),
        (item("rank AS a_byte").replace("What.", "What. [s]"), "column a_byte needs [byte], it has [s]"),
        ("SELECT\n    rank + 1 AS a\nFROM confidence", "line 5: column a has no text"),
        ("SELECT\n    -- Part of the catalog.\n    rank AS hardware\nFROM confidence", "is in sql/keys.py already"),
        (item("rank AS b"), "grain column a is not a column"),
        (item("rank AS a") + "\n" * 150 + "WHERE TRUE", "lines; a file has at most 150"),
    ],
)
def test_each_rule_has_its_message(tmp_path: Path, body: str, message: str) -> None:
    problems = lint.check(folder(tmp_path, {"6_report/v.sql": with_body(body)}))
    assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(
    "expression",
    [
        "rank / NULLIF(rank, 0) AS a",
        "rank / 2e0 AS a",
        "rank / (8e0 * 2e0) AS a",
        "rank / GREATEST(1e0, rank) AS a",
        "CAST(FLOOR(rank * 0.5e0) AS BIGINT) AS a",
        "LN(rank) AS a",
        "CASE WHEN meaning = 'GROUP BY ALL 1.5 QUALIFY' THEN meaning END AS a",
    ],
)
def test_what_ports_is_let_through(tmp_path: Path, expression: str) -> None:
    assert lint.check(folder(tmp_path, {"6_report/v.sql": with_body(item(expression))})) == []


def test_stars_are_let_through(tmp_path: Path) -> None:
    files = {
        "5_rollup/w.sql": with_body("SELECT\n    * EXCLUDE (rank),\n    rank AS a\nFROM confidence", "w"),
        "6_report/v.sql": with_body("SELECT\n    w.*\nFROM w"),
    }
    assert lint.check(folder(tmp_path, files)) == []


def test_what_is_evaluated_here_alone_need_not_port(tmp_path: Path) -> None:
    files = {
        "1_hardware/w.sql": with_body(item("LOG(rank) AS a"), "w"),
        "6_report/v.sql": with_body("SELECT\n    a\nFROM w"),
    }
    assert lint.check(folder(tmp_path, files)) == []


def test_layers_point_backwards(tmp_path: Path) -> None:
    files = {
        "3_mapping/v.sql": with_body("SELECT\n    a\nFROM w"),
        "4_cost/w.sql": with_body(item("kind AS a", "source"), name="w"),
    }
    assert lint.check(folder(tmp_path, files)) == [
        "3_mapping/v.sql: no view reads it; a report belongs in 6_report",
        "3_mapping/v.sql: reads w of the later layer 4_cost",
    ]


@pytest.mark.parametrize(
    ("layer", "source", "message"),
    [
        ("1_hardware", "scenario", "a maintained table of parts depends on scenario, a table of models or scenarios"),
        ("1_hardware", "kernel", "a maintained table of parts depends on kernel, a table of models or scenarios"),
        ("2_workload", "hardware", "a maintained table of runs depends on hardware, a table of the hardware"),
        ("2_workload", "efficiency", "a maintained table of runs depends on efficiency, a table of the hardware"),
        ("2_workload", "kernel", "a maintained table of runs has the column run"),
        ("4_cost", "kernel", "rows are kept in 1_hardware and 2_workload only; write CREATE VIEW"),
    ],
)
def test_a_maintained_table_has_one_root(tmp_path: Path, layer: str, source: str, message: str) -> None:
    """The rule also applies through a view."""
    files = {
        f"{layer}/w.sql": with_body(item("COUNT(*) AS a", source), "w"),
        f"{layer}/v.sql": with_body("SELECT\n    a\nFROM w", kind="TABLE"),
    }
    assert f"{layer}/v.sql: {message}" in lint.check(folder(tmp_path, files))


def test_a_missing_head_and_a_text_are_reported_once(tmp_path: Path) -> None:
    files = {
        "5_rollup/other.sql": "CREATE VIEW w AS\nSELECT\n    1e0 + 1e0 AS a\nFROM source",
        "6_report/v.sql": with_body("SELECT\n    *\nFROM w"),
    }
    assert lint.check(folder(tmp_path, files)) == [
        "5_rollup/other.sql: line 3: column a has no text; write `-- Its meaning. [unit]` above it",
        "5_rollup/other.sql: no `-- Grain:` line with the columns that tell its rows apart",
        "5_rollup/other.sql: no description above CREATE VIEW",
        "5_rollup/other.sql: the file is named other, the relation w",
    ]


def test_one_error_a_cause(tmp_path: Path) -> None:
    """A view that reads a failed one has no errors of its own."""
    files = {
        "3_mapping/u.sql": with_body(item("nothing AS a"), "u"),
        "4_cost/v.sql": with_body("SELECT\n    a\nFROM u"),
        "6_report/w.sql": with_body("SELECT\n    a\nFROM v", "w"),
    }
    (problem,) = lint.check(folder(tmp_path, files))
    assert problem.startswith("3_mapping/u.sql: Binder Error") and "nothing" in problem


CHAIN = {
    "4_cost/cost_wire.sql": "-- Term: wire, memory, wire_s, wire_s, wire_fraction, wire_s, wire_j\n"
    + with_body(
        item("1e0 AS wire_s,\n    -- What. [J]\n    2e0 AS wire_j").replace("What.", "What. [s]", 1), "cost_wire"
    ),
    "4_cost/cost_call.sql": "-- Term: call, exposed, , , , call_s,\n"
    + with_body("SELECT\n    *,\n    -- What. [s]\n    3e0 AS call_s\nFROM cost_wire", "cost_call"),
    "6_report/total.sql": "-- Sum: near_s, seconds, memory\n-- Sum: all_s, seconds, memory exposed\n-- Sum: all_j, joules, memory exposed\n"
    + with_body(
        "SELECT\n    *,\n    -- What. [s]\n    wire_s AS near_s,\n    -- What. [s]\n    near_s + call_s AS all_s,\n"
        "    -- What. [J]\n    wire_j AS all_j\nFROM cost_call",
        "total",
    ),
}
"""Two mechanisms and their sum."""


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("6_report/total.sql", "near_s + call_s", "near_s", "all_s lacks call_s, which a term of memory exposed names"),
        ("6_report/total.sql", "near_s + call_s", "call_s", "all_s lacks wire_s, which a term of memory exposed names"),
        ("6_report/total.sql", "    wire_s AS", "    call_s AS", "near_s sums call_s, which no term of memory names"),
        ("6_report/total.sql", "near_s + call_s", "near_s + call_s + wire_s", "all_s sums wire_s twice"),
        ("6_report/total.sql", "    wire_j AS", "    wire_s AS", "all_j lacks wire_j, which a term of memory exposed names"),
        ("4_cost/cost_call.sql", "    *,", "    * EXCLUDE (wire_s),\n    -- What. [s]\n    2e0 * wire_s AS wire_s,", "it makes wire_s anew"),
    ],
)  # fmt: skip
def test_a_sum_holds_every_term_of_its_kinds(tmp_path: Path, name: str, old: str, new: str, message: str) -> None:
    good = {path: text.replace("Grain: a", "Grain: wire_s") for path, text in CHAIN.items()}
    assert [p for p in lint.check(folder(tmp_path, good)) if "kernel_term" not in p] == []
    assert old in good[name]
    problems = lint.check(folder(tmp_path, good | {name: good[name].replace(old, new)}))
    assert any(problem.startswith(name) and message in problem for problem in problems), problems


@pytest.mark.slow("lints every file for each term")
def test_the_shipped_sums_hold_every_term(tmp_path: Path) -> None:
    """A summand removed from the shipped sum is reported by name."""
    shutil.copytree(views.ROOT, tmp_path / "sql", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    for name, summand, column in (("untiled", " + paging_s", "exposed_s"), ("memory", ", reload_s", "memory_s")):
        path = tmp_path / "sql" / "4_cost" / f"cost_{name}.sql"
        text = path.read_text()
        path.write_text(text.replace(summand, "", 1))
        assert any(f"{column} lacks {summand.strip(' +,')}" in problem for problem in lint.check(tmp_path / "sql"))
        path.write_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE MACRO half(x) AS x / 2e0;", "no description above CREATE MACRO"),
        ("-- Half.\nCREATE MACRO halve(x) AS x / 2e0;", "the file is named half, the macro halve"),
        ("-- Half.\nCREATE MACRO half(x) AS x / x;", "a division needs NULLIF"),
        ("-- Half.\nCREATE MACRO half(x) AS CAST(0.5 * x AS DOUBLE);", "0.5 is a DECIMAL"),
        ("-- Half.\nCREATE MACRO half(x) AS LOG(x);", "LOG() does not port"),
        ("-- Half.\nCREATE MACRO half(x) AS x / 2e0;", "nobody calls it"),
    ],
)
def test_a_macro_keeps_to_the_contract(tmp_path: Path, text: str, message: str) -> None:
    """The macro is reported once, however many files call it."""
    body = item("rank AS a") if "nobody" in message else item(f"{text.split('MACRO ')[1].split('(')[0]}(rank) AS a")
    problems = lint.check(folder(tmp_path, {"macro/half.sql": text, "6_report/v.sql": with_body(body)}))
    assert len(problems) == 1 and message in problems[0], problems


def test_numbers_typed_in_a_file_are_listed(tmp_path: Path) -> None:
    text = "1e-9 * rank * 256 + 8 * rank + 1000 + 0.25e0 AS a"
    files = {"3_mapping/v.sql": with_body(item(text)), "6_report/w.sql": with_body(item("rank * 77 AS a"), "w")}
    numbers = [line.partition(" in ")[0] for line in lint.typed_numbers(folder(tmp_path, files))]
    assert sorted(numbers) == ["3_mapping/v.sql: 0.25e0", "3_mapping/v.sql: 256"]


@pytest.mark.parametrize(
    ("name", "unit", "is_right"),
    [
        ("latency_s", "s", True),
        ("latency_s", None, False),
        ("dram_byte_per_s", "byte/s", True),
        ("dram_byte_per_s", "byte", False),
        ("dram_j_per_byte", "J/byte", True),
        ("peak_ops_per_s", "ops/s", True),
        ("throughput_per_s", "1/s", True),
        ("edp_js", "J s", True),
        ("utilization_fraction", None, True),
        ("utilization", "s", False),
        ("batch", None, True),
    ],
)
def test_a_unit_is_what_the_name_promises(name: str, unit: str | None, is_right: bool) -> None:
    assert (lint.unit_problem(name, unit) is None) is is_right


@pytest.mark.slow("lints every file, as `charz.sql.lint` does")
def test_the_shipped_files_keep_to_the_contract() -> None:
    assert lint.check() == []
