"""Files of an attacker: macros that shadow functions and changed objects of charz are refused, every answer reports other objects
and changed rows, and code named in the file runs only if it is trusted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import charz
from charz.cli.dispatch import run
from charz.ingest.sources.spec import of_database, parse
from charz.schema import cache
from charz.schema.errors import CharzError
from charz.session import CharzWarning, verdicts, workspace
from charz.session.access import Access

Planted = Callable[..., Path]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARZ_DB", "")  # the value that a run sets is removed after the test


@pytest.fixture
def planted(file: Path, tmp_path: Path) -> Planted:
    """Function that copies the file and runs another client's statements on it."""

    def made(*statements: str) -> Path:
        path = Path(shutil.copy(file, tmp_path / "theirs.duckdb"))
        with duckdb.connect(str(path)) as connection:
            for statement in statements:
                connection.execute(statement)
        return path

    return made


@pytest.mark.parametrize("macro", ["max(x) AS min(x)", '"="(a, b) AS true', "duckdb_functions() AS TABLE SELECT 1 AS i", "current_database() AS 'x'"])
def test_a_macro_of_a_functions_name_refuses_the_file_for_readers_too(macro: str, planted: Planted) -> None:
    path = planted(f"CREATE MACRO main.{macro}")
    for trust in (False, True):  # trust does not make the macro `max` correct
        with charz.open(path, trust=trust) as db, pytest.raises(CharzError, match=r"acro main\..*doctor --repair --trust"):
            db.compare("small", on="t4")
    with charz.open(path) as db:
        found = {row["what"]: row for row in db.doctor().iter_rows(named=True)}
    assert not found["foreign object"]["is_well"] and macro.partition("(")[0].strip('"') in found["foreign object"]["found"]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE OR REPLACE VIEW model_report AS SELECT 1 AS latency_s", "view main.model_report"),
        ("UPDATE view_catalog SET body = body || ' '", "rows of view_catalog"),
    ],
)
def test_charzs_own_objects_with_another_text_are_read_only_if_trusted(
    statement: str, name: str, planted: Planted
) -> None:
    path = planted(statement)
    with charz.open(path) as db, pytest.raises(CharzError, match=f"{name[1:]}.*--trust"):
        db.models()
    with charz.open(path, trust=True) as db, pytest.warns(CharzWarning, match=name):
        db.models()


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE VIEW mine AS FROM read_text('/etc/hostname')", "view main.mine"),
        ("CREATE MACRO mine() AS 1", "macro main.mine"),
        ("CREATE SEQUENCE mine START 10000000", "sequence main.mine"),
        ("CREATE SCHEMA pg_temp", "schema pg_temp"),
    ],
)
def test_what_is_there_besides_is_said_in_every_answer(statement: str, name: str, planted: Planted) -> None:
    with charz.open(planted(statement)) as db:
        for _ in range(2):
            with pytest.warns(CharzWarning, match=f"charz did not create: {name}"):
                db.models()


ALTERED = (
    "UPDATE hardware_memory SET bandwidth_byte_per_s = 4 * bandwidth_byte_per_s WHERE hardware = 't4' AND level = 'dram'",
    "UPDATE hardware_provenance SET catalog_value = 4 * catalog_value WHERE hardware = 't4' AND field LIKE 'memory.dram.b%'",
)
"""Statements that quadruple the bandwidth, and the value recorded as shipped."""


