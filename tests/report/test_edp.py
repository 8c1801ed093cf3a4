"""Energy-delay products of kernels, operators, modules and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Record = dict[str, Any]
Gives = Callable[..., None]
Evaluate = Callable[..., list[Record]]

KERNELS = [
    {"kernel_id": 5, "latency_s": 3.0, "energy_j": 2.0, "compute_energy_j": 1.0, "memory_energy_j": 0.5, "run_call_s": 2.0,
     "static_w": 1.0},
    {"kernel_id": 2, "latency_s": 1.0, "energy_j": 4.0, "compute_energy_j": 2.0, "memory_energy_j": 1.5, "run_call_s": 2.0,
     "static_w": 1.0},
]  # fmt: skip


def test_kernel_edp(gives: Gives) -> None:
    """With the call 4 + 2 s and 6 + 2 J, 48 J s: the kernels' shares are (2 * 6 + 3 * 8) / 2 and (4 * 6 + 1 * 8) / 2, the call's is 14."""
    gives(
        "kernel_edp",
        [
            {"kernel_id": 5, "local_edp_js": 6.0, "edp_js": 18.0, "compute_edp_js": 6.0, "memory_edp_js": 3.0,
             "static_edp_js": 9.0, "edp_fraction": 0.375, "edp_rank": 1, "cumulative_fraction": 0.375, "run_s": 6.0,
             "run_j": 8.0},
            {"kernel_id": 2, "local_edp_js": 4.0, "edp_js": 16.0, "compute_edp_js": 12.0, "memory_edp_js": 9.0,
             "static_edp_js": -5.0, "edp_fraction": 1 / 3, "edp_rank": 2, "cumulative_fraction": 34 / 48, "run_s": 6.0,
             "run_j": 8.0},
        ],
        by=["kernel_id"],
        kernel_time=KERNELS,
    )  # fmt: skip


def test_one_unknown_energy_leaves_the_product_unknown(gives: Gives) -> None:
    expected = [{"kernel_id": i, "run_j": None, "edp_js": None, "run_s": 6.0} for i in (5, 2)]
    gives("kernel_edp", expected, by=["kernel_id"], kernel_time=[KERNELS[0], KERNELS[1] | {"energy_j": None}])


def test_kernels_that_differ_by_rounding_keep_their_order(gives: Gives) -> None:
    """The order by number stays: the second takes 1e-14 more."""
    kernels = [KERNELS[0] | {"kernel_id": 1}, KERNELS[0] | {"kernel_id": 2, "energy_j": 2.0 * (1 + 1e-14)}]
    gives("kernel_edp", [{"kernel_id": i, "edp_rank": i} for i in (1, 2)], by=["kernel_id"], kernel_time=kernels)


SHARES = [  # share, cumulated, of the product, local, of arithmetic, of traffic
    (0.5, 0.5, 17.0, 6.0, 5.0, 2.5), (0.4, 0.9, 10.0, 4.0, 4.0, 3.0), (0.1, 1.0, 4.0, 1.0, 1.0, 1.5),
]  # fmt: skip
SHARED = [
    {"kernel_id": i, "run_s": 5.0, "run_j": 8.0, "edp_fraction": share, "cumulative_fraction": cumulated, "edp_js": product,
           "local_edp_js": local, "compute_edp_js": compute, "memory_edp_js": memory}
    for i, (share, cumulated, product, local, compute, memory) in enumerate(SHARES)
]  # fmt: skip


def test_model_edp(gives: Gives) -> None:
    """40 J s: kernels make 31, the call 9. The kernels' local products sum to 11. The first kernel makes half, two make 90 %."""
    expected = {
        "latency_s": 5.0, "energy_j": 8.0, "edp_js": 40.0, "local_edp_js": 11.0, "local_gap_fraction": 0.725, "compute_edp_js": 10.0,
        "memory_edp_js": 7.0, "static_edp_js": 23.0, "call_edp_js": 9.0, "kernels_for_half": 1, "kernels_for_ninety": 2,
    }  # fmt: skip
    gives("model_edp", [expected], kernel_edp=SHARED)


@pytest.mark.parametrize("column", ["local_edp_js", "compute_edp_js", "memory_edp_js"])
def test_sums_of_unknown_products_are_unknown(gives: Gives, column: str) -> None:
    known = {"local_edp_js": 11.0, "compute_edp_js": 10.0, "memory_edp_js": 7.0}
    gives("model_edp", [known | {column: None}], kernel_edp=[*SHARED[:2], SHARED[2] | {column: None}])


