"""The command that rebuilds maintained tables, triggers and answers."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..core import Core

if TYPE_CHECKING:
    import duckdb

    from charz.sql.installed import Catalog
    from charz.sql.scopes import Scope

    from ..engine.rows import Manifest


class Refresh(Core):
    """Rebuilding of maintained tables, triggers and answers."""

    @answer(is_writing=True)
    def refresh(self) -> Rows:
        """Fill missing answers at hand; in a file without triggers or with changed computed rows, evaluate every maintained table again and
        restore the triggers. Runs and answers of a model are evaluated again if its answers are not those of your charz, or if its facts were
        changed since.

        It is for a file with changed facts (`answer_state` counts missing answers) or without triggers, as after EXPORT DATABASE; `charz
        doctor --invariants` detects both. It returns the rows that differed and the answers that were filled. With `--engine` the engine
        evaluates the missing answers, and nothing else changes; after an interrupt, the same command continues.
        """
        if self.access.engine:
            filled = self._filled_by_engine()
            self.messages.remark("every answer is at hand")
            return Rows(("table", "rows"), [("answer.stored", filled)] if filled else [])
        self.connection()
        is_wrong = self._verdict is not None and bool(self._verdict.computed)
        with self.changing(create=False, fills=False) as connection:
            changed, filled = self._refreshed(connection, every=is_wrong)
            query = "SELECT model FROM stale_compilation ORDER BY model"
            stale = [model for (model,) in connection.execute(query).fetchall()]
        if stale:
            self.messages.warn(
                f"compiled by rules that have changed since (backend, fusion_rule, operator_class, precision, precision_policy): {', '.join(stale)};"
                " `charz ingest MODEL` compiles one again"
            )
        self.messages.remark("every answer is at hand")
        return Rows(("table", "rows"), [*sorted(changed.items()), *([("answer.stored", filled)] if filled else [])])

    def _refreshed(self, connection: duckdb.DuckDBPyConnection, every: bool = False) -> tuple[dict[str, int], int]:
        """Rebuild what depends on facts; return the number of different rows of each maintained table, and of filled answers. Triggers keep the
        tables equal to their views, so only a file that lacks one, or `every`, evaluates the tables. Runs of models whose answers
        are in doubt are evaluated again."""
        from charz.sql import answers, maintain, seals, triggers

        models = [] if self.access.trust else seals.forget(connection)
        if models and not every:
            maintain.add_runs(connection, models=models)
        changed = maintain.refresh(connection) if every or not triggers.are_kept(connection) else {}
        return changed, self._filled(connection, answers.missing(connection))

    def _filled_by_engine(self) -> int:
        """Let the engine evaluate the missing answers, each portion into a file, and insert all of them together."""
        from charz.sql import answers, evaluate

        from ..engine import rows
        from ..engine.remote import Remote

        endpoint, manifest = self.endpoint()
        store, cursor = endpoint.store, self.cursor()
        lacking = answers.missing(cursor)
        portions = [
            portion
            for scope in lacking.scopes
            for portion in evaluate.portions(cursor, scope, answers.relations(cursor))
        ]
        remote = Remote(cursor, None, self._relations(), endpoint, manifest)
        there = set(store.names(rows.ANSWERS))
        files = []
        with self.messages.progress("answers", len(portions)) as done:
            for portion in portions:
                name = f"{rows.ANSWERS}/{_key(portion, manifest)}.parquet"
                if name not in there:
                    store.put(name, rows.parquet(remote.answers_of(portion)))
                files.append(name)
                done(evaluate.about(portion))
        if files:
            data = [store.get(name) for name in files]
            with self.changing(create=False, fills=False, is_engine_done=True) as connection:
                rows.check(manifest, rows.state(connection, self._catalog_of(connection)), store.place)
                count = sum(_taken_in(connection, found, name) for found, name in zip(data, files, strict=True))
                if count != lacking.count:
                    exists = f"{count} rows for {lacking.count} runs on parts"
                    raise CharzError("the engine returned the wrong number of rows", self.access.engine, exists)
        store.prune(rows.ANSWERS)
        return lacking.count

    @staticmethod
    def _catalog_of(connection: duckdb.DuckDBPyConnection) -> Catalog:
        from charz.sql.installed import catalog

        return catalog(connection)


def _key(portion: Scope, manifest: Manifest) -> str:
    """Return a file name for the answers of some models on some parts, a digest of all that they depend on."""
    models = {model: manifest.models[model] for model in portion.models or ()}
    numbers = sorted(row["scenario_id"] for row in portion.scenarios or ())
    known = [manifest.versions, manifest.relations, models, list(portion.hardware or ()), numbers]
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:24]


def _taken_in(connection: duckdb.DuckDBPyConnection, data: bytes | None, name: str) -> int:
    """Insert the answers of a file, and return their number."""
    from pyarrow import ArrowInvalid, parquet

    from charz.sql import answers

    try:
        table = parquet.read_table(io.BytesIO(data or b""))
    except ArrowInvalid as error:
        raise CharzError("answers that are not parquet", name, next="remove the file and ask again") from error
    connection.register("arriving_answer", table)
    connection.execute(f"INSERT INTO {answers.table(connection)} BY NAME SELECT * FROM arriving_answer")
    connection.unregister("arriving_answer")
    return int(table.num_rows)
