"""Drafts a part file of this machine's CPU, and lists the networks to whose times
its efficiency rows are fitted.

The peaks of the draft are the best measured rates of a few large kernels, so an efficiency is relative
to these rates, not to a datasheet.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

SUITE = (
    ("synthetic:mlp", ("in=1024", "hidden=1024", "out=1024"), (1, 16, 256)),
    ("synthetic:mlp", ("in=256", "hidden=4096", "out=256"), (1, 64)),
    ("synthetic:matmul", ("m=512", "n=512", "k=512"), (1, 4)),
    ("synthetic:conv2d_bn_act", ("channels=64", "out=64", "size=56", "kernel=3"), (1, 8)),
    ("synthetic:conv2d_bn_act", ("channels=256", "out=256", "size=14", "kernel=3"), (1, 8)),
    ("synthetic:conv2d_bn_act", ("channels=64", "out=256", "size=56", "kernel=1"), (1, 8)),
    ("synthetic:conv2d_bn_act", ("channels=512", "out=512", "size=7", "kernel=1"), (1, 8)),
    ("synthetic:conv2d_bn_act", ("channels=3", "out=64", "size=224", "kernel=7", "stride=2"), (1, 4)),
    ("synthetic:resnet_block", ("channels=64", "size=56"), (1, 8)),
    ("synthetic:resnet_block", ("channels=128", "size=28"), (1, 8)),
    ("synthetic:resnet_block", ("channels=512", "size=7"), (1, 8)),
    ("synthetic:depthwise_separable", ("channels=96", "out=96", "size=56"), (1, 8)),
    ("synthetic:depthwise_separable", ("channels=384", "out=384", "size=14"), (1, 8)),
    ("synthetic:transformer_block", ("length=197", "width=768", "heads=12", "hidden=3072"), (1, 4)),
    ("synthetic:attention_head", ("length=197", "width=384", "heads=6"), (1, 8)),
    ("synthetic:pooling", ("channels=64", "size=112"), (1, 16)),
    ("synthetic:norm", ("length=196", "width=768"), (1, 32)),
    ("synthetic:softmax", ("rows=1024", "columns=1024"), (1, 16)),
    ("synthetic:elementwise", ("elements=1048576",), (1, 16, 64)),
    ("googlenet", (), (1, 4, 8)),
    ("shufflenet_v2_x1_0", (), (1, 4, 8)),
    ("regnet_y_800mf", (), (1, 4, 8)),
    ("mnasnet1_0", (), (1, 4, 8)),
    ("swin_t", (), (1, 4, 8)),
    ("alexnet", (), (1, 4, 8)),
)
"""Networks of the suite, their parameters and batches: every kernel class, small and large, with warm caches
because operators run again and again, and six whole networks, whose operators run with cold caches."""


@dataclass(frozen=True)
class Machine:
    """Properties of the CPU from the operating system and a few kernels."""

    name: str
    vendor: str
    core_count: int
    clock_hz: float
    vector_bits: int
    cache_byte: dict[str, float]
    memory_byte: float
    fp32_ops_per_s: float
    byte_per_s: float
    unit_byte_per_s: float
    """Bandwidth of a single thread. [byte/s]"""
    operator_s: float
    """Host time of an operator of negligible work. [s]"""


def probe(threads: int | None = None) -> Machine:
    """Inspect this machine's CPU, in about ten seconds."""
    info = _cpu_info()
    cores = threads or torch.get_num_threads()
    return Machine(
        name=info.get("model name", platform.processor() or "unknown CPU"),
        vendor="intel"
        if "Intel" in info.get("vendor_id", "")
        else "amd"
        if "AMD" in info.get("vendor_id", "")
        else "other",
        core_count=cores,
        clock_hz=float(info.get("cpu MHz", "0") or 0) * 1e6 or 2.5e9,
        vector_bits=512 if "avx512f" in info.get("flags", "") else 256 if "avx2" in info.get("flags", "") else 128,
        cache_byte=_caches(),
        memory_byte=float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        fp32_ops_per_s=_best_rate(),
        byte_per_s=_stream_rate(),
        unit_byte_per_s=_unit_stream_rate(),
        operator_s=operator_time(),
    )


