"""The command that starts the server of an answer about serving, from flags of `launch_flag`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from charz.schema.errors import CharzError

from .. import releases
from ..capabilities import Capabilities
from ..question import ENGINES, HALVES
from .mix import Mix
from .prices import node_sizes

if TYPE_CHECKING:
    import duckdb

COLUMNS = (
    "model", "hardware", "backend", "engine_version", "precision", "kv_precision", "device_count", "split", "replicas", "batch", "slots", "context",
    "launch",
)  # fmt: skip

FLAG = ("engine", "setting", "value", "words", "package", "package_version", "since_version", "note")
"""Columns of `launch_flag` that a command needs."""

PLACE = "MODEL"
"""Word of a command in place of a model that has no name on the hub."""

ROUNDED = 256
"""Number of tokens to whose next multiple the length of a request is rounded up, as room for the words of a chat template."""

_DEGREES = ("tensor", "pipeline", "data", "expert", "context")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a file that the commands of one server need."""

    flags: Sequence[Record]
    """Rows of `launch_flag`."""
    server: tuple[float, float | None]
    """Share of memory left free, and tokens of a chunk."""
    origin: dict[str, tuple[str, str | None]]
    """Source of each model, and the policy of its checkpoint."""
    memory: dict[str, float | None]
    """Main memory of each part. [byte]"""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Number of devices of a node by part; `*` is any other part."""
    able: Capabilities = field(default_factory=lambda: Capabilities({}))

    @classmethod
    def read(cls, connection: duckdb.DuckDBPyConnection, engine: str) -> Facts:
        """Read the facts of a server that `--launch` names."""
        flags = flags_of(connection, engine)
        query = "SELECT reserve_fraction, chunk_tokens FROM backend WHERE backend = ?"
        (server,) = connection.execute(query, [ENGINES[engine]]).fetchall()
        models = connection.execute("SELECT model, source, stored_policy FROM model").fetchall()
        memory = dict(connection.execute("SELECT hardware, dram_byte FROM part").fetchall())
        return cls(flags, server, {model: (source, stored) for model, source, stored in models}, memory, node_sizes(connection), Capabilities.read(connection))

    def lacking(self, row: Record) -> str | None:
        """Tell that the server does not run the format of a row, and which it runs; None if it does."""
        known = [flag["value"] for flag in self.flags if flag["setting"] == "precision"]
        if row["precision"] in known or ("stored" in known and row["precision"] == self.origin[row["model"]][1]):
            return None
        return f"left out: {row['hardware']}, {row['precision']}, which {self.flags[0]['engine']} does not run: it runs {', '.join(known)}"

    def command(self, row: Record, degrees: Mapping[str, int], mixes: Sequence[Mix], chunk: int | None = None) -> tuple[str, list[str]]:
        """Return the command of a row, and what a reader must know of it. `chunk` replaces the server's own."""
        source, stored = self.origin[row["model"]]
        free, own = self.server
        node = self.nodes.get(row["hardware"], self.nodes.get("*"))
        numbers = settings(row, degrees, mixes, source, (free, chunk or own), self.memory[row["hardware"]], node)
        words, notes = command(self.flags, row, numbers, stored)
        return words, [*notes, *said(self.flags, row, source), *self.ending(row)]

    def ending(self, row: Record) -> list[str]:
        """Tell the releases of the server that do not run on the part of a row."""
        found = self.able.ending(row["hardware"], row["backend"])
        if found is None:
            return []
        release, needed = found
        return [f"{row['hardware']}: install {row['backend']} below {release}, which needs compute capability {needed}"]


def flags_of(connection: duckdb.DuckDBPyConnection, engine: str) -> list[Record]:
    """Return the rows of `launch_flag` of a program."""
    query = f"SELECT {', '.join(FLAG)} FROM launch_flag WHERE engine = ?"
    return [dict(zip(FLAG, flag, strict=True)) for flag in connection.execute(query, [engine]).fetchall()]


