"""A module in memory, as in a notebook."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

import charz
from charz.schema.errors import CharzError


class Gated(nn.Module):
    """Two linear layers, one of which gates the other."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.gate = nn.Linear(8, 16), nn.Linear(8, 16)

    def forward(self, tokens: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.value(tokens) * torch.sigmoid(self.gate(tokens)) * scale


def test_a_live_module_is_ingested_and_stays_as_it_is(tmp_path: Path) -> None:
    """Two products of 8 by 16 a sample: 256 MACs; 2 x (8 x 16 + 16) parameters."""
    module = Gated()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with charz.open(tmp_path / "c.duckdb") as db:
        closing = db.ingest(module, inputs=torch.zeros(4, 8), name="mine")
        assert set(closing["model"]) == {"mine"}
        assert db.models().select("parameter_count", "macs").rows() == [(288, 256.0)]
        assert db.report("mine", on="t4", batch=32)["macs"][0] == 32 * 256
        with pytest.raises(CharzError, match="the name is taken: mine. .*Gated has it"):
            db.ingest(nn.Linear(4, 4), inputs=torch.zeros(2, 4), name="mine")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.ingest(nn.Linear(4, 4), inputs=torch.zeros(2, 4), name="mine", force=True)
        assert db.models()["macs"].to_list() == [16.0]
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
