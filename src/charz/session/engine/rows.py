"""What the models read, as parquet for other engines: rows of each model in files of their own, and a manifest that says of what
versions they are, what each file holds, and by what numbers the database they came from is known again.

A file is never changed: its name ends in a part of its digest. The manifest is written last, and what it does not list is not
there. So an export that is killed leaves the rows as they were, and a new model costs its own.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from charz import __version__
from charz.schema import about, ddl
from charz.schema.errors import CharzError
from charz.sql import spark
from charz.sql.keys import fields, place
from charz.sql.layers import WORKLOAD

from .store import Store

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from charz.sql.installed import Catalog

MANIFEST = "manifest.json"
STATEMENTS = "load.sql"
PROBE = "probe.parquet"
"""A file with the manifest's `id` alone: what an engine reads first."""

ASKED = "asked"
"""Folder of what questions bring along; each session removes its own."""

LEFT_S = 86_400.0
"""Age from which what a question brought along is of a session that was killed. [s]"""

ANSWERS = "answer"
"""Folder of answers that a refresh has evaluated and not yet taken in."""

FORMAT = 1
"""Of the manifest."""

ROWS_AT_ONCE = 122_880
"""Rows written together."""

VERSIONS = {"charz": "charz", "schema": "layout of tables", "views": "views", "catalog": "catalog"}
"""What rows are of, and what each is called."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of rows."""

    name: str
    rows: int
    byte: int
    sha256: str
    model: str | None = None
    """The model that all of them belong to."""


@dataclass(slots=True)
class Manifest:
    """What the rows are."""

    versions: dict[str, str]
    """Version of charz, fingerprints of tables and views, version of the catalog."""
    models: dict[str, str] = field(default_factory=dict)
    """Model -> the number by which its rows are known."""
    relations: dict[str, str] = field(default_factory=dict)
    """Relation that no model owns -> the same."""
    files: dict[str, list[File]] = field(default_factory=dict)
    """By relation."""

    @property
    def id(self) -> str:
        """A digest of all that the rows are."""
        known = [self.versions, self.models, self.relations, sorted(f.sha256 for fs in self.files.values() for f in fs)]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def text(self) -> str:
        """As it is written."""
        files = {
            name: [
                {"file": f.name, "rows": f.rows, "byte": f.byte, "sha256": f.sha256, "model": f.model} for f in listed
            ]
            for name, listed in sorted(self.files.items())
        }
        known = {"format": FORMAT, "id": self.id, **self.versions, "models": self.models, "relations": self.relations}
        return json.dumps(known | {"files": files}, indent=1, sort_keys=True)


