"""Recurrent layers against counts by hand."""

import torch
from torch import nn


def test_lstm(lowered):
    g = lowered(nn.LSTM(32, 64, batch_first=True), torch.empty(2, 10, 32))
    op = g.only("rnn")
    assert g.value(op, "macs", "input") == 10 * 256 * 32
    assert g.value(op, "macs", "recurrent") == 10 * 256 * 64
    assert g.value(op, "groups", "recurrent") == 10, "steps cannot run at once"
    assert g.value(op, "macs", batch=3) == 3 * 10 * 256 * 96


def test_two_directions_and_layers(lowered):
    g = lowered(nn.GRU(32, 64, num_layers=2, bidirectional=True, batch_first=True), torch.empty(2, 10, 32))
    # layer 1 reads 32, layer 2 the 128 of both directions; each direction 192 gate rows
    assert g.value(g.only("rnn"), "macs") == 10 * 192 * 2 * ((32 + 64) + (128 + 64))
