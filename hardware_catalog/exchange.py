"""Import of other tools' designs as parts with one array: a configuration of SCALE-Sim, an architecture of Timeloop.

Only the numbers of these files are imported: an array, memories on the chip, main memory, a clock. Energy, area and the rest follow
from charz's own rules.
"""

from __future__ import annotations

import configparser
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from charz.schema.errors import CharzError

from .part_file import SCHEMA

KIB = 1024
UNLIMITED_W = 1000
"""Power limit of a design whose file states none: more than an array on one die draws. [W]"""

DATAFLOWS = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
"""Operand that stays in the array, by SCALE-Sim's name of the dataflow."""

OTHER_MEMORIES = ("DRAM", "dram")
ARITHMETIC = re.compile(r"mac|alu|compute|multiplier", re.IGNORECASE)
MANY = re.compile(r"(.+)\[\s*(\d+)\s*\.\.\s*(\d+)\s*\]")
"""Name of several equal components, e.g. `PE[0..167]`."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory on the chip: the sum of its instances."""

    capacity_byte: float
    bandwidth_byte_per_s: float | None
    instances: int


@dataclass(frozen=True, slots=True)
class Design:
    """An accelerator as a file describes it."""

    what: str
    rows: int
    columns: int
    bits: int
    clock_hz: float
    dram_byte_per_s: float
    process_nm: float | None
    memories: Sequence[Memory]
    """Memories from the outside in; two at most."""
    dataflow: str | None = None
    """Operand that stays in the array, if the file states it."""


def of_scale_sim(file: Path, clock_hz: float | None, dram_byte_per_s: float | None) -> Design:
    """Read a configuration of SCALE-Sim. It counts steps and words of a byte, so the caller gives the clock, and main memory's bandwidth
    if the file has `CALC`. Raises `CharzError` for any other file."""
    parser = configparser.ConfigParser()
    try:
        parser.read_string(file.read_text())
        sizes = parser["architecture_presets"]
        rows, columns = int(sizes["ArrayHeight"]), int(sizes["ArrayWidth"])
        held = sum(int(sizes[f"{name}SramSzkB"]) for name in ("Ifmap", "Filter", "Ofmap"))
        mode = parser.get("run_presets", "InterfaceBandwidth", fallback="CALC").strip().upper()
        words = sum(float(text) for text in sizes["Bandwidth"].split(",")) if mode == "USER" else None
    except (configparser.Error, KeyError, ValueError, UnicodeDecodeError) as error:
        raise CharzError("not a configuration of SCALE-Sim", str(file), str(error)) from error
    clock_hz = _needed(clock_hz, file, "clock", "1GHz")
    rate = dram_byte_per_s or (words * clock_hz if words else None)
    return Design(
        "SCALE-Sim",
        rows,
        columns,
        8,
        clock_hz,
        _needed(rate, file, "dram", "25.6GB/s"),
        None,
        [Memory(held * KIB, None, 1)],
        DATAFLOWS.get(sizes.get("Dataflow", "").strip().lower()),
    )


