"""Dense factorizations against the textbook's leading terms."""

import pytest
import torch


def test_lu_and_cholesky(lowered):
    g = lowered(lambda x: torch.linalg.lu_factor(x)[0], torch.empty(2, 300, 300))
    assert g.value(g.only("matmul"), "macs") == pytest.approx(300**3 / 3)
    g = lowered(lambda x: torch.linalg.cholesky(x), torch.empty(2, 300, 300))
    assert g.value(g.only("matmul"), "macs") == pytest.approx(300**3 / 6)


def test_qr_forms_q(lowered):
    g = lowered(lambda x: torch.linalg.qr(x)[0], torch.empty(2, 600, 300))
    assert g.value(g.only("matmul"), "macs") == pytest.approx(2 * 300**2 * (600 - 100))