def operators() -> dict[str, list[Record]]:
    """Kernel 1 fuses a convolution of two steps, an activation, a view and a folded scale; kernel 2 converts for the
    convolution; kernel 3 moves data for two operators; kernel 4 neither computes nor writes; kernel 5 is an operator alone."""
    kernel: Record = {"latency_s": 4.0, "energy_j": 8.0, "edp_js": 16.0, "edp_fraction": 0.4}
    members = [(1, 1), (1, 2), (1, 3), (1, 4), (3, 5), (3, 6), (4, 7), (4, 8), (5, 9)]
    classes = {1: "conv", 2: "relu", 3: "view", 4: "scale", 5: "cat", 6: "cat", 7: "cat", 8: "cat", 9: "conv"}
    return {
        "kernel_edp": [
            kernel | {"kernel_id": i, "fused_kernel_id": 1 if i == 2 else i, "kernel_class": "cast" if i == 2 else "conv",
                      "anchor_operator_id": 1, "operator_count": 1 if i in (2, 5) else 2}
            for i in range(1, 6)
        ],
        "kernel_operator": [
            {"kernel_id": k, "operator_id": o, "is_folded": o == 4} for k, o in members
        ],
        "operator": [{"operator_id": o, "operator_class": name, "is_view": o == 3} for o, name in classes.items()],
        "run_kernel": [{"kernel_id": k, "shape_id": 10 * k} for k in range(1, 6)],
        "kernel_step": [
            {"kernel_id": k, "step_id": s, "operator_id": o}
            for k, s, o in ((1, 0, 1), (1, 1, 1), (1, 2, 2), (3, 0, 5), (3, 1, 6), (5, 0, 9))
        ],
        "shape_step": [
            {"shape_id": shape, "step_id": s, "flops": flops, "threads": threads}
            for shape, s, flops, threads in (
                (10, 0, 10.0, 5.0), (10, 1, 20.0, 6.0), (10, 2, 10.0, 7.0), (30, 0, 0.0, 3.0), (30, 1, 0.0, 1.0), (50, 0, 6.0, 2.0),
            )
        ],
        "part_modifier": [
            {"operator_class": name, "base_modifier": base, "fused_modifier": fused}
            for name, base, fused in (("conv", 1.5, 1.0), ("relu", 3.0, 2.0), ("cast", 4.0, 9.0), ("cat", 2.0, 1.0), ("view", 1.0, 1.0), ("scale", 1.0, 1.0))
        ],
    }  # fmt: skip


def test_operator_cost(gives: Gives) -> None:
    """In a fused kernel 30 operations with modifier 1 and 10 with modifier 2: 0.6 and 0.4. Without operations, shares by elements, 3 and
    1; without either, half each. A conversion is charged to its anchor."""
    columns = (
        "kernel_id",
        "operator_id",
        "is_inserted",
        "is_fused",
        "base_modifier",
        "modifier",
        "flops",
        "threads",
        "share_fraction",
    )
    rows = [
        (1, 1, False, True, 1.5, 1.0, 30.0, 11.0, 0.6),
        (1, 2, False, True, 3.0, 2.0, 10.0, 7.0, 0.4),
        (2, 1, True, False, 4.0, 4.0, 0.0, 0.0, 1.0),
        (3, 5, False, True, 2.0, 1.0, 0.0, 3.0, 0.75),
        (3, 6, False, True, 2.0, 1.0, 0.0, 1.0, 0.25),
        (4, 7, False, True, 2.0, 1.0, 0.0, 0.0, 0.5),
        (4, 8, False, True, 2.0, 1.0, 0.0, 0.0, 0.5),
        (5, 9, False, False, 1.5, 1.5, 6.0, 2.0, 1.0),
    ]
    expected = [dict(zip(columns, row, strict=True)) for row in rows]
    for row in expected:
        share = row["share_fraction"]
        row |= {"latency_s": 4 * share, "energy_j": 8 * share, "edp_js": 16 * share, "edp_fraction": 0.4 * share}
    gives(
        "operator_cost", expected, by=["kernel_id", "operator_id"], within=["kernel_id", "shape_id"],
        free={"run_kernel": ["shape_id"], "kernel_edp": ["precision_class"]}, **operators(),
    )  # fmt: skip


