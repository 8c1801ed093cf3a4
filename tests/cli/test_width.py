"""Tables fit a terminal of 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from charz.cli import dispatch, display

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
