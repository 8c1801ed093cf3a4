"""Times of single operators, whole models and sustained loads on a CUDA device, as rows.

    python -m benchmarks.makers.measure_cuda FOLDER [--seconds 500] [--groups depthwise,attention] [--tiny]
    python -m benchmarks.makers.measure_cuda FOLDER --pack benchmarks/measured/h200

The second writes what the first measured (all *.jsonl of the folder) as PREFIX_models.csv, which `charz measurements import`
takes, and PREFIX_operators.parquet. The first needs torch, torchvision, transformers, timm and nvidia-ml-py, not charz. A time of
an operator is that of its kernels alone: calls are captured in a graph, which is replayed; the inputs stay the same, so what fits
in L2 stays there. FOLDER gets rows.jsonl, one line a case, written as it goes: group, operator, its sizes, precision, seconds
(median and least), the kernels that a profiler saw, or the error. A group that has used its share of the time stops, and says
how many cases it left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Case = tuple[dict[str, Any], Callable[[], Callable[[], Any]]]
"""Sizes of a case, and what makes its call."""

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

FAULTS = (RuntimeError, ValueError, TypeError, AttributeError)
"""What torch raises for a case that it does not run, memory that is short included."""

REPLAY_S = 0.012
"""Time over which one case is replayed. [s]"""


class Rows:
    """The file of rows."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "rows.jsonl").open("w")

    def add(self, **row: Any) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()


