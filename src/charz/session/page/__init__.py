"""A report of one model as a single HTML file that opens without charz and without a network."""

from __future__ import annotations

from .document import text
from .sections import Subject, sections

__all__ = ["Subject", "sections", "text"]
