"""What a file of measurements may be, told before it is read: a small file can unfold to all of the memory."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from charz.schema.errors import CharzError

MOST_BYTE = 256 * 2**20
"""Of a file, unpacked."""
MOST_LINE_BYTE = 2**20
MOST_ROWS = 5_000_000

_CHUNK_BYTE = 2**20


def check(path: Path) -> None:
    """Raise `CharzError` for what is no file, or holds more than measurements are."""
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
    """Bytes up to the end of a file, or a few more than `most`."""
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
    """A line of a CSV file is a row, or a part of one: what is longer is no row of measurements."""
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
        "too large for a file of measurements", f"{path} ({what})", most, "divide it, or check what it is"
    )
