"""Limits on a file of measurements, checked before it is read, because a small file can unpack to fill the memory."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from charz.schema.errors import CharzError

MOST_BYTE = 256 * 2**20
"""Limit on an unpacked file. [byte]"""
MOST_LINE_BYTE = 2**20
MOST_ROWS = 5_000_000

_CHUNK_BYTE = 2**20


def check(path: Path) -> None:
    """Raise `CharzError` for a path that is not a file, or a file above the limits."""
    if not path.exists():
        raise CharzError("no such file", str(path))
    if not path.is_file():
        raise CharzError("not a file", str(path), next="name a CSV, parquet or JSON file, or a folder of them")
    if path.stat().st_size > MOST_BYTE:
        raise _too_large(path, f"{path.stat().st_size / 2**20:,.0f} MiB")
    if path.suffix == ".gz":
        _check_unpacked(path)
    elif path.suffix == ".parquet":
        _check_parquet(path)
    elif path.suffix in (".csv", ".tsv"):
        _check_lines(path)


def _check_unpacked(path: Path) -> None:
    try:
        with gzip.open(path) as file:
            if _skipped(file, MOST_BYTE) > MOST_BYTE:
                raise _too_large(path, "more when unpacked")
    except (OSError, EOFError, zlib.error) as error:
        raise CharzError("the file cannot be unpacked", str(path), str(error)) from error


def _skipped(file: gzip.GzipFile, most: int) -> int:
    """Count the bytes to the end of a file, but stop above `most`."""
    count = 0
    while count <= most and (chunk := file.read(_CHUNK_BYTE)):
        count += len(chunk)
    return count


def _check_parquet(path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise CharzError("the file cannot be read", str(path), str(error).splitlines()[0]) from error
    unpacked = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
    if found.num_rows > MOST_ROWS or unpacked > MOST_BYTE:
        raise _too_large(path, f"{found.num_rows:,} rows of {unpacked / 2**20:,.0f} MiB")


def _check_lines(path: Path) -> None:
    """Check the length of each line, because a row of measurements is short."""
    length = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTE):
            lines = chunk.split(b"\n")
            longest = max(length + len(lines[0]), *map(len, lines))
            if longest > MOST_LINE_BYTE:
                raise _too_large(path, f"a line of more than {MOST_LINE_BYTE // 2**20} MiB")
            length = len(lines[-1]) + (length if len(lines) == 1 else 0)


def _too_large(path: Path, what: str) -> CharzError:
    most = f"at most {MOST_BYTE // 2**20} MiB unpacked and {MOST_ROWS:,} rows are read"
    return CharzError(
        "too large for a file of measurements", f"{path} ({what})", most, "divide it, or check its contents"
    )
