"""Columns of a statement without a unit, because their alias promises one that the computed value does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz
from charz.cli import output
from charz.session.ask import computed


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("latency_s * 1000 AS time_s", "time_s"), ("hardware AS part_w", "part_w"), ("energy_j / latency_s AS mean_w", "mean_w"),
        ("count(*) AS runs_s", "runs_s"), ("1 - utilization_fraction AS idle_fraction", "idle_fraction"),
        ("(SELECT max(latency_s * 2) AS twice_s FROM model_report) AS twice_s", "twice_s"), ("7.0 AS x_byte", "x_byte"),
    ],
)  # fmt: skip
def test_what_is_computed_has_no_unit(item: str, name: str) -> None:
    assert computed.columns(f"SELECT {item} FROM model_report", [name]) == {name}
    assert computed.columns(f"WITH a AS (SELECT {item} FROM model_report) SELECT {name} FROM a", [name]) == {name}


@pytest.mark.parametrize(
    "item",
    [
        "latency_s", "latency_s AS time_s", "max(latency_s) AS slowest_s", "sum(energy_j) AS total_j", "energy_j / batch AS sample_j",
        "min_by(latency_s, energy_j) AS best_s", "CASE WHEN batch = 1 THEN latency_s END AS single_s", "count(*) AS runs",
        "energy_j / NULLIF(batch, 0) AS sample_j", "memory_s + overhead_s AS lost_s", "median(latency_s) AS middle_s",
    ],
)  # fmt: skip
def test_what_is_named_has_its_unit(item: str) -> None:
    name = item.rpartition(" AS ")[2]
    assert computed.columns(f"SELECT {item} FROM model_report", [name]) == set()
    assert computed.columns(f"SELECT * FROM (SELECT {item} FROM model_report)", [name]) == set()


def test_a_table_shows_it_as_it_is() -> None:
    columns, rows = ("latency_s", "time_s"), [[0.0015, 1.5], [0.002, 2.0]]
    text = output.encode(columns, rows, output.Format.table, bare={"time_s"}).decode()
    assert "1.50 ms" in text and "1.50 s" not in text
    assert text.splitlines()[0].split() == ["latency", "time_s"]
    assert "2.00 s" in output.encode(columns, rows, output.Format.table).decode()


def test_a_frame_of_a_statement_knows_it(file: Path) -> None:
    with charz.open(file) as db:
        found = db.sql("SELECT 1.5::DOUBLE AS time_s, hardware FROM hardware LIMIT 1")
    assert ">1.50<" in found._repr_html_() and "time_s</th>" in found._repr_html_()