@pytest.mark.slow("a statement on a fact fires the triggers of the file")
def test_shipped_rows_that_are_others_are_counted_in_every_answer(
    planted: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    path = planted(*ALTERED)
    for command in (["models"], ["hardware", "show", "t4"], ["sql", "SELECT 1"]):
        assert run(["--db", str(path), *command]) == 0
        said = capsys.readouterr().err
        assert "2 shipped rows were changed (hardware_memory 1, hardware_provenance 1)" in said


HALVED = "UPDATE answer.stored SET latency_s = latency_s / 2 WHERE model = 'small' AND hardware = 't4'"
"""Statement that halves the answers at hand of one model on one part."""


@pytest.mark.slow("fills the answers of a file again")
def test_answers_that_charz_did_not_compute_are_evaluated_and_replaced(planted: Planted, file: Path) -> None:
    asked = {"on": "t4", "backend": "inductor", "batch": 1}
    of_part = "FROM answer.stored WHERE model = 'small' AND hardware = 't4'"
    with duckdb.connect(str(file), read_only=True) as connection:
        ((count,),) = connection.execute(f"SELECT count(*) {of_part}").fetchall()
        query = f"SELECT latency_s {of_part} AND batch = 1 AND backend = 'inductor' AND precision = 'torch-fp32'"
        ((known,),) = connection.execute(query).fetchall()
    path = planted(HALVED)
    with charz.open(path) as db:
        with pytest.warns(CharzWarning, match=f"{count} answers at hand do not come from your charz.*charz refresh"):
            (found,) = db.compare("small", **asked)["latency_s"]
        assert found == pytest.approx(known, rel=1e-12)
        with db.changing() as connection:  # they stay in doubt until charz evaluates them
            assert connection.execute(f"SELECT count(*) {of_part} AND seal = 0").fetchall() == [(count,)]
        assert db.is_live
        assert dict(db.refresh().iter_rows())["answer.stored"] >= count
        assert not db.is_live
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute(query).fetchall() == [(pytest.approx(known, rel=1e-12),)]


@pytest.mark.slow("it evaluates every run of the model again")
def test_changed_facts_of_a_model_are_reported_and_reach_every_answer_with_the_refresh(planted: Planted) -> None:
    """A thousand times the work takes at least a hundred times the time of this model of small operators."""
    path = planted("UPDATE term SET coefficient = 1000 * coefficient WHERE model = 'small'")
    asked = {"on": "t4", "backend": "inductor", "batch": 1, "section": "run"}
    with charz.open(path) as db:
        with pytest.warns(CharzWarning, match=r"facts of their model were changed.*charz refresh"):
            (before,) = db.compare("small", **asked)["latency_s"]
        db.refresh()
    with charz.open(path) as db:
        assert not db.is_live
        (after,) = db.compare("small", **asked)["latency_s"]
        assert after > 100 * before
    with charz.open(path, is_live=True) as db:
        assert db.compare("small", **asked)["latency_s"][0] == pytest.approx(after, rel=1e-12)


def test_a_trusted_files_answers_are_taken_and_named(planted: Planted) -> None:
    path = planted(HALVED)
    with charz.open(path) as db:
        assert db.is_live
    with charz.open(path, trust=True) as db:
        assert not db.is_live
        with pytest.warns(CharzWarning, match="do not come from your charz"):
            db.models()


def test_a_change_seals_the_answers_that_it_adds_and_no_others(planted: Planted, recwarn: pytest.WarningsRecorder) -> None:
    path = planted("DELETE FROM answer.stored WHERE model <> 'small' OR hardware <> 't4' OR batch > 1")
    with charz.open(path) as db:
        with db.changing(fills=False) as connection:
            connection.execute("CREATE TEMP TABLE kept AS SELECT * EXCLUDE (seal) FROM answer.stored; DELETE FROM answer.stored")
            connection.execute("INSERT INTO answer.stored BY NAME FROM kept")
        db.models()
    assert not [warning for warning in recwarn if issubclass(warning.category, CharzWarning)]


@pytest.mark.slow("evaluates every computed table again")
def test_computed_rows_that_were_written_within_charzs_own_bracket_are_counted(planted: Planted) -> None:
    """The statement changes one row for each arithmetic of the part; a changed row counts twice, as stored and as computed."""
    path = planted(
        "INSERT INTO rebuild.writing VALUES (TRUE)",
        "UPDATE arithmetic_rate SET vector_ops_per_s = 2 * vector_ops_per_s WHERE hardware = 't4'",
        "DELETE FROM rebuild.writing",
    )
    with charz.open(path) as db:
        for _ in range(2):
            with pytest.warns(CharzWarning, match=r"computed rows were changed \(arithmetic_rate \d+\): `charz refresh`"):
                db.models()
        ((count,),) = db.sql("SELECT count(*) FROM arithmetic_rate WHERE hardware = 't4' AND vector_ops_per_s > 0").rows()
        verdict = db._verdict
        assert verdict is not None and verdict.computed == {"arithmetic_rate": 2 * count}
        assert dict(db.refresh().iter_rows())["arithmetic_rate"] == 2 * count
        db.models()
        assert db._verdict is not None and not db._verdict.computed


@pytest.mark.slow("a statement on a fact fires the triggers of the file")
def test_what_triggers_compute_for_another_client_is_right(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line names the changed fact. Its consequences are compared once, and not again after further changes of the file."""
    from charz.sql import foreign

    compared = []
    real = foreign.recomputed
    monkeypatch.setattr(foreign, "recomputed", lambda *given: (compared.append(1), real(*given))[1])
    path = planted(ALTERED[0])
    for command in (["models"], ["scenario", "remove", "3"], ["models"]):
        assert run(["--db", str(path), *command]) == 0
        said = capsys.readouterr().err
        assert "changed (hardware_memory 1" in said or command[0] == "scenario"
        assert "computed" not in said and "do not come from your charz" not in said
    assert len(compared) == 1


@pytest.mark.slow("examines a whole file")
def test_the_doctor_counts_them_and_says_what_the_cache_holds(planted: Planted) -> None:
    with charz.open(planted(*ALTERED)) as db:
        found = {row["what"]: row["found"] for row in db.doctor().iter_rows(named=True)}
    assert found["shipped row"] == "hardware_memory 1, hardware_provenance 1"
    assert " MB of at most 100 in " in found["cache"]


def test_a_sound_file_says_nothing(file: Path, recwarn: pytest.WarningsRecorder) -> None:
    with charz.open(file) as db:
        db.models()
    assert not [warning for warning in recwarn if issubclass(warning.category, CharzWarning)]


def test_a_file_is_examined_once_and_again_when_it_has_changed(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    from charz.sql import foreign

    counts = []
    real = foreign.found
    monkeypatch.setattr(foreign, "found", lambda *given, **options: (counts.append(1), real(*given, **options))[1])
    path = planted()
    for _ in range(3):
        with charz.open(path) as db:
            db.models()
    assert len(counts) == 1
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE MACRO max(x) AS min(x)")
    with charz.open(path) as db, pytest.raises(CharzError, match="max"):
        db.models()


def test_a_verdict_that_somebody_else_wrote_is_not_believed(planted: Planted) -> None:
    path = planted("CREATE MACRO max(x) AS min(x)")
    (cache.folder() / "examined.ffffffffffffffffffffffffffffffff.json").write_text("{}")
    assert verdicts.read(verdicts.state(path)) is None
    with charz.open(path) as db, pytest.raises(CharzError, match="max"):
        db.models()


def test_without_a_cache_what_is_not_compared_is_said(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with charz.open(planted()) as db, pytest.warns(CharzWarning, match="not compared"):
        db.models()
    with charz.open(planted("CREATE MACRO max(x) AS min(x)")) as db, pytest.raises(CharzError, match="max"):
        db.models()


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Module in the working folder that leaves a trace when it is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(
        "import pathlib\nfrom torch import nn\npathlib.Path('ran').touch()\nclass Net(nn.Linear):\n"
        "    def __init__(self): super().__init__(4, 4)\n"
    )
    yield tmp_path / "ran"


SLOW = pytest.mark.slow("a statement on a fact fires the triggers of the file")


@pytest.mark.parametrize(
    "source", ["evil:Net", *(pytest.param(s, marks=SLOW) for s in ("evil.py:Net", "net.pt2", "net.onnx", "hf:x/config.json"))]
)
def test_the_code_that_a_file_names_runs_only_if_it_is_trusted(source: str, planted: Planted, evil: Path) -> None:
    path = planted(f"UPDATE model SET source = '{source}', input_signature = 'input: fp32[B, 4]' WHERE model = 'small'")
    with charz.open(path) as db, pytest.raises(CharzError, match=f"{source.removeprefix('hf:')}.*--trust"):
        db.what_if({}, "report", "small", modules={"*": "fp16"}, on="t4")
    assert not evil.exists()
    if source == "evil.py:Net":  # this source contains more than its name
        with charz.open(path, trust=True) as db:
            db.what_if({}, "report", "small", modules={"*": "fp16"}, on="t4")
        assert evil.exists()


def test_a_model_that_is_called_as_code_is_runs_no_more(planted: Planted, evil: Path) -> None:
    path = planted("UPDATE model SET source = 'factory:evil.py:Net', model = 'evil.py:Net' WHERE model = 'small'")
    with charz.open(path) as db:
        for sizes, modules in (({"resolution": 64}, None), (None, {"*": "fp16"})):
            with pytest.raises(CharzError, match="--trust"):
                db.what_if({}, "report", "evil.py:Net", sizes=sizes, modules=modules, on="t4")
    assert not evil.exists()


def test_what_is_shipped_needs_no_trust() -> None:
    for text in ("resnet18", "timm:resnet18", "hf:gpt2", "synthetic:mlp,hidden=4", "hf:gpt2,n_layer=2"):
        assert of_database(text, is_trusted=False) == parse(text)
    for text in ("hf:gpt2,attn_implementation=kernels/x", "a.b:c", "x.py"):
        with pytest.raises(CharzError, match="--trust"):
            of_database(text, is_trusted=False)
        assert of_database(text, is_trusted=True) == parse(text, trust=True)


def test_a_model_without_operators_is_named(planted: Planted) -> None:
    path = planted("DELETE FROM kernel WHERE model = 'small'")
    with charz.open(path) as db:
        for ask in (db.compare, db.report, db.recommend):
            with pytest.raises(CharzError, match="without operators.*small"):
                ask("small", on="t4")


@SLOW
def test_a_template_that_was_changed_is_not_copied(
    tmp_path: Path, small_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacker's template has four times the bandwidth."""
    made = workspace.template.ready(workspace._complete)
    assert made is not None
    place = tmp_path / "charz"
    place.mkdir()
    planted = Path(shutil.copy(made, place / made.name))
    planted.chmod(0o600)
    with duckdb.connect(str(planted)) as connection:
        connection.execute(ALTERED[0])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.find(made.name.partition(".")[0], ".duckdb") is None
    (line,) = cache.said()
    assert str(planted) in line and not planted.exists()


def test_a_verdict_is_about_the_file_that_was_opened(planted: Planted, file: Path) -> None:
    """Another file that replaced the opened one meanwhile does not count as opened."""
    path = planted("CREATE MACRO max(x) AS min(x)")
    opened = verdicts.state(path)
    with duckdb.connect(str(path), read_only=True) as connection:
        path.unlink()
        shutil.copy(file, path)
        with pytest.raises(CharzError, match="max"):
            workspace.examined(connection, path, opened=opened)
    assert verdicts.read(verdicts.state(path)) is None
    with charz.open(path) as db:
        db.models()


@SLOW
def test_the_lines_of_a_file_do_not_depend_on_who_writes_it(planted: Planted) -> None:
    path = planted(*ALTERED)
    lines = []
    for _ in range(2):
        with duckdb.connect(str(path), read_only=True) as connection:
            lines.append(workspace.warnings(workspace.examined(connection, path, Access())))
    assert lines[0] == lines[1] and "2 shipped rows" in lines[0][0]