def main() -> None:
    """Measure the groups in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--groups")
    parser.add_argument("--tiny", action="store_true", help="one case of each group")
    parser.add_argument("--compile", help="only compile these models, so that the cache has them")
    parser.add_argument("--pack", metavar="PREFIX")
    given = parser.parse_args()
    if given.pack:
        _pack(sorted(given.folder.glob("*.jsonl")), given.pack)
        return
    if given.compile:
        _compile(given.compile.split(","))
        return
    rows = Rows(given.folder)
    chosen = given.groups.split(",") if given.groups else [name for name in GROUPS if name != "timm"]
    compiling = [] if given.tiny or "inductor" not in chosen else _compiling(given.folder)
    rows.add(group="device", **_device())
    began = time.monotonic()
    left = sum(SHARE.get(name, 1.0) for name in chosen)
    for name in chosen:
        remaining = given.seconds - (time.monotonic() - began)
        budget = remaining * SHARE.get(name, 1.0) / left
        left -= SHARE.get(name, 1.0)
        start = time.monotonic()
        if name == "inductor":
            for process in compiling:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(1.0, budget / 2))
        done, skipped = GROUPS[name](rows, start + budget, given.tiny)
        print(f"{name}: {done} cases, {skipped} left, {time.monotonic() - start:.0f} s", flush=True)
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
    for process in compiling:
        process.kill()


def _device() -> dict[str, Any]:
    if DEVICE == "cpu":
        return {"name": "cpu"}
    p = torch.cuda.get_device_properties(0)
    said = subprocess.run(["nvidia-smi", "-q", "-d", "CLOCK,POWER"], capture_output=True, text=True, check=False).stdout
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
    return {
        "name": p.name, "multiprocessors": p.multi_processor_count, "memory_byte": p.total_memory, "l2_byte": p.L2_cache_size,
        "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "cpu": cpu, "smi": said,
    }  # fmt: skip


# --- operators: kernels alone ---


def _replayed(call: Callable[[], Any]) -> tuple[float, float]:
    """Median and least time of a call's kernels [s]."""
    if DEVICE == "cpu":
        call()
        return 1.0, 1.0
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
        call()
        stream.synchronize()
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        call()
        after.record()
        stream.synchronize()
        one_s = max(before.elapsed_time(after) / 1e3, 2e-6)
        repeats = max(1, min(50, int(REPLAY_S / 6 / one_s)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(repeats):
                call()
        graph.replay()
        stream.synchronize()
        times = []
        for _ in range(max(3, min(9, int(REPLAY_S / (one_s * repeats))))):
            before.record()
            graph.replay()
            after.record()
            stream.synchronize()
            times.append(before.elapsed_time(after) / 1e3 / repeats)
    del graph
    return statistics.median(times), min(times)


def _kernels(calls: dict[int, Callable[[], Any]]) -> dict[int, list[tuple[str, float]]]:
    """Kernels of each call with their times [s], in the order of their start."""
    if DEVICE == "cpu":
        return {}
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for number, call in calls.items():
            with record_function(f"case:{number}"):
                call()
            torch.cuda.synchronize()
    found: dict[int, list[tuple[str, float]]] = {}

    def below(event: Any) -> Iterator[tuple[str, float]]:
        for kernel in event.kernels:
            yield kernel.name[:160], kernel.duration / 1e6
        for child in event.cpu_children:
            yield from below(child)

    for event in seen.events():
        if event.name.startswith("case:") and event.device_type == torch.autograd.DeviceType.CPU:
            found[int(event.name[5:])] = list(below(event))
    return found


def _operators(group: str, cases: Callable[[], Iterator[Case]]) -> Callable[[Rows, float, bool], tuple[int, int]]:
    """A group of operators: each replayed, and once more under the profiler."""

    def run(rows: Rows, until: float, is_tiny: bool) -> tuple[int, int]:
        todo = list(cases())
        if is_tiny:
            todo = todo[:: max(1, len(todo) // 8)]
        done = 0
        kept: dict[int, dict[str, Any]] = {}
        waiting: dict[int, Callable[[], Any]] = {}

        def flush() -> None:
            try:
                kernels = _kernels(waiting)
            except FAULTS as error:  # the times are worth more than the names
                kernels = {}
                rows.add(group=group, error=f"profiler: {error}"[:300])
            for number, row in kept.items():
                rows.add(**row, kernels=kernels.get(number))
            kept.clear()
            waiting.clear()

        for number, (sizes, make) in enumerate(todo):
            if time.monotonic() > until:
                break
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = sizes.get("precision") == "tf32"
            done += 1
            try:
                with torch.inference_mode():
                    call = make()
                    median_s, least_s = _replayed(call)
            except FAULTS as error:  # a case that does not run is a row too
                rows.add(group=group, **sizes, error=f"{type(error).__name__}: {error}"[:300])
                if DEVICE == "cuda":
                    torch.cuda.synchronize()
                continue
            kept[number] = {"group": group, **sizes, "time_s": median_s, "least_s": least_s}
            waiting[number] = _without_grad(call)
            if len(waiting) >= 12:
                flush()
        flush()
        return done, len(todo) - done

    return run


def _without_grad(call: Callable[[], Any]) -> Callable[[], Any]:
    def calls() -> Any:
        with torch.inference_mode():
            return call()

    return calls


def _random(*shape: int, precision: str = "fp16", nhwc: bool = False) -> torch.Tensor:
    made = torch.randn(*shape, device=DEVICE, dtype=DTYPES[precision])
    return made.to(memory_format=torch.channels_last) if nhwc else made


def _quantized(m: int, n: int, k: int, precision: str) -> Callable[[], Any]:
    """A product of 8-bit operands: M x K by N x K."""
    x, w = _random(m, k, precision="bf16"), _random(n, k, precision="bf16")
    if precision == "int8":
        p, q = (t.mul(9).to(torch.int8) for t in (x, w))
        return lambda: torch._int_mm(p, q.t())
    one = torch.ones((), device=DEVICE)
    p, q = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    return lambda: torch._scaled_mm(p, q.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def _conv(
    n: int,
    c: int,
    out: int,
    hw: int,
    k: int,
    groups: int,
    precision: str,
    layout: str,
    bench: bool = False,
    stride: int = 1,
) -> Case:
    sizes = {
        "op": "conv2d", "n": n, "c_in": c, "c_out": out, "h": hw, "k": k, "groups": groups, "stride": stride,
        "precision": precision, "layout": layout, "cudnn_benchmark": bench,
    }  # fmt: skip

    def make() -> Callable[[], Any]:
        torch.backends.cudnn.benchmark = bench
        x = _random(n, c, hw, hw, precision=precision, nhwc=layout == "nhwc")
        w = _random(out, c // groups, k, k, precision=precision, nhwc=layout == "nhwc")
        return lambda: F.conv2d(x, w, None, stride, k // 2, 1, groups)

    return sizes, make


def _depthwise() -> Iterator[Case]:
    shapes = [(64, 112), (96, 56), (384, 28), (768, 14), (1536, 7), (1536, 32), (768, 32)]
    for k in (3, 5, 7, 9, 11, 31):
        for precision in ("fp16", "fp32"):
            for layout in ("nchw", "nhwc"):
                for c, hw in shapes:
                    if k == 31 and hw < 28:
                        continue
                    yield _conv(32, c, c, hw, k, c, precision, layout)
    for k in (3, 5):
        for c, hw in shapes[:4]:
            yield _conv(32, c, c, hw, k, c, "fp16", "nchw", stride=2)
            yield _conv(1, c, c, hw, k, c, "fp16", "nchw")


def _grouped() -> Iterator[Case]:
    for precision in ("fp16", "fp32"):
        for layout in ("nchw", "nhwc"):
            for width in (2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 112, 128):
                for groups, hw in ((8, 28), (16, 14)):
                    yield _conv(64, width * groups, width * groups, hw, 3, groups, precision, layout)


def _dense() -> Iterator[Case]:
    shapes = [(64, 56), (128, 28), (256, 14), (512, 7), (64, 112), (256, 56), (512, 28)]
    for precision in ("fp32", "tf32", "fp16"):
        for n in (1, 8, 64):
            for c, hw in shapes:
                yield _conv(n, c, c, hw, 3, 1, precision, "nchw")
                if n == 64:
                    yield _conv(n, c, c, hw, 3, 1, precision, "nhwc")
                    yield _conv(n, c, 4 * c, hw, 1, 1, precision, "nchw")
                    yield _conv(n, c, 4 * c, hw, 1, 1, precision, "nhwc")
                if precision == "fp32":
                    yield _conv(n, c, c, hw, 3, 1, precision, "nchw", bench=True)
        yield _conv(64, 3, 64, 224, 7, 1, precision, "nchw", stride=2)
        yield _conv(64, 3, 64, 224, 7, 1, precision, "nhwc", stride=2)
        yield _conv(64, 3, 768, 224, 16, 1, precision, "nchw", stride=16)


def _normalized() -> Iterator[Case]:
    def norm(op: str, rows: int, width: int, precision: str, autocast: bool = False) -> Case:
        def make() -> Callable[[], Any]:
            x = _random(rows, width, precision=precision)
            w, b = _random(width, precision=precision), _random(width, precision=precision)
            if op == "layer_norm":
                return lambda: F.layer_norm(x, (width,), w, b)
            if op == "rms_norm":
                return lambda: F.rms_norm(x, (width,), w)
            if op == "softmax":
                return lambda: torch.softmax(x, -1)
            if op == "sum":
                return lambda: x.sum(-1)
            y = x.view(rows // 196, 196, width).transpose(1, 2).contiguous() if op == "group_norm" else x
            return lambda: F.group_norm(y, 8 if width % 8 == 0 else 1, w, b)

        return {"op": op, "rows": rows, "width": width, "precision": precision}, make

    for precision in ("fp16", "fp32"):
        for op in ("layer_norm", "softmax", "sum", "rms_norm"):
            for width in (16, 32, 48, 49, 64, 96, 128, 192, 196, 256, 384, 577, 768, 1024, 2048, 4096, 8192):
                for elements in (1 << 21, 1 << 26):
                    yield norm(op, max(1, elements // width), width, precision)
        for width in (32, 64, 128, 320, 768):
            yield norm("group_norm", 196 * 64, width, precision)


def _attention() -> Iterator[Case]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    paths = {
        "default": None,
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
        "math": SDPBackend.MATH,
    }

    def case(
        shape: tuple[int, ...], keys: int, causal: bool, mask: str, precision: str, path: str, strided: bool = False
    ) -> Case:
        *lead, queries, width = shape
        sizes = {
            "op": "attention", "shape": list(shape), "keys": keys, "causal": causal, "mask": mask, "precision": precision,
            "path": path, "strided": strided,
        }  # fmt: skip

        def make() -> Callable[[], Any]:
            q = _random(*shape, precision=precision)
            k, v = (_random(*lead, keys, width, precision=precision) for _ in range(2))
            if strided:  # the last stride is not 1
                q, k, v = (t.transpose(-1, -2).contiguous().transpose(-1, -2) for t in (q, k, v))
            bias = {
                "none": None,
                "bool": torch.ones(queries, keys, dtype=torch.bool, device=DEVICE).tril_(keys - queries),
                "float": torch.zeros(queries, keys, dtype=q.dtype, device=DEVICE),
            }[mask]
            chosen = paths[path]

            def call() -> Any:
                with sdpa_kernel(chosen) if chosen is not None else contextlib.nullcontext():
                    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=causal)

            return call

        return sizes, make

    plain = [
        (64, 12, 197, 64), (2048, 3, 49, 32), (64, 12, 577, 64), (16, 16, 1024, 64), (4, 16, 2048, 128), (2, 32, 4096, 128),
        (1, 32, 8192, 128), (1, 12, 197, 64), (32, 8, 512, 80), (16, 8, 1024, 256),
    ]  # fmt: skip
    for shape in plain:
        for path in paths:
            yield case(shape, shape[2], False, "none", "fp16", path)
        for path in ("default", "flash", "efficient", "cudnn"):
            if shape[2] >= 512:
                yield case(shape, shape[2], True, "none", "fp16", path)
    for shape in plain[:6]:
        for path in ("default", "efficient", "math"):
            yield case(shape, shape[2], False, "none", "fp32", path)
        yield case(shape, shape[2], shape[2] >= 512, "none", "fp32", "default")
        yield case(shape, shape[2], False, "bool", "fp16", "default")
        yield case(shape, shape[2], False, "float", "fp16", "default")
        yield case(shape, shape[2], False, "none", "bf16", "default")
        yield case(shape, shape[2], False, "none", "fp16", "default", strided=True)
    for shape in [(8, 8, 2, 196, 96), (8, 1, 64, 49, 96), (32, 4, 16, 64, 32)]:  # more than four dimensions
        yield case(shape, shape[-2], False, "none", "fp16", "default")
        yield case(shape, shape[-2], False, "none", "fp32", "default")
    for batch in (1, 8, 64):  # one new token a request
        for keys in (256, 1024, 4096, 16384):
            if batch * keys <= 1 << 18:
                for path in ("default", "flash", "cudnn", "efficient"):
                    yield case((batch, 32, 1, 128), keys, False, "none", "bf16", path)


def _products() -> Iterator[Case]:
    def product(op: str, m: int, n: int, k: int, precision: str) -> Case:
        def make() -> Callable[[], Any]:
            if precision in ("fp8", "int8"):
                return _quantized(m, n, k, precision)
            x, w, b = (_random(*s, precision=precision) for s in ((m, k), (n, k), (n,)))
            if op == "linear":
                return lambda: F.linear(x, w, b)
            if op == "mm":
                return lambda: F.linear(x, w)
            v = w.t().contiguous()
            return lambda: torch.addmm(b, x, v)

        return {"op": op, "m": m, "n": n, "k": k, "precision": precision}, make

    layers = [
        (768, 768),
        (3072, 768),
        (768, 3072),
        (2304, 768),
        (4096, 4096),
        (14336, 4096),
        (4096, 14336),
        (1000, 2048),
        (50257, 768),
    ]
    for m in (1, 4, 16, 64, 197, 512, 1024, 4096, 12608, 25216):
        for n, k in layers:
            if m * n > 1 << 29:
                continue
            for op in ("linear", "addmm"):
                yield product(op, m, n, k, "fp16")
            if m in (1, 16, 512, 4096):
                for precision in ("fp32", "tf32", "bf16"):
                    yield product("linear", m, n, k, precision)
                yield product("addmm", m, n, k, "fp32")
                yield product("mm", m, n, k, "fp16")
            if m >= 16 and n % 16 == 0:
                yield product("mm", m, n, k, "fp8")
                if m > 16 and n % 8 == 0:
                    yield product("mm", m, n, k, "int8")

    def batched(b: int, m: int, n: int, k: int, precision: str) -> Case:
        def make() -> Callable[[], Any]:
            x, y = _random(b, m, k, precision=precision), _random(b, k, n, precision=precision)
            return lambda: torch.bmm(x, y)

        return {"op": "bmm", "b": b, "m": m, "n": n, "k": k, "precision": precision}, make

    for precision in ("fp16", "fp32"):
        for b, m, n, k in [
            (768, 197, 197, 64), (768, 197, 64, 197), (6144, 49, 49, 32), (6144, 49, 32, 49), (256, 1024, 1024, 64), (128, 2048, 128, 2048),
            (512, 4, 196, 196), (512, 16, 196, 196),
        ]:  # fmt: skip
            yield batched(b, m, n, k, precision)


def _recurrent() -> Iterator[Case]:
    def layer(kind: str, hidden: int, length: int, batch: int, precision: str, both: bool = False) -> Case:
        def make() -> Callable[[], Any]:
            made = {"lstm": nn.LSTM, "gru": nn.GRU}[kind](hidden, hidden, bidirectional=both, batch_first=True)
            made = made.to(DEVICE, DTYPES[precision]).eval()
            x = _random(batch, length, hidden, precision=precision)
            return lambda: made(x)[0]

        return {
            "op": kind, "hidden": hidden, "length": length, "batch": batch, "precision": precision, "bidirectional": both,
        }, make  # fmt: skip

    for kind in ("lstm", "gru"):
        for precision in ("fp32", "fp16"):
            for hidden in (96, 256, 512, 1024):
                for batch in (1, 16, 128):
                    yield layer(kind, hidden, 64, batch, precision)
            yield layer(kind, 96, 14, 1792, precision, both=True)
            yield layer(kind, 96, 28, 3584, precision, both=True)


def _moved() -> Iterator[Case]:
    def over(op: str, elements: int, precision: str, make: Callable[[], Callable[[], Any]], **more: Any) -> Case:
        return {"op": op, "elements": elements, "precision": precision, **more}, make

    for elements in (1 << 12, 1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28):
        for precision in ("fp16", "fp32"):

            def unary(
                f: Callable[[torch.Tensor], Any], e: int = elements, p: str = precision
            ) -> Callable[[], Callable[[], Any]]:
                def make() -> Callable[[], Any]:
                    x = _random(e, precision=p)
                    return lambda: f(x)

                return make

            yield over("relu", elements, precision, unary(torch.relu))
            yield over("gelu", elements, precision, unary(F.gelu))
            yield over("add", elements, precision, unary(lambda x: x + x))
            yield over("clone", elements, precision, unary(torch.clone))
            other = torch.float32 if precision == "fp16" else torch.float16
            yield over("cast", elements, precision, unary(lambda x, o=other: x.to(o)))
    for n, c, hw in ((64, 64, 112), (64, 256, 56), (64, 512, 28), (64, 2048, 7), (64, 24, 56)):
        for precision in ("fp16", "fp32"):

            def copied(
                n: int = n, c: int = c, hw: int = hw, p: str = precision, back: bool = False
            ) -> Callable[[], Any]:
                x = _random(n, c, hw, hw, precision=p, nhwc=back)
                to = torch.contiguous_format if back else torch.channels_last
                return lambda: x.contiguous(memory_format=to)

            size = n * c * hw * hw
            yield over("nchw_to_nhwc", size, precision, copied, c=c, h=hw)
            yield over("nhwc_to_nchw", size, precision, lambda f=copied: f(back=True), c=c, h=hw)
            for nhwc in (False, True):

                def pooled(
                    n: int = n, c: int = c, hw: int = hw, p: str = precision, nhwc: bool = nhwc
                ) -> Callable[[], Any]:
                    x = _random(n, c, hw, hw, precision=p, nhwc=nhwc)
                    return lambda: F.adaptive_avg_pool2d(x, 1)

                def normed(
                    n: int = n, c: int = c, hw: int = hw, p: str = precision, nhwc: bool = nhwc
                ) -> Callable[[], Any]:
                    x = _random(n, c, hw, hw, precision=p, nhwc=nhwc)
                    made = nn.BatchNorm2d(c).to(DEVICE, DTYPES[p]).eval()
                    return lambda: made(x)

                layout = "nhwc" if nhwc else "nchw"
                yield over("adaptive_avg_pool2d", size, precision, pooled, c=c, h=hw, layout=layout)
                yield over("batch_norm", size, precision, normed, c=c, h=hw, layout=layout)


# --- whole models: as they are called ---


def _models() -> dict[str, Callable[[], tuple[nn.Module, Callable[[int], tuple[Any, ...]]]]]:
    """Networks without weights, and what makes their inputs."""

    def vision(name: str, side: int = 224) -> Callable[[], Any]:
        def make() -> Any:
            import torchvision

            options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
            return torchvision.models.get_model(name, weights=None, **options), lambda n: (
                torch.randn(n, 3, side, side),
            )

        return make

    def text(kind: str, length: int, **sizes: Any) -> Callable[[], Any]:
        def make() -> Any:
            import transformers

            kept = {"Llama": {"use_cache": False}, "GPT2": {"use_cache": False}}.get(kind, {})
            config = getattr(transformers, f"{kind}Config")(**sizes, **kept)
            named = {
                "Bert": "BertModel",
                "GPT2": "GPT2LMHeadModel",
                "Llama": "LlamaForCausalLM",
            }[kind]
            module = getattr(transformers, named)(config)
            return module, lambda n: (torch.randint(0, 1000, (n, length)),)

        return make

    small = {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    }
    return {
        **{
            name: vision(name)
            for name in (
                "resnet18", "resnet50", "efficientnet_b0", "mobilenet_v3_large", "densenet121", "regnet_y_8gf", "convnext_tiny",
                "vit_b_16", "swin_t", "vgg16", "resnext50_32x4d", "shufflenet_v2_x1_0", "efficientnet_v2_s", "maxvit_t", "swin_v2_t",
                "wide_resnet50_2", "regnet_x_3_2gf", "googlenet",
            )
        },
        "bert_base": text("Bert", 128),
        "bert_large": text("Bert", 384, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
        "gpt2": text("GPT2", 512),
        "llama_3_2_1b": text("Llama", 512, vocab_size=128256, **small),
    }  # fmt: skip


def _prepared(name: str, batch: int, precision: str, layout: str) -> tuple[Callable[[], Any], nn.Module]:
    """A model's call on this device."""
    with torch.device(DEVICE):  # its values are made there
        module, inputs = _from_timm(name) if name.startswith("timm:") else _models()[name]()
    module.eval()
    is_amp = precision.startswith("amp-")
    kind = DTYPES[precision.removeprefix("amp-")]
    module = module.to(torch.float32 if is_amp else kind)
    if layout == "nhwc":
        module = module.to(memory_format=torch.channels_last)
    given = []
    for made in inputs(batch):
        moved = made.to(DEVICE)
        if moved.is_floating_point():
            moved = moved.to(torch.float32 if is_amp else kind)
            if layout == "nhwc":
                moved = moved.to(memory_format=torch.channels_last)
        given.append(moved)

    def call() -> Any:
        with torch.autocast(DEVICE, kind) if is_amp else contextlib.nullcontext():
            return module(*given)

    return call, module


class _Energy:
    """Joules that the device counted. Sampled clocks and power beside them."""

    def __init__(self) -> None:
        self._device: Any = None
        if DEVICE == "cuda":
            with contextlib.suppress(Exception):
                import pynvml

                pynvml.nvmlInit()
                self._nvml, self._device = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)

    def joules(self) -> float | None:
        with contextlib.suppress(Exception):
            return self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device) / 1e3
        return None

    def clock_mhz(self) -> int | None:
        with contextlib.suppress(Exception):
            return self._nvml.nvmlDeviceGetClockInfo(self._device, self._nvml.NVML_CLOCK_SM)
        return None


ENERGY = _Energy()


def _timed(call: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Runs as a program makes them: one after another, waited for at the end."""
    synchronize = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
    for _ in range(3):
        call()
    synchronize()
    began = time.perf_counter()
    call()
    synchronize()
    one_s = time.perf_counter() - began
    count = max(3, int(seconds / 5 / max(one_s, 1e-5)))
    times, before, start, clocks = [], ENERGY.joules(), time.perf_counter(), []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(count):
            call()
        clocks.append(ENERGY.clock_mhz())
        synchronize()
        times.append((time.perf_counter() - began) / count)
    spent, after = time.perf_counter() - start, ENERGY.joules()
    return {
        "time_s": statistics.median(times), "least_s": min(times), "latency_s": one_s, "runs": 5 * count, "clock_mhz": clocks[2],
        "power_w": (after - before) / spent if before is not None and after is not None else None,
        "peak_byte": torch.cuda.max_memory_allocated() if DEVICE == "cuda" else None,
    }  # fmt: skip


def _captured(call: Callable[[], Any]) -> Callable[[], Any]:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def _model_cases() -> list[tuple[str, str, str, int, str]]:
    vision, text = [name for name in _models() if name not in TOKENS], list(TOKENS)
    cases = [(name, "eager", "amp-fp16", 256, "nchw") for name in vision]
    cases += [(name, "eager", "bf16", batch, "nchw") for name in text for batch in (1, 32)]
    cases += [(name, "eager", "amp-fp16", 256, "nhwc") for name in vision]
    cases += [(name, "eager", "fp16", 1, "nchw") for name in vision]
    cases += [(name, "eager_graph", "fp16", 1, "nchw") for name in vision]
    cases += [(name, "eager_graph", "bf16", 1, "nchw") for name in text]
    cases += [(name, "eager", precision, 64, "nchw") for precision in ("fp32", "tf32") for name in vision + text[:3]]
    cases += [(name, "eager", "amp-fp16", 16, "nchw") for name in text]
    cases += [(name, "eager", "fp16", 16, "nchw") for name in vision[:10]]
    return cases


INDUCTOR = [
    "resnet50",
    "vit_b_16",
    "bert_base",
    "efficientnet_b0",
    "convnext_tiny",
    "gpt2",
    "swin_t",
    "mobilenet_v3_large",
]
"""Models compiled. Each at one batch."""


def _batch(name: str) -> int:
    return 32 if name in ("bert_base", "gpt2") else 256


def _run_models(rows: Rows, until: float, is_tiny: bool) -> tuple[int, int]:
    return _whole(rows, until, _model_cases()[: 2 if is_tiny else None], 1 if is_tiny else None)


TIMM = Path(__file__).parent / "measured" / "timm_names.txt"
"""Networks of timm with their resolution, dealt round the families: a run cut short holds some of each."""


def _run_timm(rows: Rows, until: float, is_tiny: bool) -> tuple[int, int]:
    names = [line.split()[0] for line in TIMM.read_text().splitlines()]
    cases = [(f"timm:{name}", "eager", "amp-fp16", 256, layout) for name in names for layout in ("nchw", "nhwc")]
    return _whole(rows, until, cases[: 2 if is_tiny else None], 1 if is_tiny else None, 0.3)


def _from_timm(name: str) -> tuple[nn.Module, Callable[[int], tuple[Any, ...]]]:
    import timm

    sides = dict(line.split() for line in TIMM.read_text().splitlines())
    module, side = timm.create_model(name.removeprefix("timm:")), int(sides[name.removeprefix("timm:")])
    return module, lambda n: (torch.randn(n, 3, side, side),)


def _run_inductor(rows: Rows, until: float, is_tiny: bool) -> tuple[int, int]:
    if is_tiny:
        return 0, len(INDUCTOR)
    return _whole(rows, until, [(name, "inductor", "amp-fp16", _batch(name), "nchw") for name in INDUCTOR], None)


def _whole(
    rows: Rows, until: float, cases: list[tuple[str, str, str, int, str]], batch: int | None, seconds: float = 0.8
) -> tuple[int, int]:
    done = 0
    for name, backend, precision, wanted, layout in cases:
        if time.monotonic() > until:
            break
        done += 1
        n = batch or wanted
        sizes = {"model": name, "backend": backend, "precision": precision, "batch": n, "layout": layout}
        tf32 = precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = precision.startswith("amp")
        try:
            if DEVICE == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            with torch.inference_mode() if backend != "inductor" else torch.no_grad():
                call, module = _prepared(name, n, precision, layout)
                if backend == "eager_graph":
                    call = _captured(call)
                if backend == "inductor":
                    module.compile()
                rows.add(group="model", **sizes, **_timed(call, seconds))
        except FAULTS as error:  # a model that does not run is a row too
            rows.add(group="model", **sizes, error=f"{type(error).__name__}: {error}"[:300])
        finally:
            call = module = None
    return done, len(cases) - done


def _compiling(folder: Path) -> list[subprocess.Popen[bytes]]:
    """Processes that fill the compiler's cache while operators are measured."""
    command = [sys.executable, "-m", "benchmarks.makers.measure_cuda", str(folder / "compile"), "--compile"]
    log = (folder / "compile.log").open("w")
    return [
        subprocess.Popen([*command, ",".join(INDUCTOR[i::4])], stdout=log, stderr=log, env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "2"})
        for i in range(4)
    ]  # fmt: skip


def _compile(names: list[str]) -> None:
    for name in names:
        began = time.monotonic()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        try:
            with torch.no_grad():
                call, module = _prepared(name, _batch(name), "amp-fp16", "nchw")
                module.compile()
                call()
        except FAULTS as error:
            print(name, type(error).__name__, str(error)[:300], flush=True)
        print(name, f"{time.monotonic() - began:.0f} s", flush=True)
        call = module = None
        torch.cuda.empty_cache()


# --- sustained loads, and what the host takes ---


def _sustained(rows: Rows, until: float, is_tiny: bool) -> tuple[int, int]:
    """Power, clock and pace of loads that keep one unit busy."""
    size = 128 if is_tiny else 8192

    def product(precision: str) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            if precision in ("fp8", "int8"):
                return _quantized(size, size, size, precision)
            x, y = _random(size, size, precision=precision), _random(size, size, precision=precision)
            return lambda: x @ y

        return make

    def copied(elements: int) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            x, y = (torch.randn(elements, device=DEVICE) for _ in range(2))
            return lambda: y.copy_(x)

        return make

    def idle() -> Callable[[], Any]:
        return lambda: time.sleep(0.05)

    big = 1 << (16 if is_tiny else 30)
    cases: list[tuple[dict[str, Any], Callable[[], Callable[[], Any]]]] = [({"op": "idle"}, idle)]
    cases += [
        ({"op": "product", "m": size, "precision": p}, product(p))
        for p in ("bf16", "fp16", "tf32", "fp32", "fp8", "int8")
    ]
    cases += [({"op": "copy", "byte": 4 * big}, copied(big)), ({"op": "copy", "byte": 1 << 22}, copied(1 << 20))]
    done = 0
    for sizes, make in cases:
        if time.monotonic() > until:
            break
        done += 1
        torch.backends.cuda.matmul.allow_tf32 = sizes.get("precision") == "tf32"
        try:
            rows.add(group="sustained", **sizes, **_timed(make(), 0.1 if is_tiny else 2.5))
        except FAULTS as error:
            rows.add(group="sustained", **sizes, error=f"{type(error).__name__}: {error}"[:300])
    return done, len(cases) - done


def _host(rows: Rows, until: float, is_tiny: bool) -> tuple[int, int]:
    """Time that the host takes to dispatch operators, and bandwidth over its link."""
    x = torch.randn(64, 64, device=DEVICE)
    linear, norm = nn.Linear(64, 64).to(DEVICE), nn.LayerNorm(64).to(DEVICE)
    conv, image = nn.Conv2d(8, 8, 3).to(DEVICE), torch.randn(1, 8, 8, 8, device=DEVICE)
    calls: dict[str, Callable[[], Any]] = {
        "relu": lambda: torch.relu(x), "add": lambda: x + x, "linear": lambda: linear(x), "layer_norm": lambda: norm(x),
        "conv2d": lambda: conv(image), "softmax": lambda: torch.softmax(x, -1), "view": lambda: x.view(4096), "matmul": lambda: x @ x,
    }  # fmt: skip
    with torch.inference_mode():
        for name, call in calls.items():
            for amp in (False, True):

                def called(call: Callable[[], Any] = call, amp: bool = amp) -> Any:
                    if not amp:
                        return call()
                    with torch.autocast(DEVICE, torch.float16):
                        return [call() for _ in range(20)]

                taken = _timed(called, 0.05 if is_tiny else 0.25)
                rows.add(group="host", op=name, autocast=amp, time_s=taken["time_s"] / (20 if amp else 1))
    if DEVICE == "cuda":
        for byte in (1 << 16, 1 << 20, 1 << 24, 1 << 28):
            for pinned in (False, True):
                there = torch.empty(byte, dtype=torch.uint8, device=DEVICE)
                here = torch.empty(byte, dtype=torch.uint8, pin_memory=pinned)
                for way, call in (
                    ("to_device", lambda t=there, h=here: t.copy_(h)),
                    ("to_host", lambda t=there, h=here: h.copy_(t)),
                ):
                    rows.add(group="link", op=way, byte=byte, pinned=pinned, **_timed(call, 0.1))
    return len(calls), 0


SOURCES = {
    "bert_base": "hf:bert-base-uncased", "bert_large": "hf:bert-large-uncased", "gpt2": "hf:gpt2",
    "llama_3_2_1b": "hf:meta-llama/Llama-3.2-1B",
}  # fmt: skip
"""What `charz ingest` calls the models that are not torchvision's."""

NAMED = {"fp32": "ieee-fp32"}
"""Precisions that mean something else where a framework names them: TF32 was not allowed."""

TOKENS = {"bert_base": 128, "bert_large": 384, "gpt2": 512, "llama_3_2_1b": 512}


def _pack(paths: list[Path], prefix: str) -> None:
    """The rows of one device as two tables: models, and everything else."""
    import polars as pl

    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    device = next(row for row in rows if row["group"] == "device")
    sides = {f"timm:{name}": int(side) for name, side in map(str.split, TIMM.read_text().splitlines())}
    version = "pt" + "".join(device["torch"].split("+")[0].split(".")[:2])
    models = [
        {
            "model": row["model"], "model_source": row["model"] if ":" in row["model"] else SOURCES.get(row["model"], f"torchvision:{row['model']}"),
            "hardware_name": device["name"], "backend": row["backend"], "software": version, "precision": NAMED.get(row["precision"], row["precision"]),
            "memory_format": row["layout"], "batch": row["batch"], "sequence": TOKENS.get(row["model"]),
            "resolution": None if row["model"] in TOKENS else sides.get(row["model"], 224), "latency_s": row["time_s"],
            "energy_j": row["power_w"] and row["power_w"] * row["time_s"], "energy_scope": "gpu", "energy_per": "run",
            "peak_memory_byte": row["peak_byte"],
        }
        for row in rows
        if row["group"] == "model" and "error" not in row
    ]  # fmt: skip
    pl.DataFrame(models, infer_schema_length=None).write_csv(f"{prefix}_models.csv", float_precision=9)
    named = ("group", "op", "precision", "layout", "time_s", "least_s", "power_w", "clock_mhz")
    dropped = (*named, "kernels", "latency_s", "runs", "peak_byte")
    operators = []
    for row in rows:
        if row["group"] in ("model", "device"):
            continue
        sizes = {key: value for key, value in row.items() if key not in dropped}
        kernels = row.get("kernels") or []
        seen = {"kernels": [name for name, _ in kernels], "kernel_s": [time_s for _, time_s in kernels]}
        operators.append({**{key: row.get(key) for key in named}, "sizes": json.dumps(sizes), **seen})
    pl.DataFrame(operators, infer_schema_length=None).write_parquet(
        f"{prefix}_operators.parquet", compression="zstd", compression_level=15
    )


GROUPS: dict[str, Callable[[Rows, float, bool], tuple[int, int]]] = {
    "sustained": _sustained,
    "host": _host,
    "attention": _operators("attention", _attention),
    "depthwise": _operators("depthwise", _depthwise),
    "grouped": _operators("grouped", _grouped),
    "dense": _operators("dense", _dense),
    "recurrent": _operators("recurrent", _recurrent),
    "products": _operators("products", _products),
    "normalized": _operators("normalized", _normalized),
    "moved": _operators("moved", _moved),
    "models": _run_models,
    "inductor": _run_inductor,
    "timm": _run_timm,
}

SHARE = {"models": 5.0, "inductor": 2.0, "attention": 1.5, "products": 1.5, "depthwise": 1.5}
"""Parts of the time that a group may take; else 1."""


if __name__ == "__main__":
    main()
