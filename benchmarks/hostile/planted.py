"""Files of an attacker: a database, a cache, a part, a network. charz must run nothing of them and report every changed number.

    python -m benchmarks.hostile.planted FILE [--only NAME]

FILE is a small charz database with the models `small` and `other`; copies are used, in a folder of their own with their own cache
and key. A case changes a copy as an attacker could, runs a user's command, and reports wrong answers.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb

from benchmarks.hostile import CHARZ, environment

COMPARE = ("compare", "small", "--on", "t4", "--section", "run", "--format", "csv")

Done = subprocess.CompletedProcess[str]


class Place:
    """Folder with a copy of the file, a cache and a marker that must not be created."""

    def __init__(self, folder: Path, file: Path) -> None:
        self.folder = folder
        self.db = folder / "charz.duckdb"
        self.ran = folder / "ran"
        self.cache = folder / "cache" / "charz"
        self._file = file
        self.evil = folder / "evil.py"
        self.renew()
        self.evil.write_text(
            f"import pathlib\nfrom torch import nn\npathlib.Path({str(self.ran)!r}).touch()\nclass Net(nn.Linear):\n"
            "    def __init__(self): super().__init__(4, 4)\n"
        )

    def renew(self) -> None:
        """Restore the file, and delete the marker."""
        shutil.copy(self._file, self.db)
        self.db.chmod(0o600)
        self.ran.unlink(missing_ok=True)

    def keep(self) -> None:
        """Keep the current file as the one to restore, since this charz has updated it and filled its answers."""
        self._file = Path(shutil.copy(self.db, self.folder.parent / "base.duckdb"))

    def sql(self, *statements: str) -> None:
        """Run a statement of another client on the copy."""
        with duckdb.connect(str(self.db)) as connection:
            for statement in statements:
                connection.execute(statement)

    def charz(self, *arguments: str, **variables: str) -> Done:
        """Run a command on the copy."""
        own = {"XDG_CACHE_HOME": str(self.folder / "cache"), "XDG_STATE_HOME": str(self.folder / "state")}
        return subprocess.run(
            [*CHARZ, "--db", str(self.db), *arguments], cwd=self.folder, env=environment() | own | variables,
            capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=600, check=False,
        )  # fmt: skip


CASES: dict[str, Callable[[Place], str]] = {}


def case(function: Callable[[Place], str]) -> Callable[[Place], str]:
    """Register a case."""
    CASES[function.__name__] = function
    return function


def refused(done: Done, *words: str) -> str:
    """Check that an answer is a refusal of one line with these words; return the fault, or an empty text."""
    lines = done.stderr.splitlines()
    if done.returncode != 2 or not lines or not lines[-1].startswith("charz: ") or "Traceback" in done.stderr:
        return f"not refused: exit code {done.returncode}, {done.stdout[-200:]!r} {done.stderr[-300:]!r}"
    return "".join(f"the line lacks {word!r}: {lines[-1]!r}" for word in words if word not in lines[-1])


def said(done: Done, *words: str) -> str:
    """Check that an answer comes with a message of these words; return the fault, or an empty text."""
    if done.returncode not in (0, 1):
        return f"exit code {done.returncode}: {done.stderr[-300:]!r}"
    return "".join(f"{word!r} is not said: {done.stderr[-300:]!r}" for word in words if word not in done.stderr)


def are_near(answer: str, other: str) -> bool:
    """Compare two answers in CSV; numbers may differ by rounding."""
    rows, others = ([line.split(",") for line in text.splitlines()] for text in (answer, other))
    return len(rows) == len(others) and all(
        len(row) == len(of) and all(map(_is_near, row, of)) for row, of in zip(rows, others, strict=True)
    )


def _is_near(value: str, other: str) -> bool:
    try:
        return value == other or math.isclose(float(value), float(other), rel_tol=1e-9)
    except ValueError:
        return False


class _Payload:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self._path}",)


@case
def pickles_in_the_cache(at: Place) -> str:
    """Try files of the cache that are pickles with code, under every name that charz looks for."""
    net = at.folder / "net.py"
    net.write_text("from torch import nn\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(4, 4)\n")
    diff = ("diff", "small", "net.py:Net", "--on", "t4", "--input", "B,4")
    if fault := said(at.charz(*diff)):
        return fault
    for path in at.cache.iterdir():
        path.write_bytes(pickle.dumps(_Payload(at.ran)))
    (at.cache / "traces").mkdir()
    (at.cache / "traces" / "x.trace").write_bytes(pickle.dumps(_Payload(at.ran)))
    done = at.charz(*diff)
    return "the pickle ran" if at.ran.exists() else said(done, "made anew")


@case
def a_source_that_is_code(at: Place) -> str:
    """Try models whose source is a Python file."""
    for source in (f"{at.evil}:Net", "evil:Net", "evil.py:Net", "factory:evil.py:Net", "net.pt2", "net.onnx", "hf:x/config.json"):
        at.renew()
        at.sql(f"UPDATE model SET source = '{source}' WHERE model = 'small'")
        for asked in (("--precision", "*=fp16"), ("--model", "resolution=64")):
            done = at.charz("what-if", *asked, "--", "report", "small", "--on", "t4")
            if at.ran.exists():
                return f"{source} ran"
            if asked[0] == "--precision" and (fault := refused(done, "--trust")):
                return f"{source}: {fault}"
    at.sql("UPDATE model SET source = 'evil.py:Net', model = 'evil.py:Net' WHERE model = 'small'")
    at.charz("what-if", "--precision", "*=fp16", "--", "report", "evil.py:Net", "--on", "t4")
    return "a model of that name ran" if at.ran.exists() else ""


@case
def a_template_with_other_numbers(at: Place) -> str:
    """Try a sound template of new databases with four times the bandwidth."""
    (template,) = at.cache.glob("empty-*.duckdb")
    with duckdb.connect(str(template)) as connection:
        connection.execute("UPDATE hardware_memory SET bandwidth_byte_per_s = 4 * bandwidth_byte_per_s WHERE level = 'dram'")
    query = "SELECT max(bandwidth_byte_per_s) FROM hardware_memory WHERE hardware = 'rtx4090'"
    done = at.charz("--db", "new.duckdb", "hardware", "show", "rtx4090", "--format", "csv")
    if fault := said(done, "made anew", template.name):
        return fault
    at.charz("--db", "new.duckdb", "scenario", "add", "--batch", "77")
    with duckdb.connect(str(at.folder / "new.duckdb")) as connection:
        ((found,),) = connection.execute(query).fetchall()
    return "" if found < 1.1e12 else f"the new file has {found:.3g} byte/s"


@case
def macros_that_shadow_functions(at: Place) -> str:
    """Try macros that redefine functions: `max` as `min`, `+` as a constant, and the functions that list objects."""
    macros = (
        "max(x) AS min(x)", "round(x, y) AS x", '"+"(a, b) AS 3', '"="(a, b) AS true', "current_database() AS 'x'",
        "duckdb_functions() AS TABLE SELECT 1 AS x", "duckdb_views() AS TABLE SELECT 1 AS x", "string_agg(a, b) AS 'x'",
        "md5(a) AS 'x'", "duckdb_tables() AS TABLE SELECT 'x' AS table_name", "lower(x) AS x", "sum(x) AS 1",
    )  # fmt: skip
    for macro in macros:
        at.renew()
        at.sql(f"CREATE MACRO main.{macro}")
        name = macro.partition("(")[0].strip('"')
        further = (("sql", "FROM model_report"), ("scenario", "add", "--batch", "77"), ("models", "--trust"))
        for asked in (COMPARE, *(further if macro == macros[0] else ())):
            if fault := refused(at.charz(*asked), f"acro main.{name}", "doctor --repair --trust"):
                return f"{macro}: {fault}"
        done = at.charz("doctor")
        if done.returncode != 1 or f"macro main.{name}" not in done.stdout:
            return f"{macro}: doctor says {done.stdout[-200:]!r} {done.stderr[-200:]!r}"
    return ""


@case
def other_objects(at: Place) -> str:
    """Try changed texts of charz's views, and additional views, tables, types and sequences."""
    before = at.charz(*COMPARE).stdout
    at.sql("CREATE OR REPLACE VIEW model_report AS SELECT * REPLACE (latency_s / 2 AS latency_s) FROM answer.model_report")
    if fault := refused(at.charz(*COMPARE), "iew main.model_report", "--trust"):
        return f"a changed view: {fault}"
    at.renew()
    at.sql("UPDATE view_catalog SET body = replace(body, 'latency_s', '0.5 * latency_s') WHERE view = 'model_report'")
    if fault := refused(at.charz(*COMPARE), "view_catalog", "--trust"):
        return f"a changed description: {fault}"
    for statement, name in (
        ("CREATE VIEW mine AS FROM read_text('/etc/passwd')", "view main.mine"), ("CREATE TYPE mine AS ENUM ('a')", "type main.mine"),
        ("CREATE SEQUENCE mine START 10000000", "sequence main.mine"), ("CREATE TABLE mine (i INTEGER)", "table main.mine"),
        ("CREATE SCHEMA mine", "schema mine"), ("CREATE MACRO mine() AS 1", "macro main.mine"),
    ):  # fmt: skip
        at.renew()
        at.sql(statement)
        done = at.charz(*COMPARE)
        if fault := said(done, name):
            return f"{statement}: {fault}"
        if done.stdout != before:
            return f"{statement}: another answer"
    for name in ("temp", "system"):
        at.renew()
        at.sql(f"CREATE SCHEMA charz.{name}", f"CREATE VIEW charz.{name}.hardware AS SELECT 1 AS i")
        if fault := refused(at.charz(*COMPARE), f"chema {name}", "rop it"):
            return f"schema {name}: {fault}"
    at.renew()
    at.sql("CREATE TRIGGER mine AFTER INSERT ON scenario FOR EACH STATEMENT DELETE FROM source")
    return refused(at.charz("scenario", "add", "--batch", "77"), "rigger mine", "--trust")


