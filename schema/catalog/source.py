"""Tables of sources and of confidence in them."""

from __future__ import annotations

from typing import ClassVar

from ..ranges import Ordinal
from ..row import Row


class Source(Row):
    """A source of numbers."""

    TABLE: ClassVar[str] = "source"
    KEY: ClassVar[tuple[str, ...]] = ("source_id",)

    source_id: str
    """Short name, cited by every number."""
    kind: str
    """`vendor_doc`, `vendor_code`, `paper`, `secondary`, `peer_catalog`, `measurement`, `assumption`, ..."""
    locator: str
    """Address, paper or file."""
    licence: str | None
    """Licence of the data, where stated."""
    what: str
    """Summary of the source."""


class Confidence(Row):
    """A level of trust in a number."""

    TABLE: ClassVar[str] = "confidence"
    KEY: ClassVar[tuple[str, ...]] = ("confidence",)

    confidence: str
    """Level, e.g. `vendor_doc`."""
    rank: Ordinal
    """Order of trust, 1 the highest."""
    is_guess: bool
    """True for `assumed`: reports count the numbers of this level that they use."""
    meaning: str
    """Meaning of the level."""
