"""The reference page of all parts, compared with the catalog."""

from __future__ import annotations

from charz.cli import reference as pages
from charz.hardware_catalog import reference
from charz.hardware_catalog.loader import Catalog


def test_page_names_every_part_and_is_not_stale(catalog: Catalog) -> None:
    text = "\n".join(reference.lines(catalog))
    for part in catalog.parts():
        assert f"| `{part.hardware}` |" in text
    assert text.strip() in (pages.FOLDER / "hardware.md").read_text(), "run `python -m charz.cli.reference`"