def draft(machine: Machine, part_id: str) -> str:
    """Write a draft of the machine's part file for `charz hardware add`; values that were not measured are marked."""
    lanes = machine.vector_bits // 32 * 2
    measured = "source: charz_measure, confidence: measured"
    system = "source: charz_measure, confidence: device_query"
    lines = [
        "schema: charz.hardware/1",
        f"id: {json.dumps(part_id)}",
        f"name: {json.dumps(machine.name)}",
        f"vendor: {machine.vendor}",
        "family: cpu",
        "market: server",
        "status: internal",
        f"architecture: {json.dumps(machine.name)}",  # Machines of one processor are siblings (`lending_part`).
        "form_factor: socket",
        "cluster:",
        "  core:",
        "    kind: core",
        f"    unit_count: {{value: {machine.core_count}, unit: count, {system}}}",
        f'    lanes: {{value: {lanes}, unit: count, source: charz_measure, confidence: assumed, note: "two pipes of {machine.vector_bits} bits"}}',
        f"    clock_boost_hz: {{value: {machine.clock_hz:.3e}, unit: Hz, {system}}}",
        "memory:",
    ]
    for level, scope in (("l1", "unit"), ("l2", "unit"), ("l3", "chip")):
        if level in machine.cache_byte:
            lines += [
                f"  {level}:", f"    scope: {scope}", "    management: hardware", "    technology: SRAM",
                f"    capacity_byte: {{value: {machine.cache_byte[level]:.0f}, unit: byte, {system}}}",
            ]  # fmt: skip
    lines += [
        "  dram:", "    scope: chip", "    management: software",
        f"    capacity_byte: {{value: {machine.memory_byte:.0f}, unit: byte, {system}}}",
        f"    bandwidth_byte_per_s: {{value: {machine.byte_per_s:.3e}, unit: byte/s, {measured}, note: \"best of large copies\"}}",
        f"    unit_bandwidth_byte_per_s: {{value: {machine.unit_byte_per_s:.3e}, unit: byte/s, {measured}, note: \"best of large copies in one thread\"}}",
        "peak:",
        "  - precision: fp32", "    unit: vector", "    accumulator: fp32", "    cluster: core",
        f"    peak_ops_per_s: {{value: {machine.fp32_ops_per_s:.3e}, unit: ops/s, {measured}, note: \"best of large products and convolutions\"}}",
    ]  # fmt: skip
    lines += [
        "power:",
        "  default:",
        "    is_default: true",
        "    clock_fraction: {value: 1, unit: fraction, source: charz_measure, confidence: measured}",
    ]
    return "\n".join(lines) + "\n"


def _cpu_info() -> dict[str, str]:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    pairs = (line.split(":", 1) for line in path.read_text().split("\n\n")[0].splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _caches() -> dict[str, float]:
    """Return the bytes of each data cache of the first core, by level."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (folder / "type").read_text().strip() == "Instruction":
            continue
        match = re.fullmatch(r"(\d+)([KM]?)", (folder / "size").read_text().strip())
        if match:
            found[f"l{(folder / 'level').read_text().strip()}"] = (
                float(match[1]) * {"": 1, "K": 1024, "M": 1024**2}[match[2]]
            )
    return found


def _best_rate() -> float:
    """Measure the highest rate of three large products and two large convolutions, which run in different libraries. [ops/s]"""
    best = 0.0
    for size in (1024, 1536, 2048):
        a, b = torch.randn(size, size), torch.randn(size, size)
        best = max(best, 2.0 * size**3 / _least_time(functools.partial(torch.matmul, a, b)))
    for channels, side in ((256, 56), (512, 28)):
        weight = torch.randn(channels, channels, 3, 3)
        image = torch.randn(1, channels, side, side).contiguous(memory_format=torch.channels_last)
        call = functools.partial(torch.conv2d, image, weight.contiguous(memory_format=torch.channels_last), padding=1)
        best = max(best, 2.0 * 9 * channels**2 * side**2 / _least_time(call))
    return best


def _stream_rate() -> float:
    """Measure the highest rate of 256 MiB copies, reads plus writes. [byte/s]"""
    source = torch.randn(64 * 1024**2)
    target = torch.empty_like(source)
    return 2.0 * source.numel() * 4 / _least_time(lambda: target.copy_(source))


def _unit_stream_rate() -> float:
    """Measure the same in one thread. [byte/s]"""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _stream_rate()
    finally:
        torch.set_num_threads(threads)


def operator_time() -> float:
    """Measure the host time of one operator under eager, in a chain of small convolutions, normalizations and activations. [s]"""
    triples = 20
    layers = [
        layer
        for _ in range(triples)
        for layer in (torch.nn.Conv2d(16, 16, 1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU())
    ]
    chain, image = torch.nn.Sequential(*layers).eval(), torch.randn(1, 16, 8, 8)
    with torch.inference_mode():
        return _least_time(lambda: chain(image), runs=50) / (3 * triples)


def _least_time(call: Callable[[], object], runs: int = 8) -> float:
    call()
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
