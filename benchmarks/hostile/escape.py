"""Tries to escape from the sandbox of `charz sql`, and to exceed its limits.

    python -m benchmarks.hostile.escape FILE [--escapes 300] [--bombs 60]

An escape succeeds if a secret of this machine is in the answer, a file appears or changes, or the refusal is not one line. A bomb
succeeds if it runs longer than its time limit, takes more than a tenth above its memory limit plus the memory of an idle process,
or its refusal is not one line.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.hostile import CHARZ, environment

SECRET = "canary-4711"

_READERS = (
    "read_text({p})", "read_blob({p})", "read_csv({p})", "read_csv({p}, header = false, all_varchar = true)",
    "read_json({p})", "read_json_objects({p})", "read_ndjson({p})", "read_parquet({p})", "sniff_csv({p})", "glob({p})",
    "parquet_metadata({p})", "parquet_schema({p})", "read_duckdb({p})", "{p}", "query({q})", "query_table({p})",
    "(SELECT getvariable({p}))", "arrow_scan({p})", "delta_scan({p})", "iceberg_scan({p})", "sqlite_scan({p}, 't')",
    "postgres_scan({p}, 's', 't')", "st_read({p})", "read_xlsx({p})", "python_scan({p})", "pandas_scan({p})",
)  # fmt: skip

_WRAPPERS = (
    "SELECT * FROM {r}", "FROM {r}", "WITH a AS (FROM {r}) SELECT * FROM a", "SELECT (SELECT count(*) FROM {r})",
    "SELECT * FROM scenario, LATERAL (FROM {r})", "DESCRIBE FROM {r}", "SUMMARIZE FROM {r}", "EXPLAIN ANALYZE FROM {r}",
)  # fmt: skip

_STATEMENTS = (
    "COPY (SELECT 1) TO {p}", "COPY scenario TO {p} (FORMAT parquet)", "COPY scenario FROM {p}", "EXPORT DATABASE {p}",
    "IMPORT DATABASE {p}", "ATTACH {p} AS other", "ATTACH {p} AS other (READ_WRITE)", "DETACH main", "INSTALL {p}", "LOAD {p}",
    "CREATE TABLE mine AS FROM scenario", "CREATE VIEW mine AS SELECT 1", "CREATE MACRO mine() AS 1", "DROP TABLE scenario",
    "INSERT INTO scenario SELECT * FROM scenario", "DELETE FROM scenario", "UPDATE scenario SET batch = 1",
    "CREATE SECRET s (TYPE s3)", "CREATE PERSISTENT SECRET s (TYPE s3)", "PRAGMA enable_profiling", "CHECKPOINT",
    "PRAGMA profiling_output = {p}", "SET profiling_output = {p}", "SET log_query_path = {p}", "SET temp_directory = {p}",
    "SET home_directory = {p}", "SET extension_directory = {p}", "SET secret_directory = {p}", "SET memory_limit = '1TB'",
    "SET enable_external_access = true", "SET disabled_filesystems = ''", "SET lock_configuration = false",
    "SET allow_unsigned_extensions = true", "SET autoinstall_known_extensions = true", "SET threads = 1000",
    "SET python_enable_replacements = true", "RESET enable_external_access", "RESET GLOBAL lock_configuration",
    "PREPARE a AS COPY (SELECT 1) TO {p}", "BEGIN; COPY (SELECT 1) TO {p}", "SELECT 1; COPY (SELECT 1) TO {p}", "VACUUM",
    "CALL pragma_version(); SELECT 1", "FORCE INSTALL httpfs", "UPDATE EXTENSIONS", "ALTER TABLE scenario RENAME TO mine",
    "WITH a AS (DELETE FROM scenario RETURNING *) FROM a", "MERGE INTO scenario USING scenario s ON true WHEN MATCHED THEN DELETE",
    "SELECT * FROM sys", "SELECT * FROM os", "SELECT getenv('CANARY')", "FROM duckdb_secrets()", "USE other",
    "EXECUTE a", "SET VARIABLE a = (SELECT content FROM read_text({p}))", "LOAD sqlite", "COMMENT ON TABLE scenario IS {p}",
    "TRUNCATE scenario", "SELECT nextval({p})", "SELECT parse_path((SELECT content FROM read_text({p})))",
)  # fmt: skip

_BOMBS = (
    "SELECT repeat('x', {n}000000)", "SELECT list(range) FROM range({n}0000000)", "SELECT range({n}0000000)",
    "SELECT count(*) FROM range({n}00000000) a, range({n}00000000) b", "SELECT lpad('', {n}00000000, 'x')",
    "SELECT string_agg(range::VARCHAR, ',') FROM range({n}00000000)", "SELECT hash(list(r)) FROM range({n}0000000) t(r)",
    "WITH RECURSIVE a AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM a) SELECT count(*) FROM a",
    "WITH RECURSIVE a AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM a) SELECT max(length(s)) FROM a",
    "SELECT * FROM range({n}000000000)", "SELECT a.range, b.range FROM range({n}00000) a, range({n}00000) b",
    "SELECT repeat('x', 100000) FROM range({n}000000)", "SELECT list_transform(range({n}00000000), x -> x * x)",
    "SELECT range, count(*) FROM range({n}0000000) GROUP BY ALL ORDER BY 2", "SELECT bitstring('1', {n}00000000)",
    "SELECT regexp_replace(repeat('a', {n}00000), '(a+)+$', 'b', 'g')", "SELECT printf('%{n}00000000d', 1)",
    "SELECT DISTINCT random() FROM range({n}0000000)", "SELECT map_from_entries(list((r, r))) FROM range({n}0000000) t(r)",
    "SELECT row_number() OVER (ORDER BY random()) FROM range({n}0000000)",
)  # fmt: skip

TIMEOUT_S, MEMORY_MB = 3, 200
_LEAVE_S = 5.0
"""Time for starting and ending a process beyond the limit of its query, on a busy machine. [s]"""


def main() -> int:
    """Print the results of escapes and bombs. Return 1 if one succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--escapes", type=int, default=300)
    parser.add_argument("--bombs", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="charz-escape-") as name:
        file = Path(name) / "charz.duckdb"
        shutil.copy(given.file, file)
        (Path(name) / "secret.csv").write_text(f"{SECRET}\n1\n")
        rest_mb = _peak_mb(file, "SELECT 1")
        escapes = Counter(_escaped(file, text) for text in itertools.islice(_escapes(file), given.escapes))
        bombs = Counter(_bombed(file, text, rest_mb) for text in itertools.islice(_bombs(), given.bombs))
    for title, counts in (("escapes", escapes), ("bombs", bombs)):
        print(f"{title}: {counts.total()}; " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"an idle process took {rest_mb:.0f} MB, the largest process {_children_mb():.0f} MB")
    return int(any(what.startswith("out") for what in (*escapes, *bombs)))


