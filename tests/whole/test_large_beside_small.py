"""A large model ingested into a file with a small one, whose row counts the planner knows."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz
from charz.sql import holder

pytestmark = pytest.mark.slow

SPILLED = "500MB"
"""Limit of temporary files of an evaluation; joins of all tensors with one another take tens of gigabytes."""


def test_no_relation_joins_every_tensor_with_every_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views find a kernel's tensors before their sizes."""
    made = holder._Holder._table

    def limited(self: holder._Holder, name: str, query: str) -> None:
        self.connection.execute(f"SET max_temp_directory_size = '{SPILLED}'")
        made(self, name, query)

    monkeypatch.setattr(holder._Holder, "_table", limited)
    with charz.open(tmp_path / "m.duckdb") as db:
        db.ingest(["synthetic:mlp"])
        db.ingest(["hf:gpt-oss-20b"])
        counts = db.sql("SELECT run.model, COUNT(*) AS kernels FROM run_kernel GROUP BY run.model ORDER BY kernels")
    assert len(counts) == 2 and counts["kernels"].min() > 0
