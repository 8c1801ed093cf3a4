"""Every part of the catalog answers for Llama-3.1-8B, or reports that it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz

pytest.importorskip("transformers")

MODEL = "hf:llama-3.1-8b"


@pytest.mark.slow
def test_every_part_serves_or_says_why(tmp_path: Path) -> None:
    with charz.open(tmp_path / "served.duckdb") as db:
        db.ingest(MODEL, no_answers=True)
        found = db.llm(MODEL).to_dicts()
        parts = {part for (part,) in db.sql("SELECT hardware FROM hardware").rows()}
    assert {row["hardware"] for row in found} == parts
    for row in found:
        if row["fits_device"]:
            assert row["ttft_s"] > row["tpot_s"] > 0, row["hardware"]
        else:
            assert row["fits_device"] is False, row["hardware"]
            assert (row["ttft_s"], row["tpot_s"], row["million_decode_tokens_usd"]) == (None, None, None), row["hardware"]
    assert sum(row["fits_device"] for row in found) > len(parts) / 2