def _escapes(file: Path) -> Iterator[str]:
    """Yield statements with every path, in a fixed random order."""
    folder = file.parent
    paths = (
        f"{folder}/secret.csv", f"{file}", f"{file}.wal", f"{folder}/planted", "/etc/passwd", "/proc/self/environ",
        f"file://{folder}/secret.csv", "https://example.com/x.csv", f"{folder}/*",
    )  # fmt: skip
    made = [statement for statement in _STATEMENTS if "{p}" not in statement]
    for path in paths:
        literal = f"'{path}'"
        made += [s.replace("{p}", literal) for s in _STATEMENTS if "{p}" in s]
        inner = f"'FROM read_text(''{path}'')'"
        reads = [reader.replace("{p}", literal).replace("{q}", inner) for reader in _READERS]
        made += [wrapper.replace("{r}", read) for wrapper in _WRAPPERS for read in reads]
    random.Random(1).shuffle(made)
    yield from made


def _escaped(file: Path, text: str) -> str:
    before = _seen(file.parent)
    done = _asked(file, text)
    if _seen(file.parent) != before:
        return f"out: files changed by {text}"
    if SECRET in done.stdout or "root:x:" in done.stdout or "PATH=" in done.stdout:
        return f"out: a secret read by {text}"
    if done.returncode == 0:
        return "answered without a secret"
    return "refused in one line" if _is_one_line(done) else f"out: not one line ({done.stderr!r})"


def _bombs() -> Iterator[str]:
    for size in itertools.count(3, 3):
        yield from (bomb.replace("{n}", str(size)) for bomb in _BOMBS)


def _bombed(file: Path, text: str, rest_mb: float) -> str:
    begun = time.monotonic()
    done = _asked(file, text, "--timeout", str(TIMEOUT_S), "--memory", f"{MEMORY_MB}MB", "--out", "/dev/null")
    took = time.monotonic() - begun
    if took > TIMEOUT_S + _LEAVE_S:
        return f"out: {took:.1f} s for {text}"
    peak = _children_mb()
    if peak > 1.1 * MEMORY_MB + rest_mb:
        return f"out: {peak:.0f} MB by {text}"
    if done.returncode == 0:
        return "answered within the limits"
    return "stopped in one line" if _is_one_line(done) else f"out: not one line ({done.stderr!r})"


def _asked(file: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHARZ, "--db", str(file), "sql", text, "--format", "csv", *more],
        cwd=file.parent, env=environment() | {"CANARY": SECRET}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace", timeout=120, check=False,
    )  # fmt: skip


def _is_one_line(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode == 2 and len(done.stderr.splitlines()) == 1 and done.stderr.startswith("charz: ")


def _seen(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of change of the files in the folder."""
    return {entry.name: (entry.stat().st_size, entry.stat().st_mtime_ns) for entry in os.scandir(folder)}


def _peak_mb(file: Path, text: str) -> float:
    _asked(file, text)
    return _children_mb()


def _children_mb() -> float:
    """Return the largest resident size of any child so far, including theirs."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3


if __name__ == "__main__":
    sys.exit(main())
