"""Names in a database are imported, opened or unpickled only after `--trust`: the tests walk every path from a row to such a call in
the program's call graph.

The graph contains more calls than can happen: a name refers to its module's import or definition, any other attribute to every
method of that name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"ingest": "ingest", "schema": "schema", "sql": "sql", "hardware_catalog": "hardware_catalog", "cli": "cli", "": "src/charz"}
"""Folders of the package, by their names in it."""

GATE = "ingest.sources.spec:of_database"
"""Function that checks a row's text before the text names an import or a file to open."""

RUNNING = {
    "import_module", "__import__", "exec", "eval", "exec_module", "spec_from_file_location", "run_module", "run_path", "loads", "load",
    "unpack_archive", "Popen", "system", "popen", "execv", "execve", "execvp", "from_pretrained", "literal_eval", "check_output",
}  # fmt: skip
"""Names of calls that run, build or start their argument."""

HARMLESS_OWNERS = {"json"}
"""Modules whose `load` and `loads` only return data."""

KNOWN = {
    "cli.printed:printed": "commands that charz's own pages name",
    "ingest.elsewhere:_beside": "starts this Python with charz's own code",
    "ingest.elsewhere:answer": "what the process that started it wrote to its standard input",
    "ingest.elsewhere:traced": "a request of the client of the engine, whose code runs on its workers anyway",
    "ingest.kept:main": "what the process that started it wrote to its standard input",
    "ingest.kept:traced": "starts this Python with charz's own code",
    "ingest.operators:": "modules of its own folder",
    "ingest.sources.onnx_operators:": "modules of its own folder",
    "ingest.sources:build": "a module of its own folder, by the kinds of sources",
    "ingest.sources.exported:_load": "a file that the request names, looked through by `untrusted` unless it is trusted",
    "ingest.sources.factory:_file": "a file that the request names: code of the user's, or of a trusted file",
    "ingest.sources.factory:_module": "a module that the request names: code of the user's, or of a trusted file",
    "ingest.sources.listing:names_of": "a module of its own folder, by the kinds of sources",
    "ingest.sources.onnx_file:_load": "a file that the request names: data alone",
    "ingest.sources.onnx_file:_scope": "a literal of Python in a file of ONNX: data alone",
    "ingest.measurements.operator_shape:_literal": "a literal of Python in a trace: data alone",
    "ingest.trace.loops:": "modules of torch",
    "schema.database:_row_types": "modules of its own folder",
    "sandbox:_Process.__init__": "starts this Python with charz's own code",
    "sandbox:answer": "what the process that started it wrote to its standard input",
    "session.ask.versions:_check_out": "an archive that git has just written",
    "session.ask.versions:_git": "git, with a revision as the user typed it",
    "session.file.engine:Engine.start": "starts this Python with a server of its packages",
}
"""Functions that run their argument, with its origin."""

PROCESSES = [
    ("ingest.kept:traced", "ingest.kept:main"), ("ingest.elsewhere:_beside", "ingest.elsewhere:answer"),
    ("sandbox:_Process.__init__", "sandbox:answer"),
]  # fmt: skip
"""Functions that start a process, with the function that the process runs."""

def test_no_process_takes_files_of_the_working_folder_for_modules() -> None:
    """Every start of this Python has the flag -P, except the one that makes charz's own pages."""
    starts = {}
    for folder in FOLDERS.values():
        for path in (ROOT / folder).rglob("*.py"):
            for found in re.findall(r"\[sys\.executable, [^]]*", path.read_text()):
                starts[path.stem] = found
    assert {name for name, text in starts.items() if '"-P"' not in text} == {"printed"}
    assert {"kept", "elsewhere", "sandbox", "engine"} < starts.keys()


COLUMNS = ("source", "input_signature", "specialized_reason")
"""Columns of `model` that describe how the model was made."""

