"""Figures from polynomials against figures of the same model traced at one size, operator by operator.

    python -m benchmarks.symbolic_sizes [--page]

Thirty models that neither the list of strangers nor a test holds are traced once with every size open, and three times with
none: at batch 1, 3 and 5 with 16, 48 and 200 tokens where they have a length. Of every operator that computes or moves bytes
the multiply-accumulates, operations and bytes that follow from the open trace must be those of the fixed one. Operators that
one of the two has alone are counted beside: a copy that PyTorch makes of several samples and not of one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.page import write
from charz.hardware_catalog import loader
from charz.ingest.graph import Graph, Polynomial
from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import Spec, parse
from charz.schema.catalog import Precision
from charz.schema.errors import CharzError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "symbolic-sizes.md"

PAIRS = ((1, 16), (3, 48), (5, 200))
"""Batch and length."""

TIMM = (
    "repvit_m0_9 tiny_vit_5m_224 pit_ti_224 poolformer_s12 gmlp_s16_224 ghostnetv2_100 twins_svt_small davit_tiny"
    " focalnet_tiny_srf visformer_tiny"
)
TORCHVISION = "efficientnet_v2_s mnasnet0_75 mc3_18 deeplabv3_mobilenet_v3_large"

_SMALL: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
}  # fmt: skip
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "roberta": ("RobertaForMaskedLM", {**_SMALL, "max_position_embeddings": 512}),
    "deberta-v2": ("DebertaV2ForSequenceClassification", {**_SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "albert": ("AlbertModel", {**_SMALL, "embedding_size": 32}),
    "bloom": ("BloomForCausalLM", {"vocab_size": 512, "hidden_size": 64, "n_layer": 2, "n_head": 4}),
    "gpt_neox": ("GPTNeoXForCausalLM", _SMALL),
    "falcon": ("FalconForCausalLM", {"vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}),
    "olmo2": ("Olmo2ForCausalLM", {**_SMALL, "pad_token_id": 0}),
    "stablelm": ("StableLmForCausalLM", {**_SMALL, "num_key_value_heads": 2, "qk_layernorm": True}),
    "pegasus": (
        "PegasusForConditionalGeneration",
        {"vocab_size": 512, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128},
    ),
    "dinov2": ("Dinov2Model", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 56, "patch_size": 14}),
}  # fmt: skip

OWN = {
    "contrast": ("B,48", "B,48"),
    "relative": ("B,S,64",),
    "linearized": ("B,S,64",),
    "tagger": ("B,S:int64",),
    "pyramid": ("B,8,S",),
    "retriever": ("B,S,64",),
}

Work = tuple[float, float, float]
"""Multiply-accumulates, operations and bytes."""

Operator = tuple[str, str]
"""ATen operator and path of its module."""


@dataclass(frozen=True, slots=True)
class Found:
    """A model's operators at one pair of sizes, of both traces."""

    alike: int
    different: list[str]
    """What differs, a text each."""
    alone: int
    """Operators of one trace without their like in the other."""


def names() -> list[str]:
    """All models, in order."""
    return [*TORCHVISION.split(), *(f"timm:{n}" for n in TIMM.split()), *CONFIGURATIONS, *OWN]


def spec(name: str, folder: Path, pair: tuple[int, int] | None) -> Spec:
    """The request of a model, with every size open or at a pair of batch and length."""
    batch, sequence = pair or (None, None)
    if name in OWN:
        fixed = {"B": batch, "S": sequence} if pair else {}
        inputs = tuple(",".join(str(fixed.get(d, d)) for d in text.split(",")) for text in OWN[name])
        inputs = tuple(text.replace("S:", f"{sequence}:") if pair else text for text in inputs)
        return parse(f"benchmarks.symbolic_modules:{name}", inputs=inputs)
    if name in CONFIGURATIONS:
        kind, changes = CONFIGURATIONS[name]
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"model_type": name, "architectures": [kind], **changes}))
        return parse(str(path), batch=batch, sequence=sequence)
    return parse(name, batch=batch)


