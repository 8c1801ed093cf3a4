"""Dense factorizations and solves, as the matrix products that dominate their blocked forms.

MACs are the leading terms of Golub & Van Loan, *Matrix Computations*, 4th ed.: LU n³/3, Cholesky
n³/6, QR (Householder, m >= n) n²(m - n/3), as much again to form Q, triangular solve n²·k/2. The
GEMM view has the mean size of the trailing updates, so K is a fraction of n.
"""

from __future__ import annotations

from ..graph import Step
from ..trace.symbolic import Size, product, scaled, total
from .registry import Call, Value, gemm, rule


def _square(call: Call, share: float) -> list[Step]:
    source: Value = call.tensors()[0]
    *batch, m, n = source.dims
    return [gemm("main", product(*batch), m, n, scaled(n, share), threads=source.numel)]


@rule(
    "aten.linalg_lu_factor_ex.default",
    "aten.linalg_lu_factor.default",
    "aten.linalg_lu.default",
    "aten.linalg_det.default",
    "aten.linalg_slogdet.default",
    "aten._linalg_det.default",
    "aten._linalg_slogdet.default",
    operator_class="matmul",
)
def lu(call: Call) -> list[Step]:
    return _square(call, 1 / 3)


@rule(
    "aten.linalg_cholesky.default", "aten.linalg_cholesky_ex.default", "aten.cholesky.default", operator_class="matmul"
)
def cholesky(call: Call) -> list[Step]:
    return _square(call, 1 / 6)


@rule("aten.linalg_inv.default", "aten.linalg_inv_ex.default", "aten.inverse.default", operator_class="matmul")
def inverse(call: Call) -> list[Step]:
    """Count LU and n right-hand sides: n³."""
    return _square(call, 1.0)


@rule("aten.linalg_qr.default", "aten.geqrf.default", operator_class="matmul")
def qr(call: Call) -> list[Step]:
    source: Value = call.tensors()[0]
    *batch, m, n = source.dims
    depth: Size = total(m, scaled(n, -1 / 3))
    forms = 1 if call.overload.__name__.startswith("geqrf") or call["mode"] == "r" else 2
    return [gemm("main", product(*batch, forms), depth, n, n, threads=source.numel)]


@rule(
    "aten.linalg_solve.default",
    "aten.linalg_solve_ex.default",
    "aten._linalg_solve_ex.default",
    operator_class="matmul",
)
def solve(call: Call) -> list[Step]:
    """Count LU, then two triangular solves."""
    matrix, right = call.tensors()[:2]
    *batch, n, _ = matrix.dims
    columns = right.dims[-1] if len(right.dims) == len(matrix.dims) else 1
    return [*_square(call, 1 / 3), gemm("substitute", product(*batch), n, columns, n)]


@rule("aten.linalg_solve_triangular.default", "aten.triangular_solve.default", operator_class="matmul")
def triangular_solve(call: Call) -> list[Step]:
    tensors = call.tensors()
    matrix, right = tensors if call.overload.__name__.startswith("linalg") else reversed(tensors)
    *batch, n, _ = matrix.dims
    return [gemm("main", product(*batch), n, right.dims[-1], scaled(n, 0.5))]
