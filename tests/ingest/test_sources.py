"""What a source does not hide of the constructors it calls, and what it says of names that are not its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from charz.ingest.sources import build, timm
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError


def test_a_type_error_within_a_constructor_is_no_missing_argument() -> None:
    def create_model(name: str, **_: Any) -> None:
        raise TypeError("unsupported operand")

    with pytest.raises(TypeError, match="unsupported operand"):
        timm._construct(SimpleNamespace(create_model=create_model), "vit", (3, 64, 64))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("gpt2", "not a torchvision model: gpt2. `charz ingest hf:gpt2` names one."),
        ("mixer_b16_224", "not a torchvision model: mixer_b16_224. `charz ingest timm:mixer_b16_224` names one."),
        ("resnet19", "unknown model: resnet19. Nearest: resnet18"),
    ],
)
def test_a_name_of_another_source_is_named_with_it(name: str, line: str) -> None:
    with pytest.raises(CharzError) as raised:
        build(parse(name))
    assert raised.value.line.startswith(line)
