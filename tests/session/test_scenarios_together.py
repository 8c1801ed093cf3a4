"""Two sessions that add scenarios to one file get different numbers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import charz
from charz.session.core import Core


def test_a_scenario_added_meanwhile_keeps_its_number(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "charz.duckdb"
    shutil.copy(file, path)
    changing = Core.changing

    def after_another(self: Core, create: bool = True):  # type: ignore[no-untyped-def]
        monkeypatch.setattr(Core, "changing", changing)
        with charz.open(path) as other:
            other.scenario.add(batch=901, backend="eager", precision="fp32")
        return changing(self, create)

    with charz.open(path) as db:
        before = len(db.scenario.list())
        monkeypatch.setattr(Core, "changing", after_another)
        db.scenario.add(batch=902, backend="eager", precision="fp32")
        found = db.scenario.list()
    assert len(found) == before + 2 == found["scenario_id"].n_unique()
    assert {901, 902} <= set(found["batch"].to_list())