def test_operator_edp(gives: Gives) -> None:
    """10 outputs of a bias with modifier 2 and 180 operations with modifier 1: the bias gets a tenth of the convolution's half. It gets
    nothing if it is its own kernel, or if the operator takes no bias."""
    cost: Record = {
        "kernel_class": "conv", "threads": 10.0, "flops": 180.0, "modifier": 1.0, "base_modifier": 3.0, "share_fraction": 0.5, "edp_fraction": 0.2,
        "latency_s": 10.0, "energy_j": 20.0, "edp_js": 40.0,
    }  # fmt: skip
    inserted = {"is_inserted": True, "share_fraction": 1.0}
    columns = (
        "kernel_id",
        "operator_id",
        "step",
        "operator_class",
        "is_fused",
        "base_modifier",
        "modifier",
        "share_fraction",
    )
    rows = [
        (1, 1, "main", "conv", True, 3.0, 1.0, 0.45),
        (1, 1, "bias", "bias", True, 5.0, 2.0, 0.05),
        (2, 1, "cast", "cast", False, 3.0, 1.0, 1.0),
        (3, 2, "main", "conv", False, 3.0, 1.0, 0.5),
        (4, 2, "bias", "bias", False, 3.0, 1.0, 1.0),
        (5, 3, "main", "addcmul", True, 3.0, 1.0, 0.5),
        (6, 4, "main", "conv", False, 3.0, 1.0, 0.5),
    ]
    factors = {("main", 1): 0.9, ("bias", 1): 0.1}
    expected = []
    for row in rows:
        one = dict(zip(columns, row, strict=True))
        factor = factors.get((one["step"], one["operator_id"]), 1.0)
        amounts = {
            "latency_s": 10 * factor,
            "energy_j": 20 * factor,
            "edp_js": 40 * factor,
            "model_fraction": 0.2 * factor,
        }
        expected.append(one | amounts | {"module": "stem" if one["operator_id"] == 1 else "head"})
    gives(
        "operator_edp",
        expected,
        by=["kernel_id", "operator_id", "step"],
        operator_cost=[
            cost | {"kernel_id": 1, "operator_id": 1},
            cost | {"kernel_id": 2, "operator_id": 1, "kernel_class": "cast"} | inserted,
            cost | {"kernel_id": 3, "operator_id": 2},
            cost | {"kernel_id": 4, "operator_id": 2, "kernel_class": "bias"} | inserted,
            cost | {"kernel_id": 5, "operator_id": 3, "is_fused": True},
            cost | {"kernel_id": 6, "operator_id": 4},
        ],
        part_modifier=[
            {"operator_class": "bias", "base_modifier": 5.0, "fused_modifier": 2.0},
            {"operator_class": "conv", "base_modifier": 7.0, "fused_modifier": 8.0},
        ],
        operator=[
            {"operator_id": i, "operator_class": name, "module_id": min(i, 2)}
            for i, name in ((1, "conv"), (2, "conv"), (3, "addcmul"), (4, "conv"))
        ],
        operator_class=[{"operator_class": "conv", "takes_bias": True}, {"operator_class": "addcmul", "takes_bias": False}],
        edge=[
            {"consumer_operator_id": i, "position": position}
            for i, position in ((1, 0), (1, 1), (1, 2), (2, 2), (3, 2), (4, 0), (4, 1))
        ],
        module=[{"module_id": 1, "path": "stem"}, {"module_id": 2, "path": "head"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [{"model": "x"}, {"hardware": "x"}, {"backend": "x"}, {"precision": "x"}, {"batch": 2}, {"sequence": 2}, {"scenario_id": 2},
     {"operator_id": 2}],
)  # fmt: skip
def test_a_bias_kernel_of_another_run(evaluate: Evaluate, changed: Record) -> None:
    """The bias stays within the product of this run."""
    cost = {"operator_id": 1, "kernel_class": "conv", "threads": 1.0, "flops": 1.0, "modifier": 1.0}
    rows = evaluate(
        "operator_edp",
        operator_cost=[cost, cost | {"kernel_class": "bias", "kernel_id": 1, "is_inserted": True} | changed],
        part_modifier=[{"operator_class": "bias", "base_modifier": 5.0, "fused_modifier": 2.0}],
        operator=[{"operator_id": 1, "operator_class": "conv", "module_id": 0}],
        operator_class=[{"operator_class": "conv", "takes_bias": True}],
        edge=[{"consumer_operator_id": 1, "position": 2}],
        module=[{"module_id": 0}],
    )
    assert sorted(row["step"] for row in rows if row["kernel_id"] == 0) == ["bias", "main"]


MODULES = [{"module_id": i, "path": path, "depth": path.count(".")} for i, path in enumerate(("", "a", "a.b", "ab"))]
PIECES = [  # operator, kernel, s, J, J s
    (1, 1, 1.0, 10.0, 100.0), (1, 2, 2.0, 20.0, 200.0), (2, 1, 4.0, 40.0, 400.0), (3, 1, 8.0, 80.0, 800.0),
]  # fmt: skip
PLACES = {1: 2, 2: 3, 3: 1}
"""Module of each operator."""


def pieces(unknown: str = "") -> list[Record]:
    """Return costs of operators; one column of the first operator's second kernel is null."""
    rows = [
        {"operator_id": operator, "kernel_id": kernel, "latency_s": time, "energy_j": energy, "edp_js": product}
        for operator, kernel, time, energy, product in PIECES
    ]
    if unknown:
        rows[1][unknown] = None
    return rows


def moved(*operators: int) -> Record:
    """Return the bytes that some operators read as weights and write."""
    return {"weight_byte": sum(10.0**o for o in operators), "output_byte": sum(3 * 10.0**o for o in operators)}


def borders(operator: int) -> list[Record]:
    """Return the same bytes as tensors crossing the operator's border, with others: its inputs, and its traffic in a fused kernel."""
    weight, output = moved(operator).values()
    border = {"operator_id": operator, "backend": "eager"}
    return [
        border | {"direction": "read", "role": "weight", "moved_byte": weight},
        border | {"direction": "write", "role": "output", "moved_byte": output},
        border | {"direction": "read", "role": "input", "moved_byte": 0.5},
        border | {"direction": "write", "role": "output", "moved_byte": 0.25, "backend": "inductor"},
    ]


def within(*modules: str) -> list[int]:
    """Return the operators in some modules."""
    ids = {m["module_id"] for m in MODULES if m["path"] in modules}
    return [o for o, m in PLACES.items() if m in ids]


def test_module_edp(gives: Gives) -> None:
    """`a` contains `a.b` but not `ab`; an operator of two kernels counts once."""
    gives(
        "module_edp",
        [
            {"module": "", "operator_count": 3, "latency_s": 15.0, "energy_j": 150.0, "edp_js": 1500.0, **moved(*PLACES)},
            {"module": "a", "operator_count": 2, "latency_s": 11.0, "energy_j": 110.0, "edp_js": 1100.0, **moved(*within("a", "a.b"))},
            {"module": "a.b", "operator_count": 1, "latency_s": 3.0, "energy_j": 30.0, "edp_js": 300.0, **moved(*within("a.b"))},
            {"module": "ab", "operator_count": 1, "latency_s": 4.0, "energy_j": 40.0, "edp_js": 400.0, **moved(*within("ab"))},
        ],
        by=["module"],
        module=MODULES,
        operator=[{"operator_id": o, "module_id": m} for o, m in PLACES.items()],
        operator_cost=pieces(),
        border_byte=[row for o in PLACES for row in borders(o)],
    )


@pytest.mark.parametrize(("column", "known"), [("energy_j", {"ab": 40.0}), ("edp_js", {"ab": 400.0})])
def test_modules_of_an_unknown_energy(gives: Gives, column: str, known: dict[str, float]) -> None:
    """The operator's module and the modules around it are unknown."""
    gives(
        "module_edp",
        [{"module": name, column: known.get(name)} for name in ("", "a", "a.b", "ab")],
        by=["module"],
        module=MODULES,
        operator=[{"operator_id": o, "module_id": m} for o, m in PLACES.items()],
        operator_cost=pieces(column),
    )


def test_operator_fusion(gives: Gives) -> None:
    """12 + 3 J s in separate kernels against 4 + 1; no ratio for a backend without a counterpart."""
    edp: Record = {"operator_id": 1, "step": "main"}
    side = {"fused_backend": "inductor", "unfused_backend": "eager"}
    gives(
        "operator_fusion",
        [
            {"backend": "inductor", "kernel_id": 1, "edp_js": 4.0, "fusion_ratio": 3.0},
            {"backend": "inductor", "kernel_id": 2, "edp_js": 1.0, "fusion_ratio": 3.0},
            {"backend": "xla", "kernel_id": 1, "edp_js": 7.0, "fusion_ratio": None},
        ],
        by=["backend", "kernel_id"],
        across=["backend", "scenario_id"],
        operator_edp=[
            edp | {"backend": "inductor", "scenario_id": 1, "kernel_id": 1, "edp_js": 4.0},
            edp | {"backend": "inductor", "scenario_id": 1, "kernel_id": 2, "edp_js": 1.0},
            edp | {"backend": "eager", "scenario_id": 2, "kernel_id": 1, "edp_js": 12.0},
            edp | {"backend": "eager", "scenario_id": 2, "kernel_id": 3, "edp_js": 3.0},
            edp | {"backend": "xla", "scenario_id": 3, "kernel_id": 1, "edp_js": 7.0},
        ],
        within=["context", "phase", "memory_format", "operator_id", "step"],
        free={"run": ["context", "phase", "memory_format"]},
        run=[
            *({"backend": name, "scenario_id": i} for i, name in enumerate(("inductor", "eager", "xla"), start=1)),
            {"backend": "inductor", "scenario_id": 9, "host_factor": 2.0},
            {"backend": "tensorrt", "scenario_id": 1, "host_factor": 3.0},
        ],
        fusion_side=[side | {"backend": "inductor"}, side | {"backend": "eager", "is_unfused": True}],
        backend=[{"backend": "inductor", "unfused_backend": "eager"}, {"backend": "xla"}],
    )


def test_fusion_of_other_conditions(evaluate: Evaluate) -> None:
    """A run on a faster host, of another cache state or of another power mode is not a counterpart."""
    edp: Record = {"operator_id": 1, "step": "main"}
    side = {"fused_backend": "inductor", "unfused_backend": "eager"}
    for changed in ({"host_factor": 2.0}, {"cache_state": "hot"}, {"power": "15w"}):
        (row,) = evaluate(
            "operator_fusion",
            operator_edp=[
                edp | {"backend": "inductor", "scenario_id": 1, "edp_js": 4.0},
                edp | {"backend": "eager", "scenario_id": 2, "edp_js": 12.0},
            ],
            run=[{"backend": "inductor", "scenario_id": 1}, {"backend": "eager", "scenario_id": 2} | changed],
            fusion_side=[side | {"backend": "inductor"}, side | {"backend": "eager", "is_unfused": True}],
        )
        assert row["fusion_ratio"] is None


def test_operator_work(gives: Gives) -> None:
    """Two steps of one operator; bytes of its own kernel under eager, none under a fused backend."""
    border = {"operator_id": 1, "backend": "eager", "direction": "read"}
    gives(
        "operator_work",
        [
            {"operator_id": 1, "macs": 8.0, "flops": 16.0, "threads": 6.0, "input_byte": 5.0, "weight_byte": 3.0,
             "kv_cache_byte": 1.0, "output_byte": 7.0, "arithmetic_intensity": 1.0, "module": "stem",
             "compute_precision": "fp16"},
            {"operator_id": 2, "macs": 0.0, "flops": 0.0, "threads": 0.0, "input_byte": 0.0, "weight_byte": 0.0,
             "kv_cache_byte": 0.0, "output_byte": 0.0, "arithmetic_intensity": None, "module": "head",
             "compute_precision": "fp32"},
        ],
        by=["operator_id"],
        free={
            "operator_precision": ["precision"], "border_byte": ["backend", "precision", "batch", "sequence"],
            "step_size": ["backend", "precision", "batch", "sequence"],
        },
        run=[{}],
        operator=[{"operator_id": 1, "module_id": 0}, {"operator_id": 2, "module_id": 1}],
        module=[{"module_id": 0, "path": "stem"}, {"module_id": 1, "path": "head"}],
        operator_precision=[
            {"operator_id": 1, "policy": "fp32", "precision": "fp16"}, {"operator_id": 1, "policy": "int8", "precision": "int8"},
            {"operator_id": 2, "policy": "fp32", "precision": "fp32"},
        ],
        step_size=[
            {"operator_id": 1, "macs": 5.0, "flops": 10.0, "threads": 4.0},
            {"operator_id": 1, "macs": 3.0, "flops": 6.0, "threads": 6.0},
        ],
        border_byte=[
            border | {"role": "input", "moved_byte": 2.0}, border | {"role": "input", "moved_byte": 3.0},
            border | {"role": "weight", "moved_byte": 1.0}, border | {"role": "weight", "moved_byte": 2.0},
            border | {"role": "kv_cache", "moved_byte": 0.5}, border | {"role": "kv_cache", "moved_byte": 0.5},
            border | {"role": "activation", "direction": "write", "moved_byte": 4.0},
            border | {"role": "input", "direction": "write", "moved_byte": 1.0},
            border | {"role": "weight", "direction": "write", "moved_byte": 1.0},
            border | {"role": "kv_cache", "direction": "write", "moved_byte": 1.0},
            border | {"role": "input", "backend": "inductor", "moved_byte": 50.0},
        ],
    )  # fmt: skip
