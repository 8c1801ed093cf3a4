"""A model's names, the order of creation of its layers and a wrapping module change no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz

from .questions import ask, difference
from .written import Net, Renamed, Wrapped


@pytest.mark.parametrize("train", [False, True], ids=["forward", "trained"])
def test_names_order_and_wrapper(few_parts: Path, tmp_path: Path, train: bool) -> None:
    import shutil

    import torch

    path = tmp_path / "charz.duckdb"
    shutil.copy(few_parts, path)
    with charz.open(path) as db:
        for name, made in {"plain": Net(), "renamed": Renamed(), "wrapped": Wrapped()}.items():
            db.ingest(made, inputs=[torch.zeros(2, 3, 32, 32)], name=name, train=train, no_answers=True)
        suffix = ",train" * train
        frames = [
            ask(db, "compare", models=name + suffix, on="rtx4090,i7_13700k", batch="1,8", backend="eager")
            for name in ("plain", "renamed", "wrapped")
        ]
        assert frames[0] is not None
        assert len(frames[0]) == 4
        for frame in frames[1:]:
            assert not difference(frames[0], frame, ["model"])
