"""Reports of parts alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Gives = Callable[..., None]
Evaluate = Callable[..., list[Record]]


def test_part_list(gives: Gives) -> None:
    """The best vector peak in fp32, and the best half-precision peak not accumulated in fp16; a part without numbers."""
    peaks = [
        ("fp32", "vector", "fp32", 10.0), ("fp32", "vector", "fp64", 11.0), ("fp32", "matrix", "fp32", 90.0),
        ("fp64", "vector", "fp64", 99.0), ("fp16", "matrix", "fp32", 40.0), ("fp16", "matrix", "fp16", 80.0),
        ("bf16", "matrix", "fp32", 41.0), ("int8", "matrix", "int32", 160.0),
    ]  # fmt: skip
    gives(
        "part_list",
        [
            {"hardware": "chip", "fp32_ops_per_s": 11.0, "half_ops_per_s": 41.0, "int8_ops_per_s": 160.0, "memory_byte_per_s": 5.0, "memory_byte": 7.0,
             "tdp_w": 50.0},
            {"hardware": "half", "half_ops_per_s": 42.0},
            {"hardware": "bare", "fp32_ops_per_s": None, "half_ops_per_s": None, "int8_ops_per_s": None, "memory_byte_per_s": None, "memory_byte": None,
             "tdp_w": None},
        ],
        by=["hardware"],
        hardware=[{"hardware": "chip"}, {"hardware": "half"}, {"hardware": "bare"}],
        part_peak=[
            {"precision": precision, "unit": unit, "accumulator": accumulator, "peak_ops_per_s": peak}
            for precision, unit, accumulator, peak in peaks
        ] + [{"hardware": "half", "precision": "fp16", "unit": "matrix", "accumulator": "fp32", "peak_ops_per_s": 42.0}],
        hardware_memory=[
            {"level": "dram", "bandwidth_byte_per_s": 5.0, "capacity_byte": 7.0},
            {"level": "l2", "bandwidth_byte_per_s": 50.0, "capacity_byte": 1.0},
        ],
        hardware_power=[{"mode": "default", "is_default": True, "tdp_w": 50.0}, {"mode": "low", "tdp_w": 15.0}],
    )  # fmt: skip


def number(part: str, field: str, value: float | None, **changed: Any) -> Record:
    """Make a number of a part."""
    return {"hardware": part, "field": field, "value": value, "unit": f"unit of {field}"} | changed


def test_part_difference(gives: Gives) -> None:
    """8 against 4; equal numbers have no row; levels of different scope and energies of different scope have no ratio."""
    fields = {  # of a, of b, scopes, ratio
        "clock_hz": (4.0, 8.0, None, 2.0),
        "memory.l1.size": (2.0, 6.0, "unit, chip", None),
        "memory.l2.size": (2.0, 6.0, None, 3.0),
        "energy.op.fp32": (1.0, 5.0, "board, chip", None),
        "only_a": (3.0, None, None, None),
        "only_b": (None, 3.0, None, None),
        "zero": (0.0, 3.0, None, None),
    }
    back = {"clock_hz": 0.5, "memory.l2.size": 1 / 3, "zero": 0.0}
    scopes = {"memory.l1.size": "chip, unit", "energy.op.fp32": "chip, board"}
    gives(
        "part_difference",
        [
            {"first_hardware": "a", "second_hardware": "b", "field": name, "unit": f"unit of {name}", "first_value": a,
             "second_value": b, "scopes": scope, "ratio": ratio}
            for name, (a, b, scope, ratio) in fields.items()
        ] + [
            {"first_hardware": "b", "second_hardware": "a", "field": name, "unit": f"unit of {name}", "first_value": b,
             "second_value": a, "scopes": scopes.get(name), "ratio": back.get(name)}
            for name, (a, b, *_) in fields.items()
        ],
        by=["first_hardware", "second_hardware", "field"],
        hardware=[{"hardware": "a"}, {"hardware": "b"}],
        traced_number=[
            number(part, name, value)
            for name, values in (*fields.items(), ("same", (7.0, 7.0)))
            for part, value in zip("ab", values, strict=False) if value is not None
        ],
        part_memory=[
            {"hardware": "a", "level": "l1", "scope": "unit"}, {"hardware": "b", "level": "l1", "scope": "chip"},
            {"hardware": "a", "level": "l2", "scope": "chip"}, {"hardware": "b", "level": "l2", "scope": "chip"},
            {"hardware": "a", "level": "l", "scope": "other"},
        ],
        part_energy=[
            {"hardware": "a", "what": "op", "scope": "board", "key": "x"}, {"hardware": "b", "what": "op", "scope": "chip", "key": "x"},
            {"hardware": "a", "what": "op", "scope": "board", "key": "y"},
        ],
    )  # fmt: skip


def test_hardware_value(gives: Gives) -> None:
    """The clock was edited, and the peak follows; a number without a catalog value was added; another part's is unchanged."""
    gives(
        "hardware_value",
        [
            {"hardware": "a", "field": "clock_hz", "is_edited": True, "follows_edit": False, "locator": "https://a"},
            {"hardware": "a", "field": "peak.fp32", "is_edited": False, "follows_edit": True, "locator": None},
            {"hardware": "a", "field": "tdp_w", "is_edited": False, "follows_edit": False},
            {"hardware": "a", "field": "added", "is_edited": True, "follows_edit": False},
            {"hardware": "b", "field": "peak.fp32", "is_edited": False, "follows_edit": False},
        ],
        by=["hardware", "field"],
        traced_number=[
            number("a", "clock_hz", 2.0, stated_value=2.0, catalog_value=1.0, source_id="sheet", basis="clock"),
            number("a", "peak.fp32", 8.0, basis="peak"),
            number("a", "tdp_w", 5.0, stated_value=5.0, catalog_value=5.0, basis="power"),
            number("a", "added", 5.0, stated_value=5.0),
            number("b", "peak.fp32", 8.0, basis="peak"),
        ],
        derivation_input=[{"basis": "peak", "field": "clock%"}, {"basis": "clock", "field": "clock%"}, {"basis": "power", "field": "x%"}],
        source=[{"source_id": "sheet", "locator": "https://a"}, {"source_id": "other", "locator": "https://b"}],
    )  # fmt: skip


