"""`calibrate`: a scope of one's own, or rows that ship, never half of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from charz.hardware_catalog.calibration import shipped
from charz.hardware_catalog.calibration.rows import FittedRows
from charz.schema.catalog import Collective
from charz.schema.errors import CharzError
from charz.session import Messages, Session


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "needs a scope, or --shipped: TARGET"),
        ({"target": "family:gpu", "package": Path("p")}, "needs a scope, or --shipped: --package"),
        ({"target": "family:gpu", "shipped": "gemm"}, "--shipped has settings of its own: TARGET"),
        ({"shipped": "gemm", "folds": 3, "where": "TRUE"}, "--shipped has settings of its own: --where, --folds"),
    ],
)
def test_options_that_would_do_nothing_are_refused(tmp_path: Path, options: dict[str, Any], line: str) -> None:
    with pytest.raises(CharzError) as refused, Session(tmp_path / "t.duckdb") as db:
        db.calibrate(**options)
    assert line in refused.value.line


def test_shipped_rows_go_to_the_folder_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Collective(
        interconnect="*",
        call_fraction=0.5,
        step_fraction=0.5,
        bandwidth_fraction=0.5,
        source_id="s",
        confidence="assumed",
    )
    monkeypatch.setattr(shipped, "fit", lambda *_: FittedRows(constants=[row]))
    said: list[str] = []
    with Session(tmp_path / "t.duckdb", messages=Messages(remark=said.append)) as db:
        db.calibrate(shipped="collectives")
        assert not (tmp_path / "collective.csv").exists()
        assert "1 rows fitted" in said[0]
        db.calibrate(shipped="collectives", csv=tmp_path)
    assert (tmp_path / "collective.csv").read_text().splitlines()[1] == "*,0.5,0.5,0.5,s,assumed"
