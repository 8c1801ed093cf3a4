"""Decoding reads the cache once a token, so its memory time grows in proportion, without a jump."""

from __future__ import annotations

import itertools

import pytest
from oracle.database import add_graph, new_database, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema import database
from charz.schema.catalog import Hardware
from charz.schema.workload import Model

pytest.importorskip("transformers")

CONTEXTS = (512, 768, 896, 960, 1024, 2048, 4096)


def test_traffic_of_attention_is_affine_in_the_context() -> None:
    graph, _ = to_graph(build(parse("hf:gpt2", settings=(("n_layer", "1"), ("n_positions", "8192")))))
    rows = [
        scenario(c, batch=16, sequence=1, context=c, phase="decode", policy="fp16", backend="inductor")
        for c in CONTEXTS
    ]
    with new_database(("kernel_cost",), with_parts=True) as connection:
        database.insert_rows(connection, rows)
        connection.execute(f"DELETE FROM {Hardware.TABLE} WHERE hardware_id <> 'rtx4090'")
        add_graph(connection, graph, "decoder")
        connection.execute(f"UPDATE {Model.TABLE} SET has_context = true")
        query = "SELECT scenario_id, dram_byte FROM kernel_cost WHERE kernel_class = 'attention'"
        found = dict(connection.execute(query).fetchall())
    assert sorted(found) == list(CONTEXTS)
    cache = 2 * 16 * 768 * 2  # keys and values of a token, fp16
    for before, after in itertools.pairwise(CONTEXTS):
        assert found[after] - found[before] == pytest.approx(cache * (after - before))