def read(store: Store) -> Manifest | None:
    """The manifest of a place; None where it has none. Raises `CharzError` for one of another charz."""
    data = store.get(MANIFEST)
    if data is None:
        return None
    try:
        known = json.loads(data)
        if known["format"] != FORMAT:
            raise CharzError(
                "rows of another charz", store.place, f"their manifest has format {known['format']}", _AGAIN
            )
        files = {
            name: [File(f["file"], f["rows"], f["byte"], f["sha256"], f["model"]) for f in listed]
            for name, listed in known["files"].items()
        }
        return Manifest({key: known[key] for key in VERSIONS}, known["models"], known["relations"], files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CharzError("not a manifest of rows", store.address(MANIFEST), next=_AGAIN) from error


_AGAIN = "`charz export FOLDER --for spark` into a new folder writes them anew"


def versions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What a database is of."""
    known = about.read(connection)
    keys = {"schema": about.LAYOUT, "views": "views_fingerprint", "catalog": "catalog_version"}
    return {"charz": __version__, **{name: known.get(key, "none") for name, key in keys.items()}}


def of_models(connection: duckdb.DuckDBPyConnection, known: Catalog) -> list[str]:
    """Relations that the models read of which each row belongs to a model and follows from it, its runs and the rules."""
    from charz.ingest.write import MODEL_TABLES
    from charz.schema.scenario import Measurement

    tables = {row_type.TABLE for row_type in MODEL_TABLES}
    found = []
    for name in spark.sources(connection):
        relation = known.relations.get(name)
        is_of_model = name in tables or (
            relation is not None
            and relation.layer == WORKLOAD
            and {"model", "run"} & set(relation.columns)
            and Measurement.TABLE not in known.upstream([name])
        )
        found += [name] if is_of_model else []
    return found


def shared(connection: duckdb.DuckDBPyConnection, known: Catalog) -> list[str]:
    """The other relations that the models read."""
    own = set(of_models(connection, known))
    return [name for name in spark.sources(connection) if name not in own]


def state(connection: duckdb.DuckDBPyConnection, known: Catalog) -> Manifest:
    """What the manifest of a database's rows says now, without files."""
    from charz.sql import maintain

    numbers = {name: _number(connection, name) for name in shared(connection, known)}
    rules = repr(sorted(maintain.rules(connection).items()))
    columns = ", ".join(fields(known.relations["run"].columns))
    hashed = f"SELECT run.model, BIT_XOR(HASH({columns})), COUNT(*) FROM run GROUP BY run.model"
    runs = {model: found for model, *found in connection.execute(hashed).fetchall()}
    query = "SELECT model, content_hash, rules_fingerprint FROM model ORDER BY model"
    models = {
        model: hashlib.sha256(repr((*rest, runs.get(model), rules)).encode()).hexdigest()[:16]
        for model, *rest in connection.execute(query).fetchall()
    }
    return Manifest(versions(connection), models, numbers)


def _number(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A number for the content of a relation."""
    columns = [column for column, *_ in connection.execute(f"DESCRIBE {ddl.quote(name)}").fetchall()]
    hashed = ", ".join(fields(columns))
    query = f"SELECT COUNT(*), BIT_XOR(HASH({hashed})) FROM {ddl.quote(name)}"
    ((count, number),) = connection.execute(query).fetchall()
    return f"{number or 0:x}/{count}"


def check(found: Manifest, now: Manifest, place: str) -> None:
    """Raise `CharzError` where rows are not those of a database as it is now."""
    next = f"`charz export {place} --for spark` brings them up to it"
    for key, what in VERSIONS.items():
        if found.versions[key] != now.versions[key]:
            exists = f"theirs is {found.versions[key][:16]}, that of the file {now.versions[key][:16]}"
            raise CharzError(f"rows of another {what}", place, exists, next)
    changed = sorted(name for name in now.relations if found.relations.get(name) != now.relations[name])
    if changed:
        raise CharzError("rows of before a change", place, f"not as in the file: {_few(changed)}", next)
    if lost := [
        name for name in sorted({*now.models, *found.models}) if found.models.get(name) != now.models.get(name)
    ]:
        raise CharzError("rows of other models", place, f"not as in the file: {_few(lost)}", next)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the rows of a relation."""

    name: str
    rows: int
    byte: int
    added: int
    """Rows written now; the others were there."""


def append(
    connection: duckdb.DuckDBPyConnection,
    known: Catalog,
    store: Store,
    models: Sequence[str] | None = None,
    done: Callable[[str], None] = lambda _: None,
) -> list[Written]:
    """Write the rows of a database to a place, those alone that are not there; with `models`, of these and no others."""
    now, before = state(connection, known), read(store)
    if before is not None and before.versions != now.versions:
        before = None
    if before is None and (others := [n for n in store.names() if not _is_own(n)]) and store.get(MANIFEST) is None:
        raise CharzError("the folder is not empty", store.place, f"it holds {_few(others)}", "name a new one")
    if models is not None:
        now.models = {name: number for name, number in now.models.items() if name in models}
    added: dict[str, int] = {}
    for name, number in now.relations.items():
        kept = before is not None and before.relations.get(name) == number
        rows = before.files[name] if before is not None and kept else [_written(connection, store, name)]
        now.files[name] = rows
        added[name] = 0 if kept else sum(file.rows for file in rows)
    owned = of_models(connection, known)
    for name in owned:
        listed = before.files.get(name, []) if before is not None else []
        same = {m for m, number in now.models.items() if before is not None and before.models.get(m) == number}
        now.files[name], added[name] = [file for file in listed if file.model in same], 0
    fresh = [m for m in now.models if before is None or before.models.get(m) != now.models[m]]
    done("facts")
    for name, file in _of_models(connection, store, owned, fresh, done):
        now.files[name].append(file)
        added[name] += file.rows
    if before is None:
        store.put(STATEMENTS, spark.script(connection).encode())
    if before is None or before.id != now.id:
        _finish(store, now)
    store.prune(ASKED, LEFT_S)
    return [
        Written(name, sum(f.rows for f in files), sum(f.byte for f in files), added[name])
        for name, files in sorted(now.files.items())
    ]


def fresh_models(connection: duckdb.DuckDBPyConnection, known: Catalog, store: Store) -> list[str]:
    """Models whose rows are not there, or are of before a change."""
    now, before = state(connection, known), read(store)
    is_other = before is None or before.versions != now.versions
    return [m for m, n in now.models.items() if is_other or before is None or before.models.get(m) != n]


def _of_models(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    names: Sequence[str],
    models: Sequence[str],
    done: Callable[[str], None],
) -> Iterator[tuple[str, File]]:
    """Files of some models, a few models evaluated at a time."""
    from charz.sql import evaluate

    if not models:
        return
    scenarios = evaluate.scenario_rows(connection)
    scope = evaluate.Scope(models=models, scenarios=scenarios, stored={row["scenario_id"] for row in scenarios})
    with connection.cursor() as cursor:
        for portion in evaluate.evaluated(cursor, scope, names):
            for model in portion.scope.models or ():
                for name in names:
                    yield name, _written(cursor, store, name, model)
                done(model)


def _written(connection: duckdb.DuckDBPyConnection, store: Store, name: str, model: str | None = None) -> File:
    columns = [column for column, *_ in connection.execute(f"DESCRIBE {ddl.quote(name)}").fetchall()]
    limit = "" if model is None else f" WHERE {place(columns, 'model')} = {ddl.literal(model)}"
    relation = connection.sql(f"SELECT * FROM {ddl.quote(name)}{limit} ORDER BY ALL")
    data, count = _parquet(relation.to_arrow_reader(ROWS_AT_ONCE))
    digest = hashlib.sha256(data).hexdigest()
    owner = "all" if model is None else re.sub(r"[^A-Za-z0-9.-]+", "_", model)[:60]
    path = f"{name}/{owner}-{digest[:12]}.parquet"
    store.put(path, data)
    return File(path, count, len(data), digest, model)


def _parquet(reader: pyarrow.RecordBatchReader) -> tuple[bytes, int]:
    from pyarrow import parquet

    buffer, count = io.BytesIO(), 0
    with parquet.ParquetWriter(buffer, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return buffer.getvalue(), count


def parquet(table: Any) -> bytes:
    """An Arrow table as a file."""
    return _parquet(table.to_reader(ROWS_AT_ONCE))[0]


def _finish(store: Store, manifest: Manifest) -> None:
    """Let the new files be the rows, and take those away that are none any more."""
    import pyarrow

    store.put(PROBE, parquet(pyarrow.table({"id": [manifest.id]})))
    store.put(MANIFEST, manifest.text().encode())
    listed = {file.name for files in manifest.files.values() for file in files}
    for name in store.names():
        if name not in listed and name not in _OWN and name.partition("/")[0] not in (ASKED, ANSWERS) and _is_own(name):
            store.remove(name)


_OWN = frozenset({MANIFEST, STATEMENTS, PROBE})


def _is_own(name: str) -> bool:
    """Whether a file is one that charz writes here."""
    folder, _, rest = name.partition("/")
    return (
        name in _OWN
        or bool(rest and folder and re.fullmatch(r"\S+-[0-9a-f]{12}\.parquet|\.unfinished-\S+", rest))
        or (folder in (ASKED, ANSWERS))
    )


def files_of(manifest: Manifest, name: str, models: Collection[str] | None) -> list[File]:
    """The files of a relation that hold rows of some models, or of none."""
    listed: Mapping[str, list[File]] = manifest.files
    return [f for f in listed[name] if models is None or f.model is None or f.model in models]
