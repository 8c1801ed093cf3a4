"""Times of a server's steps, for simulators of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from charz.schema.errors import CharzError

from ..axes import check_size
from ..core import Core
from ..question import SERVED_PRECISIONS, Question
from ..scoped import Scoped

if TYPE_CHECKING:
    import polars as pl

MIX = ("requests", "tokens", "context")
"""Columns of a mix: requests, new tokens of each, and tokens that each attends to, including the new ones."""

RUNS_AT_ONCE = 400
"""Number of mixes that are evaluated together where they share nothing."""


class Step(Core):
    """Times of a server's steps, for simulators of requests."""

    def step(
        self,
        model: str,
        mixes: pl.DataFrame | Sequence[Mapping[str, int]],
        *,
        on: str,
        precision: str | None = None,
        backend: str | None = None,
        version: str | None = None,
        kv_precision: str | None = None,
        devices: int = 1,
    ) -> pl.DataFrame:
        """Return time, energy and limit of each of many steps, given as a frame with the columns `requests`, `tokens` and `context`.

        A step with one new token a request is a decoding step; one with more is a prompt or a chunk of one. Equal mixes are evaluated once,
        and so is what all mixes share. Raise `CharzError` for a missing column, an invalid size, and a mix that does not run.
        """
        import polars as pl

        frame = mixes if isinstance(mixes, pl.DataFrame) else pl.DataFrame(list(mixes))
        if missing := [name for name in MIX if name not in frame.columns]:
            raise CharzError("a column is missing", ", ".join(missing), f"a mix has {', '.join(MIX)}")
        if not len(frame):
            raise CharzError("no mixes", "the frame is empty")
        frame = frame.select(pl.col(name).cast(pl.Int64) for name in MIX)
        for name in MIX:
            for size in (frame[name].min(), frame[name].max()):
                check_size(name, size)  # type: ignore[arg-type]
        if (late := frame.filter(pl.col("context") < pl.col("tokens"))).height:
            raise CharzError("a context shorter than its tokens", str(late.row(0)), "the context includes the new tokens")
        shapes = frame.unique(maintain_order=True)
        kept = {
            "engine_version": version, "kv_precision": kv_precision, "device_count": devices if devices > 1 else None,
        }  # fmt: skip

        def asked(rows: Sequence[tuple[int, ...]]) -> Scoped:
            runs = [
                {
                    "batch": requests, "phase": "decode" if tokens == 1 else "prefill",
                    "sequence": None if tokens == 1 else tokens, "context": context, **kept,
                }
                for requests, tokens, context in rows
            ]  # fmt: skip
            question = Question(
                [model], [on], precisions=[precision] if precision else [], backends=[backend] if backend else [],
                runs=runs, preferred=SERVED_PRECISIONS, serves=True, is_as_stored=True,
            )  # fmt: skip
            return self.asked(question)

        found: list[tuple[Any, ...]] = []
        one = asked(shapes.rows()[:1])
        if self._is_shared(one):
            from charz.sql import mixes as shared

            assert one.scope is not None
            with self.cursor() as cursor, shared.evaluated(cursor, one.scope, self._relations(), shapes):
                found = cursor.execute(_STEPS).fetchall()
        else:
            for piece in shapes.iter_slices(RUNS_AT_ONCE):
                found += asked(piece.rows()).execute(_STEPS).fetchall()
        steps = pl.DataFrame(found, schema=[*MIX, "latency_s", "energy_j", "step_limit"], orient="row")
        return frame.join(steps, on=list(MIX), how="left", maintain_order="left")

    def _is_shared(self, one: Scoped) -> bool:
        """Return True if the shared part of steps is evaluated once: for a single target, without an engine."""
        from charz.sql import mixes

        if self.access.engine or one.scope is None or one.scope.targets is None or len(one.scope.targets) != 1:
            return False
        ((part, backend, _),) = one.scope.targets
        return bool(one.value(mixes.TAKES, [part, backend]))


_STEPS = "SELECT batch, sequence, context, latency_s, energy_j, step_limit FROM model_cost"
"""Query for the steps of a server by mix."""
