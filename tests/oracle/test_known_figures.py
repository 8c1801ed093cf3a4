"""Figures that the cost model must reproduce: systolic wavefronts, dispatch-bound runs, orders of models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from charz.ingest.graph import Graph, GraphModule
from charz.schema.catalog.part import HardwareOverhead
from charz.schema.scenario import Scenario

from .database import Bench, scenario
from .generated import SAMPLE, Drawing, gemm, smallest_part, vector


def product(m: int, n: int, k: int, kind: str = "linear", bias: bool = False) -> Graph:
    """Make a model of one matrix product."""
    drawing = Drawing(powers=SAMPLE)
    drawing.graph.modules = [GraphModule(0, None, "", "Root", 0), GraphModule(1, 0, "fc", "Linear", 1)]
    source = drawing.tensor("input", drawing.size(m * k))
    weight = drawing.tensor("weight", {(0, 0, 0): float(k * n)})
    operands = [source, weight, drawing.tensor("weight", {(0, 0, 0): float(n)})] if bias else [source, weight]
    result = drawing.operator(kind, operands, m, n, [gemm(drawing, "main", 1, m, n, k)])
    drawing.graph.tensors[result].is_output = True
    return drawing.graph


def activation(rows: int) -> Graph:
    """Make a model of one activation of rows x 128."""
    drawing = Drawing(powers=SAMPLE)
    drawing.graph.modules = [GraphModule(0, None, "", "Root", 0)]
    source = drawing.tensor("input", drawing.size(rows * 128))
    result = drawing.operator("activation", [source], rows, 128, [vector(drawing, rows * 128, rows * 128)])
    drawing.graph.tensors[result].is_output = True
    return drawing.graph


def attention(heads: int, queries: int, width: int, sharing: int = 1) -> Graph:
    """Make a model of one fused self-attention; `sharing` query heads share each key head."""
    drawing = Drawing(powers=SAMPLE)
    drawing.graph.modules = [GraphModule(0, None, "", "Root", 0)]
    source = drawing.tensor("input", drawing.size(heads * queries * width))
    steps = [
        gemm(drawing, "qk", heads // sharing, sharing * queries, queries, width),
        vector(drawing, 5 * heads * queries**2, heads * queries**2, "softmax"),
        gemm(drawing, "av", heads // sharing, sharing * queries, width, queries),
    ]
    for product_of_heads in (steps[0], steps[2]):
        product_of_heads.quantities["sharing"] = {(0, 0, 0): float(sharing)}
    result = drawing.operator("attention", [source], queries, heads * width, steps)
    drawing.graph.tensors[result].is_output = True
    return drawing.graph


@pytest.mark.parametrize(
    ("columns", "share"), [(16, 0.68), (64, 0.89), (256, 0.97)], ids=["one tile", "four in a row", "sixteen in a row"]
)
def test_wavefront_pipelining(columns: int, share: float) -> None:
    """Tiles of 16 x 16 x 64 on one 16 x 16 array: 64 / (64 + 30) alone, then one every 64 cycles."""
    with Bench(["mapped_step"]) as bench:
        rows = smallest_part("kpu", array=(16, 16), units=1)
        bench.replace_part(rows)
        bench.replace_rows(Scenario, [scenario(1, precision="int8", backend="kpu")])
        bench.add_graph(product(16, columns, 64))
        query = "SELECT tile_m, tile_n, tile_k, tile_count, utilization_fraction, pipelining_fraction FROM mapped_step"
        ((tile_m, tile_n, tile_k, count, utilization, pipelining),) = bench.rows(query)
    assert (tile_m, tile_n, tile_k, count) == (16, 16, 64, columns / 16)
    assert utilization == pytest.approx(share, abs=0.006)
    assert pipelining == pytest.approx(share, abs=0.006)


def test_a_cube_is_sixteen_tiles() -> None:
    """One product of 64 x 64 x 64 is sixteen such tiles: 97 %."""
    with Bench(["mapped_step"]) as bench:
        bench.replace_part(smallest_part("kpu", array=(16, 16), units=1))
        bench.replace_rows(Scenario, [scenario(1, precision="int8", backend="kpu")])
        bench.add_graph(product(64, 64, 64))
        ((count, share),) = bench.rows("SELECT tile_count, utilization_fraction FROM mapped_step")
    assert count == 16
    assert share == pytest.approx(1024 / (94 + 15 * 64))


@pytest.fixture(scope="module")
def zoo() -> Iterator[Bench]:
    """ResNet-18, EfficientNet-B0 and ResNet-50 with the shipped parts."""
    with Bench(["model_cost"], with_parts=True) as bench:
        for name in ("resnet18", "efficientnet_b0", "resnet50"):
            bench.add_model(name)
        yield bench


def latency(bench: Bench, model: str, hardware: str) -> tuple[float, float, str]:
    """Return time, dispatch time and bottleneck of the only scenario."""
    query = "SELECT latency_s, host_issue_s, bottleneck FROM model_cost WHERE model = ? AND hardware = ?"
    return bench.rows(query, [model, hardware])[0]  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize(("hardware", "batch", "policy"), [("rtx4090", 1024, "amp-fp16"), ("v100_sxm2_16", 1, "fp32")])
def test_fewer_operations_are_not_less_time(zoo: Bench, hardware: str, batch: int, policy: str) -> None:
    """EfficientNet-B0 has a fifth of the arithmetic of ResNet-18 and is slower, as measured."""
    zoo.replace_rows(Scenario, [scenario(1, batch=batch, precision=policy)])
    assert latency(zoo, "efficientnet_b0", hardware)[0] > latency(zoo, "resnet18", hardware)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hardware", "measured_s"), [("t4", 6.0e-3), ("v100_sxm2_16", 6.5e-3), ("a100_sxm4_40", 6.5e-3)]
)
def test_small_batches_wait_for_the_host(zoo: Bench, hardware: str, measured_s: float) -> None:
    """ResNet-50 at batch 1 under autocast takes the same time on three generations of parts."""
    zoo.replace_rows(Scenario, [scenario(1, precision="amp-fp16")])
    latency_s, host_s, bottleneck = latency(zoo, "resnet50", hardware)
    assert bottleneck == "overhead"
    assert host_s == pytest.approx(latency_s, rel=0.1)
    assert latency_s == pytest.approx(measured_s, rel=0.25)


def test_eager_adds_the_bias_of_a_convolution_with_a_kernel_of_its_own() -> None:
    """(4, 6) times (6, 10) with a bias of 10 in fp32: on a GPU the kernel reads and writes 4 x 10 and reads 10, 360 bytes; on a CPU the
    library adds the bias itself."""
    with Bench(["kernel_cost"]) as bench:
        bench.add_graph(product(4, 10, 6, kind="conv", bias=True))
        bench.replace_rows(Scenario, [scenario(1)])
        for family, expected in (("gpu", [("bias", 360.0)]), ("cpu", [])):
            bench.replace_part(smallest_part(family))
            query = "SELECT kernel_class, traffic_byte FROM kernel_cost WHERE kernel_id <> fused_kernel_id"
            assert bench.rows(query) == expected


def test_what_is_put_in_another_order_is_moved_once_more() -> None:
    """6 x 10 weights, an image of 4 x 6 and a result of 4 x 10: 124 elements of 4 bytes are written and read again at a quarter of the
    bandwidth: 992 / (bandwidth / 4)."""
    with Bench(["kernel_cost"]) as bench:
        bench.add_graph(product(4, 10, 6, kind="conv"))
        bench.replace_rows(Scenario, [scenario(1)])
        bench.replace_part(smallest_part("cpu"))
        query = """
            SELECT c.reorder_s * h.dram_byte_per_s, c.reorder_byte, c.busy_s
            FROM kernel_cost AS c INNER JOIN part AS h USING (hardware)
        """
        bench.execute("DELETE FROM efficiency WHERE resource = 'reorder'")
        ((moved, byte, before),) = bench.rows(query)
        assert (moved, byte) == (0.0, 0.0)
        bench.execute(
            "INSERT INTO efficiency BY NAME SELECT * REPLACE (1000000 AS efficiency_id, 'reorder' AS resource, 'conv' AS kernel_class,"
            " 0.25 AS maximum_fraction, 0 AS half_work) FROM efficiency WHERE resource = 'residency' AND scope = '*'"
        )
        ((moved, byte, after),) = bench.rows(query)
        assert (moved, byte) == (pytest.approx(4 * 992), 992.0)
        assert after > before


@pytest.mark.parametrize(("length", "layout"), [(512, "aliased"), (768, None), (1024, "aliased"), (513, None)])
def test_rows_of_two_kibibytes_share_cache_sets(length: int, layout: str | None) -> None:
    """512 elements of 4 bytes are 2 KiB; 768 are 3 KiB, whose multiples share four of the 64 sets. A result of 4 x 10 filled with its bias
    is 160 bytes, written and read."""
    with Bench(["kernel_cost", "linear_call"]) as bench:
        bench.add_graph(product(4, 10, length, bias=True))
        bench.replace_rows(Scenario, [scenario(1)])
        assert bench.rows("SELECT reorder_byte FROM linear_call") == [(320.0,)]
        for family, vendor in (("cpu", "intel"), ("cpu", "amd"), ("gpu", "intel")):
            bench.replace_part(smallest_part(family))
            bench.execute("UPDATE hardware SET vendor = ?", [vendor])
            ((found,),) = bench.rows("SELECT layout FROM kernel_cost")
            assert found == (layout if layout and (family, vendor) == ("cpu", "intel") else "nchw")


@pytest.mark.parametrize(
    ("queries", "backend", "tile", "rows", "blocks"),
    [
        (191, "eager", 32, 5 * 32, 5),
        (192, "inductor", 64, 3 * 64, 3),
        (300, "eager", 64, 4 * 64, 4),
        (900, "eager", 256, 3 * 256, 3),
        (900, "eager", 256, 900, 4),
    ],
)
def test_attention_on_a_processor_goes_by_blocks_of_queries(
    queries: int, backend: str, tile: int, rows: int, blocks: int
) -> None:
    """Three heads on four units. 191 queries are 6 blocks of 32, 18 in all, 5 of them for one unit; 192 are 3 of 64; 300 are 5, the last
    of 44; 900 are 4 of 256, the last of 132. Each block costs five rows more; keys come in whole vectors of 16."""
    units = 3 if rows == queries else 4
    with Bench(["step_mapping"]) as bench:
        bench.add_graph(attention(3, queries, 64))
        bench.replace_rows(Scenario, [scenario(1, backend=backend)])
        bench.replace_part(smallest_part("cpu", units=units))
        query = (
            "SELECT tile_m, tile_count, utilization_fraction, pipelining_fraction FROM step_mapping WHERE step = 'qk'"
        )
        ((tile_m, count, share, pipelining),) = bench.rows(query)
    assert (tile_m, count) == (tile, 3 * -(-queries // tile))
    assert pipelining == pytest.approx(rows / (rows + 5 * blocks))
    keys = -(-queries // 16) * 16
    assert share == pytest.approx(3 * queries * queries / (units * (rows + 5 * blocks) * keys))


@pytest.mark.parametrize(("rows", "paged"), [(2792, 0.0), (2793, 2797 * 3000 * 4)])
def test_a_large_block_gets_new_pages(rows: int, paged: float) -> None:
    """32 MiB are 33,554,432 bytes: 2,792 x 3,000 weights and a reordered image of 4 x 3,000 are 33,552,000, one row more 33,564,000; at a
    tenth of the bandwidth."""
    with Bench(["kernel_cost"]) as bench:
        bench.add_graph(product(4, rows, 3000, kind="conv"))
        bench.replace_rows(Scenario, [scenario(1)])
        bench.replace_part(smallest_part("cpu"))
        bench.execute("DELETE FROM efficiency WHERE resource IN ('reorder', 'paging')")
        for resource in ("reorder", "paging"):
            bench.execute(
                f"INSERT INTO efficiency BY NAME SELECT * REPLACE (1000000 AS efficiency_id, '{resource}' AS resource, 'conv' AS kernel_class,"
                " 0.1 AS maximum_fraction, 0 AS half_work) FROM efficiency WHERE resource = 'residency' AND scope = '*'"
            )
        query = "SELECT c.paging_s * h.dram_byte_per_s FROM kernel_cost AS c INNER JOIN part AS h USING (hardware)"
        ((moved,),) = bench.rows(query)
        assert moved == pytest.approx(10 * paged)


@pytest.mark.parametrize(
    ("rows", "backend", "team_size", "thread_s", "team_s"),
    [
        (127, "inductor", 1, 127 * 128 * 8 / 50e9, 0.0),
        (128, "inductor", 4, 0.0, 40e-9),
        (256, "eager", 1, 256 * 128 * 8 / 50e9, 0.0),
        (768, "eager", 3, 768 * 128 * 8 / 150e9, 40e-9),
        (1024, "eager", 4, 0.0, 40e-9),
        (127, "onnxruntime", 4, 0.0, 0.0),
    ],
)
def test_a_short_loop_stays_with_few_threads(
    rows: int, backend: str, team_size: float, thread_s: float, team_s: float
) -> None:
    """128 x 128 elements give each of four threads the 4,096 that inductor asks for. A row less runs in one thread, which reaches all of a
    core's 50 GB/s; a team takes twice the 20 ns of the part. ATen uses a thread per 32,768 elements: 256 rows. ONNX Runtime's rule is
    unknown."""
    with Bench(["kernel_cost", "model_cost"]) as bench:
        bench.add_graph(activation(rows))
        bench.replace_rows(Scenario, [scenario(1, backend=backend)])
        team = HardwareOverhead(hardware="generated_cpu", overhead="team", overhead_s=20e-9)
        bench.replace_part([*smallest_part("cpu", units=4), team])
        bench.execute("UPDATE hardware_memory SET unit_bandwidth_byte_per_s = 50e9 WHERE level = 'dram'")
        bench.execute("DELETE FROM efficiency WHERE resource = 'thread'")
        bench.execute(
            "INSERT INTO efficiency BY NAME SELECT * REPLACE (1000000 AS efficiency_id, 'thread' AS resource,"
            " 1.0 AS maximum_fraction, 2 AS half_work) FROM efficiency WHERE resource = 'residency' AND scope = '*'"
        )
        (found,) = bench.rows("SELECT team_size, thread_s, team_s FROM kernel_cost")
        query = "SELECT team_s, compute_s + memory_s + power_s + team_s + overhead_s, latency_s FROM model_cost"
        ((whole_team_s, sum_s, latency_s),) = bench.rows(query)
    assert found == (team_size, pytest.approx(thread_s), pytest.approx(team_s))
    assert (whole_team_s, sum_s) == (pytest.approx(team_s), pytest.approx(latency_s))


def test_a_backend_takes_anothers_efficiencies() -> None:
    """On processors PyTorch eager uses inductor's efficiencies until it has its own; ONNX Runtime uses those common to all backends."""
    query = """
        SELECT backend, memory_fraction FROM part_backend JOIN chain_efficiency USING (efficiency_chain)
        WHERE kernel_class = 'activation' AND precision_class = '*' AND layout = 'nchw' AND operator_name = '*'
            AND backend IN ('eager', 'inductor', 'onnxruntime')
        ORDER BY backend
    """
    insert = """
        INSERT INTO efficiency BY NAME SELECT * REPLACE (
            'family:cpu' AS scope, ? AS backend, 'activation' AS kernel_class, ? AS maximum_fraction
        ) FROM efficiency WHERE resource = 'memory' AND scope = '*'
    """
    with Bench(["part_backend", "chain_efficiency"]) as bench:
        bench.replace_part(smallest_part("cpu"))
        bench.execute("DELETE FROM efficiency WHERE scope <> '*'")
        ((common,),) = bench.rows("SELECT maximum_fraction FROM efficiency WHERE resource = 'memory'")
        bench.execute(insert, ["inductor", 0.91])
        lent = bench.rows(query)
        bench.execute(insert, ["eager", 0.83])
        own = bench.rows(query)
    assert lent == [("eager", 0.91), ("inductor", 0.91), ("onnxruntime", common)]
    assert own == [("eager", 0.83), ("inductor", 0.91), ("onnxruntime", common)]


