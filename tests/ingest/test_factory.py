"""Models in a Python file, files without models, and image sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from charz.ingest.compile.rules import Rules
from charz.ingest.pipeline import ingest
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError

CODE = """
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(4, 4, 3)
    def forward(self, x):
        return self.layer(x)

class Network(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
    def forward(self, image):
        return self.blocks(image)
"""


@pytest.mark.default
def test_a_file_with_one_model(tmp_path: Path) -> None:
    path = tmp_path / "my_network.py"
    path.write_text(CODE)
    request = build(parse(str(path), resolution="32x48"))
    assert (request.name, list(request.keywords["image"].shape)) == ("Network", [2, 4, 32, 48])


def test_a_file_with_two_models_names_them(tmp_path: Path) -> None:
    path = tmp_path / "two_networks.py"
    path.write_text(CODE + "\nclass Other(Network):\n    pass\n")
    with pytest.raises(CharzError, match=r"It contains Network, Other.*charz ingest .*two_networks.py:Network"):
        build(parse(str(path)))
    assert build(parse(f"{path}:Other")).name == "Other"


def test_of_several_classes_the_one_that_can_be_built_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "one_of_three.py"
    wants = "\nclass Wants(nn.Module):\n    def __init__(self, path=None):\n        open(path)\n"
    base = "\nclass Base(nn.Module):\n    pass\n"
    path.write_text(CODE + wants + base)
    assert build(parse(str(path))).name == "Network"


GUESSED = """
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)
    def forward(self, x, mask=None, scale: float = 1.0, bias: torch.Tensor | None = None):
        return torch.cat([self.layer(x[i]) for i in range(x.shape[0])])
"""


def test_what_was_guessed_and_left_out_is_said(tmp_path: Path, rules: Rules) -> None:
    path = tmp_path / "guessed.py"
    path.write_text(GUESSED)
    said = ingest(parse(str(path)), rules).remark
    assert said.startswith("takes x: fp32[2, 8]; the batch is fixed at 2 (the code needs dimension 0 of x as a number")
    assert said.endswith("; left out: mask, bias; --input NAME=DIMS:TYPE changes them")


def test_a_file_without_models(tmp_path: Path) -> None:
    path = tmp_path / "no_network.py"
    path.write_text("depth = 3\n")
    with pytest.raises(CharzError, match="no model found"):
        build(parse(str(path)))


@pytest.mark.parametrize("name", ["model.tflite", "weights.pth", "model.gguf"])
def test_files_without_code_say_how_to_export(name: str) -> None:
    with pytest.raises(CharzError, match=r"torch\.export\.save"):
        parse(name)


def test_sides_of_an_image() -> None:
    assert parse("resnet50", resolution="800x1066").sides == (800, 1066)
    assert parse("resnet50@800x1066") == parse("resnet50", resolution="800x1066")
    assert parse("resnet50@288").sides == (288, 288)
    with pytest.raises(CharzError, match="not a resolution"):
        parse("resnet50", resolution="big")


def test_a_wide_image_is_named_by_its_sides() -> None:
    request = build(parse("resnet18@64x96"))
    assert (request.name, request.resolution) == ("resnet18@64x96", None)
    assert list(request.arguments[0].shape) == [2, 3, 64, 96]
