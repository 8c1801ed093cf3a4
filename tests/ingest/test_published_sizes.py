"""Parameters of shipped architectures, compared with the sizes of the makers' checkpoints at huggingface.co."""

from __future__ import annotations

import pytest

from charz.ingest.sources import huggingface
from charz.ingest.sources.spec import parse

VISION = 416_866_032
"""Parameters of the picture tower of Gemma 3; a projection of 1152 x width and a norm of 1152 follow it."""

SOUND_AND_PICTURES = 983_281_504
"""Parameters of Gemma 3n outside its language model: equal in both sizes."""

SHARED = 2 * 2048 * 512 + 256
"""Keys, values and their norm of a layer of Gemma 3n, which checkpoints have although the layer uses those of another."""


def next_tokens(layer: int, width: int, vocabulary: int, biases: int) -> int:
    """Return the parameters of a layer that predicts a token further (GLM 4.5): a layer, a projection of two widths to one, three norms, and an
    embedding and a head of its own; and the routers' biases, which are buffers here."""
    return layer + 2 * width * width + 3 * width + 2 * width * vocabulary + biases


PUBLISHED = {
    "gemma-3-1b": 999_885_952,
    "gemma-3-4b": 4_300_079_472 - VISION - 1152 * 2560 - 1152,
    "gemma-3-12b": 12_187_325_040 - VISION - 1152 * 3840 - 1152,
    "gemma-3-27b": 27_432_406_640 - VISION - 1152 * 5376 - 1152,
    "gemma-3n-e2b": 5_439_438_272 - SOUND_AND_PICTURES - 10 * SHARED,
    "gemma-3n-e4b": 7_849_978_192 - SOUND_AND_PICTURES - 15 * SHARED,
    "deepseek-r1-distill-qwen-1.5b": 1_777_088_000,
    "deepseek-v2": 235_741_434_880,
    "phi-4-mini": 3_836_021_760,
    "phi-3-medium": 13_960_238_080,
    "phi-3.5-moe": 41_873_153_344,
    "mistral-large": 122_610_069_504,
    "qwen3-coder-480b-a35b": 480_154_875_392,
    "qwen3-next-80b-a3b": 81_324_862_720 - 1_650_471_424,
    "glm-4.5": 358_337_791_296 - next_tokens(3_935_625_632, 5120, 151_552, 89 * 160),
    "glm-4.5-air": 110_468_824_832 - next_tokens(2_341_492_864, 4096, 151_552, 45 * 128),
    "kimi-k2": 1_026_408_232_448 - 60 * 384,
}
"""Parameters of each checkpoint without the parts that the row lacks: other inputs, and layers that predict further tokens."""


@pytest.mark.parametrize("name", ["gemma-3-1b", "phi-4-mini", "deepseek-r1-distill-qwen-1.5b"])
def test_parameters_of_small_models(name: str) -> None:
    assert parameters(name) == PUBLISHED[name]


@pytest.mark.slow("builds large models without weights")
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_parameters_of_published_models(name: str) -> None:
    assert parameters(name) == PUBLISHED[name]


def parameters(name: str) -> int:
    """Return the number of parameters of a shipped architecture."""
    return sum(p.numel() for p in huggingface.build(parse(f"hf:{name}")).module.parameters())
