"""Kernel timings of the PyPI package `aiconfigurator-core` (Apache-2.0), read from its folder without a copy.

Its parquet files have paths `systems/data/PART/GROUP/FRAMEWORK/VERSION/NAME_perf.parquet`; latencies are in milliseconds. `gemm`
times one M×K by K×N product; `context_attention` prefill (`isl` new tokens after `step` past ones), `generation_attention` decode
(`step` past tokens); `moe` a layer of experts under a distribution of tokens; `nccl` a collective of `message_size` elements on
`num_gpus` devices.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import duckdb

from charz.schema.errors import CharzError

PARTS = {
    "a100_sxm": "a100_sxm4_80",
    "h100_sxm": "h100_sxm5_80",
    "h200_sxm": "h200_sxm_141",
    "b200_sxm": "b200_sxm",
    "b300_sxm": "b300_sxm",
    "gb200": "gb200_gpu",
    "l40s": "l40s",
}
"""Charz part by the package's folder. The catalog has no parts for the other folders."""

PRECISIONS = {
    "bfloat16": "bf16",
    "half": "fp16",
    "fp8": "fp8_e4m3",
    "fp8_block": "fp8_e4m3",
    "nvfp4": "fp4",
    "int8_wo": "w8a16",
    "int4_wo": "w4a16",
    "sq": "int8",
}
"""Charz precision by the package's name."""

GROUPS = ("gemm", "context_attention", "generation_attention", "encoder_attention", "moe", "nccl")
"""Kinds of kernels that this module reads."""

_TYPES = {"gemm": "gemm_dtype", "moe": "moe_dtype", "nccl": "nccl_dtype"}


def data_root(package: Path | None = None) -> Path:
    """Return the folder with the parquet files, of the installed package or of an unpacked one.

    Raise `CharzError` if the package is not installed.
    """
    if package is None:
        spec = importlib.util.find_spec("aiconfigurator_core")
        if spec is None or not spec.submodule_search_locations:
            raise CharzError(
                "the package is not installed", "aiconfigurator-core", next="pip install aiconfigurator-core"
            )
        package = Path(next(iter(spec.submodule_search_locations)))
    root = package / "systems" / "data"
    if not root.is_dir():
        raise CharzError("no measurements in the package", str(root))
    return root


def files(root: Path, group: str) -> list[str]:
    """List the paths of a kind's parquet files for parts of the catalog."""
    return sorted(str(p) for p in root.glob(f"*/*/*/*/{group}_perf.parquet") if p.relative_to(root).parts[0] in PARTS)


def relation(connection: duckdb.DuckDBPyConnection, root: Path, group: str) -> duckdb.DuckDBPyRelation:
    """Return the timings of one kind as columns `hardware, framework, version, kernel_source, precision, latency_s` and the
    kind's own shape columns. Raise `CharzError` for a kind without files."""
    found = files(root, group)
    if not found:
        raise CharzError("no measurements of this kind", group, f"there are {', '.join(GROUPS)}")
    dtype = _TYPES.get(group, "attn_dtype")
    depth = len(root.parts)
    part = f"list_extract(string_split(filename, '/'), {depth + 1})"
    return connection.sql(
        f"""
        SELECT
            {_case(part, PARTS)} AS hardware,
            list_extract(string_split(filename, '/'), {depth + 3}) AS framework,
            list_extract(string_split(filename, '/'), {depth + 4}) AS version,
            {_case(dtype, PRECISIONS)} AS precision,
            latency / 1e3 AS latency_s,
            * EXCLUDE (filename, framework, version, latency, {dtype})
        FROM read_parquet({found!r}, filename=true, union_by_name=true)
        WHERE latency > 0
        """
    )


def _case(column: str, words: dict[str, str]) -> str:
    """Return SQL that replaces words; others become null."""
    return f"CASE {column} " + " ".join(f"WHEN '{a}' THEN '{b}'" for a, b in words.items()) + " END"
