"""Variants of a model in other sizes, or with modules in other precisions, traced into a temporary copy of the file."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from charz.schema.errors import CharzError, unknown_name

from ..axes import names
from ..core import Core
from ..parameters import Amount

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

    Value = Amount | Sequence[Amount]

MOST_SIZES = 64
"""Largest number of models that one command traces."""

_WORDS = {
    "synthetic": {"width": "hidden", "depth": "layers"},
    "huggingface": {"width": "hidden_size", "depth": "num_hidden_layers"},
}
"""Settings for width and depth of a model, by source."""


def specs(session: Core, model: str, sizes: Mapping[str, Value]) -> dict[str, Spec]:
    """Map the text of each combination of sizes to the specification of the changed model. Raise `CharzError` for a size that the model does not
    have, and for the errors of `own`."""
    from charz.ingest.sources.spec import of_database, parse

    is_stored = model in session._names("model")
    base = of_database(model, session.access.trust) if is_stored else parse(model, trust=session.access.trust)
    axes = [[(name, shown(one)) for one in given("size", name, value)] for name, value in sizes.items()]
    if math.prod(map(len, axes)) > MOST_SIZES:
        raise CharzError("too many models", str(math.prod(map(len, axes))), f"at most {MOST_SIZES} are possible")
    return {
        ", ".join(f"{name}={text}" for name, text in chosen): functools.reduce(_changed, chosen, base)
        for chosen in itertools.product(*axes)
    }


def given(what: str, name: str, value: Value) -> Sequence[Amount]:
    """Return the values of a change as a list. Raise `CharzError` if there are no values."""
    values = names(value) if isinstance(value, str) else value if isinstance(value, Sequence) else [value]
    if not values:
        raise CharzError(f"a {what} without a value", name, next=f"write e.g. {name}=256")
    return values


def shown(value: Amount) -> str:
    """Return a value as the user wrote it."""
    return value if isinstance(value, str) else f"{value:g}"


def _changed(spec: Spec, size: tuple[str, str]) -> Spec:
    """Return the model's specification with one size changed."""
    from charz.ingest.sources.spec import WITH_SETTINGS, parse_sides

    name, text = size
    if name == "resolution" and spec.module not in WITH_SETTINGS:
        height, width = parse_sides(text)
        return replace(spec, resolution=height, width=None if width == height else width)
    if spec.module not in WITH_SETTINGS:
        next = "every image model has a resolution; models built from a configuration (synthetic:, hf:) have width and depth"
        raise CharzError("not a size of this model", f"{spec.shown}: {name}", next=next)
    setting = _WORDS[spec.module].get(name, name)
    return replace(spec, settings=tuple((dict(spec.settings) | {setting: text}).items()))


def own(session: Core, model: str) -> Spec:
    """Return the specification that builds a stored model again. The model's name is parsed if it leads to the stored source, else the source with
    the stored name and inputs. Raise `CharzError` if the file is not trusted and building the model would run code."""
    from charz.ingest.sources.inputs import again
    from charz.ingest.sources.spec import of_database, parse

    query = "SELECT source, input_signature FROM model WHERE model = ?"
    found = session.connection().execute(query, [model]).fetchone()
    if found is None:
        return parse(model, trust=session.access.trust)
    source, signature = found
    try:
        is_named = parse(model).source == source
    except CharzError:
        is_named = False
    if is_named:
        return of_database(model, session.access.trust)
    spec = of_database(source, session.access.trust)
    return replace(spec, stored=model, inputs=again(signature) if spec.module == "factory" else ())


def policy(base: str, modules: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of a precision policy that runs some modules in other precisions, and the statement that adds the rows of the policy.

    `modules` maps patterns of module paths to precisions.
    """
    from charz.ingest.compile.precision import MODULE

    for text in (base, *modules, *modules.values()):
        if not re.fullmatch(r"[\w.*?\[\]-]+", text):
            raise CharzError("not a module or precision", text, next="write e.g. --precision 'layer4.*=int8'")
    name = "+".join(f"{pattern}={precision}" for pattern, precision in modules.items())
    kept = "rule, compute_precision, weight_precision, activation_precision, source_id, confidence"
    rows = [f"SELECT '{name}', operator_class, {kept} FROM precision_policy WHERE policy = '{base}'"] + [
        f"SELECT '{name}', '{MODULE}{pattern}|' || operator_class, {kept} FROM precision_policy WHERE policy = '{precision}'"
        for pattern, precision in modules.items()
    ]
    return name, f"INSERT INTO precision_policy (policy, operator_class, {kept}) {' UNION ALL '.join(rows)}"


def check_modules(session: Core, model: str, patterns: Iterable[str]) -> None:
    """Raise `CharzError` for a pattern that matches no module of the model."""
    from charz.ingest.compile.precision import lies_in

    rows = session.connection().execute("SELECT path FROM module WHERE model = ?", [model]).fetchall()
    known = [path for (path,) in rows]
    for pattern in patterns:
        if not any(lies_in(path, pattern) for path in known):
            raise unknown_name("module", pattern, known)


@contextlib.contextmanager
def copied(session: Core, wanted: Mapping[str, Spec], statement: str = "") -> Iterator[tuple[Core, dict[str, str]]]:
    """Yield a session on a copy of the file that also contains the models in `wanted`, and their names in the copy by label. `statement` changes the
    copy before the models are traced. Raise `CharzError` if tracing fails."""
    from charz.ingest.run import run
    from charz.sql import maintain

    session.connection()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / session.path.name
        shutil.copyfile(session.path, path)
        other = type(session)(path, messages=session.messages, is_guarded=session.is_guarded, access=session.access)
        with contextlib.closing(other):
            if statement:
                with other.changing(fills=False) as connection:
                    connection.execute(statement)
            with session.messages.progress("models", len(wanted)) as done:
                outcomes = run(
                    list(wanted.values()),
                    functools.partial(other.changing, fills=False),
                    maintain.add_runs,
                    report=lambda outcome: done(outcome.model),
                )
            if failed := [f"{outcome.model}: {outcome.message}" for outcome in outcomes if outcome.state == "failed"]:
                raise CharzError("a model of this size cannot be traced", "; ".join(failed))
            of = {outcome.spec: outcome.model for outcome in outcomes}
            yield other, {label: of[spec] for label, spec in wanted.items()}
