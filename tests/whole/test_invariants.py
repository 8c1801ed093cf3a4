"""Every invariant is satisfied on a small database, and reports a broken row of a relation that it reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oracle.database import Bench, relations, scenario

from charz.schema.scenario import Scenario
from charz.sql import layers

from .generated import graph

INVARIANTS = sorted(view.name for view in relations() if view.layer == layers.INVARIANT)
PARTS = ("h100_sxm5_80", "i9_10940x", "kpu_t64")
SCENARIOS = [
    scenario(1, batch=3),
    scenario(2, batch=3, backend="inductor"),
    scenario(3, batch=3, backend="kpu", precision="int8"),
]
FIRST_KERNEL = "model = 'small' AND hardware = 'h100_sxm5_80' AND scenario_id = 1 AND kernel_id = 0"
FIRST_RUN = "model = 'small' AND hardware = 'h100_sxm5_80' AND scenario_id = 1"
PACKED_RUN = "run.model = 'small' AND hardware = 'h100_sxm5_80' AND run.scenario_id = 1"
PRODUCT = "step_class = 'gemm'"

CASES: dict[str, list[tuple[str, str]]] = {
    # For each invariant: relations that it reads, and the change of one of their rows.
    "critical_path_exceeds_sum": [
        ("critical_path", f"UPDATE critical_path SET critical_path_s = 10 * critical_path_s WHERE {FIRST_RUN}"),
        ("critical_path", f"UPDATE critical_path SET critical_path_lower_s = 2 * critical_path_s WHERE {FIRST_RUN}"),
    ],
    "dangling_edge": [
        ("edge", "UPDATE edge SET tensor_id = 10000 WHERE consumer_operator_id = 5 AND position = 0"),
        ("operator", "DELETE FROM operator WHERE operator_id = 5"),
        ("edge", "UPDATE edge SET producer_operator_id = 7 WHERE consumer_operator_id = 5 AND position = 0"),
    ],
    "fused_traffic_above_unfused": [
        ("border_byte", "UPDATE border_byte SET own_byte = 1e12 WHERE run.scenario_id = 2 AND run.backend = 'inductor' AND kernel_id = 0"),
    ],
    "gemm_mismatch": [
        ("term", "UPDATE term SET coefficient = 2 * coefficient WHERE quantity = 'n'"),
        ("term", "UPDATE term SET coefficient = 2 * coefficient WHERE quantity = 'flops'"),
    ],
    "impossible_number": [
        (
            "part_fault",
            "INSERT INTO part_fault VALUES ('t4', 'memory', 'memory.l2.capacity_byte', -1, 'a number from 1e-30 to 1e+30', FALSE)",
        )
    ],
    "kernel_without_cost": [("shape_cost", f"DELETE FROM shape_cost WHERE {PACKED_RUN} AND shape_id = 0")],
    "kernel_without_path": [("path_segment", "DELETE FROM path_segment WHERE backend = 'eager' AND kernel_id = 0")],
    "latency_below_roofline": [
        ("kernel_time", f"UPDATE kernel_time SET roofline_s = 2 * latency_s WHERE {FIRST_KERNEL}"),
        ("kernel_time", f"UPDATE kernel_time SET latency_s = NULL WHERE {FIRST_KERNEL}"),
    ],
    "level_sum_mismatch": [
        ("kernel_energy", f"UPDATE kernel_energy SET memory_energy_j = 1.001 * memory_energy_j WHERE {FIRST_KERNEL}"),
    ],
    "mapping_mismatch": [
        ("kernel_mapping", f"UPDATE kernel_mapping SET mapped_count = mapped_count + 1 WHERE {FIRST_KERNEL}"),
        ("kernel_mapping", f"UPDATE kernel_mapping SET step_id = 1000 WHERE {FIRST_KERNEL}"),
        ("kernel_cost", f"UPDATE kernel_cost SET candidate = 1000 WHERE {PACKED_RUN}"),
    ],
    "memory_below_zero": [
        ("memory_step", "UPDATE memory_step SET live_byte = -1 WHERE run.scenario_id = 1 AND kernel_id = 0"),
        ("memory_step", "UPDATE memory_step SET storage_count = -1 WHERE run.scenario_id = 1 AND kernel_id = 0"),
        ("memory_step", "UPDATE memory_step SET allocated_byte = 0 WHERE run.scenario_id = 1 AND kernel_id = 0"),
    ],
    "missing_energy_coefficient": [
        ("part_energy", "DELETE FROM part_energy WHERE hardware = 'h100_sxm5_80' AND key = 'dram'"),
        ("part_energy", "DELETE FROM part_energy WHERE hardware = 'h100_sxm5_80' AND what = 'static'"),
        ("part_energy", "DELETE FROM part_energy WHERE hardware = 'h100_sxm5_80' AND key = 'fp16.matrix'"),
    ],
    "model_sum_mismatch": [
        ("model_cost", f"UPDATE model_cost SET latency_s = 1.001 * latency_s WHERE {FIRST_RUN}"),
        ("model_cost", f"UPDATE model_cost SET energy_j = 1.001 * energy_j WHERE {FIRST_RUN}"),
        ("kernel_edp", f"UPDATE kernel_edp SET edp_js = 2 * edp_js WHERE {FIRST_KERNEL}"),
        ("kernel_edp", f"DELETE FROM kernel_edp WHERE {FIRST_RUN}"),
    ],
    "module_sum_mismatch": [
        ("module_edp", f"UPDATE module_edp SET latency_s = 1.001 * latency_s WHERE {FIRST_RUN} AND module_id = 0"),
        ("module_edp", f"UPDATE module_edp SET energy_j = 1.001 * energy_j WHERE {FIRST_RUN} AND module_id = 1"),
        ("module_edp", f"UPDATE module_edp SET edp_js = 1.001 * edp_js WHERE {FIRST_RUN} AND module_id = 1"),
        ("module_edp", f"DELETE FROM module_edp WHERE {FIRST_RUN} AND module_id = 1"),
    ],
    "negative_size": [("term", "UPDATE term SET coefficient = -1 WHERE operator_id = 0 AND quantity = 'threads'")],
    "number_without_source": [
        ("hardware_value", "UPDATE hardware_value SET source_id = NULL WHERE field = 'memory.dram.capacity_byte'"),
        ("hardware_value", "UPDATE hardware_value SET locator = NULL WHERE field = 'memory.dram.capacity_byte'"),
    ],
    "operator_without_rule": [("operator", "UPDATE operator SET rule = NULL WHERE operator_id = 0")],
    "operator_without_step": [
        ("operator_step", "DELETE FROM operator_step WHERE operator_id = (SELECT MIN(operator_id) FROM operator WHERE NOT is_view)"),
        ("operator", "UPDATE operator SET is_view = NOT is_view WHERE operator_id = 0"),
    ],
    "parallel_single_differs": [
        ("parallel_plan", f"UPDATE parallel_plan SET speedup = 1.1 WHERE {FIRST_RUN} AND device_count = 1 AND strategy = 'data'"),
        (
            "parallel_plan",
            f"UPDATE parallel_plan SET scaling_efficiency_fraction = 1.1 WHERE {FIRST_RUN} AND device_count = 2",
        ),
    ],
    "power_above_tdp": [("model_cost", f"UPDATE model_cost SET energy_j = 2 * tdp_w * latency_s WHERE {FIRST_RUN}")],
    "profile_mismatch": [
        ("model", "UPDATE model SET model = 'resnet18'"),
        ("term", "DELETE FROM term WHERE quantity = 'threads'"),
        ("tensor", "UPDATE tensor SET is_output = FALSE"),
    ],
    "simulated_as_silicon": [
        ("model_report", "UPDATE model_report SET is_simulated = FALSE WHERE hardware = 'kpu_t64'"),
        ("target_cost", "UPDATE target_cost SET is_simulated = TRUE WHERE hardware = 'h100_sxm5_80'"),
    ],
    "stale_compilation": [
        ("fusion_rule", "DELETE FROM fusion_rule WHERE backend = 'inductor'"),
        ("precision_policy", "UPDATE precision_policy SET rule = 'keep' WHERE policy = 'fp16' AND operator_class = '*'"),
        ("operator_class", "UPDATE operator_class SET is_foldable = NOT is_foldable WHERE operator_class = 'softmax'"),
    ],
    "units_above_part": [
        ("kernel_cost", f"UPDATE kernel_cost SET units_allocated = unit_count + 1 WHERE {PACKED_RUN} AND kernel_id = 0"),
    ],
    "utilization_out_of_range": [
        ("mapped_step", f"UPDATE mapped_step SET utilization_fraction = 1.5 WHERE {FIRST_KERNEL}"),
        ("mapped_step", f"UPDATE mapped_step SET utilization_fraction = NULL WHERE {FIRST_KERNEL}"),
        ("mapped_step", f"UPDATE mapped_step SET pipelining_fraction = -0.5 WHERE {FIRST_KERNEL}"),
        ("mapped_step", f"UPDATE mapped_step SET units_allocated = unit_count + 1 WHERE {FIRST_KERNEL}"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """One generated network on three parts under three scenarios."""
    broken = {relation for cases in CASES.values() for relation, _ in cases}
    known = {view.name for view in relations()}
    with Bench([*INVARIANTS, *(broken & known)], with_parts=True) as made:
        made.execute(f"DELETE FROM hardware WHERE hardware NOT IN {PARTS}")
        made.replace_rows(Scenario, SCENARIOS)
        made.add_graph(graph(1), "small")
        made.evaluate()
        yield made


def test_every_invariant_has_a_case() -> None:
    assert sorted(CASES) == INVARIANTS


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_it_holds(bench: Bench, invariant: str) -> None:
    assert bench.rows(f"SELECT * FROM {invariant}") == []


@pytest.mark.parametrize(
    ("invariant", "relation", "statement"),
    [(name, *case) for name, cases in CASES.items() for case in cases],
    ids=[f"{name}-{i}" for name, cases in CASES.items() for i, _ in enumerate(cases)],
)
def test_it_is_noticed(bench: Bench, invariant: str, relation: str, statement: str) -> None:
    """A temporary table that hides the relation contains its rows with one of them changed."""
    connection = bench.connection
    connection.execute(f"CREATE TEMP TABLE {relation} AS SELECT * FROM {relation}")
    try:
        changed = connection.execute(statement).fetchall()[0][0]
        assert changed > 0, "the case breaks no row"
        assert connection.execute(f"SELECT COUNT(*) FROM {invariant}").fetchall()[0][0] > 0
    finally:
        connection.execute(f"DROP TABLE temp.{relation}")
