"""Bytes of a shape on a part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SHAPE = {
    "traffic_byte": 900.0, "produced_byte": 100.0, "output_byte": 200.0, "cache_byte": 1000.0, "residency_fraction": 0.5,
    "cache_state": "warm", "weight_byte": 400.0, "run_weight_byte": 1000.0, "run_activation_byte": 300.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "resident_byte"),
    [
        # 100 bytes from earlier kernels and 200 of results fit in half of 1,000.
        pytest.param({}, 300.0, id="warm"),
        pytest.param({"cache_byte": 600.0}, 300.0, id="just fits"),
        pytest.param({"cache_byte": 599.0}, 0.0, id="streams through"),
        pytest.param({"cache_state": "cold"}, 0.0, id="cold"),
        # All bytes that cross the border are cached already, up to the whole cache; else as in a warm one.
        pytest.param({"cache_state": "hot"}, 900.0, id="hot"),
        pytest.param({"cache_state": "hot", "cache_byte": 899.0}, 300.0, id="hot and larger than the cache"),
        pytest.param({"cache_byte": 0.0}, 0.0, id="no cache"),
    ],
)
def test_what_the_cache_serves(check: Callable[..., None], shape: dict[str, object], resident_byte: float) -> None:
    """Produced inputs and results are served together, or not at all."""
    expected = {"moved_byte": 900.0, "resident_byte": resident_byte, "cut_count": 0}
    check("cost_traffic", expected, shape_target=SHAPE | shape)


def test_what_a_chain_spills_moves_besides(check: Callable[..., None]) -> None:
    """1,600 bytes more, none of them served by the cache."""
    expected = {"moved_byte": 2500.0, "resident_byte": 300.0, "cut_count": 1}
    check("cost_traffic", expected, shape_target=SHAPE, chain_cut={"spilled_byte": 1600.0, "cut_count": 1})
    # A chain of another part does not count.
    chain = {"hardware": "other", "spilled_byte": 1600.0, "cut_count": 1}
    check("cost_traffic", expected | {"moved_byte": 900.0, "cut_count": 0}, shape_target=SHAPE, chain_cut=chain)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # Half of 240 bytes has room for 300 in three groups: reading 400 of weights twice more costs more than 300.
        pytest.param({"cache_byte": 240.0}, {"moved_byte": 900.0, "resident_byte": 0.0, "group_count": 1.0}, id="weights weigh more"),
        # Reading 100 of weights twice more costs less than 300 that would leave the chip.
        pytest.param(
            {"cache_byte": 240.0, "weight_byte": 100.0},
            {"moved_byte": 1100.0, "resident_byte": 300.0, "group_count": 3.0},
            id="groups",
        ),
        # Eight samples cannot form nine groups.
        pytest.param({"cache_byte": 70.0, "weight_byte": 1.0}, {"moved_byte": 900.0, "resident_byte": 0.0}, id="too few samples"),
        # Hardware decides the contents of a cache: no groups.
        pytest.param({"cache_byte": 240.0, "weight_byte": 100.0, "takes_groups": False}, {"resident_byte": 0.0}, id="a cache"),
        pytest.param({"cache_byte": 240.0, "weight_byte": 100.0, "cache_state": "cold"}, {"resident_byte": 0.0}, id="cold"),
    ],
)  # fmt: skip
def test_the_batch_in_groups(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """If software moves every byte, samples pass in groups whose 300 bytes fit, if their weights cost less."""
    check("cost_traffic", expected, shape_target=SHAPE | {"takes_groups": True, "batch": 8} | shape)


def test_groups_that_a_chain_needs_anyway(check: Callable[..., None]) -> None:
    """Three groups, two of which the chain passes in already: 100 of weights once more, on top of its spilled bytes."""
    shape = SHAPE | {"takes_groups": True, "cache_byte": 240.0, "weight_byte": 100.0, "batch": 8}
    chain = {"batch": 8, "spilled_byte": 100.0, "cut_count": 0, "pass_count": 2}
    check("cost_traffic", {"moved_byte": 1100.0, "group_count": 3.0}, shape_target=shape, chain_cut=chain)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # Half of 1,000 bytes has room for 300 of activations and 200 more: a fifth of all weights, and of this kernel's
        # 400.
        pytest.param({}, {"held_weight_fraction": 0.2, "resident_byte": 380.0}, id="a part"),
        # 1,300 bytes fit all.
        pytest.param({"cache_byte": 2600.0}, {"held_weight_fraction": 1.0, "resident_byte": 700.0}, id="all"),
        # Activations fill it.
        pytest.param({"cache_byte": 600.0}, {"held_weight_fraction": 0.0, "resident_byte": 300.0}, id="none"),
        pytest.param({"run_weight_byte": 0.0}, {"held_weight_fraction": 0.0, "resident_byte": 300.0}, id="no weights"),
        # Three groups read them three times; 10 of 1,000 bytes are on chip.
        pytest.param(
            {"takes_groups": True, "batch": 8, "cache_byte": 240.0, "weight_byte": 100.0, "run_activation_byte": 110.0},
            {"held_weight_fraction": 0.01, "moved_byte": 1100.0, "resident_byte": 303.0},
            id="in groups",
        ),
    ],
)
def test_weights_that_stay(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """The share of the weights that fits together with the activations is kept from the run before."""
    check("cost_traffic", expected, shape_target=SHAPE | {"cache_state": "weights_resident"} | shape)


SAMPLES = SHAPE | {
    "batch": 8, "traffic_byte": 2800.0, "produced_byte": 800.0, "output_byte": 1600.0, "run_activation_byte": 2400.0,
    "is_cache_placed": True, "keeps_weights": True, "takes_groups": True,
}  # fmt: skip
"""Eight samples of 100 bytes read and 200 written each, 400 of 1,000 bytes of weights, if software decides what stays."""


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        # 2,400 of activations and 1,000 of weights: all fits, and no share is lost to a replacement policy.
        pytest.param({"cache_byte": 3400.0}, {"held_weight_fraction": 1.0, "moved_byte": 2800.0, "resident_byte": 2800.0}, id="all"),
        # Half of the weights fit with all activations; with one sample's all would, so none is read from outside.
        pytest.param(
            {"cache_byte": 2900.0},
            {"held_weight_fraction": 1.0, "activation_room_byte": 1900.0, "group_count": 2.0, "moved_byte": 3200.0, "resident_byte": 3200.0},
            id="in groups beside all weights",
        ),
        # 300 are left: eight groups, weights read eight times on the chip.
        pytest.param(
            {"cache_byte": 1300.0},
            {"held_weight_fraction": 1.0, "activation_room_byte": 300.0, "group_count": 8.0, "moved_byte": 5600.0, "resident_byte": 5600.0},
            id="one by one",
        ),
        # A twentieth of the weights is read for each of eight samples: 8 x 20 bytes.
        pytest.param(
            {"cache_byte": 1250.0},
            {"held_weight_fraction": 0.95, "group_count": 8.0, "moved_byte": 5600.0, "resident_byte": 5440.0},
            id="nearly all weights",
        ),
        # A fifth for each of eight samples is more than all of them once: none stays, and three groups fill the 1,100.
        pytest.param(
            {"cache_byte": 1100.0},
            {"held_weight_fraction": 0.0, "activation_room_byte": 1100.0, "group_count": 3.0, "moved_byte": 3600.0, "resident_byte": 2400.0},
            id="too many samples",
        ),
        pytest.param({"cache_byte": 3400.0, "cache_state": "weights_streamed"}, {"held_weight_fraction": 0.0, "resident_byte": 2400.0}, id="streamed"),
        pytest.param({"cache_byte": 3400.0, "keeps_weights": False}, {"held_weight_fraction": 0.0, "resident_byte": 2400.0}, id="programs that do not"),
        pytest.param({"cache_byte": 3400.0, "cache_state": "cold"}, {"held_weight_fraction": 0.0, "resident_byte": 0.0}, id="cold"),
        # A cache uses half of its 6,400 bytes, and no groups: with 2,400 of activations, 800 of 1,000 bytes of weights
        # fit.
        pytest.param(
            {"cache_byte": 6400.0, "is_cache_placed": False, "takes_groups": False, "cache_state": "weights_resident"},
            {"held_weight_fraction": 0.8, "resident_byte": 2400.0 + 320.0},
            id="a cache",
        ),
    ],
)  # fmt: skip
def test_what_software_keeps(check: Callable[..., None], shape: dict[str, object], expected: dict[str, object]) -> None:
    """Weights stay from run to run together with the current activations, and neither takes the other's room."""
    check("cost_traffic", expected, shape_target=SAMPLES | shape)
