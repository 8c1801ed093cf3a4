"""File names may be plain texts too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from charz.session import Session

Use = Callable[[Session, str], object]

USES: dict[str, tuple[str, Use]] = {
    "dump": ("t4.yaml", lambda db, name: db.hardware.dump("t4", out=name)),
    "template": ("new.yaml", lambda db, name: db.hardware.template("gpu", out=name)),
    "export": ("out/load.sql", lambda db, name: db.export(str(Path(name).parent), models="small", on="t4", views="model_report")),
    "explore": ("all.csv", lambda db, name: db.explore(base="t4", vary="units=40", models="small", out=name)),
    "plot": ("edp.json", lambda db, name: db.plot("edp", "small", on="t4", out=name)),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_a_file_is_written_where_a_text_says(
    name: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written, use = USES[name]
    with Session(file) as db:
        use(db, written)
    assert (tmp_path / written).stat().st_size > 100


def test_a_part_is_read_where_a_text_says(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Session(file) as db:
        db.hardware.template("gpu", out="mine.yaml")
        assert len(db.hardware.check("mine.yaml")) == 0
    with Session(tmp_path / "new.duckdb") as db:
        added = db.hardware.add("mine.yaml")["added"].to_list()
        assert added[0] in db.hardware.list()["hardware"].to_list()