@pytest.mark.parametrize(("heads", "queries", "units"), [(8, 192, 3), (8, 1, 3), (1, 300, 64)])
def test_heads_that_share_keys_have_blocks_of_their_own(heads: int, queries: int, units: int) -> None:
    """PyTorch's attention on a processor distributes the blocks of every query head: one of 192 has three of 64, however many heads share
    its keys; 300 are five blocks, so at most five units work, on the softmax too."""
    found = []
    for sharing in (1, heads):
        with Bench(["mapped_step", "kernel_cost"]) as bench:
            bench.add_graph(attention(heads, queries, 64, sharing))
            bench.replace_rows(Scenario, [scenario(1)])
            bench.replace_part(smallest_part("cpu", units=units))
            tiles = bench.rows("SELECT DISTINCT tile_count, units_allocated FROM mapped_step")
            ((allocated, seconds),) = bench.rows("SELECT units_allocated, compute_s FROM kernel_cost")
            found.append((tiles, allocated, pytest.approx(seconds)))
    blocks = heads * -(-queries // (64 if queries >= 192 else 32))
    assert found[0][:2] == ([(blocks, min(units, blocks))], min(units, blocks))
    assert found[0] == found[1]


def test_a_sibling_lends_what_was_learned_of_it() -> None:
    """An A100 with 40 GB uses the rows of the A100 with the nearest bandwidth: for any backend those of the 80 GB SXM, for eager those of
    the 40 GB PCIe card. An L40, whose tensor cores have half the rate, uses none of the L40S."""
    measured = [("a100_sxm4_80", "*"), ("a100_pcie_80", "eager"), ("a100_pcie_40", "eager"), ("l40s", "*")]
    insert = """
        INSERT INTO efficiency BY NAME SELECT * REPLACE (
            CONCAT('hardware:', ?) AS scope, ? AS backend, 'activation' AS kernel_class, ? AS maximum_fraction
        ) FROM efficiency WHERE resource = 'memory' AND scope = '*'
    """
    query = """
        SELECT memory_fraction FROM part_backend JOIN chain_efficiency USING (efficiency_chain)
        WHERE hardware = ? AND backend = ? AND kernel_class = 'activation' AND operator_name = '*' AND layout = 'nchw'
    """
    with Bench(["part_backend", "chain_efficiency"], with_parts=True) as bench:
        bench.execute("DELETE FROM efficiency WHERE scope <> '*'")
        ((common,),) = bench.rows(query, ["l40", "eager"])
        for i, row in enumerate(measured):
            bench.execute(insert, [*row, 0.5 + 0.1 * i])
        found = {
            part: [bench.rows(query, [part, backend]) for backend in ("eager", "inductor")]
            for part in ("a100_sxm4_40", "a100_sxm4_80", "a100_pcie_80", "l40")
        }
        lenders = bench.rows("SELECT lender FROM lending_part WHERE hardware = 'a100_sxm4_40' ORDER BY backend")
    assert lenders == [("a100_sxm4_80",), ("a100_pcie_40",)]
    assert found == {
        "a100_sxm4_40": [[(0.7,)], [(0.5,)]],
        "a100_sxm4_80": [[(0.5,)], [(0.5,)]],
        "a100_pcie_80": [[(0.6,)], [(0.5,)]],
        "l40": [[(common,)], [(common,)]],
    }


@pytest.mark.parametrize(("tokens", "experts"), [(1, 2.0), (2, 3.5), (4, 8 * (1 - 0.75**4)), (400, 8.0)])
def test_tokens_choose_their_experts_independently(tokens: int, experts: float) -> None:
    """Two of eight experts per token: the second token shares one in four with the first, 2 + 2 x 3/4, and so on."""
    with Bench(["border_byte"]) as bench:
        drawing = Drawing(powers=SAMPLE)
        drawing.graph.modules = [GraphModule(0, None, "", "Root", 0), GraphModule(1, 0, "experts", "Experts", 1)]
        source = drawing.tensor("input", drawing.size(2 * tokens * 64))
        weight = drawing.tensor("weight", {(0, 0, 0): 8.0 * 64 * 32})
        product_of_rows = [gemm(drawing, "main", 1, 2 * tokens, 32, 64)]
        result = drawing.operator("matmul", [source, weight], 2 * tokens, 32, product_of_rows)
        drawing.graph.operators[-1].accesses = {weight: drawing.size(2 * tokens * 64 * 32)}
        drawing.graph.operators[-1].draw_fractions = {weight: 2 / 8}
        drawing.graph.tensors[result].is_output = True
        bench.add_graph(drawing.graph)
        bench.replace_rows(Scenario, [scenario(1)])
        query = "SELECT moved_byte FROM border_byte WHERE role = 'weight' AND run.backend = 'eager'"
        ((moved,),) = bench.rows(query)
    assert moved == pytest.approx(4 * 64 * 32 * experts)


@pytest.mark.parametrize(
    ("batch", "weight_byte", "cut", "passes", "spilled"),
    [
        (1, 128, 0, 1, 0),
        (4, 128, 0, 1, 0),
        (5, 128, 0, 2, 128),
        (9, 128, 0, 3, 2 * 128),
        (9, 2**20, 1, 1, 2 * 9 * 1024),
    ],
)
def test_a_chain_passes_in_groups_or_spills(batch: int, weight_byte: int, cut: int, passes: int, spilled: int) -> None:
    """A link of 1 KiB per sample where 4 KiB may stay on chip: five samples go in two groups, and the second reads the weights again; with
    weights of 1 MiB, read once, the link leaves the chip and returns."""
    with Bench(["chain_cut", "part"]) as bench:
        drawing = Drawing(powers=SAMPLE)
        drawing.graph.modules = [GraphModule(0, None, "", "Root", 0), GraphModule(1, 0, "fc", "Linear", 1)]
        value = drawing.tensor("input", drawing.size(1))
        for columns in (512, 1):
            weight = drawing.tensor("weight", {(0, 0, 0): weight_byte / 4})  # of 2 bytes: without a shape, a vector
            value = drawing.operator("linear", [value, weight], 1, columns, [gemm(drawing, "main", 1, 1, columns, 1)])
        drawing.graph.tensors[value].is_output = True
        bench.add_graph(drawing.graph)
        bench.replace_rows(Scenario, [scenario(1, batch=batch, precision="int8", backend="kpu")])
        bench.replace_part(smallest_part("kpu", array=(16, 16)))
        ((cache_byte,),) = bench.rows("SELECT cache_byte FROM part")
        bench.execute("UPDATE efficiency SET maximum_fraction = ? WHERE resource = 'residency'", [4096 / cache_byte])
        query = "SELECT cut_count, pass_count, spilled_byte FROM chain_cut"
        assert bench.rows(query) == [(cut, passes, pytest.approx(spilled))]
