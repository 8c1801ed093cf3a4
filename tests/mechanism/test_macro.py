"""Formulas shared by several relations, each with numbers computed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from charz.sql import views

KERNEL = {"compute_s": 8.0, "memory_s": 4.0, "feed_s": 0.0, "exposed_s": 2.0, "overlap_fraction": 0.75}
CLOCKED = KERNEL | {"clock_fraction": 0.5, "clocked_memory_s": 1.0}
RUN = {"clocked_j": 30.0, "memory_j": 10.0, "run_s": 4.0, "static_w": 8.0, "voltage_square": 0.5}
BOUNDS = {"least": 1.0, "most": 100.0, "plausible_least": 2.0, "plausible_most": 8.0}
VOLTAGE = {
    "clock_fraction": 0.25,
    "reference_fraction": 2.0,
    "voltage_slope": 0.5,
    "voltage_floor": 0.5,
    "voltage_ceiling": 2.0,
}
STATIC = {"static_w": 20.0, "clocking_w": 8.0, "standby_w": 2.0, "reference_clock": 0.5, "voltage_square": 0.5}
UNDER = {"clocked_j": 30.0, "memory_j": 10.0, "limit_w": 18.0, "static_w": 8.0, "voltage_square": 0.5}
BETWEEN = {
    "clock": 1 / 3,
    "slow_clock": 0.25,
    "slow_s": 7.0,
    "slower_clock": 0.125,
    "slower_s": 15.0,
    "full_clock": 0.5,
    "full_s": 4.0,
    "fuller_clock": 1.0,
    "fuller_s": 3.5,
}
HELD = {"run_byte": 10.0, "reserve_fraction": 0.1, "main_byte": 90.0, "context_byte": 7.0}
CHUNK = {
    "coefficient": 2.0, "batch": 3, "sequence": 8, "context": 10, "logit_tokens": 1, "pieces": 4.0, "chunk_count": 12.0,
    "batch_power": 1, "sequence_power": 1, "context_power": 1, "context_limit": None, "logit_power": 0,
}  # fmt: skip
FETCHED = {"fetch_byte": 9.0, "moved_byte": 5.0, "cache_j_per_byte": 2.0}
RELOADED = {
    "tile_level": "l1", "tile_j_per_byte": 0.5, "cache_level": "l2", "cache_j_per_byte": 2.0, "reload_byte": 9.0, "moved_byte": 5.0,
}  # fmt: skip
HALO = {"taps": 9, "image": 100, "tile_rows": 25, "tile_depth": 9, "m": 100, "k": 9, "gemm_count": 1}  # fmt: skip
KEPT = {
    "cache_state": "warm", "keeps_weights": True, "weight_byte": 8.0, "batch_share": 0.5, "sample_share": 0.875, "batch": 4,
}  # fmt: skip
DIRECT = {"device_count": 4, "all_reduce_byte": 8.0, "all_reduce_count": 2, "byte_per_s": 4.0, "call_s": 1.0}
CASES = [
    # Two all-reduces of 8 bytes in all, in which each device reads those of three others at 4 bytes/s: 2 + 6 s in one kernel each,
    # 4 + 3 s in two. Of few bytes, one kernel is faster.
    ("direct_time", DIRECT, 7.0),
    ("direct_time", DIRECT | {"all_reduce_byte": 0.4}, 2.3),
    # Two of four experts, chosen evenly by three tokens: 1 - 1/8. Under a skew of ln(4) / sqrt(3) the shares are as 4, 1 and 1/4, on average
    # 1.375: 16/11, 4/11 and 1/11 of tokens, of which one that all choose.
    ("met_share", {"draw_fraction": 0.5, "draws": 3, "skew": 0.0}, 7 / 8),
    ("met_share", {"draw_fraction": 0.5, "draws": 3, "skew": math.log(4) / math.sqrt(3)}, 1 - (7 / 11) ** 3 * 2 / 3 - (10 / 11) ** 3 / 6),
    # One of four heads on eight devices, three of ten on four; data without heads are divided.
    ("device_share", {"pieces": 4, "device_count": 8}, 1 / 4),
    ("device_share", {"pieces": 8, "device_count": 8}, 1 / 8),
    ("device_share", {"pieces": 10, "device_count": 4}, 3 / 10),
    ("device_share", {"pieces": 1, "device_count": 8}, 1.0),
    ("device_share", {"pieces": 71, "device_count": 1}, 1.0),
    ("device_share", {"pieces": None, "device_count": 8}, 1 / 8),
    ("device_share", {"pieces": 0, "device_count": 8}, 1 / 8),
    # Half of it is in two heads: 1/8, and a half of 1/2 - 1/8 more.
    ("split_share", {"pieces": 16, "fewer_pieces": 2, "fewer_fraction": 0.5, "device_count": 8}, 1 / 8 + 3 / 16),
    ("split_share", {"pieces": 16, "fewer_pieces": 2, "fewer_fraction": None, "device_count": 8}, 1 / 8),
    ("split_share", {"pieces": 16, "fewer_pieces": None, "fewer_fraction": 0.5, "device_count": 8}, 1 / 8),
    # Two prompts per chunk, or three chunks per prompt.
    ("prompt_pieces", {"batch": 4, "chunk_count": 2.0}, 1.0),
    ("prompt_pieces", {"batch": 4, "chunk_count": 12.0}, 3.0),
    # One prompt, 2 of its 8 tokens; after 2 kept tokens, its pieces attend to 4, 6, 8 and 10: 2 x 1 x 2 x 7.
    ("chunk_amount", CHUNK, 28.0),
    ("chunk_amount", CHUNK | {"context_limit": 5}, 20.0),
    ("chunk_amount", CHUNK | {"chunk_count": 1.0, "pieces": 1.0}, 480.0),
    # 100 written, and read once.
    ("cached_copy", {"copied_byte": 200.0, "room_byte": 100.0, "chunk_count": 1.0}, 200.0),
    ("cached_copy", {"copied_byte": 300.0, "room_byte": 100.0, "chunk_count": 1.0}, 0.0),
    ("cached_copy", {"copied_byte": 300.0, "room_byte": 100.0, "chunk_count": 2.0}, 300.0),
    # Two of three places in a row are 8 / 9 apart, two of two a half.
    ("mesh_distance", {"mesh_rows": 2.0, "mesh_columns": 3.0}, 8 / 9 + 1 / 2),
    ("mesh_distance", {"mesh_rows": 1.0, "mesh_columns": 1.0}, 0.0),
    # Up to half of the time nothing grows; above, a quarter less of the links is free, and at most all is used.
    ("busy_growth", {"utilization": 0.5, "busy_fraction": 0.5}, 1.0),
    ("busy_growth", {"utilization": 0.75, "busy_fraction": 0.5}, 4 / 3),
    ("busy_growth", {"utilization": 3.0, "busy_fraction": 0.5}, 2.0),
    # A quarter of 4 s.
    ("serial_time", {"compute_s": 8.0, "memory_s": 4.0, "overlap_fraction": 0.75}, 1.0),
    ("serial_time", {"compute_s": 2.0, "memory_s": 4.0, "overlap_fraction": 0.75}, 0.5),
    # 8 + 4 / 4 + 2.
    ("busy_time", KERNEL, 11.0),
    # 12 + 8 / 4 + 2.
    ("busy_time", KERNEL | {"memory_s": 12.0}, 16.0),
    ("busy_time", KERNEL | {"overlap_fraction": 1.0}, 10.0),
    # The first level feeds it in the same time, and in a longer one.
    ("busy_time", KERNEL | {"feed_s": 9.0}, 11.0),
    ("busy_time", KERNEL | {"feed_s": 12.0}, 14.0),
    ("busy_time", KERNEL | {"exposed_s": None}, None),
    # 8 / 0.5 + 4 / 4 + 2.
    ("clocked_time", CLOCKED, 19.0),
    ("clocked_time", CLOCKED | {"clock_fraction": 1.0}, 11.0),
    # 16 + (3 / 0.5) / 4 + 2.
    ("clocked_time", CLOCKED | {"clocked_memory_s": 3.0}, 19.5),
    # Main memory keeps its clock: 40 + 16 / 4 + 2.
    ("clocked_time", CLOCKED | {"memory_s": 40.0}, 46.0),
    # 10 / 0.5 is longer than 16 + 4 / 4.
    ("clocked_time", CLOCKED | {"feed_s": 10.0}, 22.0),
    ("clocked_time", CLOCKED | {"exposed_s": None}, None),
    # (6 + 8 x 0.25) / 0.8.
    ("unit_time", {"ideal_s": 6.0, "half_ops": 8.0, "op_s": 0.25, "fraction": 0.8}, 10.0),
    ("unit_time", {"ideal_s": 6.0, "half_ops": 8.0, "op_s": 0.25, "fraction": 0.0}, None),
    ("level_energy", {"level": "l2", "moved_byte": 8.0, "j_per_byte": 0.25}, 2.0),
    ("level_energy", {"level": "l2", "moved_byte": 8.0, "j_per_byte": None}, None),
    ("level_energy", {"level": None, "moved_byte": 8.0, "j_per_byte": None}, 0.0),
    # 9 bytes of the memory next to the units; without one, bytes read again of 5 that crossed the last-level cache
    # once.
    ("reload_energy", RELOADED, 9.0 * 0.5),
    ("reload_energy", RELOADED | {"tile_j_per_byte": None}, None),
    ("reload_energy", RELOADED | {"tile_level": None}, (9.0 - 5.0) * 2.0),
    ("reload_energy", RELOADED | {"tile_level": None, "moved_byte": 12.0}, 0.0),
    ("reload_energy", RELOADED | {"tile_level": None, "cache_j_per_byte": None}, None),
    ("reload_energy", RELOADED | {"tile_level": None, "cache_level": None}, 0.0),
    ("fetch_time", {"fetch_byte": 9.0, "cache_byte_per_s": 4.5}, 2.0),
    ("fetch_time", {"fetch_byte": 9.0, "cache_byte_per_s": None}, 0.0),
    # 9 bytes, 5 of which cross once.
    ("fetch_energy", FETCHED, (9.0 - 5.0) * 2.0),
    ("fetch_energy", FETCHED | {"moved_byte": 12.0}, 0.0),
    ("fetch_energy", FETCHED | {"cache_j_per_byte": None}, None),
    *(("lacks_silicon", {"status": s}, s in ("announced", "simulated")) for s in ("shipping", "announced", "simulated", "retired", "internal")),
    # At half the reference clock the voltage is down by 0.25: 1 - 0.5 x (1 - 0.5), squared; at least 0.9.
    ("voltage_square", VOLTAGE | {"voltage_floor": 0.5}, 0.5625),
    ("voltage_square", VOLTAGE | {"voltage_floor": 0.9}, 0.81),
    # At one and a half times the reference: 1.25, squared; at most 1.1.
    ("voltage_square", VOLTAGE | {"clock_fraction": 0.75}, 1.5625),
    ("voltage_square", VOLTAGE | {"clock_fraction": 0.75, "voltage_ceiling": 1.1}, 1.21),
    # (30 x 0.5 + 10) / 4 + 8.
    ("run_power", RUN, 14.25),
    ("run_power", RUN | {"clocked_j": None}, None),
    # 10 W leak, 8 W of clocks at half the clock make 4; both at half the voltage square, and 2 W of memory.
    ("static_power", STATIC, 9.0),
    ("static_power", STATIC | {"reference_clock": 1.0, "voltage_square": 1.0}, 20.0),
    ("static_power", STATIC | {"static_w": None}, None),
    # Twice the clock draws four times the power: for half of four times the limit, the root of two times the lower
    # clock.
    ("clock_at_power", {"limit_w": 20.0, "clock": 0.5, "power_w": 10.0, "fuller_clock": 1.0, "fuller_power_w": 40.0}, 0.5 * 2**0.5),
    # The times of a clock are 1, 2 and 4: half of the way from 2 s to 4 s at 3.
    ("time_at_clock", {"clock": 1 / 3, "first_clock": 0.5, "first_s": 2.0, "second_clock": 0.25, "second_s": 4.0}, 3.0),
    ("time_at_clock", {"clock": 1.0, "first_clock": 0.5, "first_s": 2.0, "second_clock": 0.25, "second_s": 4.0}, 1.0),
    # Between the steps of 2 s and 4 s of a clock: 7 s minus half of 4, or at least the time at the fuller step.
    ("time_between", BETWEEN, 5.0),
    ("time_between", BETWEEN | {"full_s": 6.0, "fuller_s": 5.0}, 7.0),
    ("time_between", BETWEEN | {"full_s": 5.5, "fuller_s": 5.5}, 5.5),
    ("time_between", BETWEEN | {"fuller_clock": None, "fuller_s": None}, 5.0),
    # (30 x 0.5 + 10) / (18 - 8).
    ("time_under_limit", UNDER, 2.5),
    ("time_under_limit", UNDER | {"limit_w": 8.0}, None),
    ("time_under_limit", UNDER | {"limit_w": 7.0}, None),
    # 9 tiles on 4 units: three rounds, or two and a quarter; a quarter of the way between them.
    ("wave_count", {"waves": 3.0, "tile_count": 9.0, "unit_count": 4.0, "wave_quantization_fraction": 1.0}, 3.0),
    ("wave_count", {"waves": 3.0, "tile_count": 9.0, "unit_count": 4.0, "wave_quantization_fraction": 0.25}, 2.4375),
    ("wave_count", {"waves": 1.0, "tile_count": 1.0, "unit_count": 4.0, "wave_quantization_fraction": 0.0}, 1.0),
    # All of the data that fit a software-managed memory stays, in a cache a share.
    ("cache_room", {"is_cache_placed": True, "residency_fraction": 0.5, "cache_byte": 8.0}, 8.0),
    ("cache_room", {"is_cache_placed": False, "residency_fraction": 0.5, "cache_byte": 8.0}, 4.0),
    ("cache_room", {"is_cache_placed": None, "residency_fraction": 0.5, "cache_byte": 8.0}, 4.0),
    ("kept_share", {"room_byte": 8.0, "beside_byte": 2.0, "weight_byte": 24.0}, 0.25),
    ("kept_share", {"room_byte": 8.0, "beside_byte": 2.0, "weight_byte": 3.0}, 1.0),
    ("kept_share", {"room_byte": 8.0, "beside_byte": 9.0, "weight_byte": 3.0}, 0.0),
    ("kept_share", {"room_byte": None, "beside_byte": 9.0, "weight_byte": 3.0}, 0.0),
    # An eighth read four times is as much as a half read once.
    ("kept_weights", KEPT, 0.5),
    ("kept_weights", KEPT | {"batch_share": 0.0, "sample_share": 1.0, "batch": 16}, 1.0),
    # A memory without groups uses the room that the batch leaves.
    ("kept_weights", KEPT | {"batch_share": 0.25, "sample_share": None, "batch": 16}, 0.25),
    # Neither the run nor the part's programs keep weights, or the model has none.
    ("kept_weights", KEPT | {"keeps_weights": False}, 0.0),
    ("kept_weights", KEPT | {"cache_state": "weights_streamed"}, 0.0),
    ("kept_weights", KEPT | {"keeps_weights": False, "cache_state": "weights_resident"}, 0.5),
    ("kept_weights", KEPT | {"weight_byte": 0.0}, 0.0),
    # 5 x 5 windows of 3 x 3, one and two pixels apart; all rows have the image; with less depth than a window all is
    # read.
    ("halo_share", HALO, 49 / 225),
    ("halo_share", HALO | {"image": 400}, 121 / 225),
    ("halo_share", HALO | {"tile_rows": 100}, 1 / 9),
    ("halo_share", HALO | {"tile_depth": 8}, 1.0),
    ("halo_share", HALO | {"taps": 1}, 1.0),
    # Eight columns of 72 folds on 16 units: two units per column, whose halves of eight columns meet.
    ("met_columns", {"column_count": 8.0, "depth_folds": 72.0, "unit_count": 16.0}, 8.0),
    # Each of 16 units has columns of its own.
    ("met_columns", {"column_count": 32.0, "depth_folds": 72.0, "unit_count": 16.0}, 0.0),
    # 16 units take a column each, then eight are shared as above.
    ("met_columns", {"column_count": 24.0, "depth_folds": 72.0, "unit_count": 16.0}, 8.0),
    # Two columns of three folds in turns of two: the second unit has the end of one and the start of the other.
    ("met_columns", {"column_count": 6.0, "depth_folds": 3.0, "unit_count": 4.0}, 2.0),
    # Turns of three: three columns on three of four units.
    ("met_columns", {"column_count": 7.0, "depth_folds": 3.0, "unit_count": 4.0}, 0.0),
    ("met_columns", {"column_count": 1.0, "depth_folds": 5.0, "unit_count": 1.0}, 0.0),
    # 3/4 of 2 x 8 and 4 bytes at 3 per second, three calls of 0.5 s, and 3 x (2 x 2 + 1) steps of 0.25 s.
    (
        "ring_time",
        {
            "device_count": 4.0, "all_reduce_byte": 8.0, "all_reduce_count": 2.0, "all_gather_byte": 4.0,
            "all_gather_count": 1.0, "byte_per_s": 3.0, "call_s": 0.5, "step_s": 0.25,
        },
        10.25,
    ),
    # Eight queries see 1 to 8 keys; in blocks of four, 4 and 8; four queries after six keys see 7 to 10; a window of
    # two shows one key to the first and two to the other seven; a single query sees all.
    ("seen_keys", {"queries": 8.0, "keys": 8.0, "block_queries": 1}, 4.5),
    ("seen_keys", {"queries": 8.0, "keys": 8.0, "block_queries": 4}, 6.0),
    ("seen_keys", {"queries": 4.0, "keys": 10.0, "block_queries": 1}, 8.5),
    ("seen_keys", {"queries": 8.0, "keys": 2.0, "block_queries": 1}, 15 / 8),
    ("seen_keys", {"queries": 1.0, "keys": 10.0, "block_queries": 128}, 10.0),
    ("seen_keys", {"queries": 8.0, "keys": 8.0, "block_queries": None}, 8.0),
    # 10 bytes, a tenth of 90 and a context of 7; without a row of its backend no context, and an unknown context is not
    # 0.
    ("occupied_byte", HELD | {"context_backend": "eager"}, 26.0),
    ("occupied_byte", HELD | {"context_backend": None, "context_byte": None}, 19.0),
    ("occupied_byte", HELD | {"context_backend": "eager", "context_byte": None}, None),
    ("lost_share", {"word": "longer", "fraction": 0.256}, "26 % longer"),
    ("lost_share", {"word": "longer", "fraction": 0.004}, None),
    ("lost_share", {"word": "longer", "fraction": None}, None),
    ("fault_reason", BOUNDS | {"value": 90.0}, "expected 2.0 to 8.0"),
    ("fault_reason", BOUNDS | {"value": 101.0}, "a number from 1.0 to 100.0"),
    ("fault_reason", BOUNDS | {"value": 0.5}, "a number from 1.0 to 100.0"),
    ("fault_reason", BOUNDS | {"value": math.nan}, "a number from 1.0 to 100.0"),
]  # fmt: skip


@pytest.mark.parametrize(("macro", "given", "expected"), CASES)
def test_by_hand(call: Callable[..., Any], macro: str, given: dict[str, Any], expected: float | str | None) -> None:
    """Each case is one call."""
    assert call(macro, **given) == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected)


def test_each_has_numbers() -> None:
    """Every macro has a case above."""
    assert {macro.name for macro in views.formulas()} == {name for name, *_ in CASES}


@pytest.mark.parametrize("unit_count", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("depth_folds", [1, 2, 3, 6, 7])
def test_partial_results_meet_as_turns_are_dealt(call: Callable[..., Any], unit_count: int, depth_folds: int) -> None:
    """Turns are distributed fold by fold: units take whole columns, then an equal number of the remaining folds each. Ends between two
    columns do not count; if only some turns end there, the formula counts them too."""
    for columns in range(1, 13):
        left = columns % unit_count
        turns = math.ceil(left * depth_folds / unit_count)
        met = len({(fold // turns, fold // depth_folds) for fold in range(left * depth_folds)}) - left
        sizes = {"column_count": float(columns), "depth_folds": float(depth_folds), "unit_count": float(unit_count)}
        found = call("met_columns", **sizes)
        assert met <= found <= met + max(0, left - 1)
        if left < 2 or depth_folds % turns == 0 or (math.gcd(depth_folds, turns) == 1 and left <= turns):
            assert found == met, sizes