READS_AS_DATA = {
    "ingest.run:_taken": "compares it with the request's",
    "session.ask.diff:Diff._check_inputs": "compares the inputs of two versions",
    "session.ask.diff:Diff._against_trace": "shapes and types of inputs, by `again`",
    "session.ask.diff:Diff._inputs": "shapes and types of inputs, by `again` and from the models of the user's own file's name",
    "session.catalog.measure:Measure._spec": "compares it with the request's; what `own` gives of a stored model goes through the gate",
    "session.file.ingest:Ingest._live": "compares it with the request's",
}
"""Functions that read these columns and reach a call that runs code, with the reason why the row's text does not."""

TYPED = {
    "ingest.kept:main": "a version as the user typed it",
    "ingest.sources.spec:of_database": "the gate",
    "session.catalog.measure:Measure._characterize": "models that charz names",
    "session.catalog.measure:Measure._spec": "models as the user typed them",
    "session.decide.model_sizes:own": "to compare; what it gives of a stored model goes through the gate",
    "session.decide.model_sizes:specs": "a model that the user typed and the file does not have",
    "session.catalog.fusion:Fusion._fused": "models as the user typed them",
    "session.file.ingest:_specs": "models as the user typed them",
}
"""Functions that read a text as a request for a model, with the origin of the text."""


@dataclass
class Module:
    """Definitions and imports of a module."""

    name: str
    functions: dict[str, ast.AST] = field(default_factory=dict)
    """Functions by name, methods with their class; the empty name is the code that runs at import."""
    imported: dict[str, str] = field(default_factory=dict)
    """Imported modules, or functions as `module:name`, by their name in this module."""


def modules() -> dict[str, Module]:
    """Read every module of the package."""
    found = {}
    for place, folder in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if not place and len(parts) > 1 and (ROOT / folder / parts[0]).is_symlink():
                continue
            parts = tuple(p for p in ((place,) if place else ()) + parts if p != "__init__")
            name = ".".join(parts)
            found[name] = _module(name, path, ast.parse(path.read_text()))
    return found


def _module(name: str, path: Path, tree: ast.Module) -> Module:
    made = Module(name)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])]).removeprefix("charz.")
            for alias in node.names:
                made.imported[alias.asname or alias.name] = f"{base}:{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                made.imported[alias.asname or alias.name.partition(".")[0]] = alias.name
    made.functions[""] = ast.Module(
        [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)], []
    )
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            made.functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    made.functions[f"{node.name}.{inner.name}"] = inner
    return made


@pytest.fixture(scope="module")
def known() -> dict[str, Module]:
    return modules()


@pytest.fixture(scope="module")
def graph(known: dict[str, Module]) -> nx.DiGraph:
    """Build the graph of possible calls, with functions named `module:name`."""
    methods: dict[str, list[str]] = {}
    for module in known.values():
        for name in module.functions:
            if "." in name:
                methods.setdefault(name.partition(".")[2], []).append(f"{module.name}:{name}")
    made = nx.DiGraph()
    for module in known.values():
        for name, body in module.functions.items():
            made.add_edges_from((f"{module.name}:{name}", other) for other in _called(body, module, known, methods))
    made.add_edges_from(PROCESSES)
    return made


def _called(
    body: ast.AST, module: Module, known: dict[str, Module], methods: dict[str, list[str]]
) -> Iterator[str]:
    """Yield the functions that a body names, as a call or an argument."""
    for node in ast.walk(body):
        if isinstance(node, ast.Name):
            yield from _named(node.id, module, known)
        elif isinstance(node, ast.Attribute):
            owner = module.imported.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
            place = owner.replace(":", ".").removeprefix("charz.").strip(".")
            if place and place in known:
                yield from _named(node.attr, known[place], known)
            elif isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "import_module":
                yield from (f"{other.name}:{node.attr}" for other in known.values() if node.attr in other.functions)
            else:
                yield from methods.get(node.attr, ())


def _named(name: str, module: Module, known: dict[str, Module]) -> Iterator[str]:
    if name in module.functions:
        yield f"{module.name}:{name}"
    elif f"{name}.__init__" in module.functions:
        yield f"{module.name}:{name}.__init__"
    elif name in module.imported:
        place, _, other = module.imported[name].partition(":")
        if other and place in known and (other != name or known[place] is not module):
            yield from _named(other, known[place], known)


