"""The command that starts the trainer of an answer about training, from flags of `launch_flag`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from charz.schema.errors import some

from ..question import HALVES
from . import launch

if TYPE_CHECKING:
    import duckdb

    from .launch import Record

ENGINE = "trl"
"""Trainer that `--launch` names."""

NODE = 8
"""Processes of a node in the configurations of accelerate that trl contains."""

READ = (
    "tensor", "pipeline", "context", "expert", "data", "micro_batches", "zero_stage", "recompute", "optimizer", "adapter_rank", "framework",
)  # fmt: skip
"""Columns of a split that a command needs, read under the name `known_` and theirs."""

_PARALLEL = ("tensor", "pipeline", "context", "expert")


class Trainer:
    """Facts of a file that the commands of a trainer need."""

    def __init__(self, flags: Sequence[Record], alone: Sequence[str], sources: dict[str, str]) -> None:
        """Keep the rows of `launch_flag`, the optimizers that keep no 32-bit copy of the weights, and the source of each model."""
        self.flags, self.alone, self.sources = flags, alone, sources
        self.by_setting = launch.settings_of(flags)

    @classmethod
    def read(cls, connection: duckdb.DuckDBPyConnection) -> Trainer:
        """Read the facts."""
        alone = [name for (name,) in connection.execute("SELECT optimizer FROM optimizer WHERE master_byte = 0").fetchall()]
        sources = dict(connection.execute("SELECT model, source FROM model").fetchall())
        return cls(launch.flags_of(connection, ENGINE), alone, sources)

    def values(self, row: Record) -> dict[str, str]:
        """Return the settings of a row in the order of the command. A parallel degree of 1 needs no flag."""
        degrees = {f"{name}_parallel": f"degree {row[name]}" for name in _PARALLEL if row[name] > 1}
        kind = self._kind(row)
        is_copied = kind == "master" and row["precision"] in HALVES and (row["data"] == 1 or row["zero_stage"] == 0)
        return {
            "command": "*", "weights": f"{row['precision']} {kind}", **({"copy": "*"} if is_copied else {}),
            **({"adapter": "*"} if row["adapter_rank"] else {}),
            "optimizer": row["optimizer"], "length": "*", "batch": "*", "micro_batches": "*", "recompute": row["recompute"],
            "backend": row["backend"], **({"steps": "*"} if row.get("steps") else {}),
            "devices": "one" if row["data"] == 1 else f"zero{row['zero_stage']}", **degrees,
        }  # fmt: skip

    def _kind(self, row: Record) -> str:
        """Return the format of the weights: trained with a 32-bit copy or alone, or frozen under adapters."""
        if row["adapter_rank"] is None:
            return "alone" if row["optimizer"] in self.alone else "master"
        kind = "adapter" if row["frozen"] in (None, row["precision"]) else str(row["frozen"])
        is_sharded = kind != "adapter" and row["data"] > 1 and row["zero_stage"] == 3
        return f"{kind} zero3" if is_sharded else kind

    def lacking(self, row: Record) -> str | None:
        """Tell why a row has no command; None if it has one."""
        if row["is_fitting"] is False:
            return "which does not fit"
        if (row["sequence"] or 1) <= 1:
            return f"since {ENGINE} sft trains models that read tokens"
        known = self.by_setting
        none = [f"{s.replace('_', ' ')} {v}" for s, v in self.values(row).items() if v not in known.get(s, {}) and "*" not in known.get(s, {})]
        return f"since {ENGINE} has no flag that was checked for {', '.join(none)}" if none else None

    def command(self, row: Record) -> tuple[str, list[str]]:
        """Return the command of a row that lacks nothing, and what a reader must know of it."""
        source = self.sources[row["model"]]
        precision = str(row["precision"]).removeprefix("amp-")
        numbers: dict[str, Any] = {
            "model": launch.hub_name(source, row["model"]) or launch.PLACE, "rank": row["adapter_rank"], "length": row["sequence"],
            "batch": row["batch"], "micro_batches": row["micro_batches"], "data": row["data"], "steps": row.get("steps"),
            "mixed": "no" if precision == "fp32" else precision,
        }  # fmt: skip
        words, notes = launch.written(self.by_setting, self.values(row), numbers)
        packages = sorted({(flag["package"], flag["package_version"]) for flag in self.flags})
        told = " and ".join(f"{package} {version}" for package, version in packages)
        notes.append(f"the flags are those of {told}; the times are those of {row['framework']} ({row['backend']}): {ENGINE}'s own were not measured")
        if row["data"] > NODE:
            notes.append(f"on several nodes each starts this command, with its --num_machines, --machine_rank and --main_process_ip: {row['split']}")
        return words, [*notes, *(flag["note"] for flag in self.by_setting["assumed"].values()), *launch.checkpoint(row["model"].removesuffix(",train"), source)]


def known(record: Record, tokens: float | None) -> dict[str, Any]:
    """Return the facts of a row under their own names, with the number of steps of a whole training."""
    row = dict(record) | {name.removeprefix("known_"): value for name, value in record.items() if name.startswith("known_")}
    steps = None if tokens is None else math.ceil(tokens / (row["global_batch"] * max(row["sequence"] or 1, 1)))
    return row | {"steps": steps}


@dataclass(frozen=True, slots=True)
class Launched:
    """Commands of rows, in their order."""

    commands: list[str | None]
    """Command of each row; null for a row without one."""
    left_out: list[str]
    """Reasons why rows have no command."""
    notes: list[str]
    """Assumptions of charz that no flag sets."""


def launched(facts: Trainer, rows: Sequence[Record], is_listed: bool) -> Launched:
    """Write the command of each row, or of the first row that has one unless `is_listed`."""
    commands: list[str | None] = []
    notes: dict[str, None] = {}
    others: dict[str, list[str]] = {}
    for row in rows:
        told = facts.lacking(row)
        if told is not None or (any(commands) and not is_listed):
            commands.append(None)
            if told is not None and is_listed:
                others.setdefault(told, []).append(" ".join(str(row[name]) for name in ("hardware", "split") if row[name] != "one"))
            continue
        words, said = facts.command(row)
        commands.append(words)
        notes |= dict.fromkeys(said)
    return Launched(commands, [f"left out: {some(list(dict.fromkeys(what)), 3)}, {why}" for why, what in others.items()], list(notes))
