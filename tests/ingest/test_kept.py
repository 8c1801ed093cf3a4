"""A stored trace is data: it is read unchanged, and other contents are ignored."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from charz.hardware_catalog import loader
from charz.ingest import kept
from charz.ingest.compile import rules
from charz.ingest.rows import Ingested, decoded, encoded
from charz.ingest.run import attempt
from charz.ingest.sources.spec import parse
from charz.schema import cache
from charz.schema.errors import CharzError


@pytest.fixture(scope="module")
def compiled() -> rules.Rules:
    return rules.from_rows(loader.load().rows)


@pytest.fixture(scope="module")
def made(compiled: rules.Rules) -> Ingested:
    found = attempt(parse("synthetic:attention_head"), compiled)
    assert isinstance(found, Ingested), found
    return found


def test_rows_come_back_as_they_were(made: Ingested) -> None:
    found = decoded(encoded(made))
    assert isinstance(found, Ingested)
    assert (found.model, found.columns, found.remark) == (made.model, made.columns, made.remark)
    kinds = [{type(value) for values in columns.values() for value in values} for columns in (*made.columns.values(),)]
    assert set().union(*kinds) <= {int, float, str, bool, type(None)}
    assert decoded(encoded("no")) == "no"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "3", '{"model": {}, "columns": {"source": {}}, "remark": ""}', '{"model": {"evil": 1}, "columns": {}, "remark": ""}',
     '{"model": {}, "columns": {"operator": {"evil": []}}, "remark": ""}', '{"error": 3}', "\\x80\\x04"],
)  # fmt: skip
def test_what_are_no_rows_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        decoded(text)


def test_a_pickle_that_was_put_there_does_not_run(
    compiled: rules.Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ran = tmp_path / "ran"
    (tmp_path / "contextlib.py").write_text(f"import os\nos.system('touch {ran}')\n")  # takes the place of no module

    class Payload:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {ran}",)

    request = kept.Request("synthetic:mlp,in=4,hidden=4,out=4", (), compiled)
    first, is_kept = kept.traced(request, tmp_path, "here")
    again, is_kept_then = kept.traced(request, tmp_path, "here")
    assert (is_kept, is_kept_then) == (False, True) and again.columns == first.columns
    cache.said()
    for path in cache.folder().iterdir():
        path.write_bytes(pickle.dumps(Payload()))
    found, is_kept = kept.traced(request, tmp_path, "here")
    assert not is_kept and found.columns == first.columns and not ran.exists()
    assert "made anew" in cache.said()[0]


def test_a_process_that_writes_no_rows_is_told(
    compiled: rules.Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text that the model's own code prints into the answer is read as data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "net.py").write_text("import os\nos.write(1, b'cos\\nsystem\\n(S\"touch ran\"\\ntR.')\nraise SystemExit\n")
    with pytest.raises(CharzError):
        kept.traced(kept.Request("net.py:Net", ("B,4",), compiled), tmp_path, "here")
    assert not (tmp_path / "ran").exists()
    assert json.loads(encoded("x")) == {"error": "x"}
