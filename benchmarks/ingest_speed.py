"""What charz adds to `torch.export.export`, in one process, on the same models.

    python benchmarks/ingest_speed.py resnet50 efficientnet_b0 vit_b_16

For each model both make the same export call; charz also lowers, sizes, compiles and writes. Printed
are processor seconds, which other processes disturb less than wall time, and their ratio.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from charz.cli.workspace import change_workspace
from charz.ingest import export, pipeline
from charz.ingest.compile.rules import from_connection
from charz.ingest.sources import build
from charz.ingest.sources.spec import parse
from charz.ingest.write import Ingested, write

REPEATS = 3
LIMIT = 1.25


def seconds(function: Callable[[], object]) -> float:
    """Processor time of the fastest of a few calls."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main(names: list[str]) -> int:
    """1 when charz takes more than the limit over all models together."""
    database = Path(tempfile.mkdtemp()) / "speed.duckdb"
    with change_workspace(database) as connection:
        rules = from_connection(connection)
    made: list[Ingested] = []
    bare = charz = 0.0
    export.trace(build(parse("alexnet")))  # imports and caches of torch are nobody's
    for name in names:
        spec = parse(name)
        bare_s = seconds(lambda spec=spec: export.trace(build(spec)))
        charz_s = seconds(lambda spec=spec: made.append(pipeline.ingest(spec, rules)))
        bare, charz = bare + bare_s, charz + charz_s
        print(f"{name:30s} export {bare_s:6.2f} s   charz {charz_s:6.2f} s   {charz_s / bare_s:.2f}")
    start = time.process_time()
    with change_workspace(database) as connection:
        write(connection, made[::REPEATS])
    written = time.process_time() - start
    ratio = (charz + written) / bare
    print(f"write {written:.2f} s; together {ratio:.2f} times the export")
    return 1 if ratio > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["resnet50", "efficientnet_b0", "vit_b_16"]))
