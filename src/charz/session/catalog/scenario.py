"""Commands about scenarios. A scenario is a set of conditions under which models are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from charz.schema.conditions import MEMORY_FORMATS, PHASES
from charz.schema.errors import CharzError

from ..answer import Rows, answer, of_query
from ..axes import cache_state, names, one_of
from ..core import Core
from ..parameters import Cache, Cap, IncludeTransfer, Names, Text
from ..question import transferred


class Scenario:
    """Scenarios of a session's database."""

    def __init__(self, session: Core) -> None:
        self.session = session

    @answer()
    def list(self) -> Rows:
        """List the stored scenarios."""
        return of_query(self.session.connection().sql("SELECT * FROM scenario ORDER BY scenario_id"))

    @answer(is_writing=True)
    def add(
        self,
        *,
        batch: Annotated[int, Text("Samples in one run.", least=1)] = 1,
        sequence: Annotated[int | None, Text("Tokens per sample.", least=1)] = None,
        context: Annotated[int | None, Text("Context length of a language model, in tokens.", least=1)] = None,
        phase: Annotated[str, Text("Phase: forward, prefill or decode.")] = "forward",
        precision: Annotated[
            Names | None, Text("Precision policies, separated by commas; default depends on the backend.")
        ] = None,
        backend: Annotated[Names | None, Text("Backends, separated by commas; default depends on the hardware family.")] = None,
        memory_format: Annotated[str, Text("Memory format: nchw or nhwc.")] = "nchw",
        host_factor: Annotated[float, Text("Host time divided by that of the reference machine.", least=0.0)] = 1.0,
        cache: Cache = "warm",
        cap: Cap = None,
        include_transfer: IncludeTransfer = False,
    ) -> Rows:
        """Add a scenario for each named backend and precision. The default is the default backend of each hardware family."""
        fields: dict[str, Any] = {
            "batch": batch,
            "sequence": sequence,
            "context": context,
            "phase": one_of("phase", phase, PHASES),
            "memory_format": one_of("memory format", memory_format, MEMORY_FORMATS),
            "host_factor": host_factor,
            "cache_state": cache_state(cache),
            "power": cap,
            **transferred(include_transfer),
        }
        session = self.session
        session.conditions(fields)  # invalid conditions fail before a file is created
        session.connection(create=True)
        session.check_run(names(backend), names(precision))
        named = names(backend)
        which = "list_contains(?, backend)" if named else "is_default AND NOT serves"
        query = f"SELECT DISTINCT default_precision, backend FROM supported_backend WHERE {which} ORDER BY ALL"
        usual = session.connection().execute(query, [named] if named else []).fetchall()
        backends = named or [*dict.fromkeys(name for _, name in usual)]
        pairs = [(p, b) for p in names(precision) for b in backends] or usual
        wanted = [session.conditions({**fields, "backend": b, "precision": p}) for p, b in pairs]
        rows, held = session.numbered(wanted)
        new: Sequence[dict[str, Any]] = []
        if not held.issuperset(row["scenario_id"] for row in rows):
            with session.changing() as connection:
                rows, held = session.numbered(wanted, connection)
                new = [row for row in rows if row["scenario_id"] not in held]
                for row in new:
                    query = f"INSERT INTO scenario ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
                    connection.execute(query, [*row.values()])
        if len(new) < len(rows):
            session.messages.remark(f"{len(rows) - len(new)} of {len(rows)} scenarios exist already")
        return Rows(tuple(rows[0]), [tuple(row.values()) for row in new])

    @answer(is_writing=True)
    def remove(self, scenario_id: Annotated[int, Text("Number in `charz scenario list`.")]) -> Rows:
        """Remove a scenario."""
        with self.session.changing(create=False) as connection:
            query = "SELECT scenario_id FROM scenario ORDER BY 1"
            known = [i for (i,) in connection.execute(query).fetchall()]
            if scenario_id not in known:
                exists = f"there are {len(known)}, {known[0]} to {known[-1]}" if known else "there are none"
                raise CharzError("unknown scenario", str(scenario_id), exists, "`charz scenario list` shows them")
            connection.execute("DELETE FROM scenario WHERE scenario_id = ?", [scenario_id])
        return Rows(("removed",), [(scenario_id,)])
