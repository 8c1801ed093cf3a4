"""Export of the relations that model views read, as parquet files for other engines, with separate files for each neural network. A manifest
lists versions, the content of each file, and hashes that identify the database.

Files never change: their names end in a part of their digest. The manifest is written last, and files outside it do not count. So a killed
export leaves the rows unchanged, and a new model adds its own files.
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
from charz.schema.errors import CharzError, some
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
"""Name of a file that contains only the manifest's `id`, which an engine reads first."""

ASKED = "asked"
"""Folder of rows that sessions send for questions. Each session removes its own rows."""

LEFT_S = 86_400.0
"""Age above which sent rows belong to a session that was killed. [s]"""

ANSWERS = "answer"
"""Folder of answers that a refresh has evaluated but not yet stored."""

FORMAT = 1
"""Version of the manifest's format."""

ROWS_AT_ONCE = 122_880
"""Number of rows per batch of a parquet file."""

VERSIONS = {"charz": "charz", "schema": "layout of tables", "views": "views", "catalog": "catalog"}
"""Kinds of versions in a manifest, each with its name in messages."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of rows."""

    name: str
    rows: int
    byte: int
    sha256: str
    model: str | None = None
    """Model that all rows of the file belong to, if any."""


@dataclass(slots=True)
class Manifest:
    """Content of an export."""

    versions: dict[str, str]
    """Version of charz, fingerprints of tables and views, version of the catalog."""
    models: dict[str, str] = field(default_factory=dict)
    """Hash of each model's rows."""
    relations: dict[str, str] = field(default_factory=dict)
    """Hash of each relation whose rows belong to no model."""
    files: dict[str, list[File]] = field(default_factory=dict)
    """Files by relation."""

    @property
    def id(self) -> str:
        """A digest of the whole content."""
        known = [self.versions, self.models, self.relations, sorted(f.sha256 for fs in self.files.values() for f in fs)]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def text(self) -> str:
        """Write the manifest as JSON."""
        files = {
            name: [
                {"file": f.name, "rows": f.rows, "byte": f.byte, "sha256": f.sha256, "model": f.model} for f in listed
            ]
            for name, listed in sorted(self.files.items())
        }
        known = {"format": FORMAT, "id": self.id, **self.versions, "models": self.models, "relations": self.relations}
        return json.dumps(known | {"files": files}, indent=1, sort_keys=True)


def read(store: Store) -> Manifest | None:
    """Return the manifest of a store, or None if the store has no manifest yet. Raise `CharzError` for a manifest in another format."""
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


_AGAIN = "`charz export FOLDER --for spark` into a new folder writes new ones"


def versions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the versions of a database."""
    known = about.read(connection)
    keys = {"schema": about.LAYOUT, "views": "views_fingerprint", "catalog": "catalog_version"}
    return {"charz": __version__, **{name: known.get(key, "none") for name, key in keys.items()}}


def of_models(connection: duckdb.DuckDBPyConnection, known: Catalog) -> list[str]:
    """Return the relations that model views read and whose rows each belong to one neural network, and depend only on the network, its runs and the
    rules."""
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
    """Return the other relations that the models read."""
    own = set(of_models(connection, known))
    return [name for name in spark.sources(connection) if name not in own]


def state(connection: duckdb.DuckDBPyConnection, known: Catalog) -> Manifest:
    """Return the manifest of a database's present rows, without files."""
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
    """Compute a hash of the content of a relation."""
    columns = [column for column, *_ in connection.execute(f"DESCRIBE {ddl.quote(name)}").fetchall()]
    hashed = ", ".join(fields(columns))
    query = f"SELECT COUNT(*), BIT_XOR(HASH({hashed})) FROM {ddl.quote(name)}"
    ((count, number),) = connection.execute(query).fetchall()
    return f"{number or 0:x}/{count}"


def check(found: Manifest, now: Manifest, place: str) -> None:
    """Raise `CharzError` if exported rows differ from the present rows of a database."""
    next = f"`charz export {place} --for spark` updates them"
    for key, what in VERSIONS.items():
        if found.versions[key] != now.versions[key]:
            exists = f"theirs is {found.versions[key][:16]}, the file's is {now.versions[key][:16]}"
            raise CharzError(f"rows of another {what}", place, exists, next)
    changed = sorted(name for name in now.relations if found.relations.get(name) != now.relations[name])
    if changed:
        raise CharzError("rows from before a change", place, f"different in the file: {some(changed, 3)}", next)
    if lost := [
        name for name in sorted({*now.models, *found.models}) if found.models.get(name) != now.models.get(name)
    ]:
        raise CharzError("rows of other models", place, f"different in the file: {some(lost, 3)}", next)


@dataclass(frozen=True, slots=True)
class Written:
    """Result of writing a relation."""

    name: str
    rows: int
    byte: int
    added: int
    """Number of rows written now. The other rows existed before."""


def append(
    connection: duckdb.DuckDBPyConnection,
    known: Catalog,
    store: Store,
    models: Sequence[str] | None = None,
    done: Callable[[str], None] = lambda _: None,
) -> list[Written]:
    """Write the rows of a database that a store lacks, limited to `models` if given."""
    now, before = state(connection, known), read(store)
    if before is not None and before.versions != now.versions:
        before = None
    if before is None and (others := [n for n in store.names() if not _is_own(n)]) and store.get(MANIFEST) is None:
        raise CharzError("the folder is not empty", store.place, f"it contains {some(others, 3)}", "name a new folder")
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
    """Return the models whose rows are missing or outdated."""
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
    """Write the files of some models and yield each file with its relation. A few models are evaluated at a time."""
    from charz.sql import evaluate, scopes

    if not models:
        return
    scenarios = scopes.scenario_rows(connection)
    scope = scopes.Scope(models=models, scenarios=scenarios, stored={row["scenario_id"] for row in scenarios})
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
    """Convert an Arrow table to a parquet file."""
    return _parquet(table.to_reader(ROWS_AT_ONCE))[0]


def _finish(store: Store, manifest: Manifest) -> None:
    """Write the manifest, which makes the new files valid, and remove files that the manifest no longer lists."""
    import pyarrow

    store.put(PROBE, parquet(pyarrow.table({"id": [manifest.id]})))
    store.put(MANIFEST, manifest.text().encode())
    listed = {file.name for files in manifest.files.values() for file in files}
    for name in store.names():
        if name not in listed and name not in _OWN and name.partition("/")[0] not in (ASKED, ANSWERS) and _is_own(name):
            store.remove(name)


_OWN = frozenset({MANIFEST, STATEMENTS, PROBE})


def _is_own(name: str) -> bool:
    """Return True if charz writes a file of this name here."""
    folder, _, rest = name.partition("/")
    return (
        name in _OWN
        or bool(rest and folder and re.fullmatch(r"\S+-[0-9a-f]{12}\.parquet|\.unfinished-\S+", rest))
        or (folder in (ASKED, ANSWERS))
    )


def files_of(manifest: Manifest, name: str, models: Collection[str] | None) -> list[File]:
    """Return the files of a relation with rows of some models, or of no model."""
    listed: Mapping[str, list[File]] = manifest.files
    return [f for f in listed[name] if models is None or f.model is None or f.model in models]
