"""Serving models whose requests store more than keys and values of each token, computed by hand at two samples and a context of
100."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oracle.database import Bench, scenario

from charz.ingest.pipeline import to_graph
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.schema.scenario import Scenario

pytest.importorskip("transformers")

SCAN = {
    "model_type": "bamba", "architectures": ["BambaForCausalLM"], "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 128, "num_hidden_layers": 2, "attn_layer_indices": [1],
    "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_chunk_size": 16, "mamba_n_groups": 1,
}  # fmt: skip
SOUND = {
    "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "vocab_size": 128, "num_mel_bins": 8, "d_model": 32,
    "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_source_positions": 20, "max_target_positions": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 3,
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Both models on an RTX 4090, a prompt of 100 tokens and a step after it under a server."""
    with Bench(("kernel_cost", "llm_serving", "run_memory"), with_parts=True) as made:
        made.execute("DELETE FROM hardware WHERE hardware <> 'rtx4090'")
        for name, values in (("scan", SCAN), ("sound", SOUND)):
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(values))
            made.add_graph(to_graph(build(parse(str(path))))[0], name)
        made.execute("UPDATE model SET has_context = true")
        of: dict[str, Any] = {"batch": 2, "precision": "fp16", "backend": "vllm"}
        made.replace_rows(
            Scenario,
            [scenario(1, sequence=100, phase="prefill", **of), scenario(2, sequence=1, context=100, phase="decode", **of)],
        )
        yield made


def test_what_a_request_keeps(bench: Bench) -> None:
    """Keys and values of 2 heads of 16 in one layer, in two bytes. A state of 8 heads of 16 x 16 in four bytes, and 4 places of
    128 + 2 x 16 channels in two. Of an encoder 20 positions of keys and values of 32 in two layers."""
    query = "SELECT model, kv_cache_token_byte, lasting_cache_byte, batch_ttft_s > 0 AND tpot_s > 0 FROM llm_serving ORDER BY model"
    assert bench.rows(query) == [
        ("scan", 2 * 2 * 16 * 2, 8 * 16 * 16 * 4 + 160 * 4 * 2, True),
        ("sound", 2 * 2 * 32 * 2, 2 * 2 * 20 * 32 * 2, True),
    ]


def test_a_step_runs_no_encoder(bench: Bench) -> None:
    """The step's products: in each of two layers three for its own attention's operands, one for the other's, two results and two
    of the feed-forward, and the vocabulary's. A prompt also has the encoder's six, and keys and values of its result."""
    query = "SELECT run.scenario_id, COUNT(*) FROM kernel_cost WHERE run.model = 'sound' AND kernel_class = 'linear' GROUP BY ALL ORDER BY ALL"
    assert bench.rows(query) == [(1, 2 * 8 + 1 + 6 + 4), (2, 2 * 8 + 1)]


def test_a_step_reads_a_state_once_and_writes_it(bench: Bench) -> None:
    """For two samples; the other inputs (128 + 32 inputs, 8 step sizes, the result of 128) are less than a tenth."""
    query = "SELECT SUM(traffic_byte) FROM executed_kernel WHERE run.model = 'scan' AND run.scenario_id = 2 AND kernel_class = 'recurrence'"
    ((moved,),) = bench.rows(query)
    state = 2 * 8 * 16 * 16 * 4
    assert 2 * state < moved < 2.2 * state
