"""A user's tile compared with the chosen one, and the contents of the caches."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.explain import tiles


def test_a_tile_is_three_sizes() -> None:
    """None of the sizes may be 0."""
    assert tiles.sizes("64x32x128") == (64, 32, 128)
    for text in ("64x64", "64x0x64", "0x1x1", "00x1x1", "axbxc", "64 x 64 x 64", ""):
        with pytest.raises(CharzError, match="not a tile"):
            tiles.sizes(text)


@pytest.mark.parametrize("part", ["kpu_t64", "t4"])
def test_side_by_side(file: Path, part: str) -> None:
    """The tile's own numbers are next to those of the chosen one, and the session does not change."""
    with charz.open(file) as db:
        before = db.report("small", on=part)
        found = db.explain("small", on=part, tile="32x32x16")
        assert {"chosen", "32x32x16"} <= {item.split(",")[0] for item in found["item"]}
        mine = found.filter((found["item"] == "32x32x16") & (found["name"] == "tile_k"))
        assert set(mine["value"]) == {16.0}
        chosen = found.filter(
            found["item"].str.starts_with("chosen") & found["name"].is_in(["tile_m", "tile_n", "tile_k"])
        )
        assert len(chosen) > 0 and chosen["value"].min() > 0, "a fitted tile has its sizes"
        assert db.report("small", on=part).equals(before)


def test_a_tile_that_no_level_holds(file: Path) -> None:
    """The level that overflows is named."""
    with charz.open(file) as db:
        found = db.explain("small", on="kpu_t64", tile="4096x4096x4096")
    levels = found.filter((found["item"] == "4096x4096x4096") & (found["name"] == "overflowing_level"))
    assert set(levels["word"]) == {"l2"}


def test_weights_that_stay_are_not_read_again(file: Path) -> None:
    """All weights of a small model fit with its activations, and software keeps them there: main memory moves less than with
    streamed weights."""
    with charz.open(file) as db:
        streamed, held = (
            db.report("small", on="kpu_t64", section="traffic", cache=cache, top=100)
            for cache in ("weights_streamed", "warm")
        )
        with pytest.raises(CharzError, match="unknown cache state"):
            db.report("small", on="kpu_t64", cache="tepid")
    moved = [float(f.filter(f["border"] == "dram")["level_byte"].sum()) for f in (streamed, held)]
    assert moved[1] < moved[0]