def test_roofline_roof(evaluate: Evaluate) -> None:
    """1000 operations per second and 10 bytes per second meet at 100, with 40 of the cache at 25; other units have no peak of their own."""
    rate = {
        "is_native": True,
        "matrix_precision": "fp16",
        "vector_precision": "fp32",
        "matrix_ops_per_s": 1000.0,
        "vector_ops_per_s": 100.0,
    }
    rows = evaluate(
        "roofline_roof",
        hardware_rate=[
            rate | {"precision": "fp16"},
            rate | {"precision": "fp32"},
            rate | {"precision": "bf16", "is_native": False, "matrix_precision": "bf16", "vector_precision": "bf16"},
            rate | {"precision": "int8", "matrix_precision": "int8", "matrix_ops_per_s": 0.0},
            rate | {"precision": "fp16", "hardware": "other", "matrix_ops_per_s": 3.0},
        ],
        part=[
            {"dram_byte_per_s": 10.0, "cache_byte_per_s": 40.0, "cache_level": "l2"},
            {"hardware": "third", "dram_byte_per_s": 77.0, "cache_byte_per_s": 78.0},
            {"hardware": "other", "dram_byte_per_s": 0.0, "cache_byte_per_s": None},
        ],
    )
    peaks = {
        "matrix fp16, main memory": ("fp16", 1000.0, 10.0), "matrix fp16, l2": ("fp16", 1000.0, 40.0),
        "vector fp32, main memory": ("fp32", 100.0, 10.0), "vector fp32, l2": ("fp32", 100.0, 40.0),
    }  # fmt: skip
    assert {row["roof"] for row in rows} == set(peaks)
    for roof, (precision, peak, byte_per_s) in peaks.items():
        points = sorted((r["arithmetic_intensity"], r["rate_ops_per_s"]) for r in rows if r["roof"] == roof)
        assert {r["precision"] for r in rows if r["roof"] == roof} == {precision}
        steps = sorted([*(10 ** (i / 10) for i in range(-20, 50)), peak / byte_per_s])
        assert [x for x, _ in points] == pytest.approx(steps)
        numbers = {r["point"]: r["arithmetic_intensity"] for r in rows if r["roof"] == roof}
        assert numbers == pytest.approx({i: 10 ** (i / 10) for i in range(-20, 50)} | {50: peak / byte_per_s})
        assert [y for _, y in points] == pytest.approx([min(peak, byte_per_s * x) for x in steps])
        assert (peak / byte_per_s, peak) in points


