"""charz's element types compared with a real autocast run of the same network on this CPU.

The native multi-head attention is switched off, because the exported graph does not contain it, and it converts query,
key and value one by one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from charz.ingest.compile.dataflow import aten_name, flow_of
from charz.ingest.compile.precision import propagate
from charz.ingest.pipeline import to_graph
from charz.ingest.trace.export import Request
from charz.ingest.trace.lower import PRECISIONS
from charz.ingest.trace.torchvision_schemas import prepare

pytestmark = pytest.mark.slow

KERNELS = {
    "aten.conv2d": {"aten.convolution"},
    "aten.linear": {"aten.addmm", "aten.mm", "aten.bmm"},
    "aten.layer_norm": {"aten.native_layer_norm"},
    "aten.scaled_dot_product_attention": {"aten._scaled_dot_product_flash_attention_for_cpu"},
    "aten.softmax": {"aten._softmax"},
}
"""Dispatcher names of operators of the exported graph, where the names differ."""

COMPARED = ("aten.conv2d", "aten.linear", "aten.layer_norm", "aten.scaled_dot_product_attention", "aten.gelu",
            "aten.cat", "aten.embedding", "aten.tanh", "aten.softmax", "aten.relu")  # fmt: skip


class Recorder(TorchDispatchMode):
    """A mode that records the element types that each operator writes, in order, and the conversions between real types."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[str, str]] = []
        self.casts: Counter[tuple[str, str]] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        name = aten_name(str(function))
        results = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        if name == "aten._to_copy" and args[0].dtype.is_floating_point and args[0].dtype != result.dtype:
            self.casts[PRECISIONS[args[0].dtype], PRECISIONS[result.dtype]] += 1
        elif results:
            self.written.append((name, PRECISIONS[results[0].dtype]))
        return result


def vit() -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    prepare()
    from torchvision.models import VisionTransformer

    model = VisionTransformer(32, 16, num_layers=12, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=10)
    return model.eval(), (torch.randn(2, 3, 32, 32),), {}


def bert() -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, vocab_size=100
    )
    mask = torch.ones(2, 16, dtype=torch.long)
    return transformers.BertModel(config).eval(), (torch.randint(0, 100, (2, 16)),), {"attention_mask": mask}


def resnet() -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    prepare()
    from torchvision.models import resnet18

    return resnet18().eval(), (torch.randn(2, 3, 64, 64),), {}


def real_run(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recorder:
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16), Recorder() as recorder:
        module(*args, **kwargs)
    return recorder


@pytest.fixture(autouse=True)
def plain_attention():
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


@pytest.mark.parametrize(("network", "casts"), [(vit, 127), (bert, None), (resnet, None)])
def test_types_and_conversions_are_those_of_a_real_run(network, casts, rules):
    module, args, kwargs = network()
    recorder = real_run(module, args, kwargs)
    graph = to_graph(Request("net", "net", module, args, kwargs))[0]
    flow = flow_of(graph, rules.classes)
    types = propagate(flow, rules.policies["amp-bf16-cpu"], rules)

    for name in COMPARED:
        calls = KERNELS.get(name, {name})
        real = [precision for called, precision in recorder.written if called in calls]
        ours = [types.tensor[o.writes[0]] for o in graph.operators if flow.names[o.operator_id][0] == name]
        assert ours == real, name
    sums = Counter(precision for called, precision in recorder.written if called == "aten.add")
    ours = Counter(types.tensor[o.writes[0]] for o in graph.operators if flow.names[o.operator_id][0] == "aten.add")
    for precision in ("fp32", "bf16"):
        assert ours[precision] == sums[precision] - _biases(recorder, precision)
    assert Counter((c.from_precision, c.to_precision) for c in types.casts) == recorder.casts
    if casts is not None:
        assert len(types.casts) == casts


def _biases(recorder: Recorder, precision: str) -> int:
    """Count the additions of a bias that the dispatcher splits from a product (`mm` and `add`)."""
    return sum(called == "aten.mm" for called, _ in recorder.written) if precision == "bf16" else 0
