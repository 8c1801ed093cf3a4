"""Missing numbers of a part, the reason for a missing answer, and implausible numbers."""

from __future__ import annotations

from collections.abc import Callable

Gives = Callable[..., None]

NEXT = {"scenario": "`charz scenario add --backend xla --precision fp32`"}


def test_a_part_is_proposed_its_default_backend_in_a_plain_precision(gives: Gives) -> None:
    """On chip, xla is the default (0) and fp32 a plain precision (0): 0. eager is not the default (1): 1. amp is not a plain precision: 2."""
    support = [
        {"backend": "xla", "precision": "amp"},
        {"backend": "eager", "precision": "fp32"},
        {"backend": "xla", "precision": "fp32"},
        {"hardware": "card", "backend": "eager", "precision": "amp"},
    ]
    gives(
        "part_proposal",
        [
            {"hardware": "chip", "backend": "xla", "precision": "fp32"},
            {"hardware": "card", "backend": "eager", "precision": "amp"},
        ],
        by=["hardware"],
        across=["backend", "precision"],
        part_support=support,
        supported_backend=[
            {"backend": "xla", "is_default": True},
            {"backend": "eager"},
            {"hardware": "card", "backend": "eager"},
        ],
        precision=[{"precision": "fp32"}],
    )


def test_the_first_energy_that_nothing_gives(evaluate: Callable[..., list[dict[str, object]]]) -> None:
    """The first per part in the order static, main memory, cache, tile memory, operations; `whole` lacks none."""
    known = {
        "static_w": 1.0, "dram_j_per_byte": 1.0, "cache_level": "l2", "cache_j_per_byte": 1.0, "tile_memory_level": "l1",
        "tile_j_per_byte": 1.0,
    }  # fmt: skip
    parts = [
        known | {"hardware": "whole"},
        known | {"hardware": "idle", "static_w": None, "dram_j_per_byte": None},
        known | {"hardware": "dram", "dram_j_per_byte": None},
        known | {"hardware": "cache", "cache_j_per_byte": None},
        known | {"hardware": "tile", "tile_j_per_byte": None},
        known | {"hardware": "matrix"},
        known | {"hardware": "vector"},
    ]
    rate = {"matrix_ops_per_s": 1.0, "matrix_op_j": 1.0, "matrix_precision": "fp16", "vector_precision": "fp32"}
    rate |= {"vector_ops_per_s": 1.0, "vector_op_j": 1.0}
    rates = [rate | {"hardware": part["hardware"]} for part in parts]
    rates[-2] |= {"matrix_op_j": None}
    rates[-1] |= {"vector_op_j": None}
    found = evaluate("missing_energy", part=parts, part_rate=rates)
    assert {row["hardware"]: row["field"] for row in found} == {
        "idle": "energy.static.chip",
        "dram": "energy.byte.dram",
        "cache": "energy.byte.l2",
        "tile": "energy.byte.l1",
        "matrix": "energy.op.fp16.matrix",
        "vector": "energy.op.fp32.vector",
    }


def test_what_a_part_lacks(evaluate: Callable[..., list[dict[str, object]]]) -> None:
    """`whole` lacks nothing; every other part lacks exactly one thing."""
    names = ["whole", "family", "backend", "rate", "tile", "number", "memory", "efficiency", "scenario", "energy"]
    hardware = [{"hardware": n, "family": "odd" if n == "family" else "gpu", "vendor": "maker"} for n in names]
    backed = [n for n in names if n != "backend"]
    proposed = [n for n in backed if n != "rate"]
    how = {"backend": "xla", "precision": "fp32"}
    found = evaluate(
        "part_lack",
        hardware=hardware,
        hardware_family=[{"family": "gpu"}],
        supported_backend=[{"hardware": n, "backend": "xla"} for n in backed],
        part_proposal=[{"hardware": n, **how} for n in proposed],
        part_support=[{"hardware": n, **how} for n in proposed if n != "scenario"],
        scenario=[how],
        part=[{"hardware": n, "family": "gpu", "tile_memory_byte": None if n == "memory" else 1.0} for n in names],
        part_tile=[{"hardware": n} for n in names if n != "tile"],
        part_fault=[
            {"hardware": "number", "kind": "memory", "field": f, "rule": "above 0"}
            for f in ("memory.l2", "memory.dram")
        ],
        missing_efficiency=[{"hardware": "efficiency", "backend": "xla", "resource": "memory"}],
        missing_energy=[{"hardware": "energy", "field": "energy.byte.dram"}],
    )
    assert {row["hardware"]: row["lack"] for row in found} == {name: name for name in names[1:]}
    said = {row["lack"]: (row["backend"], row["reason"]) for row in found}
    # Two numbers: the first by name, and one more.
    assert said["number"] == ("*", "an impossible number: memory.dram: above 0, and 1 more")
    assert said["efficiency"] == ("xla", "no efficiency of memory applies under xla")
    assert said["energy"] == ("*", "neither the part nor a rule gives energy.byte.dram")
    assert {row["lack"]: row["next"] for row in found}["scenario"] == NEXT["scenario"]


