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
from charz.session import Session
from charz.session.ask import report
from charz.session.ask.report import SHOWN_PARTS
from charz.session.messages import Messages
from charz.session.page import document
from charz.session.page.content import Section, Table
from charz.session.page.sections import SECTIONS, Subject
from charz.session.quantities import percent, quantity, size

MOST_BYTES = 5 * 2**20
"""Largest page that mail accepts as an attachment."""

PAGES = [
    ("small", "t4"),
    pytest.param("small", "i7_13700k", marks=pytest.mark.slow),
    pytest.param("other", "kpu_t64", marks=pytest.mark.slow),
    pytest.param("decoder", "h100_sxm5_80", marks=pytest.mark.slow),
]


class Reader(HTMLParser):
    """Elements of a page, by section."""

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


def _expected(db: Session, model: str, part: str) -> dict[str, list[str]]:
    """Return the texts that each finding must contain, from the answers of the methods."""
    (run,) = db.report(model, on=part).to_dicts()
    (memory,) = db.report(model, on=part, section="memory").to_dicts()
    parts = list(dict.fromkeys([part, *(name for name in SHOWN_PARTS if name in db._names("hardware"))]))
    compared = db.compare(model, on=parts).to_dicts()
    fastest = min(compared, key=lambda row: row["latency_s"])
    frugal = min(
        (row for row in compared if row["energy_per_sample_j"] is not None), key=lambda row: row["energy_per_sample_j"]
    )
    swept = [row for row in db.compare(model, on=part, batch="1:256", section="saturation").to_dicts() if row["fits_device"]]
    best = max(swept, key=lambda row: row["throughput_per_s"])
    fused = max(
        db.report(model, on=part, section="fusion").to_dicts(), key=lambda row: row["speedup"] or 0.0, default=None
    )
    precise = db.report(model, on=part, section="precisions").to_dicts()
    slowest = db.report(model, on=part, section="kernels").to_dicts()[0]
    helped = db.opportunities(model, on=part).to_dicts()
    asked = f"model = '{model}' AND hardware = '{part}' AND scenario_id = (SELECT scenario_id FROM mart.runs WHERE is_default"
    (call,) = db.sql(f"SELECT run_call_s FROM model_latency WHERE {asked} AND model = '{model}' AND hardware = '{part}')")["run_call_s"]
    left = [f"the run's call, {quantity(call, 's')}, is in no module", quantity(run["latency_s"] - call, "s")] if call else []
    slowed = [f"{quantity(run['power_s'], 's')} are in kernels that the power limit slows"] if run["power_s"] else []
    return {
        "verdict": [f"takes {quantity(run['latency_s'], 's')} a run on {part}", f"batch {run['batch']}", *slowed],
        "where": [f"{slowest['kernel']} of {slowest['operator']}", f"makes {percent(slowest['latency_s'] / run['latency_s'])} of the", *left],
        "memory": [f"peaks at {size(memory['peak_memory_byte'])} in {memory['peak_operator']}"],
        "batches": [f"best at batch {swept[0]['saturating_batch']}", f"samples a second at batch {best['batch']}."],
        "parts": [f"{fastest['hardware']} is the fastest of {len(parts)} parts at {quantity(fastest['latency_s'], 's')}",
                  f"the least energy, {quantity(frugal['energy_per_sample_j'], 'J')} a sample"],
        "fusion": [f"{fused['backend']} runs {fused['kernel_count']} kernels in place of {fused['unfused_kernel_count']}"] if fused else [],
        "precisions": [quantity(min(row["latency_s"] for row in precise if row["latency_s"] is not None), "s")],
        "opportunities": [f"in place of {helped[0]['instead_of']} saves most: {percent(helped[0]['saved_time_fraction'])}"]
        if helped and helped[0]["saved_s"] > 0 else ["Nothing that charz knows"],
    }  # fmt: skip


@pytest.mark.parametrize(("model", "part"), PAGES)
def test_a_page_has_rows_in_every_section(model: str, part: str, file: Path, tmp_path: Path) -> None:
    import vl_convert

    out = tmp_path / "page.html"
    with charz.open(file) as db:
        db.report(model, on=part, html=out)
        (run,) = db.report(model, on=part).to_dicts()
        said = _expected(db, model, part)
    page = out.read_text()
    reader = Reader()
    reader.feed(page)
    expected = [name for name in SECTIONS if name != "serving" or model == "decoder"]
    assert list(reader.counts) == expected
    assert all(text.endswith((".", "?")) for text in reader.findings.values()), reader.findings
    assert not [text for text in reader.findings.values() if text.startswith("Not answered")], reader.findings
    for name, texts in said.items():
        assert [text for text in texts if text not in reader.findings[name]] == [], (name, reader.findings[name])
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
    with charz.open(file) as db, pytest.raises(CharzError, match="a report takes one part"):
        db.report("small", on="t4,l4")


