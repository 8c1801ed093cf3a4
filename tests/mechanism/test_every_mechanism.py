"""Every mechanism has a test with numbers computed by hand."""

from __future__ import annotations

from pathlib import Path

from charz import sql

MECHANISMS = ("3_mapping", "4_cost")


def test_each_has_a_file_of_its_own() -> None:
    root = Path(sql.__file__).parent
    relations = {path.stem for layer in MECHANISMS for path in (root / layer).glob("*.sql")}
    tested = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert relations - tested == set()
