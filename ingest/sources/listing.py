"""Names of the models of each source."""

from __future__ import annotations

from importlib import import_module

from charz.schema.errors import unknown_name

LISTED = {"torchvision": "torchvision", "timm": "timm", "hf": "huggingface", "synthetic": "synthetic"}


def names_of(source: str) -> list[str]:
    """Return the names as `charz ingest` takes them. Raise CharzError for an unknown source."""
    if source not in LISTED:
        raise unknown_name("source", source, LISTED)
    names: list[str] = import_module(f"{__package__}.{LISTED[source]}").names()
    return names if source == "torchvision" else [f"{source}:{name}" for name in names]