@pytest.mark.default
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


@pytest.mark.default
def test_text_of_a_model_never_ends_a_script() -> None:
    section = Section("a", "A", "It is so.", charts=[{"title": "</script><b>"}])
    page = document.text("t", "s", [section], "").decode()
    assert _specifications(page) == [{"title": "</script><b>"}]
    assert "</script><b>" not in page


def test_parts_beside_the_report_s_own_run_as_people_run_them(file: Path) -> None:
    """A GPU in PyTorch's single precision is compared with a TPU in bf16, which a TPU can run; each point names its precision,
    and intervals are of the same runs."""
    conditions = {"precision": "torch-fp32", "backend": "eager"}
    with charz.open(file) as db:
        db.messages = Messages(warn=lambda _: None)
        subject = Subject(db, "small", ["t4", "tpu_v4"], report.statement, conditions)
        found = SECTIONS["parts"][1](subject)
        alone = db.compare("small", on="tpu_v4").to_dicts()[0]
        batches = SECTIONS["batches"][1](subject)
    rows = {row["hardware"]: row for row in found.tables[0].records()}
    assert {part: (row["backend"], row["precision"]) for part, row in rows.items()} == {
        "t4": ("eager", "torch-fp32"), "tpu_v4": ("xla", "bf16"),
    }  # fmt: skip
    assert rows["tpu_v4"]["latency_s"] == alone["latency_s"]
    assert "they compute in torch-fp32, bf16" in found.finding
    bands = {row["hardware"]: row for row in found.tables[1].records()}
    assert bands["tpu_v4"]["p10_s"] < alone["latency_s"] < bands["tpu_v4"]["p90_s"]
    assert '"name": "tpu_v4 bf16"' in json.dumps(found.charts[0])
    assert {(row["hardware"], row["precision"]) for row in batches.tables[0].records()} == {("t4", "torch-fp32"), ("tpu_v4", "bf16")}


def test_precisions_that_a_part_lacks_are_not_listed(file: Path) -> None:
    """A 4090 has no 4-bit floating point, so nvfp4 is missing; experts in mxfp4 are converted to 16 bits. It has int4 and fp8. Two policies
    under which the model runs alike are one row, and the page names both."""
    remarks: list[str] = []
    with charz.open(file) as db:
        db.messages = Messages(remark=remarks.append)
        found = db.report("small", on="rtx4090", section="precisions")
        query = db.connection().execute(report._COMPARED_PRECISIONS, ["rtx4090", "inductor"]).fetchall()
    held = {name for (name,) in query}
    assert "nvfp4" not in held and {"mxfp4", "bf16", "fp16", "int8", "fp8", "w4a16", "sparse-fp16", "torch-fp32"} <= held
    listed = found["precision"].to_list()
    assert set(listed) < held and {"bf16", "fp16", "int8", "torch-fp32"} <= set(listed)
    alike = found.select("latency_s", "energy_j", "peak_memory_byte")
    assert alike.unique().height == len(listed)
    said = next(line for line in remarks if line.startswith("left out, since the model runs exactly as in another precision: "))
    assert set(re.findall(r"(\S+) as \S+", said.partition(": ")[2])) == held - set(listed)


def test_bytes_on_an_axis_have_the_units_of_the_text() -> None:
    """700 MiB at nine ticks are steps of 128 MiB, the first power of two above an eighth; a logarithmic axis has powers of two."""
    from charz.session.ask import charts

    most = 700 * 2**20
    assert charts.ticks(most) == [128 * 2**20 * i for i in range(7)]
    step = {"position": 0, "resident_byte": most - 9, "allocated_byte": 9, "total_byte": most, "operator": "conv", "module": ""}
    axis = charts.memory([step], "m").to_dict()["layer"][0]["encoding"]["y"]["axis"]
    assert axis["values"] == charts.ticks(most) and axis["title"] == "memory in use"
    assert "datum.value >= 1048576 ? format(datum.value / 1048576, '.3~g') + ' MiB'" in axis["labelExpr"]
    logarithmic = charts._positive("unique bytes of the kernel [byte]")
    assert (logarithmic["scale"]["base"], logarithmic["axis"]["title"]) == (2, "unique bytes of the kernel")


def test_the_script_of_a_page_is_joined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second page takes the script from the cache, and a changed script in the cache is not taken."""
    import vl_convert

    from charz.schema import cache
    from charz.session.page import document

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    joined: list[str] = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: joined.append("") or "vega('</script>')")
    assert [document._library() for _ in range(2)] == ["vega('<\\/script>')"] * 2
    assert len(joined) == 1
    (kept,) = (tmp_path / "charz").glob("vega-*.js")
    kept.write_text("changed")
    assert document._library() == "vega('<\\/script>')" and len(joined) == 2
    assert len(cache.said()) == 1