def running(known: dict[str, Module]) -> set[str]:
    """Return the functions that call a function which runs its argument."""
    found = set()
    for module in known.values():
        for name, body in module.functions.items():
            for node in ast.walk(body):
                if isinstance(node, ast.Call) and _runs(node.func, module):
                    found.add(f"{module.name}:{name}")
    return found


def _runs(called: ast.expr, module: Module) -> bool:
    if isinstance(called, ast.Name):
        return called.id in RUNNING and called.id not in module.functions and not module.imported.get(called.id, "").startswith("json")
    if not isinstance(called, ast.Attribute):
        return False
    owner = called.value.id if isinstance(called.value, ast.Name) else ""
    if called.attr in ("run", "call", "check_call") and owner == "subprocess":
        return True
    if called.attr in ("eval", "exec") or owner in HARMLESS_OWNERS:  # `Module.eval` of torch sets a mode
        return False
    is_own = module.imported.get(owner, "x").partition(":")[0].split(".")[0] in FOLDERS  # e.g. `loader.load`
    return called.attr in RUNNING and not is_own


def test_every_function_that_runs_what_it_is_given_is_known(known: dict[str, Module]) -> None:
    """A new function must be added to `KNOWN` with the origin of its text."""
    assert running(known) == KNOWN.keys()


def _reads(body: ast.AST) -> set[str]:
    """Return the columns of `COLUMNS` that a statement of a body names."""
    texts = [n.value for n in ast.walk(body) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    statements = [text for text in texts if re.search(r"\bFROM model\b", text)]
    found = {column for column in COLUMNS for text in statements if re.search(rf"\b{column}\b", text)}
    return found | ({"*"} if any(re.search(r"SELECT \*|^\s*FROM model\b", text) for text in statements) else set())


def test_no_row_reaches_what_runs_but_through_the_gate(known: dict[str, Module], graph: nx.DiGraph) -> None:
    sinks = {name for name in KNOWN if name.startswith(("ingest.sources.factory", "ingest.sources.exported", "ingest.sources.onnx_file"))}
    reaching = set().union(*(nx.ancestors(graph, sink) | {sink} for sink in sinks if sink in graph))
    assert {"session.decide.model_sizes:own", "session.file.ingest:Ingest.ingest", "session.ask.diff:Diff._both"} <= _family(reaching, graph)
    found = {
        name
        for module in known.values()
        for function, body in module.functions.items()
        if _reads(body) and (name := f"{module.name}:{function}")
    }
    assert "session.decide.model_sizes:own" in found
    unguarded = {name for name in found if GATE not in set(graph.successors(name)) and name in _family(reaching, graph)}
    assert unguarded <= READS_AS_DATA.keys(), "a row that says how a model was made, and is not held against --trust"
    assert READS_AS_DATA.keys() <= found


def _family(reaching: set[str], graph: nx.DiGraph) -> set[str]:
    """Return the functions that reach a sink, and all that they call, because those may return a row that they read."""
    return reaching | {called for name in reaching for called in (graph.successors(name) if name in graph else ())}


def test_every_request_for_a_model_is_of_a_text_that_the_user_typed(known: dict[str, Module], graph: nx.DiGraph) -> None:
    """`parse` turns any text into a request to import or open the module or file that it names."""
    assert set(graph.predecessors("ingest.sources.spec:parse")) == TYPED.keys()


def test_the_walk_finds_a_path_that_is_planted(known: dict[str, Module], graph: nx.DiGraph) -> None:
    """Without the gate the test would name the function that reads `model.source`."""
    name = "session.decide.model_sizes:own"
    assert GATE in set(graph.successors(name))
    body = known["session.decide.model_sizes"].functions["own"]
    assert _reads(body) == {"source", "input_signature"}
    planted = ast.parse("def f(c): return import_module(c.execute('SELECT source FROM model').fetchone()[0])")
    assert _reads(planted) == {"source"} and running({"m": Module("m", {"f": planted})}) == {"m:f"}