def of_timeloop(file: Path, clock_hz: float | None, dram_byte_per_s: float | None) -> Design:
    """Read an architecture of Timeloop (`architecture.subtree` with `local`, version 0.3 or 0.4): DRAM, memories and arithmetic by class,
    their number from `NAME[0..N]`, `meshX` as columns. Raises `CharzError` for any other file, or if a needed number is missing."""
    try:
        text = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CharzError("not YAML", str(file), str(error).splitlines()[0]) from error
    tree = text.get("architecture") if isinstance(text, dict) else None
    if not isinstance(tree, dict) or not isinstance(tree.get("subtree"), list):
        raise CharzError("not an architecture of Timeloop", str(file), "it has no architecture.subtree")
    nodes = list(_nodes(tree["subtree"], 1, {}))
    arithmetic = [node for node in nodes if ARITHMETIC.search(node.kind)]
    if not arithmetic:
        raise CharzError(
            "no arithmetic", str(file), f"of the classes {', '.join(sorted({n.kind for n in nodes}))} none computes"
        )
    units = arithmetic[-1]
    stated = units.number("frequency", "clock-frequency")
    cycle_s = units.number("global_cycle_seconds", "cycle_seconds")
    clock_hz = _needed(clock_hz or stated or (1 / cycle_s if cycle_s else None), file, "clock", "1GHz")
    columns = int(units.number("meshX") or _side(units.instances))
    held = [_memory(node, clock_hz) for node in nodes if node.kind not in OTHER_MEMORIES and node.capacity_byte]
    dram = [node for node in nodes if node.kind in OTHER_MEMORIES]
    rate = dram_byte_per_s or (_bandwidth(dram[0], clock_hz) if dram else None)
    shared = [memory for memory in held if memory.instances == 1]
    beside = [memory for memory in held if memory.instances > 1]
    # Capacities of equal memories are added; their bandwidth is unknown if one of them is.
    together = [
        Memory(sum(m.capacity_byte for m in some), _sum(some), some[0].instances) for some in (shared, beside) if some
    ]
    technology = re.match(r"(\d+)", str(units.attributes.get("technology", "")))
    return Design(
        "Timeloop", max(1, units.instances // columns), columns, int(units.number("datawidth", "word-bits", "word_bits") or 16),
        clock_hz, _needed(rate, file, "dram", "25.6GB/s"), float(technology[1]) if technology else None, together,
    )  # fmt: skip


def part(design: Design, name: str, file: Path) -> str:
    """Return the design as a part's file that `charz hardware add` accepts."""
    source = f"{name}_design"

    def leaf(value: float, unit: str) -> str:
        return f'{{value: {value:.12g}, unit: {unit}, source: "{source}", confidence: assumed}}'

    # A 16-bit word counts as bf16, the 16-bit format that arrays run under `xla`, whatever the tool means by it.
    precision, accumulator = ("int8", "int32") if design.bits <= 8 else ("bf16", "fp32")
    macs = design.rows * design.columns
    # A single memory is next to the array; of two, the outer one is shared.
    levels = zip(("l3", "scratchpad")[-len(design.memories) :], design.memories, strict=True) if design.memories else ()
    lines = [
        f"# {design.what}'s {file.name} as a part. `charz hardware add` accepts it unchanged.",
        f"schema: {SCHEMA}", f'id: "{name}"', "sources:",
        f'  "{source}": {{kind: "vendor_doc", locator: "{file.name}", what: "a design of {design.what}"}}',
        f'name: "{name}"', 'vendor: "me"', "family: tpu", "market: edge", f'architecture: "{name}"', 'form_factor: "SoC"',
        "status: simulated", *([f"dataflow: {design.dataflow}"] if design.dataflow else []),
        *([f"process_nm: {leaf(design.process_nm, 'nm')}"] if design.process_nm else []),
        "cluster:", "  mxu:", "    kind: systolic", f"    unit_count: {leaf(1, 'count')}",
        f"    array_rows: {leaf(design.rows, 'count')}", f"    array_columns: {leaf(design.columns, 'count')}",
        # The tools move partial results through the memories that a design lists.
        f"    accumulator_rows: {leaf(0, 'count')}",
        f"    clock_boost_hz: {leaf(design.clock_hz, 'Hz')}",
        "memory:",
        "  dram:", "    scope: chip", "    management: software", "    technology: LPDDR4",
        f"    capacity_byte: {leaf(8 * 1024**3, 'byte')}",
        f"    bandwidth_byte_per_s: {leaf(design.dram_byte_per_s, 'byte/s')}",
    ]  # fmt: skip
    for level, memory in levels:
        lines += [
            f"  {level}:", "    scope: chip", "    management: software", "    technology: SRAM",
            f"    capacity_byte: {leaf(memory.capacity_byte, 'byte')}",
        ]  # fmt: skip
        if memory.bandwidth_byte_per_s:
            lines.append(f"    bandwidth_byte_per_s: {leaf(memory.bandwidth_byte_per_s, 'byte/s')}")
    lines += [
        "power:", "  default:", "    is_default: true", f"    # {design.what} states no limit: this one is never reached.",
        f"    tdp_w: {leaf(UNLIMITED_W, 'W')}", f"    clock_fraction: {leaf(1, 'fraction')}",
        "peak:", f"  - precision: {precision}", "    unit: matrix", f"    accumulator: {accumulator}",
        f"    instruction: array {design.rows}x{design.columns}", "    cluster: mxu",
        f"    peak_ops_per_s: {leaf(2 * macs * design.clock_hz, 'ops/s')}",
        f"    ops_per_clock_per_unit: {leaf(2 * macs, 'ops')}",
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class _Node:
    """A component of a Timeloop tree and the number of its instances."""

    name: str
    kind: str
    attributes: Mapping[str, Any]
    instances: int

    def number(self, *names: str) -> float | None:
        """Return the first of some attributes that is a number."""
        for name in names:
            try:
                return float(self.attributes[name])
            except (KeyError, TypeError, ValueError):
                continue
        return None

    @property
    def capacity_byte(self) -> float | None:
        """Capacity of one instance: rows times their width, or a stated size. [byte]"""
        if size := self.number("sizeKB"):
            return size * KIB
        bits = self.number("width", "memory_width", "word-bits", "word_bits", "datawidth")
        depth = self.number("depth", "memory_depth", "entries")
        return depth * bits / 8 if depth and bits else None


def _nodes(subtree: Sequence[Any], instances: int, around: Mapping[str, Any]) -> Iterator[_Node]:
    for branch in subtree:
        _, count = _counted(branch.get("name", ""))
        attributes = {**around, **(branch.get("attributes") or {})}
        for local in branch.get("local") or ():
            name, some = _counted(local.get("name", ""))
            mine = {**attributes, **(local.get("attributes") or {})}
            yield _Node(name, str(local.get("class", "")), mine, instances * count * some)
        yield from _nodes(branch.get("subtree") or (), instances * count, attributes)


def _counted(name: str) -> tuple[str, int]:
    found = MANY.fullmatch(str(name))
    return (found[1], int(found[3]) - int(found[2]) + 1) if found else (str(name), 1)


def _memory(node: _Node, clock_hz: float) -> Memory:
    return Memory((node.capacity_byte or 0.0) * node.instances, _bandwidth(node, clock_hz), node.instances)


def _bandwidth(node: _Node, clock_hz: float) -> float | None:
    """Compute the bandwidth of all instances from words per cycle. [byte/s]"""
    bits = node.number("word-bits", "word_bits", "datawidth", "width")
    words = [node.number(f"{way}_bandwidth", f"{way}-bandwidth") for way in ("shared", "read", "write")]
    known = [count for count in words if count is not None]
    return sum(known) * bits / 8 * clock_hz * node.instances if known and bits else None


def _sum(memories: Sequence[Memory]) -> float | None:
    rates = [memory.bandwidth_byte_per_s for memory in memories]
    return None if any(rate is None for rate in rates) else sum(rate for rate in rates if rate is not None)


def _side(count: int) -> int:
    """Find the smallest divisor of a count that is not below its square root."""
    return next(side for side in range(math.isqrt(count - 1) + 1 if count > 1 else 1, count + 1) if count % side == 0)


def _needed(value: float | None, file: Path, name: str, example: str) -> float:
    if value is None or not value > 0:
        raise CharzError(f"no {name} in the file", str(file), next=f"state it: --{name} {example}")
    return value
