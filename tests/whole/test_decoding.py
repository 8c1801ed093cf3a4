"""Serving a language model: the bytes of a decode step grow in proportion to the context, without a jump, and the memory of a
prompt counts as well as that of a step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

CONTEXTS = (512, 768, 896, 960, 1024, 2048, 4096)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """One layer of GPT-2 on an RTX 4090, without a scenario."""
    graph, _ = to_graph(build(parse("hf:gpt2", settings=(("n_layer", "1"), ("n_positions", "8192")))))
    with Bench(("kernel_cost", "llm_serving", "run_memory"), with_parts=True) as made:
        made.execute("DELETE FROM hardware WHERE hardware <> 'rtx4090'")
        made.add_graph(graph, "decoder")
        made.execute("UPDATE model SET has_context = true")
        yield made


def test_traffic_of_attention_is_affine_in_the_context(bench: Bench) -> None:
    rows = [
        scenario(c, batch=16, sequence=1, context=c, phase="decode", precision="fp16", backend="inductor")
        for c in CONTEXTS
    ]
    bench.replace_rows(Scenario, rows)
    query = "SELECT run.scenario_id, dram_byte FROM kernel_cost WHERE kernel_class = 'attention'"
    found = dict(bench.rows(query))
    assert sorted(found) == list(CONTEXTS)
    cache = 2 * 16 * 768 * 2  # keys and values of a token, fp16
    for before, after in itertools.pairwise(CONTEXTS):
        assert found[after] - found[before] == pytest.approx(cache * (after - before))


def test_serving_fits_where_the_prompt_does(bench: Bench) -> None:
    of = {"batch": 16, "precision": "fp16", "backend": "inductor"}
    rows = [
        scenario(1, sequence=4096, phase="prefill", **of),
        scenario(2, sequence=1, context=4096, phase="decode", **of),
        scenario(3, sequence=1, context=2048, phase="decode", **of),
    ]
    bench.replace_rows(Scenario, rows)
    prompt, step, _ = (byte for (byte,) in bench.rows("SELECT peak_memory_byte FROM run_memory ORDER BY run.scenario_id"))
    assert prompt > step
    query = "SELECT peak_memory_byte, fits_device FROM llm_serving ORDER BY scenario_id"
    # The memory of the process is added.
    ((context,),) = bench.rows("SELECT DISTINCT context_byte FROM part_context WHERE backend = 'inductor'")
    assert context > 0
    for capacity, fits in ((prompt, True), ((prompt + step) / 2, False)):
        bench.execute(f"UPDATE hardware_memory SET capacity_byte = {capacity + context} WHERE level = 'dram'")
        (peak, both_fit), (without_prompt, step_fits) = bench.rows(query)
        assert (peak, both_fit) == (prompt, fits)
        assert without_prompt < step and step_fits  # no prompt of at most 2,048 tokens is asked about