def traced(name: str, folder: Path, pair: tuple[int, int] | None) -> tuple[Graph, bool, bool]:
    """A model's graph, and whether batch and length are open in it."""
    request = build(spec(name, folder, pair))
    if pair:
        request.axes = {}
    graph, found = to_graph(request)
    return graph, found.is_batch_symbolic, found.is_sequence_symbolic


def work(graph: Graph, sizes: tuple[int, int], bits: Mapping[str, int]) -> list[tuple[Operator, Work]]:
    """What each operator that computes or moves something does, in order."""

    def value(polynomial: Polynomial) -> float:
        batch, length = sizes
        return sum(c * float(batch) ** b * float(length) ** (s + x) for (b, s, x), c in polynomial.items())

    found = []
    for operator in graph.operators:
        if operator.is_view:
            continue
        macs, flops = (sum(value(step.quantities.get(q, {})) for step in operator.steps) for q in ("macs", "flops"))
        byte = 0.0
        for tensor in (*operator.reads, *operator.writes):
            elements = operator.accesses.get(tensor, graph.tensors[tensor].elements)
            byte += value(elements) * bits[graph.tensors[tensor].precision] / 8
        if macs or flops or byte:
            key = (operator.aten_operator, graph.modules[operator.module_id].path)
            found.append((key, (macs, flops, byte)))
    return found


def compared(opened: list[tuple[Operator, Work]], fixed: list[tuple[Operator, Work]]) -> Found:
    """Operators of both traces, each beside its like."""
    keys = [key for key, _ in opened], [key for key, _ in fixed]
    blocks = SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()
    pairs = [(opened[b.a + i], fixed[b.b + i]) for b in blocks for i in range(b.size)]
    different = [
        f"{aten} at {path or 'the top'}: {_shown(one)} and {_shown(other)}"
        for ((aten, path), one), (_, other) in pairs
        if any(abs(a - b) > 1e-9 * max(abs(a), abs(b)) for a, b in zip(one, other, strict=True))
    ]
    return Found(len(pairs) - len(different), different, len(opened) + len(fixed) - 2 * len(pairs))


def _shown(work: Work) -> str:
    return "/".join(f"{amount:.10g}" for amount in work)


def judge(name: str, folder: Path, bits: Mapping[str, int]) -> dict[str, Any]:
    """A model's row of the page."""
    try:
        graph, is_batch_open, is_length_open = traced(name, folder, None)
    except CharzError as error:
        return {"model": name, "refused": str(error)}
    row: dict[str, Any] = {"model": name, "open": "batch" * is_batch_open + ", length" * is_length_open}
    pairs = PAIRS if is_length_open else [(batch, 1) for batch, _ in PAIRS]
    results = [compared(work(graph, pair, bits), work(traced(name, folder, pair)[0], pair, bits)) for pair in pairs]
    row["operators"] = ", ".join(str(found.alike + len(found.different)) for found in results)
    row["different"] = ", ".join(str(len(found.different)) for found in results)
    row["in one alone"] = ", ".join(str(found.alone) for found in results)
    row["first"] = next((text for found in results for text in found.different), "")
    return row


def main() -> None:
    """Judge all, print, and with `--page` write docs/symbolic-sizes.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    bits = {row.precision: row.bits for row in loader.load().rows[Precision] if isinstance(row, Precision)}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or names():
            rows.append(judge(name, Path(folder), bits))
            print(rows[-1], flush=True)
    if options.page:
        alike = sum(int(n) for row in rows for n in row.get("operators", "").split(", ") if n)
        total = f"{alike:,} operators are compared; the first that differs is named with both figures."
        columns = ["model", "open", "operators", "different", "in one alone", "first"]
        frame = pl.DataFrame([{c: row.get(c, "") for c in columns} for row in rows])
        write(
            PAGE, "Symbolic against concrete", [" ".join(__doc__.split("\n\n")[2].split()), total], [("Models", frame)]
        )


if __name__ == "__main__":
    main()