def test_why_a_model_has_no_answer(evaluate: Callable[..., list[dict[str, object]]]) -> None:
    """If a part lacks two things, the graver is reported; a model whose step has no rate, or no tile, names the type; one that no scenario
    fits is reported; missing energies alone leave an answer."""
    how = {"backend": "xla", "precision": "int8"}
    found = evaluate(
        "missing_answer",
        part_lack=[
            {"hardware": "bare", "backend": "*", "lack": "tile", "reason": "no tiles", "next": "add"},
            {"hardware": "bare", "backend": "*", "lack": "rate", "reason": "no peak", "next": "state"},
            {"hardware": "chip", "backend": "*", "lack": "energy", "reason": "no joules", "next": "state"},
        ],
        model=[{"model": "net"}, {"model": "dense"}, {"model": "fixed", "default_batch": 7}, {"model": "norm"}],
        run=[{"model": model, **how, "power": "default"} for model in ("net", "dense", "norm")],
        scenario=[how],
        part_support=[{"hardware": "chip", **how}],
        shape_step=[
            {"model": "net", **how, "compute_precision": "int8", "is_product": True},
            {"model": "dense", **how, "compute_precision": "int4", "is_product": True},
            {"model": "norm", **how, "compute_precision": "fp32"},
        ],
        part_rate=[
            {"hardware": "chip", "backend": "xla", "compute_precision": precision} for precision in ("int8", "int4")
        ],
        part_tile=[{"hardware": "chip", "backend": "xla", "compute_precision": "int8", "dataflow": "block"}],
    )
    assert {(row["model"], row["hardware"], row["precision"]): row["reason"] for row in found} == {
        ("*", "bare", "*"): "no peak",
        ("dense", "chip", "int8"): "no memory of the part fits a tile of a product in int4",
        ("norm", "chip", "int8"): "a kernel of the model needs fp32, for which the part has no rate",
        ("fixed", "chip", "*"): (
            "no stored scenario of the part is valid for the model: its batch or sequence is fixed, it trains, or has no context"
        ),
    }
    assert {row["model"]: row["next"] for row in found}["fixed"].startswith(
        "add one with `charz scenario add --batch 7`"
    )


def test_numbers_that_are_hardly_so(evaluate: Callable[..., list[dict[str, object]]]) -> None:
    """Impossible numbers are not among them."""
    row = {"field": "clock", "value": 2520.0, "rule": "a clock in Hz"}
    found = evaluate(
        "implausible_number",
        part_fault=[row | {"is_possible": True}, row | {"field": "unit_count", "value": -1.0}],
        rule_fault=[row | {"field": "rule", "is_possible": True}, row | {"field": "other"}],
        condition_fault=[row | {"field": "host_factor", "value": 900.0, "is_possible": True}],
    )
    assert sorted((r["hardware"], r["field"], r["value"]) for r in found) == [
        ("*", "host_factor", 900.0),
        ("*", "rule", 2520.0),
        ("chip", "clock", 2520.0),
    ]


def test_what_rests_on_a_number_that_cannot_be(evaluate: Callable[..., list[dict[str, object]]]) -> None:
    """Each field once, whichever backends report it; a part's own number has precedence over one of its tiles, a run's over one of its
    memory."""
    found = evaluate(
        "faulty_answer",
        part_support=[
            {"fault": "memory.dram", "tile_fault": "tile"},
            {"backend": "xla", "fault": "memory.dram"},
            {"hardware": "card", "tile_fault": "tile"},
            {"hardware": "well"},
        ],
        part_backend=[{}, {"hardware": "well", "efficiency_chain": "well"}],
        chain_efficiency=[{"faulty_efficiency_id": 7}, {"efficiency_chain": "well"}],
        run=[
            {"fault": "host_factor", "memory_fault": "block"},
            {"model": "big", "memory_fault": "block"},
            {"model": "fine"},
        ],
    )
    assert sorted((row["subject"], row["field"]) for row in found) == [
        ("big", "block"),
        ("card", "tile"),
        ("chip", "efficiency.7"),
        ("chip", "memory.dram"),
        ("net", "host_factor"),
    ]