@case
def shipped_rows_that_are_others(at: Place) -> str:
    """Try changed numbers of parts together with changed digests of shipped rows."""
    at.sql(
        "UPDATE hardware_memory SET bandwidth_byte_per_s = 4 * bandwidth_byte_per_s WHERE hardware = 't4' AND level = 'dram'",
        "UPDATE hardware_provenance SET catalog_value = 4 * catalog_value"
        " WHERE hardware = 't4' AND field = 'memory.dram.bandwidth_byte_per_s'",
    )
    for asked in (COMPARE, ("report", "small", "--on", "t4"), ("sql", "SELECT 1"), ("hardware", "list")):
        if fault := said(at.charz(*asked), "2 shipped rows were changed"):
            return f"{asked[0]}: {fault}"
    return ""


@case
def answers_that_are_others(at: Place) -> str:
    """Try changed answers at hand, with no seal, an old seal and the seal of another row."""
    before = at.charz(*COMPARE).stdout
    for seal in ("NULL", "seal", "(SELECT max(seal) FROM answer.stored)"):
        at.renew()
        at.sql(f"UPDATE answer.stored SET latency_s = latency_s / 2, seal = {seal} WHERE model = 'small' AND hardware = 't4'")
        done = at.charz(*COMPARE)
        if fault := said(done, "answers at hand do not come from your charz", "charz refresh"):
            return f"{seal}: {fault}"
        if not are_near(done.stdout, before):
            return f"{seal}: another answer"
    at.charz("refresh")
    done = at.charz(*COMPARE)
    return "a line after the refresh" if "do not come" in done.stderr else "" if are_near(done.stdout, before) else "another answer"


