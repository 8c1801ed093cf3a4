"""What a source does not hide of the constructors it calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from charz.ingest.sources import timm


def test_a_type_error_within_a_constructor_is_no_missing_argument() -> None:
    def create_model(name: str, **_: Any) -> None:
        raise TypeError("unsupported operand")

    with pytest.raises(TypeError, match="unsupported operand"):
        timm._construct(SimpleNamespace(create_model=create_model), "vit", (3, 64, 64))
