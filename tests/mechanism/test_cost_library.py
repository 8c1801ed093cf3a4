"""Reads and writes of a server around library products."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "family": "gpu", "calls_library": True, "reorder_fraction": 0.5, "dram_byte_per_s": 100.0, "cache_byte_per_s": 1000.0,
    "cache_level": "l2", "room_byte": 50.0, "kernel_gap_s": 0.25, "score_byte": 0.0, "operand_byte": 200.0,
    "unpacked_byte": 400.0, "dram_j_per_byte": 2.0, "cache_j_per_byte": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # Three kernels, 600 bytes at 100 x 0.5 per second.
        pytest.param(
            {}, {"library_written_byte": 600.0, "library_s": 12.75, "library_energy_j": 1200.0}, id="main memory"
        ),
        # 100 of 200 bytes are written, and the cache keeps those of each of two chunks: 400 / 50 + 200 / 500 + 6 x
        # 0.25.
        pytest.param(
            {"chunk_count": 2.0},
            {"library_cached_byte": 200.0, "library_s": 9.9, "library_energy_j": 900.0},
            id="cache",
        ),
        pytest.param({"calls_library": False}, {"library_written_byte": 0.0, "library_s": 0.0}, id="own kernels"),
        # Scores take four kernels, whichever library multiplies.
        pytest.param(
            {"calls_library": False, "score_byte": 150.0},
            {"library_written_byte": 150.0, "library_s": 4.0},
            id="scores",
        ),
        pytest.param({"family": "cpu"}, {"library_written_byte": 0.0, "library_s": 0.0}, id="processor"),
        pytest.param({"reorder_fraction": None}, {"library_s": 0.0, "library_energy_j": 0.0}, id="as they lie"),
    ],
)
def test_each_term(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Each case changes one number."""
    check("cost_library", expected, cost_reorder=SHAPE | shape)


CALL = {
    "run": {"batch": 2, "sequence": 64, "activation_bits": 32},
    "executed_kernel": {"input_byte": 1000.0, "output_byte": 600.0, "weight_byte": 50.0},
    "executed_step": {"step_class": "gemm", "operator_class": "linear", "step": "main", "m": 8.0, "n": 10.0, "k": 10.0, "gemm_count": 1.0},
    "library_constant": {"library_constant": "own_product_tokens", "value": 32.0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # 6 bytes for every 4 that cross the border; 100 weights of 4 bits, read and written as 2 bytes each.
        pytest.param({}, {"operand_byte": 2400.0, "unpacked_byte": 250.0, "score_byte": 0.0}, id="a linear layer"),
        pytest.param({"run": {"batch": 1, "sequence": 32, "activation_bits": 32}}, {"operand_byte": 0.0, "unpacked_byte": 0.0}, id="few tokens"),
        pytest.param({"executed_kernel": {"input_byte": 0.0, "output_byte": 0.0, "weight_byte": 200.0}}, {"unpacked_byte": 0.0}, id="16 bits"),
        # 80 scores, 20 bytes each.
        pytest.param(
            {"executed_step": CALL["executed_step"] | {"operator_class": "attention", "step": "qk"}},
            {"score_byte": 1600.0, "operand_byte": 0.0},
            id="an attention",
        ),
    ],
)  # fmt: skip
def test_what_is_written_out(check: Callable[..., None], given: dict[str, object], expected: dict[str, object]) -> None:
    """The conversions are llama.cpp's around a call of cuBLAS."""
    check("library_call", expected, **(CALL | given))


def test_chunks_of_a_prompt(check: Callable[..., None]) -> None:
    """A prompt of 8 in 4 pieces of 2: they attend to 2, 4, 6 and 8 tokens, and each reads the weights."""
    run = {"batch": 1, "sequence": 8, "context": 8, "chunk_count": 4.0}
    powers = {"batch_power": 1, "sequence_power": 1, "context_power": 1}
    terms = [
        {"step": "main", "quantity": "macs", "coefficient": 1.0, **powers},
        {"step": "main", "quantity": "m", "coefficient": 1.0, **powers, "context_power": 0},
    ]
    check("step_size", {"macs": 2.0 * (2 + 4 + 6 + 8), "m": 2.0}, run=run, term=terms)
    weight = {"coefficient": 5.0, "batch_power": 0, "sequence_power": 0, "context_power": 0}
    check("tensor_size", {"elements": 5.0, "chunk_elements": 20.0}, run=run, tensor_term=[weight])


def test_prompts_in_chunks(check: Callable[..., None]) -> None:
    """Three prompts of 8 in 2 chunks: 12 rows each, 24 in all."""
    run = {"batch": 3, "sequence": 8, "context": 8, "chunk_count": 2.0}
    powers = {"batch_power": 1, "sequence_power": 1, "context_power": 0}
    terms = [{"step": "main", "quantity": name, "coefficient": 1.0, **powers} for name in ("macs", "m")]
    check("step_size", {"macs": 24.0, "m": 12.0}, run=run, term=terms)