@case
def facts_of_models_that_are_others(at: Place) -> str:
    """Try a model with a thousandth of the work, whose sealed answers are those of the former facts."""
    at.sql("UPDATE term SET coefficient = coefficient / 1000 WHERE model = 'small'")
    if fault := said(at.charz(*COMPARE), "facts of their model were changed", "charz refresh"):
        return fault
    at.charz("scenario", "add", "--batch", "77")
    if fault := said(at.charz("models"), "facts of their model were changed"):
        return f"after a change by charz: {fault}"
    at.charz("refresh")
    done = at.charz(*COMPARE)
    if "do not come" in done.stderr:
        return "a line after the refresh"
    return "" if are_near(done.stdout, at.charz("--live", *COMPARE).stdout) else "the refresh left answers of the former facts"


@case
def modules_in_the_working_folder(at: Place) -> str:
    """Try files that are called like modules of Python and of charz, in the folder where the user works."""
    names = ("contextlib", "json", "multiprocessing", "torch", "duckdb", "typing")
    for name in names:
        (at.folder / f"{name}.py").write_text(at.evil.read_text())
    ingest = ("ingest", "synthetic:mlp", "synthetic:lu", "--jobs", "2")
    for asked in (("models",), ("sql", "SELECT 1"), ("diff", "small", "synthetic:mlp", "--on", "t4"), ingest):
        done = subprocess.run(
            [sys.executable, "-P", "-c", CHARZ[2], "--db", str(at.db), *asked], cwd=at.folder,
            env={k: v for k, v in environment().items() if k != "PYTHONSAFEPATH"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if at.ran.exists() or done.returncode:
            return f"{asked[0]}: {'a file ran' if at.ran.exists() else done.stderr[-200:]}"
    for name in names:
        (at.folder / f"{name}.py").unlink()
    return ""


@case
def computed_rows_that_are_others(at: Place) -> str:
    """Try changed rows of maintained tables, written within charz's own bracket or without the triggers that refuse."""
    with duckdb.connect(str(at.db), read_only=True) as connection:
        query = "SELECT sql FROM duckdb_triggers() WHERE table_name = 'part' AND trigger_name = 'charz_update_refused'"
        ((text,),) = connection.execute(query).fetchall()
    bracket = ("INSERT INTO rebuild.writing VALUES (TRUE)", "DELETE FROM rebuild.writing")
    changes = {
        "part": (
            "DROP TRIGGER charz_update_refused ON part",
            "UPDATE part SET dram_byte_per_s = 4 * dram_byte_per_s WHERE hardware = 't4'",
            text,
        ),
        "arithmetic_rate": (bracket[0], "UPDATE arithmetic_rate SET vector_ops_per_s = 2e15 WHERE hardware = 't4'", bracket[1]),
        "chain_efficiency": (bracket[0], "DELETE FROM chain_efficiency WHERE kernel_class = 'matmul'", bracket[1]),
        "part_energy": (bracket[0], "DELETE FROM part_energy WHERE hardware = 't4'", bracket[1]),
    }
    for table, statements in changes.items():
        at.renew()
        at.sql(*statements)
        for asked in (COMPARE, ("sql", "SELECT 1"), ("models",)):
            if fault := said(at.charz(*asked), "computed row", table, "charz refresh"):
                return f"{table}, {asked[0]}: {fault}"
    at.charz("refresh")
    return "a line after the refresh" if "computed row" in at.charz("models").stderr else ""


@case
def facts_that_another_client_changes(at: Place) -> str:
    """Change facts as a user's other client may: charz must name the changed facts, and find nothing wrong with what follows from it."""
    at.sql(
        "UPDATE hardware_power SET tdp_w = 0.9 * tdp_w WHERE hardware = 't4'",
        "INSERT INTO scenario SELECT * REPLACE (max(scenario_id) OVER () + 1 AS scenario_id, 3 AS batch) FROM scenario LIMIT 1",
    )
    done = at.charz(*COMPARE)
    if "computed" in done.stderr or "do not come" in done.stderr:
        return f"a false alarm: {done.stderr[-300:]!r}"
    return said(done, "shipped row")


@case
def triggers_before_trust(at: Place) -> str:
    """Try triggers of all events on all facts, with names of charz, in a file that another charz seems to have made. The texts of such
    a file's triggers cannot be compared, and the update to this charz inserts and deletes rows."""
    with duckdb.connect(str(at.db), read_only=True) as connection:
        query = "SELECT table_name, trigger_name, event_manipulation FROM duckdb_triggers() WHERE schema_name = 'main'"
        triggers = connection.execute(query).fetchall()
    at.sql(
        "CREATE TABLE caught (name VARCHAR)",
        *(f"DROP TRIGGER {name} ON {table}" for table, name, _ in triggers),
        *(
            f"CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH STATEMENT INSERT INTO caught VALUES ('{name} on {table}')"
            for table, name, event in triggers
        ),
        "UPDATE charz_meta SET value = 'other' WHERE key = 'views_fingerprint'",
        "DELETE FROM caught",
    )
    for trust in ((), ("--trust",)):
        done = at.charz("models", *trust)
        if done.returncode:
            return f"{trust}: exit code {done.returncode}, {done.stderr[-300:]!r}"
        with duckdb.connect(str(at.db), read_only=True) as connection:
            if ran := connection.execute("SELECT DISTINCT name FROM caught").fetchall():
                return f"{trust}: {len(ran)} triggers ran, {ran[:3]}"
    return ""


@case
def parts(at: Place) -> str:
    """Try parts with duplicate keys, numbers of base 60, digits of other scripts, and names that are paths."""
    at.charz("hardware", "dump", "t4", "--id", "mine", "--out", "good.yaml")
    good = (at.folder / "good.yaml").read_text()
    if fault := said(at.charz("hardware", "check", "good.yaml")):
        return f"a sound part: {fault}"
    line = next(line for line in good.splitlines() if "unit_count" in line)
    number = line.partition("value: ")[2].partition(",")[0]
    bad = {
        "a key twice": good + "\nid: other\n",
        "base 60": good.replace(line, line.replace(f"value: {number}", "value: 1:28")),
        "other digits": good.replace(line, line.replace(f"value: {number}", "value: ٤٠")),
        "full width digits": good.replace(line, line.replace(f"value: {number}", "value: '４０'")),
        "a tag": good.replace(line, line.replace(f"value: {number}", f"value: !!int {number}")),
        **{
            f"the id {id}": good.replace('id: "mine"', f'id: "{id}"').replace("id: mine", f'id: "{id}"')
            for id in ("../../x", "<script>", "rtх4090", "a" * 65, "a b", "T4", "x\\u0000", "")
        },
    }
    for what, text in bad.items():
        (at.folder / "bad.yaml").write_text(text)
        done = at.charz("hardware", "add", "bad.yaml")
        if fault := refused(done, "bad.yaml", *(("twice, in lines",) if what == "a key twice" else ())):
            return f"{what}: {fault}"
    at.sql("UPDATE hardware SET hardware = '../../x' WHERE hardware = 't4'")
    at.charz("hardware", "dump", "../../x")
    at.charz("hardware", "dump", "../../x", "--id", "../../y")
    outside = list(at.folder.parent.parent.glob("[xy]*.yaml"))
    return f"{outside} written" if outside else ""


@case
def a_damaged_template(at: Place) -> str:
    """Try a template with a changed byte, one cut off, and one that is a folder or link."""
    for number, harm in enumerate((b"?", b"", None)):
        for template in at.cache.glob("empty-*.duckdb"):
            if harm is None:
                template.unlink()
                template.mkdir()
            elif harm:
                with template.open("r+b") as file:
                    file.seek(5_000_000)
                    file.write(os.urandom(4096))
            else:
                os.truncate(template, 1_000_000)
        done = at.charz("--db", f"fresh{number}.duckdb", "scenario", "add", "--batch", "77")
        if fault := said(done, "made anew", "empty-"):
            return fault
    for left in at.cache.glob("empty-*"):
        if left.is_dir():
            left.rmdir()
    return ""


@case
def answers_of_fifty_megabytes(at: Place) -> str:
    """Try one value of 50 MB, through `sql` and as a tool's answer."""
    done = at.charz("sql", "SELECT repeat('A', 50000000) AS a")
    if len(done.stdout) > 100_000 or done.returncode:
        return f"{len(done.stdout)} letters from sql, exit code {done.returncode}"
    code = (
        "import sys, charz; from charz.session.file.mcp import Toolbox;"
        " text, bad = Toolbox(charz.open(sys.argv[1], is_guarded=True), False, 100).call('sql', {'query': sys.argv[2]}); print(len(text), bad)"
    )
    for query in ("SELECT repeat('A', 50000000) AS a", "SELECT repeat('A', 100000) AS a FROM range(100)", "SELECT range(5000000) AS a"):
        asked = subprocess.run(
            [sys.executable, "-c", code, str(at.db), query], cwd=at.folder, env=environment(), capture_output=True, text=True, check=False
        )
        length, _, is_bad = asked.stdout.strip().partition(" ")
        if is_bad != "False" or int(length) > 1_100_000:
            return f"{query}: {asked.stdout} {asked.stderr[-300:]}"
    return ""


@case
def a_model_without_operators(at: Place) -> str:
    """Try a model whose rows are deleted."""
    at.sql("DELETE FROM kernel WHERE model = 'small'", "DELETE FROM operator WHERE model = 'small'")
    for command in (COMPARE, ("report", "small", "--on", "t4"), ("recommend", "small,other"), ("compare", "small", "--on", "t4", "--saturation")):
        if fault := refused(at.charz(*command), "without operators", "small"):
            return f"{command[0]}: {fault}"
    return said(at.charz("compare", "other", "--on", "t4"))


@case
def graphs_of_onnx(at: Place) -> str:
    """Try ONNX files with impossible tensor sizes, a name written twice, many nodes, and functions that multiply nodes."""
    import onnx
    from onnx import helper

    def made(name: str, nodes: list[onnx.NodeProto], sizes: list[int], functions: list[onnx.FunctionProto] | None = None) -> Iterator[str]:
        given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, sizes)
        last = helper.make_tensor_value_info(nodes[-1].output[0], onnx.TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", [given], [last])
        model = helper.make_model(graph, functions=functions or [], opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])
        path = at.folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        done = at.charz("ingest", str(path))
        lines = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
        if done.returncode not in (1, 2) or not lines or "report it" in done.stderr or "Traceback" in done.stderr:
            yield f"{name}: exit code {done.returncode}, {done.stderr[-300:]!r}"

    relu = helper.make_node("Relu", ["x"], ["y"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    calls = [
        helper.make_function(
            "f", f"F{i}", ["a"], ["c"],
            [helper.make_node(f"F{i + 1}" if i < 39 else "Relu", [a], [b], domain="f" if i < 39 else "") for a, b in ("ab", "bc")],
            opsets,
        )
        for i in range(40)
    ]  # fmt: skip
    chain = [helper.make_node("Relu", [f"y{i}" if i else "x"], [f"y{i + 1}"]) for i in range(100_000)]
    faults = [
        *made("negative", [relu], [1, -5]), *made("vast", [relu], [1, 2**40]), *made("overflowing", [relu], [2**30] * 3),
        *made("twice", [relu, helper.make_node("Sigmoid", ["x"], ["y"])], [1, 5]), *made("long", chain, [1, 5]),
        *made("bomb", [helper.make_node("F0", ["x"], ["y"], domain="f")], [1, 5], calls),
        *made("idle", [helper.make_node("Identity", ["x"], ["y"])], [1, 5]),
    ]  # fmt: skip
    return "; ".join(faults)


@case
def texts(at: Place) -> str:
    """Try NUL and ESC in names, narrow terminals, and a full device."""
    at.sql("UPDATE operator SET operator = chr(27) || '[2J' || operator || chr(0) WHERE model = 'small'")
    at.sql("UPDATE module SET class_name = chr(27) || '[2J' || class_name || chr(0) WHERE model = 'small'")
    asked = ("sql", "SELECT operator, chr(27) AS e, chr(0) AS n FROM operator", "--live")
    for format in ("csv", "markdown", "table", "json"):
        found = at.charz(*asked, "--format", format).stdout
        if "\x1b" in found or "\0" in found:
            return f"a control character in {format}"
    at.charz("report", "small", "--on", "t4", "--html", "page.html")
    page = (at.folder / "page.html").read_text()
    if "\x1b" in page or "\0" in page:
        return "a control character in HTML"
    for command in (("models",), ("compare", "small,other", "--on", "t4"), ("hardware", "show", "t4"), ("doctor",), ("schema", "model_report")):
        wide = [line for line in at.charz(*command, COLUMNS="20").stdout.splitlines() if len(line) > 20]
        if wide:
            return f"{command[0]}: a line of {max(map(len, wide))} at 20 columns"
    if not Path("/dev/full").exists():
        return ""
    return refused(at.charz("models", "--format", "csv", "--out", "/dev/full"), "/dev/full")


@case
def a_cache_of_others(at: Place) -> str:
    """Try a cache folder that is open to all, or a link to such a folder."""
    at.cache.chmod(0o777)
    if fault := said(at.charz(*COMPARE)):
        return fault
    if at.cache.stat().st_mode & 0o077:
        return "the folder is open still"
    if os.getuid() == 0:
        os.chown(at.cache, 65534, 65534)
        fault = said(at.charz(*COMPARE), "65534")
        os.chown(at.cache, 0, 0)
        return fault
    return ""


def main() -> int:
    """Print the results. Return 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory(prefix="charz-planted-") as name:
        folder = Path(name, "a", "b", "c")
        folder.mkdir(parents=True)
        at = Place(folder, given.file.resolve())
        first = at.charz("refresh")
        if first.returncode:
            sys.exit(first.stderr)
        at.keep()
        for title, function in CASES.items():
            if given.only in title:
                at.renew()
                fault = function(at)
                faults += bool(fault)
                print(f"{title}: {fault or 'passed'}", flush=True)
    print(f"{faults} of {len(CASES)} cases failed")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
