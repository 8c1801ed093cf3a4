"""Fourier transforms: 5 N log2 N, half of it for real input."""

import torch


def test_real_and_complex(lowered):
    g = lowered(torch.fft.fft, torch.empty(2, 1024, dtype=torch.complex64))
    assert g.value(g.only("fft"), "flops") == 5 * 1024 * 10
    g = lowered(torch.fft.rfft, torch.empty(2, 1024))
    assert g.value(g.only("fft"), "flops") == 2.5 * 1024 * 10


def test_two_dimensions(lowered):
    g = lowered(lambda x: torch.fft.rfft2(x, dim=(1, 2)), torch.empty(2, 16, 16, 3))
    assert g.value(g.only("fft"), "flops") == 2.5 * 768 * 8
