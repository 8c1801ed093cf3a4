"""Members of the synthetic families: work computed by hand, names, impossible sizes."""

from __future__ import annotations

import pytest

from charz.ingest import pipeline
from charz.ingest.graph import evaluate
from charz.ingest.sources import synthetic
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError


def macs(name: str, sequence: int = 1, **settings: int) -> float:
    """Return the multiply-accumulates of one sample."""
    spec = parse(f"synthetic:{name}", settings=tuple((k, str(v)) for k, v in settings.items()))
    graph, _ = pipeline.to_graph(synthetic.build(spec))
    return sum(
        evaluate(step.quantities["macs"], 1, sequence)
        for operator in graph.operators
        for step in operator.steps
        if "macs" in step.quantities
    )


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("mlp", {"in": 8, "hidden": 16, "out": 4, "layers": 3}, 8 * 16 + 16 * 16 + 16 * 4),
        # (56 + 2 - 3) / 2 + 1: 28 rows; of a width of 30, 15.
        ("conv2d", {"channels": 8, "out": 12, "stride": 2, "width": 30}, 28 * 15 * 12 * 8 * 9),
        # Without padding and with dilation two: a window of 5 has 52 positions. Four groups read two channels each.
        ("conv2d", {"channels": 8, "out": 12, "padding": 0, "dilation": 2, "groups": 4}, 52 * 52 * 12 * 2 * 9),
        ("conv2d_bn_act", {"channels": 8, "out": 12, "kernel": 1, "groups": 2}, 56 * 56 * 12 * 4),
        ("resnet_block", {"channels": 8, "size": 14}, 2 * 14 * 14 * 8 * 8 * 9),
        # As many pixels and channels: no projection. Other channels: a 1x1 projection.
        ("resnet_block", {"channels": 8, "out": 16, "size": 14}, 14 * 14 * 16 * ((8 + 16) * 9 + 8)),
        ("resnet_block", {"channels": 8, "out": 16, "size": 14, "stride": 2, "kernel": 5}, 7 * 7 * 16 * ((8 + 16) * 25 + 8)),
        ("resnet_block", {"channels": 8, "size": 15, "width": 9, "stride": 2}, 8 * 5 * 8 * ((8 + 8) * 9 + 8)),
        ("depthwise_separable", {"channels": 8, "out": 12, "size": 14}, 14 * 14 * 8 * (9 + 12)),
    ],
)  # fmt: skip
def test_work_of_images_and_features(name: str, settings: dict[str, int], expected: int) -> None:
    assert macs(name, **settings) == expected


@pytest.mark.default
def test_work_of_attention() -> None:
    """10 tokens of 32 features, 2 heads of 16 or of 24: four projections, scores and weighted sums."""
    tokens = 10
    assert macs("attention_head", tokens, width=32, heads=2) == tokens * 32 * 32 * 4 + 2 * tokens * tokens * 32
    wide = macs("attention_head", tokens, width=32, heads=2, head_width=24)
    assert wide == tokens * 32 * 48 * 4 + 2 * tokens * tokens * 48
    block = macs("transformer_block", tokens, width=32, heads=2, head_width=24, hidden=64)
    assert block == wide + 2 * tokens * 32 * 64


def test_a_name_says_what_does_not_follow() -> None:
    asked = parse("synthetic:resnet_block", settings=(("channels", "8"), ("stride", "2")))
    assert synthetic.build(asked).name == "synthetic:resnet_block,channels=8,size=56,kernel=3,stride=2"


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("conv2d", {"size": 4, "kernel": 9, "padding": 0}, "a window of 9 does not fit into size 4 with a border of 0"),
        ("conv2d", {"width": 3, "dilation": 4}, "a window of 9 does not fit into width 3 with a border of 1"),
        ("conv2d", {"groups": 5}, "divisible by groups"),
        ("resnet_block", {"kernel": 4}, "kernel 4 with a border of 2 gives another size than the shortcut"),
        ("pooling", {"padding": 2}, "a border of 2 is more than half of the window of 3"),
        ("transformer_block", {"heads": 7}, "width 768 is not a multiple of 7 heads"),
        ("mlp", {"hidden": 0}, "a size must be a whole number above 0"),
        ("mlp", {"height": 3}, "unknown parameter: height of synthetic:mlp. There are hidden, in, layers, out"),
    ],
)
def test_sizes_that_cannot_be_are_told_in_a_line(name: str, settings: dict[str, int], says: str) -> None:
    with pytest.raises(CharzError) as refused:
        macs(name, **settings)
    text = str(refused.value)
    assert says.lower() in text.lower() and "\n" not in text


@pytest.mark.parametrize("name", synthetic.names())
def test_every_family_is_sized(name: str) -> None:
    """A rule sizes each operator."""
    graph, _ = pipeline.to_graph(synthetic.build(parse(f"synthetic:{name}")))
    assert graph.operators and all(operator.rule for operator in graph.operators)