def backend(engine: str, named: Sequence[str]) -> str:
    """Return the backend of a server. Raise `CharzError` if another one is named."""
    if set(named) - {ENGINES[engine]}:
        raise CharzError("two servers", f"--launch {engine} and --backend {','.join(named)}", next=f"leave out --backend: it is {ENGINES[engine]}")
    return ENGINES[engine]


def hub_name(source: str, model: str = "") -> str | None:
    """Return the name on the hub of a model that was ingested from `hf:OWNER/NAME`, or the usual one of a shipped configuration; None for another
    source, and for a configuration with changed sizes, which the model's name tells."""
    from charz.ingest.sources import hub

    kind, _, name = source.partition(":")
    if kind != "hf" or "=" in model:
        return None
    return name if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else hub.NAMES.get(name)


def settings(
    row: Record,
    degrees: Mapping[str, int],
    mixes: Sequence[Mix],
    source: str,
    server: tuple[float, float | None],
    dram_byte: float | None,
    node: int | None = None,
) -> dict[str, Any]:
    """Return the values of a row that commands contain. `degrees` are those of its split, 1 where one is missing. `server` is the share of memory
    left free and the tokens of a chunk; activations are not part of the memory that `static` is the share of. `node` is the number of devices of a
    node."""
    degrees = {**dict.fromkeys(_DEGREES, 1), **degrees}
    free, chunk = server
    tokens = max(mix.prompt + mix.output for mix in mixes if mix.context == row["context"])
    requests = next(row[name] for name in ("slots", "samples", "batch") if name in row)
    used = [row[name] for name in ("peak_memory_byte", "weight_byte", "kv_cache_byte")]
    static = None
    if dram_byte and None not in used:
        activations = used[0] - used[1] - used[2] - free * dram_byte
        static = math.floor(100.0 * (1.0 - free - max(activations, 0.0) / dram_byte)) / 100.0
    every = degrees["tensor"] * degrees["pipeline"] * degrees["data"] * degrees["context"]
    return {
        "model": hub_name(source, row["model"]) or PLACE, **degrees, "nodes": -(-every // (node or every)),
        "shards": degrees["tensor"] * degrees["data"] * degrees["context"],
        "length": -(-tokens // ROUNDED) * ROUNDED, "requests": requests, "replica_requests": math.ceil(requests / degrees["data"]),
        "all_length": tokens * requests,
        "chunk": None if chunk is None else int(chunk), "memory": round(1.0 - free, 2), "static": static,
    }  # fmt: skip


def command(flags: Sequence[Record], row: Record, numbers: Record, stored: str | None) -> tuple[str, list[str]]:
    """Return the command of a row, and what no flag sets. A parallel degree of 1 has no flag, and the format `stored` of a checkpoint its own."""
    by_setting = settings_of(flags)
    is_stored = row["precision"] == stored and stored not in HALVES
    asked = {"precision": "stored" if is_stored else row["precision"], "kv_precision": row["kv_precision"]}
    kept = None if asked["kv_precision"] in (None, "none") else asked["kv_precision"]
    order = ("command", "precision", *_DEGREES, "nodes", "length", "requests", "chunk", "memory", "kv_precision")
    values = {
        setting: str(asked.get(setting) or numbers.get(setting)) for setting in order
        if not (setting in (*_DEGREES, "nodes") and numbers[setting] == 1) and not (setting == "kv_precision" and kept is None)
    }  # fmt: skip
    words, notes = written(by_setting, values, numbers)
    if any("{length}" in (flag["words"] or "") for flag in by_setting.get("length", {}).values()):
        told = f"the longest request is rounded up to {numbers['length']:,} tokens, a multiple of {ROUNDED}"
        notes.append(f"{told}; a server refuses more than the max_position_embeddings of its checkpoint, which charz does not know")
        notes.append("the requests at once are those of your lengths")
    if stored is not None and stored not in HALVES and row["precision"] in HALVES:
        notes.append(f"the checkpoint is stored in {stored}, and a server loads it so: a run in {row['precision']} needs a converted checkpoint")
    return words, [*notes, *(flag["note"] for flag in by_setting.get("assumed", {}).values())]


def settings_of(flags: Sequence[Record]) -> dict[str, dict[str, Record]]:
    """Return the flags by setting and value."""
    found: dict[str, dict[str, Record]] = {}
    for flag in flags:
        found.setdefault(flag["setting"], {})[flag["value"]] = flag
    return found


def written(by_setting: Mapping[str, Mapping[str, Record]], values: Mapping[str, str], numbers: Record) -> tuple[str, list[str]]:
    """Write the flags of the values of settings, in their order, and return the notes of these flags."""
    words, notes = [], []
    for setting, value in values.items():
        known = by_setting.get(setting, {})
        if value not in known and "*" not in known:
            notes.append(f"no flag is known for {setting.replace('_', ' ')} {value}")
            continue
        flag = known.get(value) or known["*"]
        if flag["words"] and all(numbers[name] is not None for name in re.findall(r"{(\w+)}", flag["words"])):
            words.append(flag["words"].format(**numbers))
        if flag["note"] and not (setting == "expert" and numbers["tensor"] == 1):
            notes.append(flag["note"].format(**numbers))
    return " ".join(words), notes


def said(flags: Sequence[Record], row: Record, source: str) -> list[str]:
    """Tell the origin of the flags and of the times of a row, and what a reader must fill in."""
    packages = sorted({(flag["package"], flag["package_version"]) for flag in flags if flag["package"]})
    times = f"the times are those of {row['backend']} {row['engine_version']} (--version names another)"
    if packages:
        ((package, version),) = packages
        versions = dict.fromkeys((earliest(flags, row) or version, version))
        lines = [f"the flags are those of {package} {' and '.join(versions)}; {times}{'' if _is_among(row['engine_version'], *versions) else DIFFERS}"]
    else:
        lines = [f"the flags were not checked, since the package of {flags[0]['engine']} contains no parser; {times}"]
    if row.get("replicas", 1) > 1:
        where = row["hardware"] if row.get("split", "one") == "one" else f"{row['hardware']}, {row['split']}"
        lines.append(f"{where}: start {row['replicas']} of these servers, which share the requests, each with devices and a --port of its own")
    return [*lines, *checkpoint(row["model"], source)]


DIFFERS = ", a version whose flags may differ: its --help lists them"


def earliest(flags: Sequence[Record], row: Record) -> str | None:
    """Return the earliest version of a server that was compared and has all flags of a row; None if one version was compared."""
    asked = {"precision": row["precision"], "kv_precision": row["kv_precision"]}
    since = [flag["since_version"] for flag in flags if flag["package"] and flag["value"] in (asked.get(flag["setting"]), "*")]
    return None if None in since else max(since, key=lambda version: releases.number(version) or 0, default=None)


def _is_among(release: object, first: str, last: str | None = None) -> bool:
    """Tell whether a release is the first version or the last, or between them. A release without a patch is the whole minor release."""
    is_amd = releases.ROCM in str(release)
    at, low, high = (releases.number(str(version)) for version in (release, first, last or first))
    return None not in (at, low, high) and not is_amd and low // 1_000 <= at // 1_000 <= high // 1_000  # type: ignore[operator]


def checkpoint(model: str, source: str) -> list[str]:
    """Tell what a reader must know of the name of a checkpoint in a command."""
    name = hub_name(source, model)
    if name is None:
        return [f"{PLACE}: put the path of {model} or its name on the hub there; `charz ingest hf:OWNER/NAME` keeps that name"]
    told = f"{name} is the usual checkpoint of {model} on the hub; another of the same sizes takes the same times"
    return [told] if source != f"hf:{name}" else []


def best(rows: Sequence[Record]) -> Record | None:
    """Return the row whose command a page contains: the first that a server runs, fits and has time for all requests."""
    return next(
        (
            row for row in rows
            if row["backend"] in ENGINES.values() and row.get("phase", "decode") == "decode" and row.get("fits_device", True)
            and row.get("weight_byte") is not None and not row.get("is_saturated")
        ),
        None,
    )  # fmt: skip


def engine_of(row: Record) -> str:
    """Return the name of `--launch` for the backend of a row."""
    return next(engine for engine, backend in ENGINES.items() if backend == row["backend"])
