"""Tables fit a terminal of 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from charz.cli import dispatch, display, output

from .test_options import READS

WIDTH = 80


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("model", ["small", "decoder"])
def test_no_line_of_a_table_is_longer_than_the_terminal(
    name: str, model: str, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    arguments, options = READS[name]
    line = [*name.split(), *(model if word == "small" else word for word in arguments), "--db", str(file)]
    for option, value in options.items():
        values = value if isinstance(value, list) else [value]
        flag = f"--{option.replace('_', '-')}"
        line += [flag] if value is True else [x for v in values for x in (flag, model if v == "small" else str(v))]
    assert dispatch.run(line) in (0, 1), capsys.readouterr().err
    wide = [text for text in capsys.readouterr().out.splitlines() if len(text) > WIDTH]
    assert not wide


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "compare small decoder --on t4,kpu_t64 --by operator --top 20",
        "compare small --on t4 --backend eager,tensorrt --by module",
        "explain small 0 --on t4 --formulas",
        "opportunities small --on t4 --backend tensorrt --modules int8",
        "recommend small other --on t4,l4 --by cost --power 60W",
        "report decoder --on t4 --full",
        "what-if --set t4.sm.unit_count=80 -- compare small --on t4 --by class",
        "workload {work} --on t4,l4",
    ],
)
def test_no_line_of_other_tables_is_either(
    line: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    work = tmp_path / "work.yaml"
    work.write_text("rate_per_s: 30\nruns: [{model: small, count: 2}, {model: other, batch: 8}]\n")
    monkeypatch.setenv("CHARZ_DB", str(file))
    assert dispatch.run(line.format(work=work).split()) in (0, 1), capsys.readouterr().err
    printed = capsys.readouterr().out
    assert printed and not [text for text in printed.splitlines() if len(text) > WIDTH]


def test_a_long_text_goes_on_in_further_lines_and_numbers_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_table_width", lambda: 30)
    rows = [(1, "12 words that say what is in this cell", "4.00 ms"), (2, "short", "40.0 ms")]
    assert display.table(["id", "sentence", "time"], rows).splitlines() == [
        "id  sentence",
        "--  --------------------------",
        " 1  12 words that say what is",
        "    in this cell",
        " 2  short",
        "",
        "id     time",
        "--  -------",
        " 1  4.00 ms",
        " 2  40.0 ms",
    ]


def test_headings_are_told_apart_by_what_they_measure() -> None:
    from charz.session.quantities import headers

    assert headers(["saved_s", "saved_time_fraction", "saved_j", "token_j", "energy_j", "million_tokens_usd", "latency_s"]) == [
        "saved", "saved time", "saved energy", "token energy", "energy", "million tokens cost", "latency",
    ]  # fmt: skip
    assert headers(["saved_s", "saved_byte"]) == ["saved time", "saved bytes"]
    assert headers(["hit_fraction", "hit_s", "hit_time_s"]) == ["hit share", "hit s", "hit time s"]


def test_every_block_of_a_broken_table_tells_its_rows_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come first even if they are apart. If keys take more than half of the line, only those stay that distinguish rows.
    Values that all rows share are above the table."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    columns = ["hardware", "is_simulated", "backend", "precision", "batch", "power", "latency_s", "energy_j", "peak_memory_byte", "price_basis"]
    rows = [
        ["jetson_orin_nano_super_8", False, "onnxruntime", "int8", batch, "default", batch / 1000, 1.0, 2**20, f"list price over {batch} hours"]
        for batch in (1, 8, 64)
    ]  # fmt: skip
    rows += [[row[0], True, "tensorrt", *row[3:]] for row in rows]
    text = output.encode(columns, rows, output.Format.table).decode()
    blocks = text.split("\n\n")
    assert blocks[0] == "hardware jetson_orin_nano_super_8, precision int8, power default"
    assert len(blocks) > 2
    for block in blocks[1:]:
        head, _, *lines = block.splitlines()
        assert head.split()[:2] == ["backend", "batch"]
        assert len({tuple(line.split()[:2]) for line in lines if line.strip()}) == 6


def test_keys_without_which_no_two_rows_are_alike_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    rows = [[f"part_of_a_long_name_{i}", f"backend_of_another_kind_{i}", "x" * 30, "y" * 30] for i in range(3)]
    blocks = display.table(["part", "backend", "one", "other"], rows, [0, 1]).split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [["part", "backend", "one"], ["part", "other"]]