def test_default_target(gives: Gives) -> None:
    """The family's first precision, else its second, else fp32 as the backend runs it; the assumed backend, else the first by name."""
    able = (
        ("kpu", "kpu", "int8", "int8", "k"), ("kpu", "kpu", "fp32", "int8", "k"), ("tpu", "xla", "bf16", "bf16", "k"),
        ("gpu", "inductor", "fp32", "torch-fp32", "g"), ("gpu", "inductor", "torch-fp32", "torch-fp32", "g"),
        ("gpu", "eager", "fp32", "torch-fp32", "g"), ("cpu", "onnxruntime", "fp32", "tf32", "g"), ("cpu", "llama_cpp", "fp32", "fp32", "g"),
        ("cpu", "eager", "fp32", "tf32", "g"), ("cpu", "aaa", "fp32", "tf32", "g"),
    )  # fmt: skip
    gives(
        "default_target",
        [
            {"hardware": "kpu", "backend": "kpu", "precision": "int8"}, {"hardware": "tpu", "backend": "xla", "precision": "bf16"},
            {"hardware": "gpu", "backend": "inductor", "precision": "torch-fp32"}, {"hardware": "cpu", "backend": "eager", "precision": "fp32"},
        ],
        by=["hardware"],
        across=["backend", "precision"],
        part_support=[
            {"hardware": h, "backend": b, "precision": p, "default_precision": d, "family": f} for h, b, p, d, f in able
        ],
        hardware_family=[
            {"family": "k", "assumed_precision": "int8", "second_precision": "bf16"},
            {"family": "g", "assumed_precision": None, "second_precision": None},
        ],
        supported_backend=[
            {"hardware": h, "backend": b, "serves": b == "llama_cpp", "is_counterpart": b == "aaa"}
            for h, b in sorted({(h, b) for h, b, *_ in able})
        ],
        assumed_backend=[
            {"hardware": h, "precision": p, "backend": b}
            for h, p, b in (("kpu", "int8", "kpu"), ("tpu", "bf16", "xla"), ("gpu", "fp32", "inductor"))
        ],
    )  # fmt: skip


def test_assumed_backend(gives: Gives) -> None:
    """The family's default, unless a row names the part's kind: the row with the fewest stars; never a backend without the precision."""
    kinds = {"board": ("nvidia", "datacenter"), "module": ("nvidia", "edge"), "other": ("amd", "edge")}
    supported = [
        {"hardware": part, "backend": backend, "is_default": backend == "inductor", "serves": False}
        for part in kinds
        for backend in ("inductor", "tensorrt", "vllm")
    ]  # fmt: skip
    able = [
        {"hardware": part, "backend": backend, "precision": precision}
        for part in kinds
        for backend in ("inductor", "tensorrt", "vllm")
        for precision in ("fp32", "int8", "fp8")
        if (backend, precision) != ("tensorrt", "fp8")
    ]
    row = {"family": "gpu", "vendor": "nvidia", "market": "*", "precision": "*"}
    gives(
        "assumed_backend",
        [
            {"hardware": part, "precision": precision, "backend": backend, "is_by_kind": backend != "inductor"}
            for part, precision, backend in (
                ("board", "fp32", "inductor"), ("board", "int8", "tensorrt"), ("board", "fp8", "inductor"),
                ("module", "fp32", "tensorrt"), ("module", "int8", "vllm"), ("module", "fp8", "inductor"),
                ("other", "fp32", "inductor"), ("other", "int8", "inductor"), ("other", "fp8", "inductor"),
            )
        ],
        by=["hardware", "precision"],
        hardware=[{"hardware": p, "family": "gpu", "vendor": v, "market": m} for p, (v, m) in kinds.items()],
        supported_backend=supported,
        part_support=able,
        default_backend=[
            row | {"precision": "int8", "backend": "tensorrt"},
            row | {"market": "edge", "backend": "tensorrt"},
            row | {"market": "edge", "precision": "int8", "backend": "vllm"},
        ],
    )  # fmt: skip
