"""A report as a page: one file, every section with its finding, every picture a specification that compiles."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.page import document
from charz.session.page.content import Section, Table
from charz.session.page.sections import SECTIONS

MOST_BYTES = 5 * 2**20
"""Largest page that mail takes along."""

PAGES = [
    ("small", "t4"),
    pytest.param("small", "i7_13700k", marks=pytest.mark.slow),
    pytest.param("other", "kpu_t64", marks=pytest.mark.slow),
    pytest.param("decoder", "h100_sxm5_80", marks=pytest.mark.slow),
]


class Reader(HTMLParser):
    """What a page has of elements, by section."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: dict[str, str] = {}
        self.counts: dict[str, dict[str, int]] = {}
        self.references: list[str] = []
        self._section = ""
        self._is_finding = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self._section = str(given["id"])
            self.counts[self._section] = {}
        self._is_finding = given.get("class") == "finding"
        kind = str(given.get("class") or tag)
        if self._section:
            counts = self.counts[self._section]
            counts[kind] = counts.get(kind, 0) + 1
        if tag in ("script", "link", "img", "iframe"):
            self.references += [str(given[name]) for name in ("src", "href") if name in given]

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._section = ""

    def handle_data(self, data: str) -> None:
        if self._is_finding:
            self.findings[self._section] = self.findings.get(self._section, "") + data


def _specifications(page: str, name: str = "charts") -> Any:
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


@pytest.mark.parametrize(("model", "part"), PAGES)
def test_a_page_has_rows_in_every_section(model: str, part: str, file: Path, tmp_path: Path) -> None:
    import vl_convert

    out = tmp_path / "page.html"
    with charz.open(file) as db:
        db.report(model, on=part, html=out)
        (run,) = db.report(model, on=part).to_dicts()
    page = out.read_text()
    reader = Reader()
    reader.feed(page)
    expected = [name for name in SECTIONS if name != "serving" or model == "decoder"]
    assert list(reader.counts) == expected
    assert all(text.endswith((".", "?")) for text in reader.findings.values()), reader.findings
    assert not [text for text in reader.findings.values() if text.startswith("Not answered")], reader.findings
    for name, counts in reader.counts.items():
        assert name == "measured" or counts.get("details", 0) > 0, name
    assert reader.references == []
    assert out.stat().st_size < MOST_BYTES
    charts = _specifications(page)
    assert len(charts) == sum(counts.get("chart", 0) for counts in reader.counts.values()) >= 6
    for chart in charts:
        assert vl_convert.vegalite_to_vega(chart)["marks"]
    (tree,) = _specifications(page, "trees").values()
    roots = [row for row in tree if row["depth"] == 0]
    assert roots[0]["latency_s"] <= run["latency_s"] * (1 + 1e-9)
    assert {row["module"] for row in tree if row["depth"] == 1}


def test_a_second_part_is_compared_and_wants_a_page(file: Path, tmp_path: Path) -> None:
    with charz.open(file) as db, pytest.raises(CharzError, match="a report is of one part"):
        db.report("small", on="t4,l4")


def test_a_table_tells_what_a_number_is_and_how_to_ask_again() -> None:
    table = Table(
        ("hardware", "latency_s"),
        [("<t4>", 0.0012), ("l4", None)],
        "SELECT 'a' FROM model_report",
        {"latency_s": "Time."},
        "Runs",
    )
    page = document.text("t", "s", [Section("a", "A", "It is so.", tables=[table])], "--model m").decode()
    assert "&lt;t4&gt;" in page and "<t4>" not in page
    assert 'data-about="latency_s: 0.0012 s" data-meaning="Time.">1.20 ms<' in page
    assert "Runs (2 rows)" in page
    assert "charz sql &#x27;SELECT &#x27;\\&#x27;&#x27;a&#x27;\\&#x27;&#x27; FROM model_report&#x27; --model m" in page


def test_text_of_a_model_never_ends_a_script() -> None:
    section = Section("a", "A", "It is so.", charts=[{"title": "</script><b>"}])
    page = document.text("t", "s", [section], "").decode()
    assert _specifications(page) == [{"title": "</script><b>"}]
    assert "</script><b>" not in page
